"""Count models of a few sentences, one for every tokenizer."""

from elman.counts.estimate import NgramConfig
from elman.models.ngram import NGram
from elman.text import train_tokenizer
from elman.text.tokenizer import TextConfig, Tokenizer

TRAINING = "the cats sleep .\nthe cat sleeps .\na cat sees the dogs .\n" * 8
TINY = "ab a b aab\nb ba a\naa b bb ab a\n" * 3
Pair = tuple[NGram, Tokenizer]


def fitted(name: str) -> Pair:
    """A model and the tokenizer of this name."""
    sizes = {"bpe": 280, "unigram": 40}
    return count(name, TRAINING, size=sizes.get(name))


def count(name: str, text: str, order: int = 3, size: int | None = None) -> Pair:
    """A model of a text."""
    tokenizer, _ = train_tokenizer(text, TextConfig(tokenizer=name, vocabulary_size=size))
    settings = NgramConfig(order=order, smoothing="witten-bell")
    ids, eos_id = tokenizer.encode(text), tokenizer.eos_id
    return NGram.fit(ids, settings, vocabulary_size=len(tokenizer), eos_id=eos_id), tokenizer
