"""Hugging Face causal models: opened, scored like transformers does, asked every question."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import elman
from elman.cli import run
from elman.errors import InputError
from elman.evaluation.measures import Reading
from elman.evaluation.scoring import score_ids
from elman.state import join, replace_rows, select
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load
from elman.text.pretrained import PretrainedTokenizer

pytest.importorskip("transformers")
import tiny_transformers as tiny

SENTENCES = "the cats sleep .\na dog sees the naïve cats near the old house 東京 .\nthe\n"


@pytest.fixture(scope="module", params=tiny.ARCHITECTURES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make_folder(tmp_path_factory.mktemp("hf") / "tiny", request.param)


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make_folder(tmp_path_factory.mktemp("hf") / "gpt2", "gpt2", positions=16)


@pytest.fixture(scope="module")
def model(folder: Path) -> TrainedModel:
    return load(f"hf:{folder}", TrainedModel)


def their_loss(folder: Path, ids: list[int]) -> float:
    """The loss of transformers itself, per token after the first."""
    import transformers

    module = transformers.AutoModelForCausalLM.from_pretrained(str(folder), dtype=torch.float32)
    batch = torch.tensor([ids])
    with torch.no_grad():
        return float(module.eval()(input_ids=batch, labels=batch).loss)


def test_agreement_with_the_loss_of_transformers(folder: Path, model: TrainedModel) -> None:
    tokenizer = model.tokenizer
    for sentence in SENTENCES.splitlines():
        ids = tokenizer.encode(f"{sentence}\n")
        first = tokenizer.first_id
        expected = their_loss(folder, [first, *ids.tolist()])
        rows = model.surprisal(f"{sentence}\n", base=math.e)
        total = sum(row.surprisal_uncorrected for row in rows)
        assert total / len(ids) == pytest.approx(expected, abs=1e-5)


def test_ids_are_those_of_the_fast_tokenizer(folder: Path, model: TrainedModel) -> None:
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(str(folder))
    line = "a dog sees the naïve cats 東京 ."
    expected = theirs(line, add_special_tokens=False)["input_ids"]
    assert model.tokenizer.encode(line).tolist() == expected
    assert model.tokenizer.encode(f"{line}\n\n").tolist() == [*expected, 0, 0]
    assert model.tokenizer.decode(model.tokenizer.encode(SENTENCES)) == SENTENCES
    assert 0 not in model.tokenizer.encode(f"the {tiny.EOS} cat").tolist()  # text stays text
    assert len(model.tokenizer) == model.model.vocabulary_size


def test_batches_and_prefixes_change_nothing(model: TrainedModel) -> None:
    ids, eos_id = model.tokenizer.encode(SENTENCES), model.tokenizer.eos_id
    one, many = (
        score_ids(model.model, ids, eos_id=eos_id, reading=Reading("line", batch_size=size))
        for size in (1, 8)
    )
    assert many == pytest.approx(one, abs=1e-5)


def test_words_are_whole(model: TrainedModel) -> None:
    begins = model.tokenizer.begins_word
    assert begins is not None
    texts = model.tokenizer.token_texts()
    assert {text[:1] for text, begin in zip(texts, begins, strict=True) if begin} <= set(
        " \n\t\r\x0b\x0c\x1c\x1d\x1e\x1f"
    )
    rows = model.surprisal(SENTENCES)
    assert sum(row.surprisal for row in rows) == pytest.approx(
        sum(row.surprisal_uncorrected for row in rows), rel=1e-5
    )
    assert all(row.surprisal >= 0 for row in rows)


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_states_of_different_lengths_are_joined_and_replaced(architecture: str) -> None:
    model = tiny.make_causal(architecture, 9, 8)
    long, short = torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([[6]])
    states = [model.read(long, model.start(1)), model.read(short, model.start(1))]
    both = join(states)
    more = torch.tensor([[7, 8, 1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7, 8, 1]])
    together, end = model.score(more, both)  # the rows fill the window at different places
    for row, state in enumerate(states):
        alone, last = model.score(more[row : row + 1], state)
        assert torch.allclose(together[row], alone[0], atol=1e-12)
        own = model.predict(select(end, torch.tensor([row])))
        assert torch.allclose(own, model.predict(last), atol=1e-12)
    fresh = replace_rows(torch.tensor([True, False]), model.start(2), both)
    assert torch.allclose(model.predict(fresh)[0], model.predict(model.start(1))[0], atol=1e-12)
    again, _ = model.score(more[:1], select(fresh, torch.tensor([0])))
    expected, _ = model.score(more[:1], model.start(1))
    assert torch.allclose(again, expected, atol=1e-12)


def test_long_texts_are_read_in_windows_by_hand() -> None:
    model = tiny.make_causal("gpt2", 9, 8)
    ids = torch.tensor([[1, 2, 3, 4, 5, 6, 7, 8, 1, 2]])
    scored, _ = model.score(ids, model.start(1))

    def theirs(context: list[int]) -> torch.Tensor:
        return model.module(input_ids=torch.tensor([context])).logits[0, -1].log_softmax(0)

    whole = [0, *ids[0].tolist()]  # the first token is read, not scored
    # Eight tokens fill the window; the ninth follows them; the tenth follows the last four and it.
    assert float(scored[0, 7]) == pytest.approx(float(theirs(whole[:8])[whole[8]]))
    assert float(scored[0, 8]) == pytest.approx(float(theirs(whole[4:9])[whole[9]]))
    assert float(scored[0, 9]) == pytest.approx(float(theirs(whole[4:10])[whole[10]]))


def test_every_question(gpt2: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    name = f"hf:{gpt2}"

    def gives(*arguments: str) -> Any:
        capsys.readouterr()
        assert run([*arguments, "--json"]) == 0, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    text = tmp_path / "text.txt"
    text.write_text(tiny.TEXT * 3)
    words = gives("surprisal", name, "--text", "the cats sleep .")["words"]
    assert [row["word"] for row in words] == ["the", "cats", "sleep", "."]
    measured = gives("evaluate", name, "--data", str(text))
    assert f"reads {tiny.EOS} first, at most 16 tokens" in measured["protocol"]["state"]
    assert gives("suggest", name, "the cats", "--top", "3")["suggestions"]
    made = gives("generate", name, "--prompt", "the", "--max-tokens", "20", "--samples", "2")
    assert len(made["samples"]) == 2
    assert gives("distribution", name, "--prompt", "the")["tokens"]
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"sentence_good": "the cat sleeps .", "sentence_bad": "the cat sleep ."}\n')
    assert gives("minimal-pairs", name, str(pairs))
    capsys.readouterr()
    assert run(["export", name, str(tmp_path / "x.arpa")]) == 2
    assert "does not support elman export without --to" in capsys.readouterr().err.splitlines()[-1]


def test_mixtures_with_counts(gpt2: Path, tmp_path: Path) -> None:
    data = tmp_path / "text.txt"
    data.write_text(tiny.TEXT * 30)
    settings = [f"text.tokenizer=hf:{gpt2}", "model.order=3"]
    counts = elman.train("ngram", data=str(data), out=tmp_path / "kn", overrides=settings)
    assert counts.tokenizer.name == "hf"
    again = load(tmp_path / "kn", TrainedModel)
    assert again.tokenizer.encode(tiny.TEXT).tolist() == counts.tokenizer.encode(tiny.TEXT).tolist()
    model = load(f"hf:{gpt2}", TrainedModel)
    mixed = model.with_adapters([f"mix:run={tmp_path / 'kn'},weight=0.4"])
    parts = [one.surprisal("the cats sleep .\n", base=math.e) for one in (model, again, mixed)]
    for transformer, ngram, both in zip(*parts, strict=True):
        if both.tokens == 1 and both.position == 1:
            expected = 0.6 * math.exp(-transformer.surprisal_uncorrected)
            expected += 0.4 * math.exp(-ngram.surprisal_uncorrected)
            assert math.exp(-both.surprisal_uncorrected) == pytest.approx(expected, rel=1e-5)
    assert len(elman.compare([model, again, mixed], str(data))) == 3


def test_next_words(gpt2: Path) -> None:
    model = load(f"hf:{gpt2}", TrainedModel)
    rows = model.surprisal("the cats", next_word=True, beam=30)
    assert all(0 <= row.remaining_mass <= 1 for row in rows)


def test_refusals(gpt2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def refused(change: Any, reason: str) -> None:
        place = tmp_path / f"folder-{len([*tmp_path.iterdir()])}"
        place.mkdir()
        for file in gpt2.iterdir():
            (place / file.name).write_bytes(file.read_bytes())
        change(place)
        with pytest.raises(InputError, match=reason) as error:
            load(f"hf:{place}")
        assert "\n" not in str(error.value)

    def settings(**changes: Any) -> Any:
        def change(place: Path) -> None:
            file = place / "config.json"
            file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))

        return change

    refused(lambda place: (place / "config.json").unlink(), "no readable config.json")
    refused(lambda place: (place / "tokenizer.json").unlink(), "no readable tokenizer.json")
    refused(lambda place: (place / "model.safetensors").unlink(), "cannot be opened")
    refused(lambda place: (place / "model.safetensors").rename(place / "pytorch_model.bin"),
            "cannot be opened")  # fmt: skip
    refused(settings(vocab_size=100), "but the model only 100")
    refused(settings(n_layer=3), "its weights lack")
    refused(settings(model_type="own", auto_map={"AutoModelForCausalLM": "own.Own"}), "cannot be")
    refused(settings(eos_token_id=None, bos_token_id=None), "no eos_token_id")
    for name in ("nowhere/at-all", "gone"):
        with pytest.raises(InputError, match="downloads nothing"):
            load(f"hf:{name}")
    with pytest.raises(InputError, match="name a folder"):
        load("hf:")
    with pytest.raises(InputError, match="leave out text.lowercase"):
        elman.train("ngram", data="grammar",
                    overrides=[f"text.tokenizer=hf:{gpt2}", "text.lowercase=true"])  # fmt: skip


def test_code_of_a_folder_never_runs(gpt2: Path, tmp_path: Path) -> None:
    place = tmp_path / "own"
    place.mkdir()
    for file in gpt2.iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    (place / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Own: pass\n")
    config = json.loads((place / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Own",
               "AutoModelForCausalLM": "own.Own"}}  # fmt: skip
    (place / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError):
        load(f"hf:{place}")
    assert not (tmp_path / "ran").exists()


def test_pieces_of_other_tokenizers() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {"<s>": 0, "▁the": 1, "cat": 2, "▁": 3, "<0x20>": 4, "<0x41>": 5}
    library = Tokenizer(models.BPE(vocabulary, [], unk_token="<s>"))
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    begins = PretrainedTokenizer(library, 0, 0, 6).begins_word
    assert begins is not None
    assert np.flatnonzero(begins).tolist() == [0, 1, 3, 4]
    pieces = {"[UNK]": 0, "the": 1, "##re": 2}
    begins = PretrainedTokenizer(Tokenizer(models.WordPiece(pieces)), 0, 0, 3).begins_word
    assert begins is not None
    assert np.flatnonzero(begins).tolist() == [0, 1]
    ends = Tokenizer(models.BPE({"a": 0, "the</w>": 1}, [], end_of_word_suffix="</w>"))
    assert PretrainedTokenizer(ends, 0, 0, 2).begins_word is None
