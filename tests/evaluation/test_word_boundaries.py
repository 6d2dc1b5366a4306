"""Whole words: their probabilities sum to one, and cancel over a line."""

import itertools
import math

import numpy as np
import pytest
import torch
from sentence_models import TINY, Pair, count, fitted

from elman.batches.batch import Batch
from elman.counts.estimate import NgramConfig
from elman.evaluation.measures import Reading
from elman.evaluation.scoring import score_ids
from elman.evaluation.sentence_words import sentence_words
from elman.evaluation.surprisal import word_surprisals
from elman.models.ngram import NGram
from elman.models.recurrent import RecurrentModel
from elman.text import TOKENIZERS, train_tokenizer
from elman.text.corpora import open_corpus
from elman.text.tokenizer import TextConfig, Tokenizer

SPACED = [name for name in TOKENIZERS if name != "words"]


def last_words(pair: Pair, lines: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The probability of the last word of each line, corrected and not."""
    found = sentence_words(*pair, [line.split(" ") for line in lines], entropy=False)
    ends = np.cumsum([len(line.split(" ")) for line in lines]) - 1
    return np.exp(-found.surprisal[ends]), np.exp(-found.surprisal_uncorrected[ends])


@pytest.mark.parametrize("context", ["", "ab", "a b", "b bb a"])
def test_all_continuations_of_a_tiny_vocabulary_sum_to_one(context: str) -> None:
    """Every string of a, b and the unknown character, up to six letters; and those that are still
    open after six letters.
    """
    pair = model, tokenizer = count("characters", TINY)
    longest, letters = 6, "abX"  # X is unknown
    before = f"{context} " if context else ""
    words = [
        "".join(word)
        for length in range(1, longest + 1)
        for word in itertools.product(letters, repeat=length)
    ]
    corrected, uncorrected = last_words(pair, [before + word for word in words])
    state = model.read(torch.from_numpy(tokenizer.encode(context))[None], model.start(1))
    following = model.predict(state)[0].exp()
    blank = tokenizer.encode(" ")[0]
    boundary = float(following[tokenizer.eos_id] + following[blank]) if context else 1.0
    ended = float(following[tokenizer.eos_id]) / boundary
    # A word of six letters is open if a seventh follows. White space before the word is one space,
    # so the rest of the mass is that of more spaces, or of a line that ends after a space.
    full = [word for word in words if len(word) == longest]
    wide = [before + word for word in full]
    still_open = sum(last_words(pair, wide)[1]) / boundary - sum(last_words(pair, wide)[0])
    spaced = model.predict(model.read(torch.tensor([[blank]]), state))[0].exp()
    more = float(following[blank]) / boundary * float(spaced[blank] + spaced[tokenizer.eos_id])
    if not context:
        more = float(following[blank])
    assert corrected.sum() + ended + still_open + more == pytest.approx(1, abs=1e-9)
    assert abs(uncorrected.sum() + ended - 1) > 0.04


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_factors_cancel_over_a_line(name: str) -> None:
    model, tokenizer = fitted(name)
    text = "the cats sleep .\na zebra sees the dogs .\n\n  the cat\n"
    for reset in ("line", "stream"):
        rows = word_surprisals(model, tokenizer, text, base=math.e, reset=reset)
        scores = score_ids(
            model, tokenizer.encode(text), eos_id=tokenizer.eos_id, reading=Reading(reset)
        )
        assert sum(row.surprisal for row in rows) == pytest.approx(-scores.sum())
        by_line = [sum(r.surprisal - r.surprisal_uncorrected for r in rows if r.line == n)
                   for n in range(1, 5)]  # fmt: skip
        assert by_line == pytest.approx([0] * 4, abs=1e-9)
    changed = [row.surprisal != row.surprisal_uncorrected for row in rows]
    assert any(changed) == (name != "words")


@pytest.mark.parametrize("name", SPACED)
def test_the_last_word_ends_even_without_a_line_end(name: str) -> None:
    pair = fitted(name)
    alone = word_surprisals(*pair, "the cats")
    ended = word_surprisals(*pair, "the cats\n")
    assert [r.surprisal for r in alone] == pytest.approx([r.surprisal for r in ended[:2]])


@pytest.mark.parametrize("name", TOKENIZERS)
def test_with_and_without_entropy(name: str) -> None:
    pair = fitted(name)
    text = "the cats sleep .\na cat\n"
    full, quick = (word_surprisals(*pair, text, entropy=entropy) for entropy in (True, False))
    for one, other in zip(full, quick, strict=True):
        assert one.surprisal == pytest.approx(other.surprisal, abs=1e-9)
        assert one.surprisal_uncorrected == pytest.approx(other.surprisal_uncorrected)
        assert (other.entropy, other.rank) == (None, None)


def test_a_word_by_hand() -> None:
    """p(a) after `b`: p(space a), times p(space or line end) after it, over the same before it."""
    model, tokenizer = count("characters", TINY)
    row = word_surprisals(model, tokenizer, "b a b", base=math.e)[1]
    ids = tokenizer.encode("b a").tolist()
    ends = [tokenizer.eos_id, ids[1]]
    state = model.read(torch.tensor([ids[:1]]), model.start(1))
    before = float(model.predict(state)[0, ends].exp().sum())
    log_probs, state = model.score(torch.tensor([ids[1:]]), state)
    after = float(model.predict(state)[0, ends].exp().sum())
    assert math.exp(-row.surprisal) == pytest.approx(float(log_probs.sum().exp()) * after / before)


def test_impossible_words_stay_impossible() -> None:
    tokenizer, _ = train_tokenizer("aa b\n", TextConfig(tokenizer="characters"))
    ids = tokenizer.encode("aa b\n")
    config = NgramConfig(order=2, smoothing="maximum-likelihood")
    model = NGram.fit(ids, config, vocabulary_size=len(tokenizer), eos_id=tokenizer.eos_id)
    for entropy in (True, False):
        rows = word_surprisals(model, tokenizer, "aa ba b\n", entropy=entropy)
        # aa: an a begins, half of them are followed by an a, and half by a space.
        assert [row.surprisal for row in rows] == pytest.approx([2, math.inf, 0, 0])


def test_a_no_break_space_in_bytes_is_no_boundary() -> None:
    pair = fitted("bytes")
    rows = word_surprisals(*pair, "the cats\u00a0sleep .\n")
    assert [row.word for row in rows] == ["the", "cats", "sleep", ".", "<eos>"]
    total = sum(row.surprisal for row in rows)
    assert total == pytest.approx(sum(row.surprisal_uncorrected for row in rows))


# The long proof -----------------------------------------------------------------------------------

SIZES = {"bpe": 2000, "unigram": 2000}


def train(tokenizer: Tokenizer, text: str) -> RecurrentModel:
    """A small network that has learned which words are frequent and where they end."""
    torch.manual_seed(1)
    ids = tokenizer.encode(text[:150_000])
    config = RecurrentModel.config_class(embedding_size=24, hidden_size=24)
    model = RecurrentModel.build(config, ids, tokenizer.tokens, tokenizer.eos_id)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    columns = torch.from_numpy(ids[: len(ids) // 32 * 32].astype(np.int64)).view(32, -1)
    state = None
    for begin in range(0, columns.shape[1] - 21, 20):
        inputs, targets = columns[:, begin : begin + 20], columns[:, begin + 1 : begin + 21]
        loss, state = model.loss(Batch(inputs, targets), state)
        optimizer.zero_grad()
        (loss.nats / loss.tokens).backward()
        optimizer.step()
    return model.double().eval().requires_grad_(False)


@pytest.mark.slow
@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("kind", ["count", "network"])
def test_words_sum_to_at_most_one_in_a_thousand_contexts(name: str, kind: str) -> None:
    text = open_corpus("python-docs").split("train").text[:400_000]
    model, tokenizer = count(name, text, order=4, size=SIZES.get(name))
    most, frequent_words = 12, 150
    if kind == "network":
        model, most, frequent_words = train(tokenizer, text), 4, 60
    lines = [line.split() for line in text.splitlines() if len(line.split()) > 3]
    words, counts = np.unique(text.split(), return_counts=True)
    frequent = words[np.argsort(-counts)][:frequent_words].tolist()
    draw = np.random.default_rng(7)
    largest = largest_uncorrected = 0.0
    for _ in range(1000 // 50):
        contexts = []
        for number in draw.integers(0, len(lines), 50):
            line = lines[number]
            contexts.append(line[: draw.integers(0, min(len(line), most))])
        sentences = [[*context, word] for context in contexts for word in frequent]
        found = sentence_words(model, tokenizer, sentences, entropy=False)
        ends = np.cumsum([len(sentence) for sentence in sentences]) - 1
        whole, parts = (
            np.exp(-column[ends]).reshape(len(contexts), -1).sum(1)
            for column in (found.surprisal, found.surprisal_uncorrected)
        )
        largest = max(largest, whole.max())
        largest_uncorrected = max(largest_uncorrected, parts.max())
    print(f"{kind} {name}: {largest:.4f}, uncorrected {largest_uncorrected:.4f}")
    assert largest <= 1 + 1e-6
