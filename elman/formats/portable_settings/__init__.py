"""The settings and weights of a run for the portable models.

Takes a trained model, gives plain settings and tensors by name, or the portable model itself.
"""

from __future__ import annotations

from typing import Any

from elman.formats.portable.families import build
from elman.formats.portable_settings import encoder_decoder, language_models, sentences
from elman.formats.portable_settings.describing import describe

__all__ = ["describe", "encoder_decoder", "language_models", "sentences", "to_portable"]


def to_portable(model: Any) -> Any:
    """A portable model with the weights of a trained one, in evaluation mode."""
    settings, weights = describe(model)
    network = build(settings)
    network.load_state_dict(weights)
    return network.eval()
