"""Count models of a few sentences, one for every tokenizer."""

from elman.counts.estimate import NgramConfig
from elman.models.ngram import NGram
from elman.text import train_tokenizer
from elman.text.tokenizer import TextConfig, Tokenizer

TRAINING = "the cats sleep .\nthe cat sleeps .\na cat sees the dogs .\n" * 8
Pair = tuple[NGram, Tokenizer]


def fitted(name: str) -> Pair:
    """A model and the tokenizer of this name."""
    sizes = {"bpe": 280, "unigram": 40}
    config = TextConfig(tokenizer=name, vocabulary_size=sizes.get(name))
    tokenizer, _ = train_tokenizer(TRAINING, config)
    settings = NgramConfig(order=3, smoothing="witten-bell")
    ids = tokenizer.encode(TRAINING)
    size, eos_id = len(tokenizer), tokenizer.eos_id
    return NGram.fit(ids, settings, vocabulary_size=size, eos_id=eos_id), tokenizer
