"""Dynamic evaluation: the model keeps learning from the text it reads (Mikolov et al. 2010).

Each segment of the text is predicted and counted first. Then the weights are trained on it, by one
of the rules below (`UpdateRule`).

The adapted weights are part of the state, one copy per row. The model itself does not change, and
a fresh state forgets everything. A state has for each row: the state of the model before the
segment, the ids of the segment so far, (B, segment), with -1 for positions not filled, the weights,
(B, all of them), and the number of segments since the weights were last decayed, (B,). The first id
of a segment is the last one of the previous segment: it is read again with the new weights to
predict the ids after it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
import torch

from elman.adapters import FitContext
from elman.adapters.wrapper import Wrapper
from elman.batches.batch import Batch
from elman.errors import ElmanError, InputError, choose
from elman.layers.inputs import WordVectors
from elman.layers.outputs.output import SoftmaxOutput
from elman.models.contract import LanguageModel
from elman.models.neural import NeuralModel
from elman.state import State, detach, join, map_state, select

ABOUT = "keeps training on the text it reads (Mikolov et al. 2010, Krause et al. 2018)"
INNERMOST = True

RULES = ("rms", "sgd")
_RMS_RATE = 7e-5
_SGD_RATE = 0.1  # for each word of a segment (Mikolov et al. 2010)
_LOST = 1e6  # nats of a token, or a weight: beyond this the model has diverged


@dataclass(kw_only=True)
class Config:
    """Dynamic evaluation."""

    rule: str = "rms"  # rms or sgd
    segment: int = 5  # tokens between updates
    rate: float | None = None  # η; None: 7e-5 for rms, 0.1 a word for sgd
    decay: float = 0.002  # λ of rms: pull towards the trained weights
    epsilon: float = 2e-5  # ε of rms
    decay_every: int = 1  # segments between decays of rms; more is faster and nearly the same
    sparse: float = 0.0  # do not update the output for less probable words; 0.0001 is much faster
    batches: int = 200  # batches of 100 training segments for the gradient statistics of rms

    def __post_init__(self) -> None:
        choose(dict.fromkeys(RULES), self.rule, "rule")
        for name in ("segment", "batches", "decay_every"):
            if getattr(self, name) < 1:
                raise InputError(f"dynamic: {name}={getattr(self, name)} must be at least 1")
        if self.rate is not None and not 0 <= self.rate < math.inf:
            raise InputError(f"dynamic: rate={self.rate} must be 0 or more, and finite")
        if not 0 <= self.decay <= 1:
            raise InputError(f"dynamic: decay={self.decay} must be from 0 to 1")
        if not 0 <= self.sparse < 1:
            raise InputError(f"dynamic: sparse={self.sparse} must be from 0 to below 1")
        if not 0 < self.epsilon < math.inf:
            raise InputError(f"dynamic: epsilon={self.epsilon} must be above 0, and finite")


def wrap(model: LanguageModel, config: Config, around: FitContext) -> DynamicEvaluation:
    """Make the model learn as it reads."""
    if not isinstance(model, NeuralModel):
        raise InputError("dynamic: needs a neural run; count models have no gradients")
    rule = _make_rule(model, config, around)
    return DynamicEvaluation(model, config.segment, rule, sparse=config.sparse)


def _make_rule(model: NeuralModel, config: Config, around: FitContext) -> UpdateRule:
    rate = config.rate
    if config.rule == "sgd":
        return Sgd(_SGD_RATE * config.segment if rate is None else rate)
    usual = root_mean_square(
        Worker(model), around.training_ids(), config.segment, config.batches, around.progress
    )
    rate = _RMS_RATE if rate is None else rate
    return Rms(rate, config.decay, config.epsilon, usual, every=config.decay_every)


class DynamicEvaluation(Wrapper):
    """A model that learns from the text it reads."""

    model: NeuralModel

    def __init__(
        self, model: NeuralModel, segment: int, rule: UpdateRule, *, sparse: float = 0.0
    ) -> None:
        super().__init__(model)
        self.horizon = None
        self.segment = segment
        self.rule = rule
        self.sparse = sparse
        self._worker = Worker(model, sparse)

    def start(self, batch_size: int, source: Any = None) -> State:
        ids = torch.full((batch_size, self.segment), -1)
        ids[:, 0] = self.model.eos_id
        weights = self._worker.trained.expand(batch_size, -1)
        since = torch.zeros(batch_size, dtype=torch.long)
        return self.model.begin(batch_size, source), ids, weights, since

    def predict(self, state: State) -> torch.Tensor:
        worker = self._worker.model
        return torch.cat([worker.predict(inner) for inner in self._inner_states(state)])

    def vector(self, state: State) -> torch.Tensor:
        worker = self._worker.model
        return torch.cat([worker.vector(inner) for inner in self._inner_states(state)])

    def attention(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        worker = self._worker.model
        rows = [worker.attention(inner) for inner in self._inner_states(state)]
        return torch.cat([weights for weights, _ in rows]), torch.cat([real for _, real in rows])

    def read(self, ids: torch.Tensor, state: State) -> State:
        return self.score(ids, state)[1]

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        log_probs, _, after = self.score_and_vectors(ids, state)
        return log_probs, after

    def score_and_vectors(
        self, ids: torch.Tensor, state: State
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        with _gradients_allowed():
            rows = [
                self._score_row(row, before) for row, before in zip(ids, _rows(state), strict=True)
            ]
        return (
            torch.stack([log_probs for log_probs, _, _ in rows]),
            torch.stack([vectors for _, vectors, _ in rows]),
            join([after for _, _, after in rows]),
        )

    def _inner_states(self, state: State) -> Iterator[State]:
        """The state of the wrapped model for each row; the worker has the weights of that row."""
        with torch.no_grad():
            for carried, ids, weights, _ in _rows(state):
                self._worker.weights.copy_(weights[0])
                yield self._worker.model.advance(ids[:, : _filled(ids)], carried)[1]

    def _score_row(
        self, ids: torch.Tensor, state: _Row
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        """Log probabilities (T,), vectors (T, size) and the state after one row of ids (T,)."""
        carried, before, weights, since = state
        worker = self._worker
        worker.weights.copy_(weights[0])
        known = _filled(before)
        text = torch.cat([before[0, :known], ids])
        log_probs, vectors = [], []
        first, segments = 0, int(since)  # of the segment's ids in the text; since the last decay
        while first + self.segment < len(text):
            segment = text[None, first : first + self.segment + 1]
            segments = (segments + 1) % self.rule.every
            scores, predicted_from, carried = self._learn(segment, carried, decays=segments == 0)
            log_probs.append(scores)
            vectors.append(predicted_from)
            first += self.segment
        rest = text[None, first:]
        with torch.no_grad():
            evidence, _ = worker.model.advance(rest, carried)
            used = tuple(part[:, :-1] for part in evidence)
            log_probs.append(worker.model.score_from(used, rest[:, 1:])[0])
            vectors.append(used[0][0].flatten(1))
        self._check(torch.cat(log_probs), worker.weights)
        after = torch.full_like(before, -1)
        after[0, : rest.shape[1]] = rest
        new = slice(known - 1, None)  # the ids in the state were scored before
        return (
            torch.cat(log_probs)[new],
            torch.cat(vectors)[new],
            (carried, after, worker.weights[None].clone(), since.new_tensor([segments])),
        )

    def _learn(
        self, segment: torch.Tensor, carried: State, *, decays: bool
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        """Score all ids except the first, then train on them."""
        worker = self._worker
        with torch.enable_grad():
            evidence, (_, carried) = worker.model.advance(segment[:, :-1], carried)
            scores = worker.model.score_from(evidence, segment[:, 1:])
            gradients = worker.gradients(-scores.mean())
        self._check(scores)
        if decays:
            self.rule.decay_weights(worker)
        self.rule.update(worker, gradients)
        return scores[0].detach(), evidence[0][0].detach().flatten(1), detach(carried)

    def _check(self, *found: torch.Tensor) -> None:
        """Raise if the weights diverged. Scores show it at once; weights are checked at the end."""
        if not all((tensor.abs() < _LOST).all() for tensor in found):  # NaN is not below it
            rate = self.rule.settings()["rate"]
            raise ElmanError(
                "dynamic: the weights diverged while the model learned from the text; lower "
                f"the rate from {rate:g}, for example --with dynamic:rate={rate / 10:g}"
            )

    def settings(self) -> dict[str, Any]:
        sparse = {"sparse": self.sparse} if self.sparse else {}
        return {"segment": self.segment, **self.rule.settings(), **sparse}


_Row = tuple[State, torch.Tensor, torch.Tensor, torch.Tensor]


def _rows(state: State) -> Iterator[_Row]:
    """The rows of a state, one at a time."""
    carried, ids, weights, since = cast("_Row", state)
    for row in range(len(ids)):
        rows = torch.tensor([row])
        yield (
            map_state(torch.clone, select(carried, rows)),
            ids[row : row + 1],
            weights[row : row + 1],
            since[row : row + 1],
        )


def _filled(ids: torch.Tensor) -> int:
    """The number of ids read in a segment (1, segment)."""
    return int((ids >= 0).sum())


@contextmanager
def _gradients_allowed() -> Iterator[None]:
    """Enable gradients: evaluation runs in inference mode."""
    with torch.inference_mode(False), torch.no_grad():
        yield


class Worker:
    """A copy of a neural model that takes other weights; the model itself does not change."""

    def __init__(self, model: NeuralModel, sparse: float = 0.0) -> None:
        """`sparse`: the least probability of words whose output weights get a gradient; above 0,
        those of the input have only the rows of the words that were read, too.
        """
        self.model = copy.deepcopy(model).eval().requires_grad_(True)
        for module in self.model.modules():
            if isinstance(module, SoftmaxOutput):
                module.least = sparse
            elif isinstance(module, WordVectors):
                module.sparse = sparse > 0
        self._parameters = list(self.model.parameters())
        self.trained = torch.cat([parameter.detach().flatten() for parameter in self._parameters])
        self.weights = self.trained.clone()
        for parameter, place in zip(self._parameters, self.cut(self.weights), strict=True):
            parameter.data = place

    def cut(self, row: torch.Tensor) -> list[torch.Tensor]:
        """A number for each weight, (P,), as views in the shapes of the parameters."""
        pieces = torch.split(row, [parameter.numel() for parameter in self._parameters])
        shapes = [parameter.shape for parameter in self._parameters]
        return [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]

    def gradients(self, loss: torch.Tensor) -> list[torch.Tensor]:
        """The gradient of a loss with respect to each parameter.

        They are not joined into one vector: that would take as long as the update itself.
        """
        found = torch.autograd.grad(loss, self._parameters, materialize_grads=True)
        return list(found)


_COLUMNS = 100  # as in the authors' code


def root_mean_square(
    worker: Worker,
    ids: np.ndarray,
    steps: int,
    batches: int,
    progress: Callable[[int, int], None] = lambda tokens, of: None,
) -> torch.Tensor:
    """The root mean square of the gradient of each weight on training text (Krause et al. 2018).

    Uses at most `batches` batches of 100 segments and carries the state from one to the next. Gives
    one number per weight.
    """
    columns = min(_COLUMNS, len(ids) // (steps + 1))
    if columns < 1:
        raise InputError("dynamic: the training text is too short to compute gradients")
    per_column = len(ids) // columns
    text = torch.from_numpy(ids[: columns * per_column]).view(columns, -1)
    batches = min(batches, (per_column - 1) // steps)
    squares = torch.zeros_like(worker.weights)
    places = worker.cut(squares)
    state = None
    with torch.inference_mode(False):
        for begin in range(0, batches * steps, steps):
            seen = text[:, begin : begin + steps + 1]
            loss, state = worker.model.loss(Batch(seen[:, :-1], seen[:, 1:]), state)
            gradients = worker.gradients(loss.nats / loss.tokens)
            for place, gradient in zip(places, gradients, strict=True):
                place.addcmul_(gradient, gradient)
            progress(columns * steps, columns * steps * batches)
    return (squares / batches).sqrt()


class UpdateRule(Protocol):
    """How dynamic evaluation updates weights from the gradient of one segment of text.

        sgd    w ← w - η g                                    gradient descent (Mikolov)
        rms    w ← w + λ D (w₀ - w) - η g / (RMS + ε)         with decay to the trained w₀ (Krause)

    g is the gradient of the mean loss of the segment; w₀ are the trained weights; RMS is the root
    mean square of gradients over training text (`root_mean_square`), one number per weight;
    D = RMS / mean(RMS), at most 1/λ (Krause et al. 2018). The paper takes the mean of the means of
    tensors; here it is the mean over all weights. With `every` n, the weights decay after every
    n-th segment only, by 1 - (1 - λ D)ⁿ.
    """

    every: int  # segments between decays

    def decay_weights(self, worker: Worker) -> None:
        """Move the weights of the worker towards the trained ones."""

    def update(self, worker: Worker, gradients: list[torch.Tensor]) -> None:
        """Update the weights of the worker from the gradient of each parameter."""

    def settings(self) -> dict[str, Any]:
        """The rule and its settings, as plain data."""


class Sgd:
    """Stochastic gradient descent."""

    every = 1

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def decay_weights(self, worker: Worker) -> None:
        """None."""

    def update(self, worker: Worker, gradients: list[torch.Tensor]) -> None:
        for weights, gradient in zip(worker.cut(worker.weights), gradients, strict=True):
            weights.add_(gradient, alpha=-self.rate)

    def settings(self) -> dict[str, Any]:
        return {"rule": "sgd", "rate": self.rate}


class Rms:
    """A step scaled by the usual gradient size of each weight, and decay to the trained weights."""

    def __init__(
        self, rate: float, decay: float, epsilon: float, usual: torch.Tensor, *, every: int = 1
    ) -> None:
        """usual: the root mean square of the gradients of each weight, (P,)."""
        self.rate = rate
        self.decay = decay
        self.every = every
        self._rates = rate / (usual + epsilon)
        self._back = (decay * usual / usual.mean().clamp(min=1e-30)).clamp(max=1)
        if every > 1:
            self._back = 1 - (1 - self._back) ** every

    def decay_weights(self, worker: Worker) -> None:
        worker.weights.lerp_(worker.trained, self._back)

    def update(self, worker: Worker, gradients: list[torch.Tensor]) -> None:
        # Limited by memory bandwidth, so each weight is accessed only twice.
        steps = zip(worker.cut(worker.weights), worker.cut(self._rates), gradients, strict=True)
        for weights, rates, gradient in steps:
            if gradient.is_sparse:
                found = gradient.coalesce()
                rows, values = found.indices()[0], found.values()
                weights.index_add_(0, rows, rates.index_select(0, rows) * values, alpha=-1)
            else:
                weights.addcmul_(rates, gradient, value=-1)

    def settings(self) -> dict[str, Any]:
        often = {"decay_every": self.every} if self.every > 1 else {}
        return {"rule": "rms", "rate": self.rate, "decay": self.decay, **often}
