"""Exposure bias: zero for the true grammar, positive for a model worse on its own text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from elman.errors import InputError
from elman.evaluation.exposure import measure_exposure, places_in_sentences, rows_of_text
from elman.evaluation.grammar import LOST, GrammarWalk
from elman.models.contract import LanguageModel
from elman.text.grammar import elman_grammar, grammar_text
from elman.text.tokenizer import TextConfig
from elman.text.words import Words

TEXT = grammar_text("test", 400, seed=7)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return Words.train(TEXT, TextConfig())


class TheGrammar(LanguageModel):
    """The grammar as a model: the truth, mixed with `noise` of all words alike.

    With `after`, the noise comes only once that word has been said in the row.
    """

    def __init__(self, tokenizer: Any, noise: float = 0.0, after: str | None = None) -> None:
        self.walk = GrammarWalk(tokenizer)
        self.vocabulary_size = len(tokenizer)
        self.noise = noise
        self.trigger = None if after is None else int(tokenizer.encode(after)[0])

    def start(self, batch_size: int, source: Any = None) -> Any:
        place = torch.zeros(batch_size, dtype=torch.int64)
        return place, torch.full((batch_size,), self.trigger is None)

    def predict(self, state: Any) -> torch.Tensor:
        places, noisy = state
        true = torch.from_numpy(self.walk.distributions()[places.clamp(min=0).numpy()])
        share = self.noise * noisy[:, None]
        return ((1 - share) * true + share / self.vocabulary_size).log()

    def read(self, ids: torch.Tensor, state: Any) -> Any:
        places, noisy = state
        for column in ids.T:
            places = torch.from_numpy(self.walk.advance(places.numpy(), column.numpy()))
            if self.trigger is not None:
                noisy = noisy | (column == self.trigger)
        return places, noisy

    def score(self, ids: torch.Tensor, state: Any) -> Any:
        raise NotImplementedError


def test_the_walk_knows_every_distribution(tokenizer: Any) -> None:
    grammar, walk = elman_grammar(), GrammarWalk(tokenizer)
    sentence = "boys who Mary chases walk ."
    ids = tokenizer.encode(sentence + "\n")[None]
    states = walk.states(ids)[0]
    stack = grammar.start()
    for state, word in zip(states, [*sentence.split(), "<eos>"], strict=False):
        row = walk.distributions()[state]
        true = grammar.next_words(stack)
        assert {tokenizer.decode([i]).strip() or "<eos>": p for i, p in enumerate(row) if p} == {
            w: pytest.approx(p) for w, p in true.items()
        }
        stack = grammar.advance(stack, word)
    assert states[0] == states[-1] == 0


def test_the_walk_is_lost_until_the_sentence_ends(tokenizer: Any) -> None:
    walk = GrammarWalk(tokenizer)
    ids = tokenizer.encode("boys walks .\nboys walk .\n")[None]
    states = walk.states(ids)[0]
    assert list(states == LOST) == [False, False, True, True, *[False] * 5]
    assert states[4] == 0


def test_rows_begin_sentences(tokenizer: Any) -> None:
    ids = tokenizer.encode(TEXT)
    rows = rows_of_text(ids, tokenizer.eos_id, 40)
    assert rows.shape[1] == 40
    assert 0.8 < rows.size / len(ids) <= 1  # little of the text is left out
    assert (GrammarWalk(tokenizer).states(rows) != LOST).all()
    with pytest.raises(ValueError, match="fewer than 9999 words"):
        rows_of_text(ids, tokenizer.eos_id, 9999)


def test_places() -> None:
    found = places_in_sentences(np.array([[5, 6, 0, 5, 0, 0, 7]]), eos_id=0)
    assert found.tolist() == [[0, 1, 2, 0, 1, 0, 0]]


@pytest.mark.parametrize("way", ["redraw", "skip"])
def test_the_grammar_itself_has_no_bias(tokenizer: Any, way: str) -> None:
    found = measure_exposure(TheGrammar(tokenizer), tokenizer, TEXT, impossible=way)
    assert found.kl_true == pytest.approx(0, abs=1e-12)
    assert found.kl_own == pytest.approx(0, abs=1e-12)
    assert found.violations == found.violations_per_sentence == 0


def test_the_divergence_by_hand(tokenizer: Any) -> None:
    """Noise x over V words: q = (1 - x) p + x / V. After `.` the line must end, p = 1:

    KL = -log (1 - x + x / V), and the impossible words have x (V - 1) / V.
    """
    noise, size = 0.2, len(tokenizer)
    model = TheGrammar(tokenizer, noise)
    found = measure_exposure(model, tokenizer, "John walks .\n" * 40, length=4)
    # The places: John | Mary, boys …; verbs of the singular, who is impossible; . ; <eos>
    last = found.places[3]
    assert last.kl_true == pytest.approx(-math.log(1 - noise + noise / size))
    truth = elman_grammar().next_words(elman_grammar().start())
    first = sum(p * math.log(p / ((1 - noise) * p + noise / size)) for p in truth.values())
    assert found.places[0].kl_true == pytest.approx(first)
    assert found.places[0].kl_own == pytest.approx(first)
    impossible = 100 * noise * (size - len(truth)) / size
    assert found.places[0].violations == pytest.approx(impossible)
    assert math.isnan(found.places[4].kl_true)


def test_noise_is_no_bias_but_noise_after_own_words_is(tokenizer: Any) -> None:
    """A model that says `hears` more often than the text, and is bad after it, is biased."""
    even = measure_exposure(TheGrammar(tokenizer, 0.1), tokenizer, TEXT)
    assert abs(even.bias) < 4 * even.bias_error + 0.1 * even.kl_true
    assert even.kl_true > 10 * even.kl_true_error > 0

    class Fragile(TheGrammar):
        def predict(self, state: Any) -> torch.Tensor:
            probabilities = super().predict(state).exp()
            probabilities[:, self.trigger] *= 4
            return (probabilities / probabilities.sum(1, keepdim=True)).log()

    fragile = measure_exposure(Fragile(tokenizer, 0.5, "hears"), tokenizer, TEXT)
    assert fragile.bias > 5 * fragile.bias_error > 0
    assert fragile.ratio > 1 + 2 * fragile.ratio_error
    assert fragile.bias == pytest.approx(fragile.kl_own - fragile.kl_true)


def test_skipping_leaves_out_what_follows_an_impossible_word(tokenizer: Any) -> None:
    model = TheGrammar(tokenizer, 0.3)
    redrawn = measure_exposure(model, tokenizer, TEXT)
    skipped = measure_exposure(model, tokenizer, TEXT, impossible="skip")
    assert sum(place.words for place in redrawn.places) == redrawn.words
    assert sum(place.words for place in skipped.places) < 0.8 * skipped.words


def test_the_same_seed_gives_the_same(tokenizer: Any) -> None:
    model = TheGrammar(tokenizer, 0.1)
    before = torch.get_rng_state()
    first, second, other = (
        measure_exposure(model, tokenizer, TEXT, seed=seed).kl_own for seed in (1, 1, 2)
    )
    assert first == second != other
    assert torch.equal(torch.get_rng_state(), before)  # looking changes nothing


def test_an_unknown_treatment_is_refused(tokenizer: Any) -> None:
    with pytest.raises(InputError, match="unknown treatment.*did you mean 'redraw'"):
        measure_exposure(TheGrammar(tokenizer), tokenizer, TEXT, impossible="redrew")
