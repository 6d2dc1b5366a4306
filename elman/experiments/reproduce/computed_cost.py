"""The cost of a training whose dataset is missing: computed from the model and the published sizes.

Takes a training and its published table, gives the operations and the parameters of the model,
which is outlined without memory for its weights.
"""

from __future__ import annotations

import torch

from elman.experiments.reproduce.registry import PublishedTable
from elman.experiments.reproduce.results import Cost
from elman.experiments.reproduce.trainings import Training
from elman.layers.inputs import Material
from elman.models import MODELS
from elman.models.weights import outline


def compute_cost(training: Training, table: PublishedTable) -> Cost | None:
    """Compute the operations for a missing dataset; None if its size is unknown."""
    config = training.config()
    if config.training is None or not table.tokens or not table.vocabulary:
        return None
    ranks = torch.arange(1, table.vocabulary + 1, dtype=torch.double)  # counts by Zipf's law
    counts = (table.tokens / (ranks * (1 / ranks).sum())).round().long().clamp(min=1)
    material = Material(counts=counts, eos_id=0)
    model = outline(lambda: MODELS[config.kind](config.model, material))
    if model is None:
        return None
    per_step = config.training.batch_size * config.training.window
    per_token = model.multiplications(per_step)  # type: ignore[operator]
    teraflop = 6e-12 * per_token * table.tokens * config.training.epochs
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Cost(teraflop=float(f"{teraflop:.4g}"), parameters=parameters, computed=True)
