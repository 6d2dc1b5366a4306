"""Measures of tagging: tags, spans, out-of-vocabulary words, whole sentences.

Takes the correct and the predicted tags of every sentence, returns `TaggingMeasures`; called by the
tagging task. If tags mark spans, the F1 of spans comes first, because most tags are O.

A span is correct if its kind and both ends are correct, as in the CoNLL script and seqeval.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from elman.evaluation.bootstrap import Measure, share_of
from elman.evaluation.calibration import Calibration
from elman.evaluation.measures import (
    LabelMeasures,
    Score,
    TaskMeasures,
    make_score,
    measure_labels,
    unseen_notes,
)
from elman.text.tag_schemes import find_entities, is_scheme


@dataclass(frozen=True)
class EntityMeasures:
    """Precision, recall and F1 over all entities, and of each kind."""

    all: Score
    kinds: dict[str, Score]

    def to_data(self) -> dict[str, Any]:
        return {**vars(self.all), "kinds": {kind: vars(s) for kind, s in self.kinds.items()}}


def measure_entities(
    right: Iterable[Sequence[str]], guessed: Iterable[Sequence[str]]
) -> EntityMeasures:
    """Measures over whole sentences."""
    hits: Counter[str] = Counter()
    in_truth: Counter[str] = Counter()
    in_guesses: Counter[str] = Counter()
    for tags, guesses in zip(right, guessed, strict=True):
        true, found = set(find_entities(tags)), set(find_entities(guesses))
        in_truth.update(entity.kind for entity in true)
        in_guesses.update(entity.kind for entity in found)
        hits.update(entity.kind for entity in true & found)
    kinds = {
        kind: make_score(hits[kind], in_truth[kind], in_guesses[kind])
        for kind in sorted({*in_truth, *in_guesses})
    }
    everything = make_score(hits.total(), in_truth.total(), in_guesses.total())
    return EntityMeasures(everything, kinds)


@dataclass(frozen=True)
class TaggingMeasures(TaskMeasures):
    """The measures of a tagged text."""

    tags: LabelMeasures
    entities: EntityMeasures | None  # where tags mark spans
    unknown_accuracy: float | None  # of words that training never saw
    unknown_words: int
    sentences: int
    whole_sentences: float  # share of sentences without an error
    unseen_tags: dict[str, int]  # tags that training never saw, and how many words have them
    calibration: Calibration | None = None  # of the probabilities of tags

    def rows(self) -> list[tuple[str, Any]]:
        return [
            *self._entity_rows(),
            ("accuracy", self.tags.accuracy),
            ("accuracy of unknown words", self.unknown_accuracy),
            ("sentences all right", self.whole_sentences),
            ("macro F1 of tags", self.tags.macro_f1),
            *(self.calibration.rows() if self.calibration else []),
            ("words", self.tags.count),
            ("of them unknown", self.unknown_words),
            ("sentences", self.sentences),
        ]

    def _entity_rows(self) -> list[tuple[str, Any]]:
        if self.entities is None:
            return []
        score = self.entities.all
        shares = [("F1", score.f1), ("precision", score.precision), ("recall", score.recall)]
        return [*shares, ("spans", score.count)]

    def scores(self) -> dict[str, Score]:
        return self.tags.labels if self.entities is None else self.entities.kinds

    def footnotes(self) -> list[str]:
        return self.calibration.footnotes() if self.calibration else []

    def mistakes(self) -> list[tuple[str, str, int]]:
        return self.tags.mistakes()

    def notes(self) -> list[str]:
        return unseen_notes(self.unseen_tags, "word", "tag")

    def to_data(self) -> dict[str, Any]:
        return {
            **self.tags.to_data(),
            "entities": None if self.entities is None else self.entities.to_data(),
            "unknown_accuracy": self.unknown_accuracy,
            "unknown_words": self.unknown_words,
            "sentences": self.sentences,
            "whole_sentences": self.whole_sentences,
            "unseen_tags": self.unseen_tags,
            "calibration": self.calibration.to_data() if self.calibration else None,
        }


def measure_tagging(
    right: Sequence[Sequence[str]],
    guessed: Sequence[Sequence[str]],
    *,
    unknown: Sequence[bool],
    known_tags: Collection[str],
    calibration: Calibration | None = None,
) -> TaggingMeasures:
    """Measures of whole sentences; `unknown`: of every word of all of them, one after the other."""
    all_right, all_guessed = [*chain.from_iterable(right)], [*chain.from_iterable(guessed)]
    of_unknown = [
        tag == guess
        for tag, guess, is_unknown in zip(all_right, all_guessed, unknown, strict=True)
        if is_unknown
    ]
    whole = sum([*tags] == [*found] for tags, found in zip(right, guessed, strict=True))
    unseen = Counter(tag for tag in all_right if tag not in known_tags)
    return TaggingMeasures(
        tags=measure_labels(all_right, all_guessed),
        entities=measure_entities(right, guessed) if is_scheme(all_right) else None,
        unknown_accuracy=sum(of_unknown) / len(of_unknown) if of_unknown else None,
        unknown_words=len(of_unknown),
        sentences=len(right),
        whole_sentences=whole / max(len(right), 1),
        unseen_tags=dict(unseen.most_common()),
        calibration=calibration,
    )


def resampled_tagging(
    right: Sequence[Sequence[str]], guessed: Sequence[Sequence[str]]
) -> list[Measure]:
    """Accuracy of tags and F1 of spans, from counts per sentence; the main measure first."""
    both = [*zip(right, guessed, strict=True)]
    hits = [sum(map(str.__eq__, tags, guesses)) for tags, guesses in both]
    measures = [Measure("accuracy", share_of(hits, [len(tags) for tags in right]))]
    if not is_scheme(chain.from_iterable(right)):
        return measures
    spans = [({*find_entities(tags)}, {*find_entities(guesses)}) for tags, guesses in both]
    found = [2 * len(true & guess) for true, guess in spans]
    every = [len(true) + len(guess) for true, guess in spans]
    return [Measure("span F1", share_of(found, every)), *measures]
