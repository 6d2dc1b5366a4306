"""Words of a sentence that occur in another one, in batches."""

import numpy as np
import torch

from elman.batches.featured import IndexedMatches, find_matches
from elman.batches.sentences import SentenceReader
from elman.text.word_list import WordList

PASSAGES = ["Mary sang .".split(), "the ÉCOLE of Mary is the Best school".split(), ["no"]]
QUESTIONS = ["where is mary ?".split(), "École BEST".split(), "x y z w v".split()]
READER = SentenceReader(WordList.learn(PASSAGES))
INDEXED = READER.index(PASSAGES)


def test_case_does_not_matter() -> None:
    assert find_matches(PASSAGES[0], QUESTIONS[0]).tolist() == [True, False, False]
    assert np.flatnonzero(find_matches(PASSAGES[1], QUESTIONS[1])).tolist() == [1, 6]


def test_batches_have_the_matches_of_their_rows() -> None:
    matches = IndexedMatches(INDEXED, PASSAGES, QUESTIONS)
    rows = np.array([2, 0, 1])
    batch = matches.batch(rows)
    assert batch.matched.dtype == torch.bool
    assert batch.matched.nonzero().tolist() == [[1, 0], [2, 1], [2, 6]]
    plain = INDEXED.batch(rows)
    for name, value in vars(plain).items():
        found = getattr(batch, name)
        assert found is value is None or torch.equal(found, value), name
    moved = batch.to(torch.device("cpu"))
    assert torch.equal(moved.matched, batch.matched)
