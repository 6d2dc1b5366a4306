"""The recurrent language model: a stack of any cell over word vectors (Mikolov et al. 2010).

The state is that of the stack. With an Elman cell it is the RNNLM; with LSTMs the model of Zaremba
et al. (2014); with all dropouts and penalties AWD-LSTM (Merity et al. 2018).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from elman.cells.engine import real_tokens
from elman.config import at_least
from elman.counts.topics import learn_topics
from elman.errors import InputError
from elman.layers.inputs import Material, TopicContext, WordVectors
from elman.layers.stack import Stack, StackConfig, StackRun
from elman.models.network import NeuralConfig
from elman.models.neural import NeuralModel
from elman.models.single_steps import SingleSteps
from elman.state import State


@dataclass(kw_only=True)
class RecurrentConfig(NeuralConfig, StackConfig):
    """Settings of a stack of recurrent layers between word vectors and a softmax."""

    parameters: int = 0  # choose hidden_size and embedding_size for this total; 0: keep them
    sum_layers: bool = False  # the output is the sum of all layers' outputs (Melis et al. 2018)
    topics: int = 0  # of recent words, added to input and output (Mikolov and Zweig 2012)
    topic_words: int = 50  # number of recent words
    topic_lines: int = 10  # lines of training text that form one document
    activation_penalty: float = 0.0  # α of AR: on the outputs, after dropout
    temporal_penalty: float = 0.0  # β of TAR: on the change of outputs, before dropout

    def __post_init__(self) -> None:
        NeuralConfig.__post_init__(self)
        StackConfig.__post_init__(self)
        if self.bidirectional:
            raise InputError(
                "model.bidirectional=true: a language model may not see the words it predicts"
            )
        if self.sum_layers and (self.connection == "dense" or len({*self.sizes()}) > 1):
            raise InputError(
                f"model.sum_layers=true: the outputs of layers of {list(self.sizes())} units with "
                f"connection={self.connection!r} differ in size; give all layers one hidden_size, "
                "and another connection than 'dense'"
            )
        for name in ("activation_penalty", "temporal_penalty", "topics", "parameters"):
            if getattr(self, name) < 0:
                raise InputError(f"model.{name}={getattr(self, name)}: must not be negative")
        for name in ("topic_words", "topic_lines"):
            at_least(getattr(self, name), 1, f"model.{name}")


class RecurrentModel(NeuralModel):
    """A language model whose recurrent state summarises everything read so far."""

    about = "a stack of recurrent layers over word vectors"
    config_class = RecurrentConfig
    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig, material: Material) -> None:
        if config.parameters:
            config = _sized(config, material)
        super().__init__(config, material)
        self.topics = None if config.topics == 0 else _topic_context(config, material)
        self.stack = Stack(self.input.size + config.topics, config)
        self.add_output(self.stack.output_size + config.topics)
        self._steps: SingleSteps | None = None

    @property
    def steps_alike(self) -> bool:
        layers = all(layer.steps_alike for layer in self.stack.layers)
        return self._is_plain and layers and self.output.steps_alike

    @property
    def _is_plain(self) -> bool:
        """Whether a step is a look-up, one stepper per layer, and a product."""
        layers = all(layer.is_plain for layer in self.stack.layers)
        words = type(self.input) is WordVectors and self.topics is None
        return words and not self.config.sum_layers and layers and self.output.is_plain

    def prepare_steps(self, rows: int) -> None:
        super().prepare_steps(rows)
        if not self._is_plain or self.counts.device.type != "cpu":
            return
        with torch.no_grad():
            steppers = [layer.directions[0].stepper for layer in self.stack.layers]
            product = self.output.product(self.shared_table())
        owners = [m for part in (self.input, self.stack, self.output) for m in part.modules()]
        self._steps = SingleSteps(self.input.weight, steppers, product, owners)

    def read(self, ids: torch.Tensor, state: State) -> State:
        steps = self._valid_steps() if ids.shape[1] == 1 else None
        if steps is None:
            return super().read(ids, state)
        carried = state[1]
        if self.resets_at_lines and bool((ended := ids[:, 0] == self.eos_id).any()):
            carried = self.renew(ended, carried)
        return steps.read(ids, carried)

    def scores(self, state: State) -> torch.Tensor:
        steps = self._valid_steps()
        return super().scores(state) if steps is None else steps.scores(state)

    def _valid_steps(self) -> SingleSteps | None:
        steps = self._steps
        return steps if steps is not None and not self.training and steps.is_valid else None

    def begin_encoding(self, batch_size: int) -> State:
        state = self.stack.start(batch_size)
        return state if self.topics is None else (state, self.topics.begin(batch_size))

    def encode(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, State, torch.Tensor | float]:
        # Padding comes last, so it cannot affect real tokens, and its outputs are not counted.
        # Lengths are not passed: they would prevent the use of fused kernels.
        if self.topics is None:
            run = self._run(self.input(ids), carried)
            return run.outputs, run.state, self._penalty(run, lengths)
        state, words = carried
        topics, words = self.topics(ids, words)
        run = self._run(torch.cat([self.input(ids), topics], dim=2), state)
        hidden = torch.cat([run.outputs, topics], dim=2)
        return hidden, (run.state, words), self._penalty(run, lengths)

    def _run(self, vectors: torch.Tensor, state: State) -> StackRun:
        """Run the stack; with `sum_layers`, its last output is the sum of those of all layers."""
        run = self.stack(vectors, state)
        if not self.config.sum_layers:
            return run
        summed = torch.stack(run.layers).sum(0)
        outputs = self.stack.drop(summed, self.config.dropout_output)
        return replace(run, outputs=outputs, layers=(*run.layers[:-1], summed))

    def _penalty(self, run: StackRun, lengths: torch.Tensor | None) -> torch.Tensor | float:
        penalty: torch.Tensor | float = 0.0
        if not self.training:
            return penalty
        real = None if lengths is None else real_tokens(run.outputs, lengths)
        if self.config.activation_penalty:
            penalty = self.config.activation_penalty * activation_penalty(run.outputs, real)
        if self.config.temporal_penalty:
            change = temporal_penalty(run.raw_outputs, real)
            penalty = penalty + self.config.temporal_penalty * change
        return penalty

    def describe(self) -> dict[str, Any]:
        config = self.config
        return {
            "model": "recurrent",
            "cell": config.cell,
            "layers": list(config.sizes()),
            "embedding_size": config.embedding_size,
            "tied": config.tied,
            **super().describe(),
        }


def _sized(config: RecurrentConfig, material: Material) -> RecurrentConfig:
    """Choose the largest hidden size, equal to the embedding size, with at most `parameters`."""

    def of_size(size: int) -> RecurrentConfig:
        return replace(config, parameters=0, hidden_size=size, embedding_size=size)

    def count(size: int) -> int:
        with torch.device("meta"):  # nothing is computed or stored
            model = RecurrentModel(of_size(size), replace(material, ids=None))
        return sum(parameter.numel() for parameter in model.parameters())

    low, high = 0, 1
    while count(high) <= config.parameters:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) <= config.parameters else (low, middle)
    if low == 0:
        raise InputError(
            f"model.parameters={config.parameters}: too few; with one unit the model has {count(1)}"
        )
    return of_size(low)


def _topic_context(config: RecurrentConfig, material: Material) -> TopicContext:
    """Topics trained on the training text; uniform ones before they are loaded."""
    in_topics = torch.full((material.vocabulary_size, config.topics), 1 / material.vocabulary_size)
    share = torch.full((config.topics,), 1 / config.topics)
    if material.ids is not None:
        learned = learn_topics(
            material.ids,
            vocabulary_size=material.vocabulary_size,
            eos_id=material.eos_id,
            topics=config.topics,
            lines=config.topic_lines,
        )
        in_topics, share = map(torch.from_numpy, learned)
    return TopicContext(in_topics, share, config.topic_words)


def activation_penalty(outputs: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """AR: the mean square of outputs (B, T, size), over the real tokens if a mask (B, T) is given.

    Keeps activations small. AWD-LSTM (Merity et al. 2017, "Revisiting activation regularization")
    adds to its loss, for the last layer,

        α · activation_penalty(dropped outputs) + β · temporal_penalty(raw outputs)    α = 2, β = 1

    so AR uses the input of the output layer, and TAR the recurrent outputs without dropout noise.
    """
    return _mean(outputs.square(), mask)


def temporal_penalty(outputs: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """TAR: the mean squared difference of neighbouring steps of outputs (B, T, size).

    Penalises fast changes of the state. With a mask, both neighbours must be real tokens; without
    any neighbours the penalty is zero.
    """
    differences = outputs[:, 1:] - outputs[:, :-1]  # (B, T - 1, size)
    both = None if mask is None else mask[:, 1:] & mask[:, :-1]  # (B, T - 1)
    return _mean(differences.square(), both)


def _mean(values: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """The mean of values (B, T, size) where the mask (B, T) is true; zero if it is never true."""
    if mask is None:
        return values.sum() / max(values.numel(), 1)
    kept = torch.where(mask.unsqueeze(-1), values, 0)
    return kept.sum() / (mask.sum() * values.shape[-1]).clamp(min=1)
