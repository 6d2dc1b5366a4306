"""Beam search: find the most probable continuations, with a fixed number of hypotheses.

Each step keeps the `beam` most probable extensions over all hypotheses of a row. A hypothesis that
emits a stop id is finished and the beam becomes narrower by one (Sutskever et al., 2014, section
3.2). A beam of one is therefore greedy, with any length penalty.

    state (B rows) ── predict ── the beam's best tokens of each hypothesis (N, K)
         ↑                                     │
       read ── the best of each row ── laid out by row (B, beam · K)

Many rows are searched at once, independently; a finished row leaves the batch.
Called by generation (one prompt) and translation (many sources).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from elman.decoding.distribution import constrain
from elman.decoding.options import DecodingOptions
from elman.decoding.transforms import likeliest, refuse_broken
from elman.errors import ElmanError, InputError
from elman.models.contract import LanguageModel
from elman.state import State, select, tensors

_LEAST_COVERAGE = 1e-9  # without any attention to a position, scores must stay finite


@dataclass(frozen=True)
class Hypothesis:
    """A continuation, its log probability under the model, and the score it is ranked by."""

    ids: tuple[int, ...]
    log_prob: float
    score: float


@dataclass(frozen=True)
class Live:
    """N hypotheses, the row that each belongs to, and where to find the state of each.

    Hypotheses of a row are neighbours, sorted by their ids. rows, log_probs and parents are (N,),
    ids (N, T). Hypothesis n continues from row parents[n] of the state. Several hypotheses may
    share a row, so rows are copied only for those that continue. attended (N, S) is the attention
    that each source position has received so far, if coverage is used; padding starts as covered.
    """

    rows: torch.Tensor
    ids: torch.Tensor
    log_probs: torch.Tensor
    parents: torch.Tensor
    state: State
    attended: torch.Tensor | None

    def __len__(self) -> int:
        return len(self.rows)

    def keep(self, mask: torch.Tensor) -> Live:
        """The hypotheses where the mask (N,) is True."""
        if mask.all():
            return self
        return replace(
            self,
            rows=self.rows[mask],
            ids=self.ids[mask],
            log_probs=self.log_probs[mask],
            parents=self.parents[mask],
            attended=None if self.attended is None else self.attended[mask],
        )

    def read_last(self, model: LanguageModel) -> Live:
        """The same hypotheses, each with its own state, which has read the last token."""
        first, state, own = tensors(self.state)[0], self.state, torch.arange(len(self))
        if len(first) != len(self) or not torch.equal(self.parents, own):
            state = select(state, self.parents.to(first.device))
        if self.ids.shape[1]:
            state = model.read(self.ids[:, -1:].to(first.device), state)
        return replace(self, parents=own, state=state)


def begin(model: LanguageModel, state: State, options: DecodingOptions) -> Live:
    """One empty hypothesis for each row of a state."""
    count = len(tensors(state)[0])
    attended = None
    if options.coverage_penalty:
        if not model.has_attention:
            raise InputError(
                "coverage_penalty: this model has no attention, so it cannot tell which source"
                " words were covered; leave it out"
            )
        attended = (~model.attention(state)[1]).cpu().double()
    return Live(
        rows=torch.arange(count),
        ids=torch.zeros(count, 0, dtype=torch.long),
        log_probs=torch.zeros(count, dtype=torch.float64),
        parents=torch.arange(count),
        state=state,
        attended=attended,
    )


class Ended:
    """The finished hypotheses of each row, and when the search of a row can stop.

        score = log_prob / ((5 + length) / 6) ** length_penalty
              + coverage_penalty * Σ_i log min(c_i, 1)

    where c_i is the attention that source position i received over all steps (Wu et al. 2016,
    equation 14). limits (B,): the maximum length of the hypotheses of each row.
    """

    def __init__(self, limits: torch.Tensor, options: DecodingOptions) -> None:
        assert options.beam is not None
        self.limits = limits
        self.options = options
        self.room = torch.full_like(limits, options.beam)  # (B,) places of the beam not taken
        self._scores = torch.full((len(limits), options.beam), -torch.inf, dtype=torch.float64)
        self._found: list[list[Hypothesis]] = [[] for _ in limits]

    def add(self, live: Live) -> None:
        """Add finished hypotheses; each makes the beam of its row narrower by one."""
        if not len(live):
            return
        scores = self._score(live)
        # The hypotheses of a row are neighbours, so a binary search finds the first one.
        rank = torch.arange(len(live)) - torch.searchsorted(live.rows, live.rows)
        self._scores[live.rows, self.room[live.rows] - 1 - rank] = scores
        self.room -= torch.bincount(live.rows, minlength=len(self.room))
        entries = zip(
            live.rows.tolist(),
            live.ids.tolist(),
            live.log_probs.tolist(),
            scores.tolist(),
            strict=True,
        )
        for row, ids, log_prob, score in entries:
            self._found[row].append(Hypothesis(tuple(ids), log_prob, score))

    def settled(self, live: Live) -> torch.Tensor:
        """Whether no unfinished hypothesis can enter the n best of its row, (B,).

        A log probability never rises, and the coverage term is never above zero. The log
        probability divided by the largest possible normaliser is therefore an upper bound of the
        score. The normaliser is monotone, so its largest value is at one of the ends.
        """
        enough = self._scores.shape[1] - self.room >= self.options.n_best
        to_beat = self._scores.topk(self.options.n_best, dim=1).values[:, -1]
        best = torch.full_like(to_beat, -torch.inf)
        best = best.scatter_reduce(0, live.rows, live.log_probs, "amax")
        penalty = self.options.length_penalty
        ahead = length_normaliser(torch.tensor(live.ids.shape[1] + 1), penalty)
        normaliser = torch.maximum(ahead, length_normaliser(self.limits, penalty))
        return enough & (best / normaliser <= to_beat)

    def best(self) -> list[list[Hypothesis]]:
        """The n best of each row, best first."""
        if not all(self._found):
            raise ElmanError(
                "no continuation is possible: all have probability zero; ban fewer tokens"
            )
        return [
            sorted(found, key=lambda hypothesis: -hypothesis.score)[: self.options.n_best]
            for found in self._found
        ]

    def _score(self, live: Live) -> torch.Tensor:
        length = torch.tensor(live.ids.shape[1])
        scores = live.log_probs / length_normaliser(length, self.options.length_penalty)
        if live.attended is not None:
            covered = live.attended.clamp(_LEAST_COVERAGE, 1).log().sum(1)
            scores = scores + self.options.coverage_penalty * covered
        return scores


def length_normaliser(length: torch.Tensor, penalty: float) -> torch.Tensor:
    """The length normaliser of a log probability (Wu et al. 2016)."""
    return ((5 + length.double()) / 6) ** penalty


def beam_search(
    model: LanguageModel,
    state: State,
    options: DecodingOptions,
    finished: Callable[[list[int]], bool] | None = None,
) -> list[Hypothesis]:
    """The `n_best` highest scoring continuations of a state of one row, best first.

    A hypothesis ends with a stop id, or when `finished` is true for its ids.
    """
    count = len(tensors(state)[0])
    if count != 1:
        raise InputError(f"beam search starts from a state of one row, not {count}")
    return beam_search_rows(model, state, options, finished=finished)[0]


@torch.no_grad()
def beam_search_rows(
    model: LanguageModel,
    state: State,
    options: DecodingOptions,
    *,
    limits: Sequence[int] | None = None,
    finished: Callable[[list[int]], bool] | None = None,
) -> list[list[Hypothesis]]:
    """The `n_best` highest scoring continuations of each row of a state, best first.

    limits: the maximum number of tokens of each row, at most max_tokens. Hypotheses that reach the
    limit compete with finished ones. The result has fewer than `n_best` continuations only if
    fewer are possible.
    """
    if options.beam is None:
        raise InputError("beam search needs a width; set beam, for example to 4")
    options.check_vocabulary(model.vocabulary_size)
    live = begin(model, state, options)
    longest = torch.full((len(live),), options.max_tokens)
    if limits is not None:
        longest = longest.minimum(torch.tensor(limits))
    ended = Ended(longest, options)
    stop_ids = torch.tensor(options.stop_ids, dtype=torch.long)
    stopped = longest == 0
    while True:
        ended.add(live.keep(stopped))
        live = live.keep(~stopped)
        live = live.keep(~ended.settled(live)[live.rows])
        if not len(live):
            return ended.best()
        live = _extend(model, live.read_last(model), options, ended.room)
        stopped = torch.isin(live.ids[:, -1], stop_ids)
        stopped |= longest[live.rows] <= live.ids.shape[1]
        if finished is not None:
            stopped |= torch.tensor([finished(ids) for ids in live.ids.tolist()], dtype=torch.bool)


def _extend(model: LanguageModel, live: Live, options: DecodingOptions, room: torch.Tensor) -> Live:
    """The most probable extensions by one token, at most `room` (B,) for each row.

    Impossible extensions are left out. Ties go to the first ids.
    """
    attended = live.attended
    if attended is not None:
        attended = attended + model.attention(live.state)[0].cpu()
    log_probs = constrain(model.predict(live.state), options, step=live.ids.shape[1])  # (N, V)
    assert options.beam is not None
    values, tokens = likeliest(log_probs, options.beam)  # (N, K)
    refuse_broken(values)
    totals = live.log_probs[:, None] + values.cpu().double()
    parents, choices = _best_of_each_row(totals, live.rows, room)
    chosen = tokens.cpu()[parents, choices]
    return replace(
        live,
        rows=live.rows[parents],
        ids=torch.cat([live.ids[parents], chosen[:, None]], dim=1),
        log_probs=totals[parents, choices],
        parents=parents,
        attended=None if attended is None else attended[parents],
    )


def _best_of_each_row(
    totals: torch.Tensor, rows: torch.Tensor, room: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The positions of the largest totals (N, K), at most `room` (B,) for each row.

    Both results are (M,), in the order of the totals, and never include minus infinity.
    """
    firsts = torch.searchsorted(rows, rows)  # of the hypotheses of a row, which are neighbours
    ranks = torch.arange(len(rows)) - firsts
    width, choices = int(ranks.max()) + 1, totals.shape[1]
    laid_out = totals.new_full((len(room), width, choices), -torch.inf)
    laid_out[rows, ranks] = totals
    flat = laid_out.flatten(1)  # (B, width * K)
    values, order = flat.sort(dim=1, descending=True, stable=True)
    good = (torch.arange(flat.shape[1]) < room[:, None]) & ~torch.isneginf(values)
    row, place = torch.zeros_like(good).scatter(1, order, good).nonzero(as_tuple=True)
    first_of_row = torch.searchsorted(rows, row)
    return first_of_row + place // choices, place % choices
