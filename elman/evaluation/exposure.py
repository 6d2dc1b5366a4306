"""Exposure bias: how much worse a model becomes when it reads its own samples.

Takes a model, its tokenizer and held-out text of the built-in grammar, gives an `Exposure`. The
grammar knows the true distribution p of the next word after every possible history h. So a model q
can be judged after each word, on histories of the grammar and on its own samples:

    KL(h)           = Σ_w p(w | h) log (p(w | h) / q(w | h))          nats
    exposure bias   = mean KL over histories drawn from q  -  mean KL over histories of the text

After an impossible word there is no true distribution. The probability of impossible words is
measured too (violations). Then there are two ways to continue:

    redraw   sample again among the possible words, so that every history continues
    skip     keep the impossible word and leave out the rest of its sentence

`skip` keeps the histories without mistakes, and these are the easy ones: a model that breaks off
more sentences looks better. Use `redraw` to compare models. Text and samples have the same number
of rows of equal length. Each row starts a sentence with a fresh state and continues across line
ends. Standard errors come from the bootstrap over rows, because the words of a row are dependent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from elman.errors import choose
from elman.evaluation.grammar import LOST, GrammarWalk
from elman.models.contract import LanguageModel
from elman.text.tokenizer import Tokenizer

IMPOSSIBLE = ("redraw", "skip")  # treatment of impossible words
_DRAWS = 1000  # of the bootstrap
_FARTHEST = 15  # position in a sentence; the last includes all later ones
_AT_ONCE = 250  # rows


@dataclass(frozen=True)
class PlaceInSentence:
    """Results at one position in the sentences; NaN if no sentence is that long."""

    place: int  # words before it; the last includes all later ones
    kl_true: float  # nats, on the text
    kl_own: float  # nats, on own samples
    violations: float  # impossible words per 100 own words
    words: int  # own words judged at this position


@dataclass(frozen=True)
class Exposure:
    """Results of a model on true histories and on its own; errors are one standard error."""

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
    words: int  # of the text, and of the samples


@dataclass(frozen=True)
class _Side:
    """A text, or samples of the model: all (B, T), NaN where the truth is unknown."""

    ids: np.ndarray
    divergences: np.ndarray  # KL(true ‖ model) before each word
    impossible: np.ndarray  # total probability of impossible words under the model


def measure_exposure(
    model: LanguageModel,
    tokenizer: Tokenizer,
    text: str,
    *,
    length: int = 60,
    impossible: str = "redraw",
    seed: int = 0,
) -> Exposure:
    """Judge a model on a text of the grammar, one sentence per line, and on its own samples.

    length: words per row; the text is cut into as many rows as possible.
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
    """All rows of this length in a text, each from the start of a sentence, (B, length)."""
    starts = np.concatenate([[0], np.flatnonzero(ids == eos_id) + 1])
    chosen = []
    end = 0
    for start in starts:
        if start >= end and start + length <= len(ids):
            chosen.append(start)
            end = start + length
    if not chosen:
        raise ValueError(f"the text has fewer than {length} words after the start of a sentence")
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
    """Samples of the model, (B, T), and the log probabilities before each word, (B, T, V)."""
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
    """The mean of values (B, T) without NaN, and the means of resampled rows, (draws,)."""
    sums, counts = np.nansum(values, 1), (~np.isnan(values)).sum(1)
    rows = len(values)
    weights = random.multinomial(rows, np.full(rows, 1 / rows), size=_DRAWS)
    return float(sums.sum() / counts.sum()), (weights @ sums) / (weights @ counts)


def places_in_sentences(ids: np.ndarray, eos_id: int) -> np.ndarray:
    """The number of words before each id in its sentence, (B, T)."""
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
    """How much worse a model predicts a text when it reads its own samples instead of the text.

        read_t = own sample with probability `own`, else the word of the text
        drift  = mean of -log q(text_t | read_1 … read_(t-1))  -  the same with own = 0        nats

    Scheduled sampling trains for this. It works on any text, without a known true distribution.
    Unlike exposure bias it also counts cases that are not mistakes: after an own word, the next
    word of the text can be wrong. In nats per word, with one standard error over the rows.
    """

    nats_true: float  # reading the text
    nats_mixed: float  # reading some own words
    drift: float  # the difference
    drift_error: float


@torch.no_grad()
def measure_drift(
    model: LanguageModel, rows: np.ndarray, *, own: float = 0.5, seed: int = 0
) -> Drift:
    """Read rows of ids (B, T) from the initial state, with and without own words."""
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
