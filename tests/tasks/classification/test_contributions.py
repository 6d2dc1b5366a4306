"""The contribution of a word to a label is the effect of leaving it out."""

from __future__ import annotations

import math

import pytest
from films import log_probabilities

from elman.tasks.classification.trained import TrainedClassifier

pytestmark = pytest.mark.usefixtures("without_curves")


def test_a_contribution_is_what_leaving_the_word_out_costs(trained: TrainedClassifier) -> None:
    words = "a film dull story cast .".split()
    whole = log_probabilities(trained, " ".join(words))
    label = int(whole.argmax())
    found = trained.explain(" ".join(words))
    assert [one.word for one in found] == words
    for place, one in enumerate(found):
        rest = " ".join(words[:place] + words[place + 1 :])
        expected = whole[label] - log_probabilities(trained, rest)[label]
        assert one.contribution == pytest.approx(expected, abs=1e-5)
    assert max(found, key=lambda one: one.contribution or -math.inf).word == "dull"


def test_the_label_in_question_is_that_of_the_whole_text(trained: TrainedClassifier) -> None:
    flipped = 0
    for text in ("a film dull", "a film warm"):  # one of them is labelled otherwise without it
        whole, rest = log_probabilities(trained, text), log_probabilities(trained, "a film")
        label = int(whole.argmax())
        flipped += label != int(rest.argmax())
        expected = whole[label] - rest[label]
        assert trained.explain(text)[-1].contribution == pytest.approx(expected, abs=1e-5)
    assert flipped == 1


def test_the_only_word_of_a_text_has_no_contribution(trained: TrainedClassifier) -> None:
    (found,) = trained.explain("dull")
    assert (found.word, found.contribution) == ("dull", None)
