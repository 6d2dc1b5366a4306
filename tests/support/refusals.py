"""Settings that must be refused, from Python and from recipes."""

from typing import Any

import pytest

from elman.config import build
from elman.errors import InputError
from elman.training.settings import TrainingConfig


def assert_refused(settings: dict[str, Any], message: str) -> None:
    """Made in Python and built from a recipe, they are refused in one line."""
    for make in (
        lambda: TrainingConfig(**settings),
        lambda: build(TrainingConfig, settings, "training"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            make()
        assert "\n" not in str(caught.value)
