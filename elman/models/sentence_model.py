"""What models of whole sentences share: how training judges them, and what a run folder keeps.

A family says its `loss` and its `errors`; the loop that trains language models trains it too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch

from elman.batches.sentences import ExampleBatch
from elman.models.contract import Loss
from elman.models.weights import Kept
from elman.text.task_config import SentenceConfig


class SentenceModel(Kept, ABC):
    """Reads sentences, and is judged by its errors.

    A model that predicts numbers instead of labels overrides `judge` and `judged_by`.
    """

    about: ClassVar[str]
    task: ClassVar[str]  # that trains it
    config_class: ClassVar[type]
    text_class: ClassVar[type] = SentenceConfig  # the settings of the section text
    judged_by: ClassVar[str] = "error"  # the share of what is wrong, in validation

    @abstractmethod
    def loss(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Nats of what is right; nothing is carried from batch to batch."""

    def errors(self, batch: ExampleBatch) -> int:
        """How much of a batch it gets wrong."""
        raise NotImplementedError

    def judge(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Errors in place of nats."""
        return Loss(torch.tensor(float(self.errors(batch))), batch.tokens), ()

    def groups(self) -> list[list[torch.nn.Parameter]]:
        """Its weights from the top down: what is on the encoder, then that layer by layer."""
        encoder = getattr(self, "encoder", None)
        below = [] if encoder is None else encoder.groups()
        seen = {id(parameter) for group in below for parameter in group}
        return [[p for p in self.parameters() if id(p) not in seen], *below]

    def facts(self) -> dict[str, Any]:
        """What is worth knowing of it: small enough to read."""
        return {"parameters": self.count_parameters()}

    def multiplications(self, step_tokens: int, *, learning: bool = True) -> int:
        """Multiply-adds per word of the matrix products, forward only; tables are looked up."""
        return sum(
            parameter.numel()
            for name, parameter in self.named_parameters()
            if parameter.dim() == 2 and not name.endswith("vectors.weight")
        )
