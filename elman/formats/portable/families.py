"""The portable models by the name of their family."""

from __future__ import annotations

from typing import Any

from elman.formats.portable.answering import Answering
from elman.formats.portable.bidirectional import Bidirectional
from elman.formats.portable.encoder_decoder import Translating
from elman.formats.portable.language_models import Recurring, Window
from elman.formats.portable.ngram_model import Counted
from elman.formats.portable.sentences import Classifying, Tagging

FAMILIES = {
    "recurrent": Recurring,
    "window": Window,
    "ngram": Counted,
    "classifier": Classifying,
    "tagger": Tagging,
    "bidirectional": Bidirectional,
    "encoder-decoder": Translating,
    "answerer": Answering,
}


def build(settings: dict[str, Any]) -> Any:
    """The model of these settings, with weights still to be loaded."""
    return FAMILIES[settings["family"]](settings)
