"""The text for trainings that are stopped and resumed."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from stopping import write_text

from elman.training import loop


@pytest.fixture(scope="module")
def light(without_curves: None) -> Iterator[None]:
    """Runs without pictures, in whose short histories there still is something."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_HISTORY_STEPS", 6)
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    same = np.ones(12)
    return write_text(tmp_path_factory.mktemp("text"), {"train": same, "valid": same})
