"""Shared by tests of layers: seeds, and small stacks in double precision."""

from collections.abc import Callable

import pytest
import torch

from elman.layers.stack import Stack, StackConfig

BATCH, TIME, SIZE = 3, 6, 4


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def make_stack() -> Callable[..., Stack]:
    """Two layers of Elman cells that read and give SIZE numbers, unless the settings say else."""

    def make(**settings) -> Stack:
        settings = {"cell": "elman", "num_layers": 2, "hidden_size": SIZE} | settings
        return Stack(SIZE, StackConfig(**settings)).double()

    return make


@pytest.fixture
def make_inputs() -> Callable[..., torch.Tensor]:
    """Random vectors (BATCH, time, SIZE)."""
    return lambda time=TIME: torch.randn(BATCH, time, SIZE, dtype=torch.float64)
