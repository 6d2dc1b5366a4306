"""Model families, one per file, all behind the contract (`contract.py`).

Named as "module:class" and imported on use, because most of them import torch.
"""

from importlib import import_module
from typing import Any

from elman.errors import choose

MODELS = {
    "ngram": "elman.models.ngram:NGram",
    "feed-forward": "elman.models.window:FeedForward",
    "log-bilinear": "elman.models.log_bilinear:LogBilinear",
    "recurrent": "elman.models.recurrent:RecurrentModel",
}


def model_class(kind: str) -> Any:
    """The class of a model family."""
    module, _, name = choose(MODELS, kind, "model").partition(":")
    return getattr(import_module(module), name)
