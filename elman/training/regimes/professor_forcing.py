"""Professor forcing: hidden states must not reveal whether the model read its own words.

A discriminator D learns to distinguish hidden states on the true text, h(y), from those on the
model's own words, h(ŷ); the model learns to fool it, besides its usual loss:

    L_D = -log D(h(y)) - log(1 - D(h(ŷ)))
    L   = -Σ_t log p(y_t | y_1 … y_(t-1)) / T  -  weight · log D(h(ŷ))

D learns only while it is right in fewer than 99 % of the cases, and the model tries to fool it only
while it is right in more than 75 %. D and its optimizer are part of a snapshot.

Lamb, Goyal, Zhang, Zhang, Courville and Bengio (2016): Professor forcing: a new algorithm for
training recurrent networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.functional import softplus

from elman.batches import Batch
from elman.config import check_types
from elman.layers.stack import Stack, StackConfig
from elman.state import State
from elman.training.optimizers import optimizer_tensors, restore_optimizer
from elman.training.regimes.own_words import evaluating, own_words, toss
from elman.training.regimes.regime import OPTIONS, Loss, Regime, StepLoss, begun
from elman.training.settings import require_least, require_part
from elman.training.snapshot import Tensors, put_under, take_from


class Discriminator(nn.Module):
    """Distinguishes hidden states on the true text from those on the model's own words.

        h_1 … h_T ── GRU in both directions ── mean over time ── w · m + b = logit

    Takes sequences (B, T, size), gives logits (B,): above zero means teacher-forced.

    A bidirectional GRU with one output (Lamb et al. 2016, section 3).
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        config = StackConfig(cell="gru", hidden_size=hidden_size, bidirectional=True)
        self.stack = Stack(input_size, config)
        self.judge = nn.Linear(self.stack.output_size, 1)

    def forward(self, hidden: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        outputs = self.stack(hidden, lengths=lengths).outputs  # (B, T, 2 hidden_size)
        # Beyond the lengths the outputs are zero.
        mean = outputs.mean(1) if lengths is None else outputs.sum(1) / lengths[:, None]
        logits: torch.Tensor = self.judge(mean)
        return logits.squeeze(1)


def separation_loss(forced: torch.Tensor, free: torch.Tensor) -> torch.Tensor:
    """-log D(forced) - log(1 - D(free)), mean over rows, from logits: the discriminator's loss."""
    return softplus(-forced).mean() + softplus(free).mean()


def fooling_loss(free: torch.Tensor) -> torch.Tensor:
    """-log D(free), mean over rows, from logits: the model's loss for fooling D."""
    return softplus(-free).mean()


def accuracy(forced: torch.Tensor, free: torch.Tensor) -> float:
    """The share of sequences that are classified correctly."""
    right = (forced > 0).sum() + (free <= 0).sum()
    return float(right) / (len(forced) + len(free))


@dataclass(kw_only=True)
class ProfessorForcingOptions:
    """Options of professor forcing."""

    weight: float = 1.0  # of the loss for fooling the discriminator
    hidden_size: int = 64  # units per direction of the discriminator
    learning_rate: float = 0.001  # of the discriminator, with Adam
    learn_below: float = 0.99  # train the discriminator while its accuracy is below this
    fool_above: float = 0.75  # train the model to fool it while its accuracy is above this

    def __post_init__(self) -> None:
        check_types(self)
        require_part(self, OPTIONS, "learn_below", "fool_above")
        require_least(self, OPTIONS, weight=0, hidden_size=1, learning_rate=0)


class ProfessorForcing(Regime):
    """Trains the model and a discriminator, each with its own optimizer."""

    about = "hidden states must fool a discriminator of true and generated text (Lamb et al. 2016)"
    options_class = ProfessorForcingOptions
    options: ProfessorForcingOptions

    def __init__(self, options: ProfessorForcingOptions, model: Any) -> None:
        super().__init__(options, model)
        some = torch.full((1, 1), model.eos_id, device=next(model.parameters()).device)
        with torch.no_grad(), evaluating(model):
            size = model.hidden_vectors(some, model.begin(1)).shape[2]
        self.discriminator = Discriminator(size, options.hidden_size).to(some.device)
        self._names = {p: name for name, p in self.discriminator.named_parameters()}
        self.optimizer = torch.optim.Adam(self.discriminator.parameters(), lr=options.learning_rate)

    def loss(
        self, model: Any, batch: Batch, carried: State | None, progress: float
    ) -> tuple[Loss, State]:
        loss, after = model.loss(batch, carried)
        before = begun(model, batch, carried)
        own = own_words(model, batch.inputs, before, toss(1.0, batch.inputs))
        with torch.no_grad():
            forced = model.hidden_vectors(batch.inputs, before, batch.lengths)
        free = model.hidden_vectors(own, before, batch.lengths)
        right = self.learn(forced, free.detach(), batch.lengths)
        penalty = loss.penalty
        if right > self.options.fool_above:
            fooling = fooling_loss(self.discriminator(free, batch.lengths))
            penalty = penalty + self.options.weight * fooling
        return StepLoss(loss.nats, loss.tokens, penalty), after

    def learn(
        self, forced: torch.Tensor, free: torch.Tensor, lengths: torch.Tensor | None
    ) -> float:
        """Train the discriminator for a step, unless it is good already; return its accuracy."""
        both = None if lengths is None else torch.cat([lengths, lengths])
        logits = self.discriminator(torch.cat([forced, free]), both).chunk(2)
        right = accuracy(*logits)
        if right < self.options.learn_below:
            self.optimizer.zero_grad(set_to_none=True)
            separation_loss(*logits).backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
        return right

    def tensors(self) -> Tensors:
        weights = put_under("weights", self.discriminator.state_dict())
        return weights | put_under("optimizer", optimizer_tensors(self.optimizer, self._names))

    def restore(self, tensors: Tensors) -> None:
        self.discriminator.load_state_dict(take_from("weights", tensors))
        restore_optimizer(self.optimizer, self._names, take_from("optimizer", tensors))
