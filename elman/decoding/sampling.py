"""Draw continuations token by token, several rows at a time, each row with its own randomness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy
import torch

from elman.decoding.distribution import allowed_distribution, next_distribution
from elman.decoding.drawing import QuickDraw, draw_ids
from elman.decoding.options import DecodingOptions
from elman.decoding.transforms import normalise
from elman.errors import InputError
from elman.models.contract import LanguageModel
from elman.state import State, select, tensors

# A model is prepared for many steps if there are at least this many.
_WORTH_PREPARING = 16


def sample(
    model: LanguageModel,
    state: State,
    options: DecodingOptions,
    finished: Callable[[int, list[int]], bool] | None = None,
    log_probs: list[float] | None = None,
) -> Iterator[list[int | None]]:
    """Yield at each step the new id of every row, or None for a row that has ended.

    `state` has `options.samples` rows that have read the prompt. A row ends with a stop id, or when
    `finished(row, ids)` is true. The callback receives all ids of the row before they are yielded,
    and must not change them. Each step is computed only when it is requested. `log_probs`, one
    number per row, adds up the log probabilities of the ids under the model.

    Row i draws one number per step from its own generator, seeded with (seed, i). Its text is
    therefore the same for any number of samples, if the model computes the same numbers for it.
    """
    options.check_vocabulary(model.vocabulary_size)
    if options.max_tokens >= _WORTH_PREPARING:
        model.prepare_steps(options.samples)
    written: list[list[int]] = [[] for _ in range(options.samples)]
    generators = [numpy.random.default_rng([options.seed, row]) for row in range(options.samples)]
    live = list(range(options.samples))
    chooser = Chooser(options)
    for _ in range(options.max_tokens):
        texts = [written[row] for row in live]
        uniforms = [generators[row].random() for row in live]
        state, chosen, likely = _step(model, state, chooser, texts, uniforms, log_probs is not None)
        step: list[int | None] = [None] * options.samples
        for row, token in zip(live, chosen, strict=True):
            written[row].append(token)
            step[row] = token
        if log_probs is not None:
            for row, log_prob in zip(live, likely, strict=True):
                log_probs[row] += log_prob
        going = [
            position
            for position, row in enumerate(live)
            if not _ended(row, written[row], options, finished)
        ]
        yield step
        if not going:
            return
        if len(going) < len(live):
            state = select(state, torch.tensor(going, device=_device(state)))
            live = [live[position] for position in going]


class Chooser:
    """Chooses the next id of each row."""

    def __init__(self, options: DecodingOptions) -> None:
        self.options = options
        self._quick = QuickDraw(options)
        self._greedy = options.transforms() == {"top-k": 1}

    def choose(
        self, scores: torch.Tensor, written: Sequence[Sequence[int]], uniforms: Sequence[float]
    ) -> list[int]:
        """One id per row, from the model's scores (B, V), the row's ids and a uniform number.

        scores: log probabilities up to a constant per row.
        """
        if scores.dtype != torch.float64:
            scores = scores.float()  # numpy has no bfloat16
        ids = self._quick.ids(scores, len(written[0]), uniforms)
        if ids is not None:
            return ids
        log_probs = normalise(scores.double())
        if self._greedy:
            allowed = allowed_distribution(log_probs, self.options, written)
            return allowed.numpy().argmax(axis=-1).tolist()  # numpy: ties always go to the first
        return draw(next_distribution(log_probs, self.options, written), uniforms)


def draw(log_probs: torch.Tensor, uniforms: Sequence[float]) -> list[int]:
    """One id per row from log probabilities (B, V) and B uniform numbers in [0, 1)."""
    ids = draw_ids(log_probs.double().exp().numpy(), uniforms)
    assert ids is not None, "log probabilities sum to one"
    return ids


def _ended(
    row: int,
    ids: list[int],
    options: DecodingOptions,
    finished: Callable[[int, list[int]], bool] | None,
) -> bool:
    return ids[-1] in options.stop_ids or (finished is not None and finished(row, ids))


# Not around the loop of `sample`: a generator that pauses would leave gradients off for its caller.
@torch.no_grad()
def _step(
    model: LanguageModel,
    state: State,
    chooser: Chooser,
    written: list[list[int]],
    uniforms: list[float],
    likely: bool,
) -> tuple[State, list[int], list[float]]:
    """Read the last id of each row, unless it is the first step, and choose the next one.

    Gives the state that chose, the ids and, on request, their log probabilities under the model.
    """
    if written[0]:
        last = torch.tensor([[ids[-1]] for ids in written], device=_device(state))
        state = model.read(last, state)
    scores = model.scores(state).cpu()  # (B, V)
    if len(scores) != len(written):
        raise InputError(f"the state has {len(scores)} rows but samples is {len(written)}")
    ids = chooser.choose(scores, written, uniforms)
    if not likely:
        return state, ids, []
    log_probs = scores.log_softmax(1)
    return state, ids, log_probs[range(len(ids)), ids].tolist()


def _device(state: State) -> torch.device:
    return tensors(state)[0].device
