"""What a beam holds: hypotheses that go on, and those of each row that have ended.

Taken from and given to `beam.py`, which finds them. Hypotheses of several rows lie below each other
in one batch: those of a row side by side, in the order of their ids. Of one that has ended,

    score = log_prob / ((5 + length) / 6) ** length_penalty + coverage_penalty * Σ_i log min(c_i, 1)

where c_i is the attention that place i of the source got over all steps: Wu et al. (2016), equation
14.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from elman.decoding.options import DecodingOptions
from elman.errors import ElmanError, InputError
from elman.models.contract import LanguageModel
from elman.state import State, select, tensors

_LEAST_COVERAGE = 1e-9  # a place that got nothing at all must not make every score minus infinity


@dataclass(frozen=True)
class Hypothesis:
    """A continuation, its log probability under the model, and the score it is ranked by."""

    ids: tuple[int, ...]
    log_prob: float
    score: float


@dataclass(frozen=True)
class Live:
    """N hypotheses, the row that each belongs to, and where to find the state of each.

    rows, log_probs and parents are (N,), ids (N, T). Hypothesis n goes on from row parents[n] of
    the state: several may share one, so that rows are copied only for those that do go on.
    attended (N, S) is the attention that each place of the source got so far, if that counts;
    padding has got enough from the start.
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
        """The same hypotheses, each with a state of its own that has read its last token."""
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
                "coverage_penalty: this model has no attention, so nothing says which words of the"
                " source were covered; leave it out"
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
    """The hypotheses of each row that have ended, and what that means for the others.

    limits (B,): how long the hypotheses of each row may become.
    """

    def __init__(self, limits: torch.Tensor, options: DecodingOptions) -> None:
        assert options.beam is not None
        self.limits = limits
        self.options = options
        self.room = torch.full_like(limits, options.beam)  # (B,) places of the beam not taken
        self._scores = torch.full((len(limits), options.beam), -torch.inf, dtype=torch.float64)
        self._found: list[list[Hypothesis]] = [[] for _ in limits]

    def add(self, live: Live) -> None:
        """These have ended; each takes its place in the beam with it."""
        if not len(live):
            return
        scores = self._score(live)
        # The hypotheses of a row stand side by side: its first one is where it would be sorted in.
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
        """Whether nothing that still goes on can enter the n best of its row, (B,).

        A log probability never rises, and coverage never scores above zero. Divided by the largest
        normaliser that lies ahead the log probability is therefore a bound on the score; the
        normaliser is monotone, so its largest value is at one of the ends.
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
    """What a log probability is divided by, so that longer texts are not ranked down for it."""
    return ((5 + length.double()) / 6) ** penalty
