"""What neural language models share: word vectors in, an encoder, a softmax out.

A family says how it turns ids into hidden vectors (`encode`); the contract, the loss and what a run
folder keeps follow from that. A hidden vector after an id is what the next id is predicted from, so
the state is the last hidden vector and whatever the encoder carries along.

    ids ── word vectors ── encode ── hidden (B, T, size) ── project ── output ── log probabilities
                             └── what it carries along
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import nn

from elman.batches.batch import Batch
from elman.config import check_types
from elman.errors import InputError, choose
from elman.layers.dropout import check_rate, embedding_dropout
from elman.layers.output import OUTPUTS
from elman.models.contract import LanguageModel
from elman.state import State, combine, detach

CONTEXTS = ("stream", "line")
INITIALISERS = ("default", "uniform", "normal")


@dataclass(kw_only=True)
class NeuralConfig:
    """What all neural models have."""

    context: str = "stream"  # stream: the text runs on; line: every line by itself
    embedding_size: int = 200  # numbers per word vector
    tied: bool = True  # word vectors serve as the output's weights too (Press and Wolf 2017)
    output: str = "full"  # elman list outputs
    samples: int = 1000  # words that a sampled output looks at
    dropout_words: float = 0.0  # whole words, everywhere in a window
    init: str = "default"  # of all weights: default (each part's own), uniform or normal
    init_scale: float = 0.1  # bound of the uniform, standard deviation of the normal one

    def __post_init__(self) -> None:
        check_types(self)
        choose(OUTPUTS, self.output, "output")
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

    def __init__(self, config: NeuralConfig, counts: torch.Tensor, eos_id: int) -> None:
        """`counts` (V,): how often each token occurs in the training text."""
        super().__init__()
        self.config = config
        self.vocabulary_size = len(counts)
        self.eos_id = eos_id
        self.resets_at_lines = config.context == "line"
        self.embedding = nn.Embedding(self.vocabulary_size, config.embedding_size)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)

    def _finish(self, hidden_size: int, counts: torch.Tensor) -> None:
        """Put the output on hidden vectors of this size; the last act of building a model."""
        config = self.config
        bridge = config.tied and hidden_size != config.embedding_size
        self.project = nn.Linear(hidden_size, config.embedding_size) if bridge else None
        self.output_size = config.embedding_size if config.tied else hidden_size
        self.output = OUTPUTS[config.output](
            self.output_size,
            counts,
            tied=config.tied,
            samples=config.samples,
        )
        if config.init != "default":
            for parameter in self.parameters():
                if config.init == "uniform":
                    nn.init.uniform_(parameter, -config.init_scale, config.init_scale)
                else:
                    nn.init.normal_(parameter, std=config.init_scale)

    # What a family says ---------------------------------------------------------------------------

    @abstractmethod
    def begin(self, batch_size: int) -> State:
        """What the encoder carries along before anything was read."""

    @abstractmethod
    def encode(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, State, torch.Tensor | float]:
        """A hidden vector after each id, (B, T, size), what is carried on, and a penalty."""

    # Learning -------------------------------------------------------------------------------------

    def loss(self, batch: Batch, carried: State | None) -> tuple[Loss, State]:
        """Predict each target from the input before it; `carried` is None at a fresh start."""
        if carried is None:
            carried = self.begin(len(batch.inputs))
        hidden, carried, penalty = self.encode(batch.inputs, carried, batch.lengths)
        targets = batch.targets
        if batch.lengths is None:
            hidden, targets = hidden.flatten(0, 1), targets.flatten()
        else:
            real = real_tokens(hidden, batch.lengths)
            hidden, targets = hidden[real], targets[real]
        nats = self.output.loss(self._bridge(hidden), targets, self._table())
        return Loss(nats, batch.tokens, penalty), detach(carried)

    def words(self, ids: torch.Tensor) -> torch.Tensor:
        """Word vectors of ids, (B, T, embedding_size), some words dropped in training."""
        rate = self.config.dropout_words
        table = embedding_dropout(self.embedding.weight, rate, self.training)
        return nn.functional.embedding(ids, table)

    def multiplications(self, step_tokens: int) -> int:
        """Multiply-adds per token of the matrix products, forward only.

        step_tokens: how many tokens a training step has; of consequence for a sampled output.
        """
        inside = sum(
            parameter.numel()
            for name, parameter in self.named_parameters()
            if parameter.dim() == 2 and not name.startswith(("embedding.", "output."))
        )
        return inside + round(self.output.rows_per_token(step_tokens) * self.output_size)

    # The contract ---------------------------------------------------------------------------------

    def start(self, batch_size: int, source: Any = None) -> State:
        nothing = torch.full((batch_size, 1), self.eos_id)
        return self.advance(nothing, self.begin(batch_size))[1]

    def predict(self, state: State) -> torch.Tensor:
        return self.output.log_probs(cast("torch.Tensor", state[0]), self._table())

    def read(self, ids: torch.Tensor, state: State) -> State:
        if ids.shape[1] == 0:
            return state
        return self.advance(ids, state[1])[1]

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        before, state = self._before_each(ids, state)
        targets = ids.to(before.device).flatten()
        scores = self.output.score(before.flatten(0, 1), targets, self._table())
        return scores.view(ids.shape), state

    def predict_all(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        before, state = self._before_each(ids, state)
        log_probs = self.output.log_probs(before.flatten(0, 1), self._table())
        return log_probs.view(*ids.shape, -1), state

    def advance(self, ids: torch.Tensor, carried: State) -> tuple[torch.Tensor, State]:
        """Hidden vectors after each id, (B, T, size), and the state after them."""
        parts = []
        for piece, fresh in self._pieces(ids.to(self.embedding.weight.device)):
            if fresh is not None:
                carried = _replace(fresh, self.begin(len(ids)), carried)
            hidden, carried, _ = self.encode(piece, carried)
            parts.append(self._bridge(hidden))
        hidden = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
        return hidden, (hidden[:, -1], carried)

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

    def _before_each(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """The hidden vector before each id, (B, T, size), and the state after them all."""
        last = cast("torch.Tensor", state[0]).unsqueeze(1)
        if ids.shape[1] == 0:
            return last[:, :0], state
        hidden, after = self.advance(ids, state[1])
        return torch.cat([last, hidden[:, :-1]], dim=1), after

    def _bridge(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden if self.project is None else self.project(hidden)

    def _table(self) -> torch.Tensor | None:
        return self.embedding.weight if self.config.tied else None

    # What a run folder keeps ----------------------------------------------------------------------

    @classmethod
    def build(cls, config: Any, counts: np.ndarray, eos_id: int) -> NeuralModel:
        """A fresh model for a vocabulary; `counts` of its tokens in the training text."""
        return cls(config, torch.from_numpy(counts), eos_id)

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
        counts = np.ones(facts["vocabulary_size"], dtype=np.int64)
        with torch.random.fork_rng(devices=[]):  # fresh weights, soon gone, leave no trace
            model = cls.build(config, counts, facts["eos_id"])
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


def _replace(rows: torch.Tensor, new: State, old: State) -> State:
    """The old state, but the new one in the rows (B,) that are true."""
    return combine(lambda a, b: torch.where(rows.view(-1, *[1] * (a.dim() - 1)), a, b), new, old)


def real_tokens(values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Where values (B, T, size) stand for a token and not for padding, (B, T)."""
    steps = torch.arange(values.shape[1], device=values.device)
    return steps < lengths[:, None]
