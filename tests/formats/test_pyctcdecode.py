"""Language models for pyctcdecode: the interface, the folder, and decoding if it is installed."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny import sentences, train_tiny, write_sentences

import elman
from elman.adapters.mixture import Mixture
from elman.errors import InputError
from elman.formats.pyctcdecode import SpeechModel


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("speech")
    data = write_sentences(place / "data")
    found = {
        "words": elman.train("ngram", data=str(data)),
        "letters": elman.train("ngram-characters", data=str(data)),
        "network": train_tiny(data, None),
    }
    mixed = Mixture([found["words"].model, found["network"].model], [0.5, 0.5])
    found["mixture"] = found["words"].around(mixed, frozenset())
    return found


@pytest.mark.parametrize("name", ["words", "letters", "network", "mixture"])
def test_scores_of_words_sum_to_the_score_of_the_text(name: str, runs: dict[str, Any]) -> None:
    run = runs[name]
    speech = SpeechModel.of(run, alpha=1.0, beta=0.0)
    total, state = 0.0, speech.get_start_state()
    words = "the cat hears a bird .".split()
    for word in words:
        score, state = speech.score(state, word, is_last_word=word == words[-1])
        total += score
    nats = run.ask("score", text=" ".join(words) + "\n").to_data()["nats"]
    assert total == pytest.approx(-nats, abs=1e-4)


def test_weights_and_unknown_words(runs: dict[str, Any]) -> None:
    plain = SpeechModel.of(runs["words"], alpha=1.0, beta=0.0, unk_score_offset=0.0)
    speech = SpeechModel.of(runs["words"])
    start = speech.get_start_state()
    assert speech.score(start, "the")[0] == pytest.approx(0.5 * plain.score(start, "the")[0] + 1.5)
    expected = 0.5 * (plain.score(start, "zebra")[0] - 10 * math.log(10)) + 1.5
    assert speech.score(start, "zebra")[0] == pytest.approx(expected)
    assert speech.score_partial_token("bi") == 0.0
    assert speech.score_partial_token("zeb") == -10.0
    assert speech.get_partial_token_bonus("zebrazebraze") == -20.0
    speech.reset_params(alpha=0.0, beta=2.0)
    assert speech.score(start, "the")[0] == 2.0


def test_a_refused_export_leaves_no_folder(tmp_path: Path) -> None:
    text = tmp_path / "raw.txt"
    text.write_text("The cat, the bird.  The  cat sees it.\n" * 30)
    run = elman.train("ngram", data=str(text), out=tmp_path / "run")
    with pytest.raises(InputError, match="white space separates words in ARPA"):
        run.export(tmp_path / "speech", to="pyctcdecode")
    assert not (tmp_path / "speech").exists()


def test_order(runs: dict[str, Any]) -> None:
    assert SpeechModel.of(runs["words"]).order == 5
    assert SpeechModel.of(runs["network"]).order == 10


def test_the_folder(runs: dict[str, Any], tmp_path: Path) -> None:
    runs["words"].export(tmp_path / "lm", "pyctcdecode")
    assert sorted(path.name for path in (tmp_path / "lm").iterdir()) == [
        "attrs.json",
        "model.arpa",
        "unigrams.txt",
    ]
    with pytest.raises(InputError, match="does not support"):
        runs["network"].export(tmp_path / "other", "pyctcdecode")


def test_pyctcdecode_loads_the_folder_and_agrees(runs: dict[str, Any], tmp_path: Path) -> None:
    pyctcdecode = pytest.importorskip("pyctcdecode", reason="pyctcdecode is not installed")
    runs["words"].export(tmp_path / "lm", "pyctcdecode")
    theirs = pyctcdecode.LanguageModel.load_from_dir(str(tmp_path / "lm"))
    ours = SpeechModel.of(runs["words"])
    assert theirs.order == ours.order
    for line in [*sentences(5, 9).splitlines(), "the zebra sees a cat ."]:
        state, own = theirs.get_start_state(), ours.get_start_state()
        for place, word in enumerate(words := line.split()):
            last = place == len(words) - 1
            score, state = theirs.score(state, word, is_last_word=last)
            found, own = ours.score(own, word, is_last_word=last)
            assert found == pytest.approx(score, abs=1e-4)
            for length in range(1, len(word)):
                expected = theirs.score_partial_token(word[:length])
                assert ours.score_partial_token(word[:length]) == expected


@pytest.mark.parametrize("name", ["words", "letters", "network", "mixture"])
def test_decoding_prefers_what_the_model_knows(name: str, runs: dict[str, Any]) -> None:
    pyctcdecode = pytest.importorskip("pyctcdecode", reason="pyctcdecode is not installed")
    labels = ["", " ", *"abcdefghijklmnopqrstuvwxyz."]
    alphabet = pyctcdecode.Alphabet.build_alphabet(labels)
    decoder = pyctcdecode.BeamSearchDecoderCTC(alphabet, SpeechModel.of(runs[name], beta=0.0))
    spoken = "the bird sees a cat ."
    logits = np.full((2 * len(spoken), len(labels)), -9.0, dtype=np.float32)
    for place, letter in enumerate(spoken):
        logits[2 * place, labels.index(letter)] = 0.0
        logits[2 * place + 1, 0] = 0.0
    at = 2 * spoken.index("sees")
    logits[at, labels.index("w")] = 0.1  # "wees" sounds slightly better than "sees"
    assert decoder.decode(logits) == spoken
