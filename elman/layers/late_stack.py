"""A stack of recurrent layers, step by step: for inputs of which a part depends on the last output.

    [known_t; late_t] ── layer 1 ── layer 2 ── … ── output_t

What is known of all steps goes through the first layer's matrix in one product before the loop
(`cells/late_inputs.py`). Dropout is drawn before the loop too; of what comes late to the first
layer nothing is dropped, unless the layer normalises its inputs. Called by the decoder.
"""

from __future__ import annotations

import torch

from elman.cells.cell import States
from elman.cells.late_inputs import LateInputs
from elman.layers.connections import Plain
from elman.layers.layer import Layer
from elman.layers.stack import Stack
from elman.state import State


class LateStack:
    """One run of a stack over so many steps, one after another."""

    def __init__(self, stack: Stack, known: torch.Tensor) -> None:
        """`known`: (B, T, size) of the first layer's inputs; the rest comes late."""
        rates = [stack.config.dropout_input] + [stack.config.dropout_hidden] * len(stack.layers)
        self._layers = [
            _LateLayer(stack, layer, rate, known if number == 0 else known[:, :, :0])
            for number, (layer, rate) in enumerate(zip(stack.layers, rates, strict=False))
        ]

    def step(self, now: int, late: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """The output of a step, (B, size), and the state after it."""
        after: list[State] = []
        for layer, before in zip(self._layers, state, strict=True):
            late, new = layer.step(now, late, before[0])
            after.append((new,))
        return late, tuple(after)


class _LateLayer:
    """One layer of one direction during such a run."""

    def __init__(self, stack: Stack, layer: Layer, rate: float, known: torch.Tensor) -> None:
        self._layer = layer
        self._masks: tuple[torch.Tensor, ...] | None = None
        # A way around the layer, and what is normalised, need all of the input in one piece.
        self._whole = layer.normalise is not None or not isinstance(layer.connection, Plain)
        self._known = known.unbind(1)
        direction = layer.directions[0]
        if rate and stack.training:
            if known.shape[2] and not self._whole:
                known = stack.drop(known, rate)
            else:
                size = direction.cell.input_size
                ones = known.new_ones(*known.shape[:2], size)
                self._masks = stack.drop(ones, rate).expand_as(ones).unbind(1)
        if self._whole:
            known = known[:, :, :0]
        weights = layer.weights(direction) or direction.own_weights()
        self._inputs = LateInputs(direction.regularised(), weights, known)

    def step(self, now: int, late: torch.Tensor, state: States) -> tuple[torch.Tensor, States]:
        layer = self._layer
        entered = late
        if self._whole and self._known[now].shape[1]:
            entered = torch.cat([self._known[now], late], dim=1)
        read = entered if layer.normalise is None else layer.normalise(entered)
        if self._masks is not None:
            read = read * self._masks[now]
        after = self._inputs.step(now, read if read.shape[1] else None, state)
        if not self._whole:
            return after[0], after
        handed_on = layer.connection(entered.unsqueeze(1), after[0].unsqueeze(1))
        return handed_on.squeeze(1), after
