"""Model families, one per file, all behind the contract (`contract.py`)."""

from elman.registry import Registry

MODELS = Registry(
    "model",
    {
        "ngram": "elman.models.ngram:NGram",
        "feed-forward": "elman.models.window:FeedForward",
        "log-bilinear": "elman.models.log_bilinear:LogBilinear",
        "recurrent": "elman.models.recurrent:RecurrentModel",
    },
)
