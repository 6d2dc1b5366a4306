"""Interpolation with other runs: a mixture of whatever predicts the same words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elman.adapters.mixture import Mixture, mix
from elman.errors import InputError

if TYPE_CHECKING:
    from elman.adapters.fit_context import FitContext
    from elman.models.contract import LanguageModel

ABOUT = "linear interpolation with another run; given again, of all of them"


@dataclass(kw_only=True)
class MixConfig:
    """Interpolation with another run."""

    run: str = ""  # folder of the other run
    weight: float | None = None  # of the other run; None: fitted on validation text

    def __post_init__(self) -> None:
        if not self.run:
            raise InputError("mix: name the other run, as in --with mix:run=FOLDER")
        if self.weight is not None and not 0 <= self.weight <= 1:
            raise InputError(f"mix: weight={self.weight} must be from 0 to 1")


Config = MixConfig


def wrap(model: LanguageModel, config: MixConfig, around: FitContext) -> Mixture:
    """The model mixed with that of another run."""
    return mix(model, around.load_model(config.run), config.weight, around)
