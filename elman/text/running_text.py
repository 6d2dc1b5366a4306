"""Running text for language models: a corpus whose files are checked to be text.

Takes a path or a name, gives a `Corpus`; called by whatever trains, measures or uses a language
model.
"""

from __future__ import annotations

from elman.text.corpora import CORPORA, Corpus, open_corpus
from elman.text.file_shapes import refuse_other_shapes


def open_running_text(data: str, *, labelled: bool = False, plain: bool = False) -> Corpus:
    """A corpus; files that look like tables or annotation are refused, unless `plain`."""
    corpus = open_corpus(data, labelled=labelled)
    if plain or labelled or data.partition(":")[0] in CORPORA:
        return corpus
    documents = [corpus.whole] if corpus.whole else [*corpus.documents.values()]
    for document in documents:
        refuse_other_shapes(document)
    return corpus
