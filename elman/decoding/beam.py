"""Search for the likeliest whole continuations, a fixed number of them side by side.

At each step the `beam` likeliest ways to go on are kept, over all hypotheses together. One that
emits a stop id is finished and takes its place with it, so that the beam narrows (Sutskever et al.,
2014, section 3.2); a beam of one is therefore greedy, whatever the length penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from elman.decoding.distribution import constrain
from elman.decoding.options import DecodingOptions
from elman.decoding.probabilities import largest, refuse_broken
from elman.errors import ElmanError, InputError
from elman.state import select, tensors

if TYPE_CHECKING:
    from elman.models.contract import LanguageModel
    from elman.state import State


@dataclass(frozen=True)
class Hypothesis:
    """A continuation, its log probability under the model, and the score it is ranked by."""

    ids: tuple[int, ...]
    log_prob: float
    score: float


@dataclass(frozen=True)
class _Live:
    """The hypotheses that go on: ids (N, T), log_probs (N,), and the N states to predict from."""

    ids: torch.Tensor
    log_probs: torch.Tensor
    state: State


@torch.no_grad()
def beam_search(
    model: LanguageModel,
    state: State,
    options: DecodingOptions,
    finished: Callable[[list[int]], bool] = lambda ids: False,
) -> list[Hypothesis]:
    """The `n_best` highest scoring continuations of a state of one row, best first.

    A hypothesis ends with a stop id, or when `finished` says so of its ids.

    The score is log_prob / ((5 + length) / 6) ** length_penalty: Wu et al. (2016), equation 14.
    Hypotheses cut off by max_tokens compete with finished ones. Fewer than `n_best` come back only
    when fewer are possible.
    """
    if options.beam is None:
        raise InputError("beam search needs a width; set beam, for example to 4")
    options.check_vocabulary(model.vocabulary_size)
    live = _Live(torch.zeros(1, 0, dtype=torch.long), torch.zeros(1, dtype=torch.float64), state)
    ended: list[Hypothesis] = []
    for step in range(options.max_tokens):
        if step > 0:
            live = _read_last(model, live)
        live = _extend(model, live, options, width=options.beam - len(ended))
        stopped = torch.isin(live.ids[:, -1], torch.tensor(options.stop_ids, dtype=torch.long))
        stopped |= torch.tensor([finished(ids) for ids in live.ids.tolist()], dtype=torch.bool)
        ended += _hypotheses(_keep(live, stopped), options)
        live = _keep(live, ~stopped)
        if len(live.ids) == 0 or _settled(live, ended, options):
            break
    else:
        ended += _hypotheses(live, options)
    if not ended:
        raise ElmanError("no continuation is possible: all have probability zero; ban fewer tokens")
    return sorted(ended, key=lambda hypothesis: -hypothesis.score)[: options.n_best]


def length_normaliser(length: int, penalty: float) -> float:
    """What a log probability is divided by, so that longer texts are not ranked down for it."""
    return float(((5 + length) / 6) ** penalty)


def _extend(model: LanguageModel, live: _Live, options: DecodingOptions, width: int) -> _Live:
    """The `width` likeliest continuations by one token; impossible ones are left out.

    Hypotheses stay in the order of their ids, so of equally likely ones the first by ids is kept.
    """
    log_probs = model.predict(live.state).cpu().double()  # (N, V)
    if len(log_probs) != len(live.ids):
        raise InputError(f"beam search starts from a state of one row, not {len(log_probs)}")
    refuse_broken(log_probs)
    log_probs = constrain(log_probs, options, step=live.ids.shape[1])
    totals = (live.log_probs.unsqueeze(1) + log_probs).flatten()  # (N * V,)
    best = (largest(totals, width) & ~torch.isneginf(totals)).nonzero().squeeze(1)
    parents, tokens = best // log_probs.shape[1], best % log_probs.shape[1]
    ids = torch.cat([live.ids[parents], tokens.unsqueeze(1)], dim=1)
    return _Live(ids, totals[best], _select(live.state, parents))


def _read_last(model: LanguageModel, live: _Live) -> _Live:
    """The same hypotheses, their last token read."""
    last = live.ids[:, -1:].to(tensors(live.state)[0].device)
    return _Live(live.ids, live.log_probs, model.read(last, live.state))


def _settled(live: _Live, ended: list[Hypothesis], options: DecodingOptions) -> bool:
    """Whether nothing that still goes on can enter the n best.

    A log probability never rises. Divided by the largest normaliser that lies ahead it is therefore
    a bound on the score; the normaliser is monotone, so its largest value is at one of the ends.
    """
    if len(ended) < options.n_best:
        return False
    lengths = (live.ids.shape[1] + 1, options.max_tokens)
    normaliser = max(length_normaliser(length, options.length_penalty) for length in lengths)
    to_beat = sorted((hypothesis.score for hypothesis in ended), reverse=True)[options.n_best - 1]
    return float(live.log_probs.max()) / normaliser <= to_beat


def _hypotheses(live: _Live, options: DecodingOptions) -> list[Hypothesis]:
    normaliser = length_normaliser(live.ids.shape[1], options.length_penalty)
    return [
        Hypothesis(tuple(ids), log_prob, log_prob / normaliser)
        for ids, log_prob in zip(live.ids.tolist(), live.log_probs.tolist(), strict=True)
    ]


def _keep(live: _Live, mask: torch.Tensor) -> _Live:
    """The hypotheses where the mask (N,) is True."""
    rows = mask.nonzero().squeeze(1)
    return _Live(live.ids[rows], live.log_probs[rows], _select(live.state, rows))


def _select(state: State, rows: torch.Tensor) -> State:
    return select(state, rows.to(tensors(state)[0].device))
