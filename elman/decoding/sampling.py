"""Draw continuations token by token, several rows at a time, each row with its own randomness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy
import torch

from elman.decoding.distribution import allowed_distribution, next_distribution
from elman.decoding.options import DecodingOptions
from elman.errors import InputError
from elman.models.contract import LanguageModel
from elman.state import State, select, tensors


def sample(
    model: LanguageModel,
    state: State,
    options: DecodingOptions,
    finished: Callable[[int, list[int]], bool] | None = None,
) -> Iterator[list[int | None]]:
    """Yield at each step the new id of every row, or None for a row that has ended.

    `state` has `options.samples` rows that have read the prompt. A row ends with a stop id, or when
    `finished(row, ids)` is true. The callback receives all ids of the row before they are yielded,
    and must not change them. Each step is computed only when it is requested.

    Row i draws one number per step from its own generator, seeded with (seed, i). Its text is
    therefore the same for any number of samples, if the model computes the same numbers for it.
    """
    options.check_vocabulary(model.vocabulary_size)
    written: list[list[int]] = [[] for _ in range(options.samples)]
    generators = [numpy.random.default_rng([options.seed, row]) for row in range(options.samples)]
    live = list(range(options.samples))
    for _ in range(options.max_tokens):
        if written[live[0]]:
            state = _read(model, [written[row][-1] for row in live], state)
        uniforms = [generators[row].random() for row in live]
        chosen = _choose(model, state, options, [written[row] for row in live], uniforms)
        step: list[int | None] = [None] * options.samples
        for row, token in zip(live, chosen, strict=True):
            written[row].append(token)
            step[row] = token
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
    log_probs: torch.Tensor,
    options: DecodingOptions,
    written: Sequence[Sequence[int]],
    uniforms: Sequence[float],
) -> list[int]:
    """The next id of each row, from the model's log probabilities (B, V) and the row's ids.

    Greedy decoding is a draw from the one most probable token; finding it directly is quicker.
    """
    if options.transforms() == {"top-k": 1}:
        allowed = allowed_distribution(log_probs, options, written)
        return allowed.numpy().argmax(axis=-1).tolist()  # numpy: ties always go to the first
    return draw(next_distribution(log_probs, options, written), uniforms)


def draw(log_probs: torch.Tensor, uniforms: Sequence[float]) -> list[int]:
    """The id where the cumulative probability passes the row's uniform number in [0, 1).

    (B, V) and B numbers -> B ids. An id of probability zero is never chosen, because the sum does
    not rise there. A number that rounding puts at the very end gets the last possible id.
    """
    cumulative = log_probs.double().exp().cumsum(dim=-1)  # (B, V)
    total = cumulative[:, -1:].contiguous()
    targets = torch.tensor(uniforms, dtype=torch.float64).unsqueeze(1) * total  # (B, 1)
    passed = torch.searchsorted(cumulative, targets, right=True)
    last_possible = torch.searchsorted(cumulative, total)  # the first place with the whole sum
    return torch.minimum(passed, last_possible).squeeze(1).tolist()


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
) -> list[int]:
    log_probs = model.predict(state).cpu().double()  # (B, V)
    if len(log_probs) != len(written):
        raise InputError(f"the state has {len(log_probs)} rows but samples is {len(written)}")
    return choose(log_probs, options, written, uniforms)


@torch.no_grad()
def _read(model: LanguageModel, tokens: list[int], state: State) -> State:
    return model.read(torch.tensor(tokens, device=_device(state)).unsqueeze(1), state)


def _device(state: State) -> torch.device:
    return tensors(state)[0].device
