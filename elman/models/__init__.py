"""Model families, one per file, all behind the contract (`contract.py`).

Made by the tasks; called by evaluation, decoding, training and adapters, which know the contract
and no family.
"""

from elman.registry import Registry

MODELS = Registry(
    "model",
    {
        "ngram": "elman.models.ngram:NGram",
        "feed-forward": "elman.models.feed_forward:FeedForward",
        "log-bilinear": "elman.models.log_bilinear:LogBilinear",
        "recurrent": "elman.models.recurrent:RecurrentModel",
    },
)
