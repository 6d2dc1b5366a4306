"""A tagger of a treebank splits raw text as the treebank does."""

from __future__ import annotations

from pathlib import Path

import pytest

import elman
from elman.tasks.tagging.reader import raw_chunks, read_tagged
from elman.tasks.tagging.task import TrainedTagger
from elman.text.reader import Document

pytestmark = pytest.mark.usefixtures("without_curves")
NO = "SpaceAfter=No"
TREEBANK = """# text = L'ami du roi.
1	L'	le	DET	_	_	0	_	_	SpaceAfter=No
2	ami	ami	NOUN	_	_	0	_	_	_
3-4	du	_	_	_	_	_	_	_	_
3	de	de	ADP	_	_	0	_	_	_
4	le	le	DET	_	_	0	_	_	_
5	roi	roi	NOUN	_	_	0	_	_	Gloss=king|SpaceAfter=No
5.1	est	être	VERB	_	_	0	_	_	_
6	.	.	PUNCT	_	_	0	_	_	_

# text = allons-y (vite)
1-2	allons-y	_	_	_	_	_	_	_	_
1	allons	aller	VERB	_	_	0	_	_	_
2	-y	y	PRON	_	_	0	_	_	_
3	(	(	PUNCT	_	_	0	_	_	SpaceAfter=No
4	vite	vite	ADV	_	_	0	_	_	SpaceAfter=No
5	)	)	PUNCT	_	_	0	_	_	SpaceAfter=No

"""


def train(folder: Path, text: str) -> TrainedTagger:
    for name in ("train", "dev"):
        (folder / f"{name}.conllu").write_text(text * 4, encoding="utf-8")
    settings = ["training.epochs=0.1", "model.hidden_size=4", "model.embedding_size=4"]
    trained = elman.train("tagger", data=str(folder), overrides=settings, out=folder / "run")
    assert isinstance(trained, TrainedTagger)
    return trained


def test_chunks_of_multiword_tokens_and_empty_nodes() -> None:
    first, second = raw_chunks(Document("a.conllu", TREEBANK))
    assert first == (("L'ami", ("L'", "ami")), ("du", ("de", "le")), ("roi.", ("roi", ".")))
    assert second == (("allons-y", ("allons", "-y")), ("(vite)", ("(", "vite", ")")))
    sentences = read_tagged(Document("a.conllu", TREEBANK))
    assert sentences[0].chunks == first
    assert sentences[0].words == ("L'", "ami", "de", "le", "roi", ".")


def test_raw_text_is_split_before_tagging(tmp_path: Path) -> None:
    trained = train(tmp_path, TREEBANK)
    again = elman.load(tmp_path / "run", TrainedTagger)
    for tagger in (trained, again):
        answer = tagger.ask("tag", text="L'or du vin.\nfaisons-y (mal)")
        words = [one["words"] for one in answer.to_data()["sentences"]]
        assert words == [["L'", "or", "de", "le", "vin", "."], ["faisons", "-y", "(", "mal", ")"]]
    estimator = elman.Tagger.load(tmp_path / "run")
    assert estimator.words(["L'or du vin."]) == [words[0]]
    assert len(estimator.predict(estimator.words(["L'or du vin."]))[0]) == 6
    with pytest.raises(ValueError, match=r"X\[0\] is a single text"):
        estimator.predict(["L'or du vin."])


def test_a_treebank_without_raw_text_says_so(tmp_path: Path) -> None:
    plain = TREEBANK.replace(NO, "_").replace("Gloss=king|_", "_")
    trained = train(tmp_path, plain)
    assert trained.task.cuts is None
    notes = [note for note in trained.facts["data"]["notes"] if "SpaceAfter" in note]
    assert notes == [
        f"{tmp_path / 'train.conllu'}: has no SpaceAfter=No, so the raw text is unknown; raw text "
        "to tag is split by rules from the vocabulary"
    ]
