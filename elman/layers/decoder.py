"""The decoder of an encoder–decoder: recurrent layers with a source context.

    h_i = g(y_{i-1}, h_{i-1}, c_i)              every step reads the context c_i, or
    h_0 = tanh(W c + b)                         only the initial state reads the summary c
    r_i = tanh(W [y_{i-1}; h_i; c_i] + b)       the readout, which predicts the next word

With attention c_i = Σ_j α_ij v_j (`attentions.py`), otherwise c_i = c. The decoder attends *before*
the step, with the state h_{i-1} of the first layer (Bahdanau et al. 2015), or *after* it, with h_i
of the last layer (Luong et al. 2015). In the second case c_i reaches the next step only by input
feeding of r_i. Everything that need not run step by step is computed for all steps at once: with
attention before the step, the layers above the first; with attention after it and no input feeding,
everything; and r_i unless it is fed back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import torch
from torch import nn

from elman.config import check_types
from elman.errors import InputError, choose
from elman.layers.attentions import ATTENTIONS
from elman.layers.late_stack import LateStack, StepSums
from elman.layers.stack import Stack, StackConfig
from elman.matrix_products import LinearLayer, linear
from elman.registry import check_options
from elman.state import State

CONTEXTS = ("every", "start")
ORDERS = ("before", "after")


@dataclass(kw_only=True)
class DecoderConfig:
    """Settings of the connection between a decoder and its source."""

    attention: str = "additive"  # elman list attentions
    attention_options: dict[str, Any] = field(default_factory=dict)  # like attention_size = 128
    attend: str = "before"  # attend before or after each step
    context: str = "every"  # without attention: the summary enters every step, or the start
    input_feeding: bool = False  # with attend=after: the readout enters the next step
    coverage: bool = False  # attention reads its previous weights (See et al. 2017)
    coverage_penalty: float = 0.0  # penalty on repeated attention to a position
    readout_size: int = 0  # size of the readout; 0: the embedding_size

    def __post_init__(self) -> None:
        check_types(self)
        self.attention_options = check_options(
            ATTENTIONS, self.attention, self.attention_options, "attention_options"
        )
        choose(dict.fromkeys(ORDERS), self.attend, "attend")
        choose(dict.fromkeys(CONTEXTS), self.context, "context")
        kind = ATTENTIONS[self.attention]
        if kind.looks and self.context == "start":
            raise InputError(
                "context=start: an attention context changes at every step; set attention=none"
            )
        if self.input_feeding and not (kind.looks and self.attend == "after"):
            raise InputError("input_feeding=true: needs an attention and attend=after")
        if self.coverage and not kind.can_cover:
            able = " or ".join(name for name, each in ATTENTIONS.items() if each.can_cover)
            raise InputError(
                f"coverage=true: attention={self.attention} has no coverage; use {able}"
            )
        if not self.coverage_penalty >= 0:
            raise InputError(f"coverage_penalty={self.coverage_penalty}: must not be negative")
        if self.coverage_penalty and not kind.looks:
            raise InputError("coverage_penalty: needs an attention; set one, or leave it out")
        if self.readout_size < 0:
            raise InputError(f"readout_size={self.readout_size}: must not be negative")


class Encoded(NamedTuple):
    """The encoded sources; part of a state, batch first."""

    values: torch.Tensor  # (B, S, size)
    keys: torch.Tensor  # (B, S, …), computed by the attention
    real: torch.Tensor  # (B, S) bool
    summary: torch.Tensor  # (B, size)
    places: torch.Tensor  # (B, S), or (B, 0) without copying


class DecoderState(NamedTuple):
    """The state of the decoder; part of a state, batch first."""

    layers: State
    fed: torch.Tensor  # (B, readout_size): the last readout; (B, 0) without input feeding
    covered: torch.Tensor  # (B, S): weights so far, summed; (B, 0) without attention
    weights: torch.Tensor  # (B, S): those of the last step


class DecoderRun(NamedTuple):
    """The result of running a decoder over words."""

    readouts: torch.Tensor  # (B, T, readout_size)
    weights: torch.Tensor  # (B, T, S), (B, T, 0) without attention
    progress: DecoderState


class Decoder(nn.Module):
    """Recurrent layers, an attention and a readout."""

    def __init__(
        self,
        input_size: int,
        source_size: int,
        readout_size: int,
        config: DecoderConfig,
        stack: StackConfig,
    ) -> None:
        super().__init__()
        self.config = config
        kind = ATTENTIONS[config.attention]
        self.looks: bool = kind.looks
        self.before = kind.looks and config.attend == "before"
        told = self.before or (not kind.looks and config.context == "every")
        further = source_size if told else readout_size if config.input_feeding else 0
        lower, upper = _parted(stack) if self.before else (stack, None)
        self.stack = Stack(input_size + further, lower)
        self.upper = None if upper is None else Stack(self.stack.output_size, upper)
        top = self.stack if self.upper is None else self.upper
        query = self.stack.layers[0].directions[0].output_size if self.before else top.output_size
        options = {"coverage": config.coverage, **config.attention_options}
        self.attention = kind(query, source_size, **options) if kind.looks else None
        self.bridge = LinearLayer(source_size, sum(self._state_sizes()))
        seen = source_size if config.context == "every" else 0
        self.readout = LinearLayer(input_size + top.output_size + seen, readout_size)

    # Start ----------------------------------------------------------------------------------------

    def prepare(self, values: torch.Tensor) -> torch.Tensor:
        """The keys of an encoded source, (B, S, …)."""
        return values[:, :, :0] if self.attention is None else self.attention.prepare(values)

    def begin(self, encoded: Encoded) -> DecoderState:
        """The state before the first word: every layer starts from the summary."""
        numbers = torch.tanh(self.bridge(encoded.summary)).split_with_sizes(
            self._state_sizes(), dim=1
        )
        given = iter(numbers)
        stacks = [self.stack, *([] if self.upper is None else [self.upper])]
        layers = tuple(
            tuple((tuple(next(given) for _ in _sizes(layer)),) for layer in stack.layers)
            for stack in stacks
        )
        rows, places = encoded.real.shape
        nothing = encoded.summary.new_zeros(rows, places if self.looks else 0)
        size = self.readout.out_features if self.config.input_feeding else 0
        return DecoderState(layers, encoded.summary.new_zeros(rows, size), nothing, nothing)

    def _state_sizes(self) -> list[int]:
        stacks = [self.stack, *([] if self.upper is None else [self.upper])]
        return [size for stack in stacks for layer in stack.layers for size in _sizes(layer)]

    # Steps ----------------------------------------------------------------------------------------

    def forward(self, words: torch.Tensor, encoded: Encoded, before: DecoderState) -> DecoderRun:
        """Read vectors of words (B, T, input_size)."""
        if self.before:
            return self._attend_before(words, encoded, before)
        if self.looks and (self.config.input_feeding or self.config.coverage):
            return self._attend_after_each(words, encoded, before)
        return self._all_at_once(words, encoded, before)

    def _all_at_once(
        self, words: torch.Tensor, encoded: Encoded, before: DecoderState
    ) -> DecoderRun:
        """Run all steps at once: no step needs the attention of the previous one."""
        summary = encoded.summary.unsqueeze(1).expand(-1, words.shape[1], -1)
        told = not self.looks and self.config.context == "every"
        run = self.stack(torch.cat([words, summary], dim=2) if told else words, before.layers[0])
        if self.attention is None:
            contexts = summary if told else summary[:, :, :0]
            weights = words.new_zeros(*words.shape[:2], 0)
        else:
            weights = self.attention(run.outputs, encoded.keys, encoded.real)
            contexts = torch.bmm(weights, encoded.values)
        readouts = torch.tanh(self.readout(torch.cat([words, run.outputs, contexts], dim=2)))
        return self._finished(readouts, weights, before, (run.state,), before.fed)

    def _attend_before(
        self, words: torch.Tensor, encoded: Encoded, before: DecoderState
    ) -> DecoderRun:
        """Loop over the attention and the first layer; the upper layers run over all steps."""
        steps = LateStack(self.stack, words)
        states, *above = cast("tuple[State, ...]", before.layers)
        covered = before.covered
        outputs, weights, contexts = [], [], []
        for now in range(words.shape[1]):
            looked = self._look(_first_output(states), encoded, covered)
            context = torch.bmm(looked.unsqueeze(1), encoded.values).squeeze(1)
            output, states = steps.step(now, context, states)
            covered = covered + looked
            outputs.append(output)
            weights.append(looked)
            contexts.append(context)
        hidden = torch.stack(outputs, dim=1)
        if self.upper is not None:
            run = self.upper(hidden, above[0])
            hidden, above = run.outputs, [run.state]
        together = torch.cat([words, hidden, torch.stack(contexts, dim=1)], dim=2)
        readouts = torch.tanh(self.readout(together))
        looked_at = torch.stack(weights, dim=1)
        return self._finished(readouts, looked_at, before, (states, *above), before.fed)

    def _attend_after_each(
        self, words: torch.Tensor, encoded: Encoded, before: DecoderState
    ) -> DecoderRun:
        """Loop over all layers, the attention and the readout, which the next step may read."""
        steps = LateStack(self.stack, words)
        sizes = [words.shape[2], self.stack.output_size, encoded.values.shape[2]]
        of_words, of_hidden, of_context = self.readout.weight.split_with_sizes(sizes, dim=1)
        prepared = linear(words.transpose(0, 1), of_words) + self.readout.bias
        sums = StepSums(prepared, [of_hidden, of_context])
        (states,) = cast("tuple[State, ...]", before.layers)
        fed, covered = before.fed, before.covered
        readouts, weights = [], []
        for now in range(words.shape[1]):
            hidden, states = steps.step(now, fed, states)
            looked = self._look(hidden, encoded, covered)
            context = torch.bmm(looked.unsqueeze(1), encoded.values).squeeze(1)
            readout = torch.tanh(sums.at(now, (hidden, context)))
            covered = covered + looked
            fed = readout if self.config.input_feeding else fed
            readouts.append(readout)
            weights.append(looked)
        looked_at = torch.stack(weights, dim=1)
        return self._finished(torch.stack(readouts, dim=1), looked_at, before, (states,), fed)

    def _look(self, query: torch.Tensor, encoded: Encoded, covered: torch.Tensor) -> torch.Tensor:
        """Weights of one step, (B, S)."""
        assert self.attention is not None
        weights: torch.Tensor = self.attention(
            query.unsqueeze(1), encoded.keys, encoded.real, covered
        )
        return weights.squeeze(1)

    @staticmethod
    def _finished(
        readouts: torch.Tensor,
        weights: torch.Tensor,
        before: DecoderState,
        layers: State,
        fed: torch.Tensor,
    ) -> DecoderRun:
        covered = before.covered + weights.sum(1)
        return DecoderRun(readouts, weights, DecoderState(layers, fed, covered, weights[:, -1]))


def _parted(stack: StackConfig) -> tuple[StackConfig, StackConfig | None]:
    """The first layer, without a connection around it, and the layers above."""
    first, *others = stack.sizes()
    lower = replace(stack, num_layers=1, hidden_size=first, connection="none")
    if not others:
        return lower, None
    upper = replace(
        stack,
        num_layers=len(others),
        hidden_size=tuple(others),
        dropout_input=stack.dropout_hidden,
    )
    return lower, upper


def _sizes(layer: Any) -> tuple[int, ...]:
    return layer.directions[0].cell.state_sizes


def _first_output(states: State) -> torch.Tensor:
    """The last output of the first layer, (B, size)."""
    return cast("Any", states)[0][0][0]
