"""Tag outputs: choose tags from scores, independently per word or for the whole sentence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from elman.cells.engine import real_tokens
from elman.errors import InputError
from elman.registry import Registry


class TagOutput(nn.Module, ABC):
    """An output over tag scores (B, T, K); only the first `lengths` (B,) of each row count."""

    about: ClassVar[str]

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.tags = tags

    @abstractmethod
    def loss(self, scores: torch.Tensor, tags: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Nats of the correct tags (B, T), summed over all words."""

    @abstractmethod
    def best(self, scores: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The most probable tags (B, T); arbitrary beyond the lengths."""

    def log_marginals(
        self, scores: torch.Tensor, lengths: torch.Tensor, temperature: float = 1.0
    ) -> torch.Tensor:
        """Log probabilities of the tags of each word, (B, T, K), over all taggings of the others.

        `temperature` divides all scores; the best tags stay the same. Arbitrary beyond the lengths.
        """
        raise InputError(f"the tag output {type(self).__name__} gives no probabilities of tags")


class TagSoftmax(TagOutput):
    """Independent tags: P(y_t = k) = softmax(scores)_k."""

    about = "independent tags: a softmax per word"

    def loss(self, scores: torch.Tensor, tags: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        real = real_tokens(scores, lengths)
        unseen = scores.shape[2]  # number of a tag that training never saw: no loss
        return cross_entropy(scores[real], tags[real], reduction="sum", ignore_index=unseen)

    def best(self, scores: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return scores.argmax(2)

    def log_marginals(
        self, scores: torch.Tensor, lengths: torch.Tensor, temperature: float = 1.0
    ) -> torch.Tensor:
        return (scores / temperature).log_softmax(2)


class ConditionalField(TagOutput):
    """A linear-chain conditional random field over the tags of a sentence.

        s(y) = a[y_1] + Σ_t scores[t, y_t] + Σ_t A[y_{t-1}, y_t] + b[y_T]
        P(y) = exp s(y) / Σ_{y'} exp s(y')

    The forward algorithm sums over all taggings, the Viterbi algorithm finds the best, and forward
    and backward sums together give the probability of each tag. All of them process all rows of a
    batch word by word. A row that has ended keeps its values.
    """

    about = "all tags of a sentence jointly (linear-chain CRF, Lafferty et al. 2001)"

    def __init__(self, tags: int) -> None:
        super().__init__(tags)
        self.between = nn.Parameter(torch.empty(tags, tags).uniform_(-0.1, 0.1))  # from, to
        self.first = nn.Parameter(torch.empty(tags).uniform_(-0.1, 0.1))
        self.last = nn.Parameter(torch.empty(tags).uniform_(-0.1, 0.1))

    def loss(self, scores: torch.Tensor, tags: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        # Sentences with a tag unseen in training have no score and add no loss.
        seen = ((tags < self.tags) | ~real_tokens(scores, lengths)).all(1)
        tags = tags.clamp(max=self.tags - 1)
        nats = self.total(scores, lengths) - self.score(scores, tags, lengths)
        return nats.where(seen, 0).sum()

    def score(
        self, scores: torch.Tensor, tags: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        """s(y) of each row, (B,)."""
        real = real_tokens(scores, lengths)
        own = scores.gather(2, tags.unsqueeze(2)).squeeze(2).where(real, 0).sum(1)
        steps = self.between[tags[:, :-1], tags[:, 1:]].where(real[:, 1:], 0).sum(1)
        ends = tags.gather(1, (lengths - 1)[:, None]).squeeze(1)
        return own + steps + self.first[tags[:, 0]] + self.last[ends]

    def total(self, scores: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logarithm of the sum of exp s(y) over all taggings of each row, (B,)."""
        real = real_tokens(scores, lengths)
        sums = self.first + scores[:, 0]  # (B, K), over all prefixes that end in a tag
        for time in range(1, scores.shape[1]):
            further = (sums.unsqueeze(2) + self.between).logsumexp(1) + scores[:, time]
            sums = further.where(real[:, time, None], sums)
        return (sums + self.last).logsumexp(1)

    @torch.no_grad()
    def best(self, scores: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        real = real_tokens(scores, lengths)
        sums = self.first + scores[:, 0]
        came_from = []  # (B, K) per step: the best tag before
        for time in range(1, scores.shape[1]):
            further, before = (sums.unsqueeze(2) + self.between).max(1)
            within = real[:, time, None]
            sums = (further + scores[:, time]).where(within, sums)
            # A row that has ended keeps its tag, so the backtrace starts at its last word.
            came_from.append(before.where(within, torch.arange(self.tags, device=before.device)))
        tags = [(sums + self.last).argmax(1)]
        for before in reversed(came_from):
            tags.append(before.gather(1, tags[-1][:, None]).squeeze(1))
        return torch.stack(tags[::-1], dim=1)

    def log_marginals(
        self, scores: torch.Tensor, lengths: torch.Tensor, temperature: float = 1.0
    ) -> torch.Tensor:
        real, scores = real_tokens(scores, lengths), scores / temperature
        between, last = self.between / temperature, self.last / temperature
        before = [self.first / temperature + scores[:, 0]]  # (B, K) per word: over all prefixes
        for time in range(1, scores.shape[1]):
            further = (before[-1].unsqueeze(2) + between).logsumexp(1) + scores[:, time]
            before.append(further.where(real[:, time, None], before[-1]))
        after = [last.expand_as(before[-1])]  # (B, K) per word, from the last: over all suffixes
        for time in range(scores.shape[1] - 1, 0, -1):
            further = (between + (scores[:, time] + after[-1]).unsqueeze(1)).logsumexp(2)
            after.append(further.where(real[:, time, None], after[-1]))
        return (torch.stack(before, 1) + torch.stack(after[::-1], 1)).log_softmax(2)


TAG_OUTPUTS = Registry(
    "tag output",
    {"softmax": TagSoftmax, "crf": ConditionalField},
    group="tag_outputs",
)
