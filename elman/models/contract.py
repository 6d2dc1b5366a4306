"""The contract of language models: a state holds everything read; it predicts the next token.

Takes ids and a state, gives log probabilities (natural logarithm) and a new state. Every model and
every adapter implements it. Evaluation, decoding, adapters, the command line and the studio use
only this contract and never check the kind of model.

    state            = model.start(batch_size)      nothing read yet; or an encoded source
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


_NUMBERS = 1 << 22  # of distributions in memory at a time


class LanguageModel(ABC):
    """A distribution over the next token, given everything read so far."""

    vocabulary_size: int
    # The number of last tokens that a prediction can depend on; None: all. Evaluation uses it to
    # cut one long stream into rows without changing the result.
    horizon: int | None = None
    # Whether the model resets its state at line ends; part of the protocol of a measurement.
    resets_at_lines: bool = False
    # Whether every context has a distribution. Maximum likelihood has none after an unseen context
    # (0 / 0): `predict` gives every token the probability zero, so the row sums to zero instead of
    # one, and `undefined` is true there.
    always_defined: bool = True
    # How the model reads a text, if that is not obvious; part of the protocol of a measurement.
    reads: str = ""
    # Whether predictions come from a hidden vector; then `vector` gives it.
    has_vectors: bool = False
    # Whether the model attends to a source; then `attention` gives the weights.
    has_attention: bool = False
    # How evaluation divides its work, which changes no result: tokens of a row at a time, and rows
    # side by side if the caller does not choose.
    tokens_at_once: int = 1 << 12
    rows_at_once: int = 1
    # Whether lines may be scored in any order, and equal ones once; not if scoring is recorded.
    reorders_lines: bool = True

    @abstractmethod
    def start(self, batch_size: int, source: Any = None) -> State:
        """The initial state for a batch of rows, before any token is read."""

    @abstractmethod
    def predict(self, state: State) -> torch.Tensor:
        """Log probabilities of the next token, (B, V)."""

    def scores(self, state: State) -> torch.Tensor:
        """Log probabilities of the next token up to a constant per row, (B, V).

        Enough for drawing a token, and often cheaper than `predict`. Do not change them in place.
        """
        return self.predict(state)

    def prepare_steps(self, rows: int) -> None:  # noqa: B027 (most models need nothing)
        """Prepare for many single steps of this many rows; a step rounds differently after it."""

    def step_alike(self) -> bool:
        """From now on, give each row of a single step the same bits whatever the other rows are.

        False: this model cannot; in double precision, rows differ too little to matter.
        """
        return False

    @abstractmethod
    def read(self, ids: torch.Tensor, state: State) -> State:
        """The state after reading ids, (B, T)."""

    @abstractmethod
    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Log probability of each id given the state before it, (B, T), and the state after."""

    def undefined(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Where no distribution is defined before an id, (B, T) bool, and the state after."""
        return ids.new_zeros(ids.shape).bool(), self.read(ids, state)

    def predict_all(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """The whole distribution before each id, (B, T, V), and the state after them."""
        if ids.shape[1] == 0:
            return self.predict(state)[:, None][:, :0], state
        distributions = []
        for t in range(ids.shape[1]):
            distributions.append(self.predict(state)[:, None])
            state = self.read(ids[:, t : t + 1], state)
        return _join(distributions), state

    @property
    def numbers_at_once(self) -> int:
        """How many numbers `spread` holds in memory for a token."""
        return self.vocabulary_size

    def spread(
        self, ids: torch.Tensor, state: State, members: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, State]:
        """Four numbers for each id, (B, T, 4), see `measure_spread`."""
        log_probs, state = self.predict_all(ids, state)
        return measure_spread(ids, log_probs, members), state

    def score_and_mass(
        self, ids: torch.Tensor, state: State, members: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        """Like `score`, with the log probability before each id that the next one is in a set.

        members: which ids are in the set, (V,) bool. Word boundaries are such a set.
        """
        scores, masses = [], []
        at_once = max(1, _NUMBERS // (max(len(ids), 1) * self.vocabulary_size))
        for piece in ids.split(at_once, dim=1):  # type: ignore[no-untyped-call]
            log_probs, state = self.predict_all(piece, state)
            scores.append(log_probs.gather(2, piece[:, :, None])[:, :, 0])
            masses.append(log_probs[:, :, members].logsumexp(2))
        return _join(scores), _join(masses), state

    def parts(self) -> list[LanguageModel]:
        """The models whose scores of a text give those of this one, by `combine`; mostly none."""
        return []

    def combine(self, log_probs: list[torch.Tensor]) -> torch.Tensor:
        """The scores of this model, given those of its parts for the same tokens, (…) each."""
        raise NotImplementedError("this model has no parts")

    def vector(self, state: State) -> torch.Tensor:
        """The hidden vector that predicts the next token, (B, size), if the model has vectors."""
        raise NotImplementedError("this model has no hidden vectors")

    def score_and_vectors(
        self, ids: torch.Tensor, state: State
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        """Like `score`, with the hidden vector that predicted each id, (B, T, size)."""
        raise NotImplementedError("this model has no hidden vectors")

    def attention(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        """The attention of the next prediction to each source position, (B, S), summing to one,
        and which positions are real, (B, S). Padding gets exactly zero.
        """
        raise NotImplementedError("this model has no attention")

    def describe(self) -> dict[str, Any]:
        """A description of the model for users, as plain data."""
        return {"vocabulary_size": self.vocabulary_size}


def _join(parts: list[torch.Tensor]) -> torch.Tensor:
    """Tensors with time as their second dimension, one after the other."""
    import torch

    return torch.cat(parts, dim=1)


def measure_spread(
    ids: torch.Tensor, log_probs: torch.Tensor, members: torch.Tensor | None = None
) -> torch.Tensor:
    """Log probability, log p of the members, entropy before, and rank of every token, (B, T, 4).

    members: which ids are in a set, (V,) bool; without them, the second number is 0.
    """
    import torch

    own = log_probs.gather(2, ids[:, :, None])  # (B, T, 1)
    masses = torch.zeros_like(own[:, :, 0])
    if members is not None:
        masses = log_probs[:, :, members].logsumexp(2)
    entropies = torch.special.entr(log_probs.exp()).sum(2)
    ranks = (log_probs > own).sum(2) + 1
    columns = [own[:, :, 0], masses, entropies, ranks]
    return torch.stack([column.double() for column in columns], dim=2)


@dataclass(frozen=True)
class Loss:
    """Sums and counts; the training loop divides."""

    nats: torch.Tensor  # summed over the tokens
    tokens: int
    penalty: torch.Tensor | float = 0.0  # per token, added to the nats
