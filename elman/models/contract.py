"""The one contract: a state is everything a model has read; from it the next token is predicted.

Takes ids and a state, gives log probabilities (natural logarithm) and a new state. Every model and
every adapter keeps it; evaluation, decoding, adapters, the command line and the studio are
written against it and never ask what kind of model they hold.

    state            = model.start(batch_size)      nothing read yet; or a source, encoded
    log_probs        = model.predict(state)         (B, V) the distribution of the next token
    state            = model.read(ids, state)       (B, T) ids read
    log_probs, state = model.score(ids, state)      (B, T) log p of each id after those before
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # torch takes two seconds to import; counting words does not need it
    import torch

    from elman.state import State


class LanguageModel(ABC):
    """A distribution over the next token, given everything read so far."""

    vocabulary_size: int
    # How many of the last tokens the future can depend on; None: all of them. Evaluation uses it to
    # cut one long stream into rows without changing the result.
    horizon: int | None = None
    # Whether a line end makes the model forget what came before it: part of a number's protocol.
    resets_at_lines: bool = False
    # Whether there is a distribution after every context. Maximum likelihood has none after a
    # context that was never seen (0 / 0): there `predict` gives every token the probability zero,
    # so that the row sums to zero and not to one, and `undefined` says so.
    always_defined: bool = True
    # Whether predictions are made from a vector, which can be asked for.
    has_vectors: bool = False
    # Whether predictions look at the places of a source, and can say how much at each.
    has_attention: bool = False

    @abstractmethod
    def start(self, batch_size: int, source: Any = None) -> State:
        """The state of having read nothing, for a batch of rows."""

    @abstractmethod
    def predict(self, state: State) -> torch.Tensor:
        """Log probabilities of the next token, (B, V)."""

    @abstractmethod
    def read(self, ids: torch.Tensor, state: State) -> State:
        """The state after reading ids, (B, T)."""

    @abstractmethod
    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Log probability of each id given the state before it, (B, T), and the state after."""

    def undefined(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Whether no distribution is defined before each id, (B, T) of bool; the state after."""
        import torch

        return torch.zeros(ids.shape, dtype=torch.bool), self.read(ids, state)

    def predict_all(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """The whole distribution before each id, (B, T, V), and the state after them."""
        import torch

        if ids.shape[1] == 0:
            return self.predict(state)[:, None][:, :0], state
        distributions = []
        for t in range(ids.shape[1]):
            distributions.append(self.predict(state))
            state = self.read(ids[:, t : t + 1], state)
        return torch.stack(distributions, dim=1), state

    def vector(self, state: State) -> torch.Tensor:
        """What the next token is predicted from, (B, size); of a model that has vectors."""
        raise NotImplementedError("this model has no vectors")

    def score_and_vectors(
        self, ids: torch.Tensor, state: State
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        """As `score`, with the vector that each id was predicted from, (B, T, size)."""
        raise NotImplementedError("this model has no vectors")

    def attention(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        """How much the next prediction looks at each place of the source, (B, S), summing to one;
        and which places are real, (B, S): padding is not, and gets exactly zero.
        """
        raise NotImplementedError("this model has no attention")

    def describe(self) -> dict[str, Any]:
        """What a person wants to know about the model, as plain data."""
        return {"vocabulary_size": self.vocabulary_size}


@dataclass(frozen=True)
class Loss:
    """Sums and counts; the division is the loop's."""

    nats: torch.Tensor  # summed over the tokens
    tokens: int
    penalty: torch.Tensor | float = 0.0  # per token, beside the nats
