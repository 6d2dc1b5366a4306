"""Draw continuations token by token, several rows at a time, each row with its own randomness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy
import torch

from elman.decoding.distribution import allowed_distribution, next_distribution
from elman.decoding.drawing import draw_ids, quick_ids
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
    for _ in range(options.max_tokens):
        if written[live[0]]:
            state = _read(model, [written[row][-1] for row in live], state)
        uniforms = [generators[row].random() for row in live]
        chosen, likely = _choose(
            model, state, options, [written[row] for row in live], uniforms, log_probs is not None
        )
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


def choose(
    scores: torch.Tensor,
    options: DecodingOptions,
    written: Sequence[Sequence[int]],
    uniforms: Sequence[float],
) -> list[int]:
    """The next id of each row, from the model's scores (B, V) and the row's ids.

    scores: log probabilities up to a constant per row.
    """
    if scores.dtype != torch.float64:
        scores = scores.float()  # numpy has no bfloat16
    ids = quick_ids(scores, options, len(written[0]), uniforms)
    if ids is not None:
        return ids
    log_probs = normalise(scores.double())
    if options.transforms() == {"top-k": 1}:
        allowed = allowed_distribution(log_probs, options, written)
        return allowed.numpy().argmax(axis=-1).tolist()  # numpy: ties always go to the first
    return draw(next_distribution(log_probs, options, written), uniforms)


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
def _choose(
    model: LanguageModel,
    state: State,
    options: DecodingOptions,
    written: list[list[int]],
    uniforms: list[float],
    likely: bool,
) -> tuple[list[int], list[float]]:
    """The next id of each row and, on request, its log probability under the model."""
    scores = model.scores(state).cpu()  # (B, V)
    if len(scores) != len(written):
        raise InputError(f"the state has {len(scores)} rows but samples is {len(written)}")
    ids = choose(scores, options, written, uniforms)
    if not likely:
        return ids, []
    chosen = scores.gather(1, torch.tensor(ids)[:, None])[:, 0]
    return ids, (chosen.double() - scores.logsumexp(1).double()).tolist()


@torch.no_grad()
def _read(model: LanguageModel, tokens: list[int], state: State) -> State:
    return model.read(torch.tensor(tokens, device=_device(state)).unsqueeze(1), state)


def _device(state: State) -> torch.device:
    return tensors(state)[0].device
