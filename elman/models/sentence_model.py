"""The base class of models of whole sentences: training, validation, saving and loading.

A family defines its `loss` and its `errors`; the training loop of language models trains it too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch

from elman.batches.sentences import ExampleBatch
from elman.layers.word_features import WordFeatures
from elman.models.contract import Loss
from elman.models.weights import Kept
from elman.text.task_config import SentenceConfig


class SentenceModel(Kept, ABC):
    """A model of sentences that is validated by its errors.

    A model that predicts numbers instead of labels overrides `judge` and `judged_by`.
    """

    about: ClassVar[str]
    task: ClassVar[str]  # the task that trains it
    config_class: ClassVar[type]
    text_class: ClassVar[type] = SentenceConfig  # the settings of the section text
    judged_by: str = "error"  # the error rate in validation
    unit: ClassVar[str] = "words"  # what its losses and errors count

    @abstractmethod
    def loss(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Nats of the correct answers; no state is carried from batch to batch."""

    def errors(self, batch: ExampleBatch) -> int:
        """The errors in a batch."""
        raise NotImplementedError

    def judge(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Errors instead of nats."""
        return Loss(torch.tensor(float(self.errors(batch))), batch.tokens), ()

    def groups(self) -> list[list[torch.nn.Parameter]]:
        """Groups of weights from the top down: the output, then the encoder layer by layer."""
        encoder = getattr(self, "encoder", None)
        below = [] if encoder is None else encoder.groups()
        seen = {id(parameter) for group in below for parameter in group}
        return [[p for p in self.parameters() if id(p) not in seen], *below]

    def start_from(self, numbers: np.ndarray, vectors: np.ndarray, further: np.ndarray) -> None:
        """Start from pretrained vectors of some words, and of those that training lacks."""
        inner: Any = getattr(self, "encoder", self)
        features: WordFeatures = inner.features
        features.start_from(numbers, vectors, further)

    def facts(self) -> dict[str, Any]:
        """The main facts about the model, as plain data."""
        return {"parameters": self.count_parameters()}

    def multiplications(self, step_tokens: int, *, learning: bool = True) -> int:
        """Multiply-adds per word of the matrix products, forward only; table lookups are free."""
        return sum(
            parameter.numel()
            for name, parameter in self.named_parameters()
            if parameter.dim() == 2 and not name.endswith("vectors.weight")
        )
