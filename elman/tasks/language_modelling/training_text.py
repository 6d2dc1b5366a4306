"""The text of a training: opened, and turned into ids by a tokenizer that was learned from it.

Takes data and settings, gives a `TrainingText`: what counting, training in steps and planning begin
with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from elman.recipes import RunConfig
from elman.text import train_tokenizer
from elman.text.corpora import Corpus, open_running_text
from elman.text.reader import named
from elman.text.tokenizer import Tokenizer

Told = Callable[[str], None]  # of what is being done


@dataclass(frozen=True)
class TrainingText:
    """A corpus and the ids of the part that is trained on."""

    corpus: Corpus
    tokenizer: Tokenizer
    ids: np.ndarray

    def validation_ids(self) -> np.ndarray | None:
        """The ids of the part that is validated on, if there is one."""
        if "valid" not in self.corpus.documents:
            return None
        return self.tokenizer.encode(self.corpus.documents["valid"].text)

    def facts(self) -> dict[str, Any]:
        """What is worth knowing later about the text that a model was trained on."""
        corpus, document = self.corpus, self.corpus.split("train")
        sources = [*corpus.documents.values(), *([corpus.whole] if corpus.whole else [])]
        return {
            "name": corpus.name,
            "sha256": {source.name: source.sha256() for source in sources},
            "lines": document.lines,
            "empty_lines": count_empty_lines(document.text),
            "tokens": len(self.ids),
            "unknown_tokens": self.tokenizer.count_unknown(document.text, self.ids),
            "notes": [*corpus.notes, *(n for d in corpus.documents.values() for n in d.notes)],
        }


def read_training_text(
    data: str,
    config: RunConfig,
    progress: Told = lambda what: None,
    tokenizer: Tokenizer | None = None,
) -> TrainingText:
    """The text, with a tokenizer learned from it unless one is given.

    The settings then name the one that was learned.
    """
    progress("reading")
    corpus = open_running_text(data, labelled=config.text.labelled, plain=config.text.plain)
    progress("tokenizing")
    if tokenizer is not None:
        return encode_training_text(corpus, tokenizer)
    document = corpus.split("train")
    with named(document):
        tokenizer, ids = train_tokenizer(document.text, config.text)
    config.text.tokenizer = tokenizer.name
    return TrainingText(corpus, tokenizer, ids)


def encode_training_text(corpus: Corpus, tokenizer: Tokenizer) -> TrainingText:
    """The text, with a tokenizer that was learned before."""
    return TrainingText(corpus, tokenizer, tokenizer.encode(corpus.split("train").text))


def count_empty_lines(text: str) -> int:
    """Lines without a character; each still counts as one line end."""
    return text.split("\n")[:-1].count("")
