"""Model families.

All language models implement the contract (`contract.py`), including the encoder–decoder once it
has a source. Models of whole sentences have a loss and an error count (`sentence_model.py`). `task`
names the task that trains a family.
"""

from elman.registry import Registry

MODELS = Registry(
    "model",
    {
        "ngram": "elman.models.ngram:NGram",
        "snm": "elman.models.snm:SparseMatrix",
        "feed-forward": "elman.models.window:FeedForward",
        "log-bilinear": "elman.models.window:LogBilinear",
        "recurrent": "elman.models.recurrent:RecurrentModel",
        "tagger": "elman.models.tagger:Tagger",
        "classifier": "elman.models.classifier:Classifier",
        "bidirectional": "elman.models.bidirectional:BidirectionalModel",
        "word2vec": "elman.models.word2vec:Word2Vec",
        "answerer": "elman.models.answerer:Answerer",
        "encoder-decoder": "elman.models.encoder_decoder:EncoderDecoder",
    },
    group="models",
)
