"""Parts of a text: a sample for tokenizers, which has a bound and is stated; long texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import elman
from elman.errors import InputError
from elman.text import (
    TOKENIZERS,
    choose_tokenizer,
    sample,
    streamed,
    tokenizer,
    tokenizer_from_data,
    tokenizer_to_data,
)
from elman.text.grammar import grammar_text
from elman.text.subwords import BytePairs, Unigram
from elman.text.tokenizer import TextConfig


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "_PART", 100)


def numbered(count: int) -> str:
    return "".join(f"line number {number:06}\n" for number in range(count))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("size", [1, 37, 10_000, 10**6])
def test_spread_over_the_text(size: int) -> None:
    """Whole lines; the same for every way to cut the text into blocks of whole parts."""
    text = numbered(3000)
    kept, found = sample.spread([text], 5000)
    assert found == sample.Sample(len("".join(kept)), len(text))
    assert 2500 <= found.characters <= 5000
    lines = "".join(kept).splitlines(keepends=True)
    assert set(lines) <= set(text.splitlines(keepends=True))
    numbers = [int(line.split()[-1]) for line in lines]
    assert numbers == sorted(numbers)
    assert numbers[0] == 0
    assert numbers[-1] > 2800  # the end is there, too
    firsts = [int(part.split()[2]) for part in kept]
    assert len(set(np.diff(firsts).tolist())) == 1  # the same distance between all parts
    part = len(kept[0])
    blocks = [text[start : start + size * part] for start in range(0, len(text), size * part)]
    assert sample.spread(blocks, 5000) == (kept, found)


@pytest.mark.usefixtures("small_parts")
def test_all_of_a_short_text() -> None:
    text = numbered(20)
    kept, found = sample.spread([text], len(text))
    assert "".join(kept) == text
    assert found is None
    assert sample.spread(["x" * 1000], 10) == (["x" * 1000], None)  # one line is never cut


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("kind", [BytePairs, Unigram])
def test_tokenizers(kind: type[BytePairs | Unigram]) -> None:
    """Words after the bound count for nothing; without a bound, all count."""
    text = grammar_text("train", 300) + "zebras zebras zebras\n" * 3 + grammar_text("train", 300)
    size = {"vocabulary_size": 400}
    whole = kind.train(text, TextConfig(**size))
    assert whole.sample is None
    assert "sample" not in tokenizer_to_data(whole)
    assert kind.train(text, TextConfig(sample=0, **size)).tokens == whole.tokens
    short = kind.train(text, TextConfig(sample=3000, **size))
    assert short.sample is not None
    assert short.sample.of == len(text)
    again = tokenizer_from_data(json.loads(json.dumps(tokenizer_to_data(short))))
    assert again.sample == short.sample
    assert again.encode(text).tolist() == short.encode(text).tolist()


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("bound", [1 << 30, 1000])
def test_a_run_states_it(bound: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory and streamed; the cached ids of a streamed text keep it."""
    monkeypatch.setattr(streamed, "IN_MEMORY", bound)
    monkeypatch.setenv("ELMAN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    text = grammar_text("train", 400)
    (tmp_path / "data" / "train.txt").write_text(text)
    settings = ["text.tokenizer=bpe", "text.vocabulary_size=300", "text.sample=4000"]
    for name in ("one", "two"):
        out = tmp_path / name
        elman.train("ngram", data=str(tmp_path / "data"), out=out, overrides=settings)
        facts = json.loads((out / "facts.json").read_text())["data"]
        stated = facts["tokenizer_sample"]
        assert 2000 <= stated["characters"] <= 4000
        assert stated["of"] == len(text)
        assert any(f"{stated['characters']:,} of {len(text):,}" in note for note in facts["notes"])


def test_refused() -> None:
    with pytest.raises(InputError, match=r"text\.sample=-1"):
        TextConfig(sample=-1)
    with pytest.raises(InputError, match="bpe and unigram, not to words"):
        elman.train("ngram", data="grammar", overrides=["text.tokenizer=words", "text.sample=9"])


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_tokenized_in_parts(name: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long text gives the same tokenizer and ids as at once; words are not all in memory."""
    text = "\n\n" + grammar_text("train", 100).rstrip("\n") + "\n\n  a é <unk> b" + end
    config = TextConfig(tokenizer=name, vocabulary_size=300)
    expected, ids = choose_tokenizer(name).learn(text, config)
    monkeypatch.setattr(tokenizer, "_AT_ONCE", 64)
    found, others = choose_tokenizer(name).learn(text, config)
    assert found.tokens == expected.tokens
    assert others.tolist() == ids.tolist()
    assert found.encode(text).tolist() == ids.tolist()
