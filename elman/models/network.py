"""The network inside a neural model: word vectors, an encoder, an output layer, and the loss.

    ids ── input ── encode ── hidden (B, T, size) ── output.gather ── evidence ── log probabilities
                      └── recurrent state                └── its memory

Each family defines how ids become hidden vectors (`encode`). The evidence after an id predicts the
next id. Training calls `begin` and `loss`; `neural.py` turns the network into a language model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from elman.batches.batch import Batch
from elman.cells.engine import real_tokens
from elman.config import at_least, check_types
from elman.errors import InputError, choose
from elman.layers.dropout import check_rate, draw_masks_anew
from elman.layers.inputs import INPUTS, Material, fill_rows
from elman.layers.outputs import OUTPUTS
from elman.layers.outputs.output import Evidence, Output
from elman.models.contract import Loss
from elman.models.weights import Kept
from elman.registry import check_options
from elman.state import State, detach

INITIALISERS = ("default", "uniform", "normal")


@dataclass(kw_only=True)
class NeuralConfig:
    """Settings of all neural models."""

    contexts: ClassVar[tuple[str, ...]] = ("stream", "line")

    context: str = "stream"  # stream: carry the state across lines; line: reset it at every line
    input: str = "words"  # elman list inputs
    input_options: dict[str, Any] = field(default_factory=dict)  # like highways = 2
    embedding_size: int = 200  # numbers per word vector
    vectors: str = ""  # start from word vectors: word2vec, GloVe, fastText .vec, a word2vec run
    tied: bool = True  # share word vectors with the output weights (Press and Wolf 2017)
    output: str = "full"  # elman list outputs
    output_options: dict[str, Any] = field(default_factory=dict)  # like samples = 1000
    dropout_words: float = 0.0  # dropout of whole words, everywhere in a window
    init: str = "default"  # initial weights: default (of each part), uniform or normal
    init_scale: float = 0.1  # bound of uniform, standard deviation of normal

    def __post_init__(self) -> None:
        check_types(self)
        self.input_options = check_options(INPUTS, self.input, self.input_options)
        self.output_options = check_options(OUTPUTS, self.output, self.output_options)
        choose(dict.fromkeys(INITIALISERS), self.init, "init")
        choose(dict.fromkeys(self.contexts), self.context, "context")
        check_rate(self.dropout_words, "dropout_words")
        at_least(self.embedding_size, 1, "embedding_size")
        if not self.init_scale >= 0:  # also refuses NaN
            raise InputError(f"init_scale={self.init_scale}: must not be negative")


class Network(Kept, ABC):
    """The trained part of a neural model: an input, the encoder of its family, and an output."""

    def __init__(self, config: NeuralConfig, material: Material) -> None:
        super().__init__()
        self.config = config
        # Inputs and outputs can be rebuilt from the counts, so only the counts are saved.
        self.register_buffer("counts", material.counts)
        make_input: Any = INPUTS[config.input]
        self.input = make_input(
            material,
            embedding_size=config.embedding_size,
            dropout_words=config.dropout_words,
            **config.input_options,
        )
        if config.tied and self.input.table is None:
            raise InputError(
                f"model.tied=true: input={config.input!r} has no table of word vectors to share;"
                " set model.tied=false"
            )

    counts: torch.Tensor

    def add_output(self, hidden_size: int) -> None:
        """Add the output for hidden vectors of this size; the last step of building a model."""
        config = self.config
        self.output = self.make_output(hidden_size)
        if config.init != "default":
            for parameter in self.parameters():
                if config.init == "uniform":
                    nn.init.uniform_(parameter, -config.init_scale, config.init_scale)
                else:
                    nn.init.normal_(parameter, std=config.init_scale)

    def make_output(self, hidden_size: int) -> Output:
        """A new output for hidden vectors of this size."""
        make: Any = OUTPUTS[self.config.output]
        sizes = {"embedding_size": self.config.embedding_size, "tied": self.config.tied}
        return make(hidden_size, self.counts, **sizes, **self.config.output_options)

    def make_room(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Prepare for the arrays of a saved model, by name."""
        prefix = "output."
        own = [name for name in shapes if name.startswith(prefix)]
        self.output.make_room({name.removeprefix(prefix): shapes[name] for name in own})

    @abstractmethod
    def begin_encoding(self, batch_size: int) -> State:
        """The initial state of the encoder."""

    @abstractmethod
    def encode(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, State, torch.Tensor | float]:
        """The hidden vector after each id, (B, T, size), the new state, and a penalty."""

    def begin(self, batch_size: int, source: Any = None) -> State:
        """The initial state; most models have no source."""
        return self.begin_encoding(batch_size), self.output.begin(batch_size)

    def gather(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> tuple[Evidence, State, torch.Tensor | float]:
        """The evidence after each id, (B, T, …), the new state, and a penalty."""
        draw_masks_anew()
        inner, memory = carried
        hidden, inner, penalty = self.encode(ids, inner, lengths)
        evidence, memory = self.output.gather(hidden, ids, memory)
        return evidence, (inner, memory), penalty

    def loss(self, batch: Batch, carried: State | None) -> tuple[Loss, State]:
        """The loss of predicting each target; `carried` is the state, None at the start."""
        if carried is None:
            carried = self.begin(len(batch.inputs), batch.source)
        evidence, carried, penalty = self.gather(batch.inputs, carried, batch.lengths)
        targets = batch.targets
        counted = batch.learned
        if batch.lengths is not None:
            real = real_tokens(evidence[0], batch.lengths)
            counted = real if counted is None else real & counted
        if counted is None:
            evidence, targets = rows(evidence), targets.flatten()
        else:
            evidence, targets = tuple(part[counted] for part in evidence), targets[counted]
        nats = self.output.loss(evidence, targets, self.shared_table())
        return Loss(nats, len(targets), penalty), detach(carried)

    def score_from(self, evidence: Evidence, ids: torch.Tensor) -> torch.Tensor:
        """Log probability of each id (B, T), given the evidence before it."""
        targets = ids.to(evidence[0].device).flatten()
        return self.output.score(rows(evidence), targets, self.shared_table()).view(ids.shape)

    def score_and_mass_from(
        self, evidence: Evidence, ids: torch.Tensor, members: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log probability of each id (B, T) and of a set of ids, given the evidence before it."""
        targets = ids.to(evidence[0].device).flatten()
        given = rows(evidence), targets, members.to(targets.device), self.shared_table()
        scores, masses = self.output.score_and_mass(*given)
        return scores.view(ids.shape), masses.view(ids.shape)

    def predict_from(self, evidence: Evidence) -> torch.Tensor:
        """Log probabilities of the whole vocabulary, (N, V), from evidence (N, …)."""
        return self.output.log_probs(evidence, self.shared_table())

    def hidden_vectors(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The hidden vector after each id, (B, T, size)."""
        return self.encode(ids, carried[0], lengths)[0]

    def multiplications(self, step_tokens: int, *, learning: bool = True) -> int:
        """Multiply-adds per token of the matrix products, forward only.

        step_tokens: the number of tokens per step. It matters if the output trains on a sample of
        the vocabulary, or if the input is computed once per distinct word.
        """
        inside = sum(
            parameter.numel()
            for name, parameter in self.named_parameters()
            if parameter.dim() == 2 and not name.startswith(("input.", "output."))
        )
        output = self.output
        above = output.multiplications(step_tokens) if learning else output.all_multiplications()
        return inside + round(self.input.multiplications(step_tokens) + above)

    @property
    def preparing_operations(self) -> float:
        """Operations before the first step, like those of counting n-grams."""
        return self.output.preparing_operations

    def follow(self, progress: float) -> bool:
        """Follow the progress of a training, from 0 to 1; whether that changes the operations."""
        return self.output.follow(progress)

    def start_from(self, numbers: np.ndarray, vectors: np.ndarray, further: np.ndarray) -> None:
        """Start from pretrained vectors of some words; `further` ones have no use here."""
        fill_rows(self.pretrained_table(), numbers, vectors)

    def pretrained_table(self) -> torch.Tensor:
        """The word vectors that can start from pretrained ones."""
        table: torch.Tensor | None = self.input.table
        if table is None:
            raise InputError(
                f"model.vectors: input={self.config.input!r} has no table of word vectors; set "
                "model.input=words"
            )
        return table

    def shared_table(self) -> torch.Tensor | None:
        """The word vectors, if the output is tied to them."""
        return self.input.table if self.config.tied else None


def rows(evidence: Evidence) -> Evidence:
    """Evidence (B, T, …) as (B · T, …)."""
    return tuple(part.flatten(0, 1) for part in evidence)
