"""Exposure bias: how much worse a model gets on a history of its own words.

Takes a model, its tokenizer and held-out text of the built-in grammar, gives an `Exposure`. In the
grammar the true distribution p of the next word is known after every history h that can be, so a
model q can be judged after each word, whether the words before were written by the grammar or by
the model itself:

    KL(h)           = Σ_w p(w | h) log (p(w | h) / q(w | h))          nats
    exposure bias   = mean KL over histories drawn from q  -  mean KL over histories of the text

After an impossible word there is no true distribution. How likely the model finds such words is
measured on the way (violations). Then there are two ways to go on:

    redraw   own words are drawn among the possible ones, so that every history goes on
    skip     what was drawn stands, and the rest of the sentence after it is left out

`skip` keeps the histories in which the model happened to make no mistake, and those are the easy
ones: a model that breaks off more sentences looks better by it. So `redraw` is the one to compare
models by. Text and own words come in as many rows of equal length; all begin a sentence from
nothing and run on over line ends, as the model does. Standard errors are from the bootstrap over
rows, since the words of a row hang together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from elman.errors import choose
from elman.evaluation.grammar import LOST, GrammarWalk
from elman.models.contract import LanguageModel
from elman.text.tokenizer import Tokenizer

IMPOSSIBLE = ("redraw", "skip")  # what becomes of impossible words
_DRAWS = 1000  # of the bootstrap
_FARTHEST = 15  # words into a sentence; the last stands for all from there on
_AT_ONCE = 250  # rows


@dataclass(frozen=True)
class PlaceInSentence:
    """What was found so many words into the sentences; NaN where there are none so long."""

    place: int  # words before it; the last stands for all from there on
    kl_true: float  # nats, on the text
    kl_own: float  # nats, on the model's own words
    violations: float  # impossible words per 100 own words
    words: int  # own words that were judged here


@dataclass(frozen=True)
class Exposure:
    """How a model does on true histories and on its own; every error is one standard error."""

    kl_true: float  # nats per word
    kl_true_error: float
    kl_own: float
    kl_own_error: float
    bias: float  # kl_own - kl_true
    bias_error: float
    ratio: float  # kl_own / kl_true
    ratio_error: float
    violations: float  # impossible words per 100 own words
    violations_error: float
    violations_per_sentence: float
    places: list[PlaceInSentence]
    words: int  # of the text, and as many of the model


@dataclass(frozen=True)
class _Side:
    """A text, or the model's own words: all (B, T), NaN where nothing is known."""

    ids: np.ndarray
    divergences: np.ndarray  # KL(true ‖ model) before each word
    impossible: np.ndarray  # the model's probability of all words that cannot be


def measure_exposure(
    model: LanguageModel,
    tokenizer: Tokenizer,
    text: str,
    *,
    length: int = 60,
    impossible: str = "redraw",
    seed: int = 0,
) -> Exposure:
    """Judge a model on a text of the grammar, one sentence per line, and on what it says itself.

    length: words of a row; the text is cut into as many as it has.
    """
    choose(dict.fromkeys(IMPOSSIBLE), impossible, "treatment of impossible words")
    walk = GrammarWalk(tokenizer)
    rows = rows_of_text(tokenizer.encode(text), tokenizer.eos_id, length)
    generator = torch.Generator().manual_seed(seed)
    pieces = [rows[first : first + _AT_ONCE] for first in range(0, len(rows), _AT_ONCE)]
    redraw = impossible == "redraw"
    true = [_judge(walk, piece, _predict(model, piece)) for piece in pieces]
    own = [_judge(walk, *_write(model, walk, piece.shape, generator, redraw)) for piece in pieces]
    return _summary(_join(true), _join(own), tokenizer.eos_id, np.random.default_rng(seed))


def rows_of_text(ids: np.ndarray, eos_id: int, length: int) -> np.ndarray:
    """As many rows of this length as a text has, each of which begins a sentence, (B, length)."""
    starts = np.concatenate([[0], np.flatnonzero(ids == eos_id) + 1])
    chosen = []
    end = 0
    for start in starts:
        if start >= end and start + length <= len(ids):
            chosen.append(start)
            end = start + length
    if not chosen:
        raise ValueError(f"the text has no {length} words after the beginning of a sentence")
    return ids[np.array(chosen)[:, None] + np.arange(length)]


@torch.no_grad()
def _predict(model: LanguageModel, ids: np.ndarray) -> np.ndarray:
    """Log probabilities before each id, (B, T, V)."""
    log_probs, _ = model.predict_all(torch.from_numpy(ids), model.start(len(ids)))
    return log_probs.double().numpy(force=True)


