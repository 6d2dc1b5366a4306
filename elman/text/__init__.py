"""Text to ids and back: readers, corpora, tokenizers, built-in corpora. No torch.

Takes files, gives `Document`s; takes text, gives ids (numpy, int64). Called by the tasks.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from elman.errors import InputError
from elman.registry import Registry
from elman.text.letters import CLAUSE_MARKS, COMBINING, lacks_spaces
from elman.text.normalising import normaliser_from_data
from elman.text.tokenizer import TextConfig, Tokenizer, no_surrogates

TOKENIZERS = Registry(
    "tokenizer",
    {
        "words": "elman.text.words:Words",
        "raw-words": "elman.text.raw_words:RawWords",
        "characters": "elman.text.characters:Characters",
        "bytes": "elman.text.characters:Bytes",
        "bpe": "elman.text.subwords:BytePairs",
        "unigram": "elman.text.subwords:Unigram",
    },
    group="tokenizers",
)

# Tokenizers of models from elsewhere, as in `hf:FOLDER`. Without a folder, they cannot be trained.
PRETRAINED_TOKENIZERS = Registry(
    "pretrained tokenizer",
    {"hf": "elman.text.pretrained:PretrainedTokenizer"},
    group="pretrained_tokenizers",
)

# In tokenized English only abbreviations end in a mark: 3 % of the words of the Penn Treebank. In
# raw English the last word of every clause does too: about 15 %.
_MOST_ATTACHED_MARKS = 0.06
_ATTACHED_MARK = re.compile(rf"[\w{COMBINING}][{CLAUSE_MARKS}\"')\]]+$")
# Texts with few full stops, such as messages, have fewer. But no tokenizer leaves commas attached.
_MOST_ATTACHED_COMMAS = 0.01
_COMMA = re.compile(rf"[{CLAUSE_MARKS[1:]}]")
_ATTACHED_COMMA = re.compile(rf"[\w{COMBINING}][{CLAUSE_MARKS[1:]}]$")
_LONGEST_MEAN_WORD = 15  # characters; German and Finnish have fewer than nine


def train_tokenizer(text: str, config: TextConfig) -> tuple[Tokenizer, np.ndarray]:
    """Fit the configured tokenizer to a text; return it with the ids of that text."""
    no_surrogates(text)
    name = guess_tokenizer(text) if config.tokenizer == "auto" else config.tokenizer
    return choose_tokenizer(name).learn(text, config)


def choose_tokenizer(name: str) -> type[Tokenizer]:
    """The class of a tokenizer: of a kind like `bpe`, or of a place like `hf:FOLDER`."""
    place = str(name).partition(":")[0]
    registry = PRETRAINED_TOKENIZERS if place in PRETRAINED_TOKENIZERS else TOKENIZERS
    found: type[Tokenizer] = registry.choose(place if registry is PRETRAINED_TOKENIZERS else name)
    return found


def guess_tokenizer(text: str) -> str:
    """`words` if punctuation is separated, `bpe` for scripts without spaces, else `raw-words`."""
    words = Counter(text[:1_000_000].split())
    if lacks_spaces(words) or _mean_length(words) > _LONGEST_MEAN_WORD:
        return "bpe"
    total = words.total()
    attached = _count(words, _ATTACHED_MARK.search)
    commas, alone = _count(words, _ATTACHED_COMMA.search), _count(words, _COMMA.fullmatch)
    is_raw = attached > _MOST_ATTACHED_MARKS * total or (
        commas > _MOST_ATTACHED_COMMAS * total and commas > alone
    )
    return "raw-words" if is_raw else "words"


def _count(words: Counter[str], matches: Callable[[str], object]) -> int:
    return sum(count for word, count in words.items() if matches(word))


def _mean_length(words: Counter[str]) -> float:
    return sum(len(word) * count for word, count in words.items()) / max(words.total(), 1)


def tokenizer_to_data(tokenizer: Tokenizer) -> dict[str, Any]:
    """A tokenizer as plain data, for a run folder."""
    normalise = tokenizer.normaliser.to_data()
    return {"tokenizer": tokenizer.name, "normalise": normalise, **tokenizer.to_data()}


def tokenizer_from_data(data: dict[str, Any]) -> Tokenizer:
    """Rebuild the tokenizer from this data."""
    data = dict(data)
    try:
        normaliser = normaliser_from_data(data.pop("normalise", None))
        tokenizer: Tokenizer = choose_tokenizer(data.pop("tokenizer")).from_data(data)
        tokenizer.normaliser = normaliser
        return tokenizer
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"tokenizer.json: not an elman tokenizer ({error})") from None
