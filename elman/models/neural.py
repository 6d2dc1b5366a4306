"""What neural language models share: vectors of words in, an encoder, a distribution out.

A family says how it turns ids into hidden vectors (`encode`); the contract, the loss and what a run
folder keeps follow from that.

    ids ── input ── encode ── hidden (B, T, size) ── output.gather ── evidence ── log probabilities
                      └── what it carries along          └── its memory

The evidence after an id is what the next id is predicted from. So the state is the last evidence,
and what encoder and output carry along.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import nn

from elman.batches.batch import Batch
from elman.config import check_types
from elman.errors import InputError, choose
from elman.layers.dropout import check_rate, draw_masks_anew
from elman.layers.inputs import INPUTS, Material
from elman.layers.options import check_options
from elman.layers.outputs import OUTPUTS
from elman.layers.outputs.output import Evidence
from elman.models.contract import LanguageModel
from elman.state import State, detach, replace_rows

CONTEXTS = ("stream", "line")
INITIALISERS = ("default", "uniform", "normal")


@dataclass(kw_only=True)
class NeuralConfig:
    """What all neural models have."""

    context: str = "stream"  # stream: the text runs on; line: every line by itself
    input: str = "words"  # elman list inputs
    input_options: dict[str, Any] = field(default_factory=dict)  # of the input, like highways = 2
    embedding_size: int = 200  # numbers per word vector
    tied: bool = True  # word vectors serve as the output's weights too (Press and Wolf 2017)
    output: str = "full"  # elman list outputs
    output_options: dict[str, Any] = field(default_factory=dict)  # of the output: samples = 1000
    dropout_words: float = 0.0  # whole words, everywhere in a window
    init: str = "default"  # of all weights: default (each part's own), uniform or normal
    init_scale: float = 0.1  # bound of the uniform, standard deviation of the normal one

    def __post_init__(self) -> None:
        check_types(self)
        self.input_options = check_options(INPUTS, self.input, self.input_options)
        self.output_options = check_options(OUTPUTS, self.output, self.output_options)
        choose(dict.fromkeys(INITIALISERS), self.init, "init")
        choose(dict.fromkeys(CONTEXTS), self.context, "context")
        check_rate(self.dropout_words, "dropout_words")
        if self.embedding_size < 1:
            raise InputError(f"embedding_size={self.embedding_size}: must be at least 1")
        if not self.init_scale >= 0:  # nor is it NaN
            raise InputError(f"init_scale={self.init_scale}: must not be negative")


@dataclass(frozen=True)
class Loss:
    """What a step learns from: sums and counts; the division is the loop's."""

    nats: torch.Tensor  # summed over the tokens
    tokens: int
    penalty: torch.Tensor | float = 0.0  # per token, beside the nats