@torch.no_grad()
def _write(
    model: LanguageModel,
    walk: GrammarWalk,
    shape: tuple[int, ...],
    generator: torch.Generator,
    redraw: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """The model's own words, (B, T), and the log probabilities before each, (B, T, V)."""
    rows, length = shape
    state, places = model.start(rows), np.zeros(rows, dtype=np.int64)
    ids, distributions = [], []
    for _ in range(length):
        log_probs = model.predict(state).double().cpu()
        weights = log_probs.exp()
        if redraw:
            weights = weights * torch.from_numpy(walk.distributions()[places] > 0)
        drawn = torch.multinomial(weights, 1, generator=generator)
        state = model.read(drawn, state)
        ids.append(drawn[:, 0].numpy())
        distributions.append(log_probs.numpy())
        places = walk.advance(places, ids[-1])
    return np.stack(ids, 1), np.stack(distributions, 1)


def _judge(walk: GrammarWalk, ids: np.ndarray, log_probs: np.ndarray) -> _Side:
    """Compare the model's log probabilities before each id, (B, T, V), with the truth."""
    states = walk.states(ids)[:, :-1]
    known = states != LOST
    true = walk.distributions()
    log_true = np.log(true, where=true > 0, out=np.zeros_like(true))
    p, log_p, log_q = true[states[known]], log_true[states[known]], log_probs[known]
    divergences, impossible = np.full(states.shape, np.nan), np.full(states.shape, np.nan)
    divergences[known] = (p * (log_p - np.where(p > 0, log_q, 0.0))).sum(1)
    impossible[known] = np.where(p > 0, 0.0, np.exp(log_q)).sum(1)
    return _Side(ids, divergences, impossible)


def _join(pieces: list[_Side]) -> _Side:
    return _Side(
        np.concatenate([piece.ids for piece in pieces]),
        np.concatenate([piece.divergences for piece in pieces]),
        np.concatenate([piece.impossible for piece in pieces]),
    )


def _summary(true: _Side, own: _Side, eos_id: int, random: np.random.Generator) -> Exposure:
    kl_true, true_draws = _mean(true.divergences, random)
    kl_own, own_draws = _mean(own.divergences, random)
    violations, violation_draws = _mean(100 * own.impossible, random)
    sentences = max(int((own.ids == eos_id).sum()), 1)
    return Exposure(
        kl_true=kl_true,
        kl_true_error=float(true_draws.std()),
        kl_own=kl_own,
        kl_own_error=float(own_draws.std()),
        bias=kl_own - kl_true,
        bias_error=float((own_draws - true_draws).std()),
        ratio=kl_own / kl_true if kl_true else float("nan"),
        ratio_error=float((own_draws / true_draws).std()) if kl_true else float("nan"),
        violations=violations,
        violations_error=float(violation_draws.std()),
        violations_per_sentence=float(np.nansum(own.impossible)) / sentences,
        places=_by_place(true, own, eos_id),
        words=own.ids.size,
    )


def _mean(values: np.ndarray, random: np.random.Generator) -> tuple[float, np.ndarray]:
    """The mean of values (B, T), NaN left out, and the means of rows drawn again, (draws,)."""
    sums, counts = np.nansum(values, 1), (~np.isnan(values)).sum(1)
    rows = len(values)
    weights = random.multinomial(rows, np.full(rows, 1 / rows), size=_DRAWS)
    return float(sums.sum() / counts.sum()), (weights @ sums) / (weights @ counts)


def places_in_sentences(ids: np.ndarray, eos_id: int) -> np.ndarray:
    """How many words of its sentence stand before each id, (B, T)."""
    steps = np.arange(ids.shape[1])
    begins = np.zeros_like(ids)
    begins[:, 1:] = np.where(ids[:, :-1] == eos_id, steps[1:], 0)
    return steps - np.maximum.accumulate(begins, axis=1)


def _by_place(true: _Side, own: _Side, eos_id: int) -> list[PlaceInSentence]:
    kl_true, _ = _means_by_place(true.ids, true.divergences, eos_id)
    kl_own, words = _means_by_place(own.ids, own.divergences, eos_id)
    violations, _ = _means_by_place(own.ids, 100 * own.impossible, eos_id)
    return [
        PlaceInSentence(
            place, float(kl_true[place]), float(kl_own[place]), float(violations[place]), int(count)
        )
        for place, count in enumerate(words)
    ]


def _means_by_place(
    ids: np.ndarray, values: np.ndarray, eos_id: int
) -> tuple[np.ndarray, np.ndarray]:
    known = ~np.isnan(values)
    places = np.minimum(places_in_sentences(ids, eos_id), _FARTHEST)[known]
    sums = np.bincount(places, values[known], _FARTHEST + 1)
    counts = np.bincount(places, minlength=_FARTHEST + 1)
    means = np.full(len(sums), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means, counts


@dataclass(frozen=True)
class Drift:
    """How much worse a model foretells a text when it reads its own words in its place.

        read_t = own draw with probability `own`, else the word of the text
        drift  = mean of -log q(text_t | read_1 … read_(t-1))  -  the same with own = 0        nats

    This is what scheduled sampling trains for, on any text, with no need to know the truth. Unlike
    exposure bias it counts as a loss what may be no fault: after a word of its own, the text's next
    word can be a wrong one. In nats per word, and one standard error over the rows.
    """

    nats_true: float  # reading the text
    nats_mixed: float  # reading own words in part
    drift: float  # the difference
    drift_error: float


@torch.no_grad()
def measure_drift(
    model: LanguageModel, rows: np.ndarray, *, own: float = 0.5, seed: int = 0
) -> Drift:
    """Read rows of ids (B, T), each from nothing, with and without own words among them."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.from_numpy(rows)
    true, _ = model.score(ids, model.start(len(ids)))
    state, mixed = model.start(len(ids)), []
    for step in range(ids.shape[1]):
        log_probs = model.predict(state).cpu()
        mixed.append(log_probs.gather(1, ids[:, step, None]))
        drawn = torch.multinomial(log_probs.exp(), 1, generator=generator)
        coin = torch.rand(len(ids), 1, generator=generator) < own
        state = model.read(torch.where(coin, drawn, ids[:, step, None]), state)
    lost = true.cpu() - torch.cat(mixed, dim=1)
    by_row = lost.double().mean(1)
    return Drift(
        nats_true=float(-true.mean()),
        nats_mixed=float(-torch.cat(mixed, dim=1).mean()),
        drift=float(by_row.mean()),
        drift_error=float(by_row.std() / len(by_row) ** 0.5),
    )
