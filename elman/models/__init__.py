"""Model families.

Language models are all behind the contract (`contract.py`), the encoder–decoder too once it has a
source; models of whole sentences have a loss and errors (`sentence_model.py`). `task` says which
task trains a family.
"""

from elman.registry import Registry

MODELS = Registry(
    "model",
    {
        "ngram": "elman.models.ngram:NGram",
        "feed-forward": "elman.models.window:FeedForward",
        "log-bilinear": "elman.models.window:LogBilinear",
        "recurrent": "elman.models.recurrent:RecurrentModel",
        "tagger": "elman.models.tagger:Tagger",
        "classifier": "elman.models.classifier:Classifier",
        "bidirectional": "elman.models.bidirectional:BidirectionalModel",
        "answerer": "elman.models.answerer:Answerer",
        "encoder-decoder": "elman.models.encoder_decoder:EncoderDecoder",
    },
    group="models",
)