class NeuralModel(nn.Module, LanguageModel):
    """A language model that is learned by gradients."""

    about: ClassVar[str]
    config_class: ClassVar[type]

    def __init__(self, config: NeuralConfig, material: Material) -> None:
        super().__init__()
        self.config = config
        self.vocabulary_size = material.vocabulary_size
        self.eos_id = material.eos_id
        self.resets_at_lines = config.context == "line"
        # What inputs and outputs make of the counts can be made again, so only these are kept.
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

    def _finish(self, hidden_size: int) -> None:
        """Put the output on hidden vectors of this size; the last act of building a model."""
        config = self.config
        make_output: Any = OUTPUTS[config.output]
        self.output = make_output(
            hidden_size,
            self.counts,
            embedding_size=config.embedding_size,
            tied=config.tied,
            **config.output_options,
        )
        if config.init != "default":
            for parameter in self.parameters():
                if config.init == "uniform":
                    nn.init.uniform_(parameter, -config.init_scale, config.init_scale)
                else:
                    nn.init.normal_(parameter, std=config.init_scale)

    @cached_property
    def vector_size(self) -> int:  # type: ignore[override]  # the contract has it as an attribute
        with torch.no_grad():
            return self.vector(self.start(1)).shape[1]

    # What a family says ---------------------------------------------------------------------------

    @abstractmethod
    def begin_encoding(self, batch_size: int) -> State:
        """What the encoder carries along before anything was read."""

    @abstractmethod
    def encode(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, State, torch.Tensor | float]:
        """A hidden vector after each id, (B, T, size), what is carried on, and a penalty."""

    # Learning -------------------------------------------------------------------------------------

    def loss(self, batch: Batch, carried: State | None) -> tuple[Loss, State]:
        """Predict each target from what stands before it; `carried` is None at a fresh start."""
        if carried is None:
            carried = self.begin(len(batch.inputs))
        evidence, carried, penalty = self._encode(batch.inputs, carried, batch.lengths)
        targets = batch.targets
        counted = batch.learned
        if batch.lengths is not None:
            real = real_tokens(evidence[0], batch.lengths)
            counted = real if counted is None else real & counted
        if counted is None:
            evidence, targets = _rows(evidence), targets.flatten()
        else:
            evidence, targets = tuple(part[counted] for part in evidence), targets[counted]
        nats = self.output.loss(evidence, targets, self._table())
        return Loss(nats, len(targets), penalty), detach(carried)

    def begin(self, batch_size: int) -> State:
        """What is carried along before anything was read."""
        return self.begin_encoding(batch_size), self.output.begin(batch_size)

    def hidden_vectors(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The hidden vector after each id, (B, T, size)."""
        return self.encode(ids, carried[0], lengths)[0]

    def _encode(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> tuple[Evidence, State, torch.Tensor | float]:
        """The evidence after each id, (B, T, …), what is carried on, and a penalty."""
        draw_masks_anew()
        inner, memory = carried
        hidden, inner, penalty = self.encode(ids, inner, lengths)
        evidence, memory = self.output.gather(hidden, ids, memory)
        return evidence, (inner, memory), penalty

    def multiplications(self, step_tokens: int, *, learning: bool = True) -> int:
        """Multiply-adds per token of the matrix products, forward only.

        step_tokens: how many tokens a step has; of consequence where the output looks at a part of
        the vocabulary in learning, or where the input is computed once per distinct word.
        """
        inside = sum(
            parameter.numel()
            for name, parameter in self.named_parameters()
            if parameter.dim() == 2 and not name.startswith(("input.", "output."))
        )
        output = self.output
        above = output.multiplications(step_tokens) if learning else output.all_multiplications()
        return inside + round(self.input.multiplications(step_tokens) + above)

    # The contract ---------------------------------------------------------------------------------

    def start(self, batch_size: int, source: Any = None) -> State:
        nothing = torch.full((batch_size, 1), self.eos_id)
        return self.advance(nothing, self.begin(batch_size))[1]

    def predict(self, state: State) -> torch.Tensor:
        return self.output.log_probs(cast("Evidence", state[0]), self._table())

    def read(self, ids: torch.Tensor, state: State) -> State:
        if ids.shape[1] == 0:
            return state
        return self.advance(ids, state[1])[1]

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        before, state = self._before_each(ids, state)
        return self.score_from(before, ids), state

    def score_from(self, evidence: Evidence, ids: torch.Tensor) -> torch.Tensor:
        """Log probability of each id (B, T), given the evidence before it."""
        targets = ids.to(evidence[0].device).flatten()
        return self.output.score(_rows(evidence), targets, self._table()).view(ids.shape)

    def predict_all(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        before, state = self._before_each(ids, state)
        log_probs = self.output.log_probs(_rows(before), self._table())
        return log_probs.view(*ids.shape, self.vocabulary_size), state

    def vector(self, state: State) -> torch.Tensor:
        return cast("Evidence", state[0])[0].flatten(1)

    def score_and_vectors(
        self, ids: torch.Tensor, state: State
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        before, state = self._before_each(ids, state)
        return self.score_from(before, ids), before[0].flatten(2), state

    def advance(self, ids: torch.Tensor, carried: State) -> tuple[Evidence, State]:
        """The evidence after each id, (B, T, …), and the state after them."""
        parts = []
        for piece, fresh in self._pieces(ids.to(self.counts.device)):
            if fresh is not None:
                carried = replace_rows(fresh, self.begin(len(ids)), carried)
            evidence, carried, _ = self._encode(piece, carried)
            parts.append(evidence)
        evidence = parts[0] if len(parts) == 1 else _along_time(*parts)
        return evidence, (tuple(part[:, -1] for part in evidence), carried)

    def _pieces(self, ids: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor | None]]:
        """The ids in one piece; or, if lines stand by themselves, a new piece wherever a line ends,
        with the rows (B,) in which it does: those begin anew.
        """
        if not self.resets_at_lines:
            yield ids, None
            return
        ends = ids == self.eos_id
        cuts = [0, *[t for t in ends.any(0).nonzero().flatten().tolist() if t], ids.shape[1]]
        for begin, end in pairwise(cuts):
            yield ids[:, begin:end], ends[:, begin]

    def _before_each(self, ids: torch.Tensor, state: State) -> tuple[Evidence, State]:
        """The evidence before each id, (B, T, …), and the state after them all."""
        last = tuple(part.unsqueeze(1) for part in cast("Evidence", state[0]))
        if ids.shape[1] == 0:
            return tuple(part[:, :0] for part in last), state
        evidence, after = self.advance(ids, state[1])
        return _along_time(last, tuple(part[:, :-1] for part in evidence)), after

    def _table(self) -> torch.Tensor | None:
        return self.input.table if self.config.tied else None

    # What a run folder keeps ----------------------------------------------------------------------

    @classmethod
    def build(cls, config: Any, ids: np.ndarray, tokens: Sequence[str], eos_id: int) -> NeuralModel:
        """A fresh model for a vocabulary, from the ids of the training text."""
        counts = torch.from_numpy(np.bincount(ids, minlength=len(tokens)))
        return cls(config, Material(counts, eos_id, tokens, ids))

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that was learned, by name."""
        return {name: value.numpy(force=True) for name, value in self.state_dict().items()}

    def facts(self) -> dict[str, Any]:
        """What was learned besides arrays: small enough to read."""
        parameters = sum(parameter.numel() for parameter in self.parameters())
        return {
            "vocabulary_size": self.vocabulary_size,
            "eos_id": self.eos_id,
            "parameters": parameters,
        }

    @classmethod
    def restore(
        cls, config: Any, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]
    ) -> NeuralModel:
        """The model that gave these arrays and facts, ready to be used."""
        if "counts" not in arrays:
            raise ValueError("counts of the tokens are missing")
        material = Material(torch.from_numpy(arrays["counts"]).clone(), facts["eos_id"])
        with torch.random.fork_rng(devices=[]):  # fresh weights, soon gone, leave no trace
            model = cls(config, material)
        model.load_arrays(arrays)
        return model.eval()

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over arrays; every name and shape must fit."""
        own = self.state_dict()
        if own.keys() != arrays.keys():
            different = ", ".join(sorted(own.keys() ^ arrays.keys()))
            raise ValueError(f"these weights are not the model's: {different}")
        for name, value in own.items():
            if value.shape != arrays[name].shape:
                raise ValueError(f"{name} is {arrays[name].shape}, not {tuple(value.shape)}")
            value.copy_(torch.from_numpy(arrays[name]))

    def describe(self) -> dict[str, Any]:
        return self.facts()


def _rows(evidence: Evidence) -> Evidence:
    """(B, T, …) as (B · T, …)."""
    return tuple(part.flatten(0, 1) for part in evidence)


def _along_time(*parts: Evidence) -> Evidence:
    return tuple(torch.cat(pieces, dim=1) for pieces in zip(*parts, strict=True))


def real_tokens(values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Where values (B, T, size) stand for a token and not for padding, (B, T)."""
    steps = torch.arange(values.shape[1], device=values.device)
    return steps < lengths[:, None]
