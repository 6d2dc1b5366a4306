"""The state of a model after the tokens read so far: a nested tuple of tensors, all batch first.

Models take a state and return a new one; they never store it. So selecting rows (beam search),
cutting the gradient (truncated back-propagation) and counting rows are one generic line each.

Some tensors have time as their second dimension: the keys and values of a transformer. Where two
states of different lengths are joined or combined, the shorter one is padded with zeros on the
left.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

State = torch.Tensor | tuple["State", ...]


def map_state(function: Callable[[torch.Tensor], torch.Tensor], state: State) -> State:
    """The same nesting with `function` applied to every tensor."""
    if isinstance(state, tuple):
        return tuple(map_state(function, part) for part in state)
    return function(state)


def combine(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], first: State, second: State
) -> State:
    """The same nesting with `function` applied to the tensors of two states."""
    if isinstance(first, tuple):
        return tuple(combine(function, a, b) for a, b in zip(first, second, strict=True))
    return function(*_same_length([first, second]))  # type: ignore[list-item]  # same nesting


def select(state: State, rows: torch.Tensor) -> State:
    """The given rows of a state, in the given order; a row may be taken more than once."""
    return map_state(lambda tensor: tensor.index_select(0, rows), state)


def replace_rows(rows: torch.Tensor, new: State, old: State) -> State:
    """The new state in the rows (B,) that are true, the old one elsewhere."""
    return combine(lambda a, b: torch.where(rows.view(-1, *[1] * (a.dim() - 1)), a, b), new, old)


def detach(state: State) -> State:
    """The same state, detached from the computation graph."""
    return map_state(lambda tensor: tensor.detach(), state)


def tensors(state: State) -> list[torch.Tensor]:
    """Every tensor of a state, in order."""
    if isinstance(state, tuple):
        return [tensor for part in state for tensor in tensors(part)]
    return [state]


def join(states: list[State]) -> State:
    """Concatenate states along the batch."""
    if isinstance(states[0], tuple):
        return tuple(join([state[part] for state in states]) for part in range(len(states[0])))
    return torch.cat(_same_length(states))  # type: ignore[arg-type]  # one tensor, so all are


def _same_length(parts: list[torch.Tensor]) -> list[torch.Tensor]:
    """Tensors with equal second dimensions, padded with zeros on the left."""
    lengths = {part.shape[1] for part in parts if part.dim() > 1}
    if len(lengths) < 2:
        return parts
    return [_padded(part, max(lengths) - part.shape[1]) for part in parts]


def _padded(part: torch.Tensor, missing: int) -> torch.Tensor:
    padding = part.new_zeros((len(part), missing, *part.shape[2:]))
    return torch.cat([padding, part], dim=1)


def named_tensors(state: State, name: str) -> dict[str, torch.Tensor]:
    """Every tensor of a state, named by its place in the nesting, as in `name.0.1`."""
    if not isinstance(state, tuple):
        return {name: state}
    parts = [named_tensors(part, f"{name}.{number}") for number, part in enumerate(state)]
    return {key: tensor for part in parts for key, tensor in part.items()}


def from_named(tensors_by_name: dict[str, torch.Tensor], name: str) -> State | None:
    """Rebuild the state from these tensors; None if there are none."""
    if name in tensors_by_name:
        return tensors_by_name[name]
    if not any(key.startswith(f"{name}.") for key in tensors_by_name):
        return None
    parts: list[State] = []
    while (part := from_named(tensors_by_name, f"{name}.{len(parts)}")) is not None:
        parts.append(part)
    return tuple(parts)
