"""Tagging: predict a tag for every word; from files in columns to accuracy and entities.

`Tagging` is the task, `TrainedTagger` the result of `elman.train` and `elman.load`. Spans may be
trained in another scheme than the scheme of the file; the output uses the scheme of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch

from elman.batches.featured import IndexedFeatures
from elman.batches.sentences import Examples, IndexedSentences, Sentences
from elman.data_checks import texts
from elman.errors import InputError
from elman.evaluation.bootstrap import Measure
from elman.evaluation.calibration import FEWEST, calibrate, fit_calibration
from elman.evaluation.measures import MeasureTable, Progress, silent, unseen_notes
from elman.models.tagger import Tagger
from elman.recipes import RunConfig
from elman.tasks.arguments import check_list, check_sentences
from elman.tasks.sentence_task import SentenceTask, TrainedSentenceTask, learn_words
from elman.tasks.tagging.measures import TaggingMeasures, measure_tagging, resampled_tagging
from elman.tasks.tagging.probabilities import ComparedTags, ScoredSentences
from elman.tasks.tagging.reader import TaggedSentence, Word, read_tagged
from elman.tasks.tagging.span_offset import fit_offset, offset_lines
from elman.tasks.trivial import Trivial, most_frequent_tags
from elman.text.reader import Document
from elman.text.tag_schemes import (
    check_scheme,
    convert_scheme,
    is_iob1,
    is_scheme,
    scheme_of,
    tags_in,
    to_bio,
)
from elman.text.treebank_cuts import TreebankCuts
from elman.text.word_list import WordList

_IOB1 = (
    "spans start with I-, as in IOB1: input and output use BIO instead, where they start with B-"
)
_NO_RAW_TEXT = (
    "has no SpaceAfter=No, so the raw text is unknown; raw text to tag is split by rules from the "
    "vocabulary"
)

_CALIBRATED = 500  # validation sentences that a temperature is fitted on, at most


class TrainedTagger(TrainedSentenceTask):
    """A trained tagger with its vocabulary and tags."""

    about = "a tagger"
    confuses = True
    calibrates = True
    task: Tagging
    model: Tagger

    @property
    def marks_spans(self) -> bool:
        """Whether its tags mark spans, like B-PER and I-PER."""
        return is_scheme(self.task.tags)

    def __init__(
        self, task: Tagging, model: Tagger, facts: dict[str, Any], name: str = "model"
    ) -> None:
        super().__init__(task, model, facts, name)
        model.offset = float(facts.get("calibration", {}).get("offset", 0.0))

    @property
    def offset(self) -> float:
        """How much the score of O is lowered to choose tags, fitted on validation; default 0."""
        return self.model.offset

    def summary(self) -> list[str | MeasureTable]:
        return [*super().summary(), *offset_lines(self.facts)]

    def tag(
        self,
        sentences: Iterable[Sequence[Word]],
        *,
        batch_size: int = 32,
        progress: Progress = silent,
    ) -> list[list[str]]:
        """The tags of every sentence; a sentence without words has none.

        A word is a string; if features are read beside it, a tuple like ("Rome", "NNP").
        """
        given = self._given(sentences)
        tagged: list[list[str]] = [[] for _ in given]
        for rows, batch in self.in_batches([given], batch_size):
            best = self.model.best(batch[0]).tolist()
            for row, numbers in zip(rows, best, strict=True):
                tags = [self.task.tags[number] for number in numbers[: len(given[row])]]
                tagged[row] = self._as_written(tags)
            progress(len(rows), len(given))
        return tagged

    def probabilities(
        self,
        sentences: Iterable[Sequence[Word]],
        *,
        batch_size: int = 32,
        progress: Progress = silent,
    ) -> list[list[dict[str, float]]]:
        """For every word the probability of each tag, the likeliest first.

        The softmax of the word, or the marginals of the CRF: the sum over all taggings of the other
        words. Tags trained as BIOES are summed to BIO if the files use BIO. If training uses BIO
        and the files BIOES, the tags are those of BIO.
        """
        scored = self._score(self._given(sentences), batch_size, progress)
        names = [self.as_marginal(tag) for tag in self.task.tags]
        found = scored.log_marginals(self.temperature)
        return [[_ranked(names, row) for row in np.exp(rows)] for rows in found]

    def _given(self, sentences: Iterable[Sequence[Word]]) -> list[list[Word]]:
        """The sentences as lists of words; refuses anything else."""
        given = check_list(sentences, "sentences", "sentences")
        check_sentences(given, "sentences")
        found = [[*sentence] for sentence in given]
        refuse_features(found, self.config.text.features)
        return found

    def _score(
        self, given: Sequence[Sequence[Word]], batch_size: int = 32, progress: Progress = silent
    ) -> ScoredSentences:
        refuse_features(given, self.config.text.features)

        def batches() -> Iterator[tuple[np.ndarray, tuple[Sentences, ...]]]:
            for rows, batch in self.in_batches([given], batch_size):
                yield rows, batch
                progress(len(rows), len(given))

        return ScoredSentences(self.model, len(given), batches())

    def as_marginal(self, tag: str) -> str:
        """The name of a tag in `probabilities`."""
        return to_bio(tag) if self._sums_to_bio else tag

    @property
    def _sums_to_bio(self) -> bool:
        """Whether training and files use different schemes, so that probabilities are of BIO."""
        return self._converts() and self.config.text.scheme != self.facts["task"]["scheme"]

    def split_lines(self, text: str) -> list[list[str]]:
        """The words of each line, with punctuation and clitics split as in the training data."""
        return [self.split_text(line) for line in text.removesuffix("\n").split("\n")]

    def split_text(self, text: str) -> list[str]:
        """The words of a raw text: by the cuts of its treebank, or by rules from its words."""
        cuts = self.task.cuts
        return self.task.form.split(text) if cuts is None else cuts.split(text)

    def _as_written(self, tags: Sequence[str]) -> list[str]:
        return convert_scheme(tags, self.facts["task"]["scheme"]) if self._converts() else [*tags]

    def _converts(self) -> bool:
        """Whether a scheme for spans was chosen for training."""
        return self.config.text.scheme != "as written" and self.marks_spans

    def measure(self, examples: Sequence[TaggedSentence]) -> TaggingMeasures:
        self.task.check_same_scheme([example.tags for example in examples])
        words = [word for example in examples for word in example.words]
        found = self._compare(examples)
        return measure_tagging(
            found.right,
            found.guessed,
            unknown=(self.task.words.counts[self.task.words.ids(words)] == 0).tolist(),
            known_tags=self.known_tags(),
            calibration=calibrate(found.predict, self.temperature, "words"),
        )

    def fit_calibration(self, examples: Sequence[TaggedSentence]) -> dict[str, Any]:
        """Facts about a temperature, and an offset if the run is validated by spans, fitted on
        validation examples, or on some of very many. The offset is used from now on.
        """
        if len(examples) > _CALIBRATED:
            chosen = np.linspace(0, len(examples) - 1, _CALIBRATED).astype(int)
            examples = [examples[number] for number in chosen]
        scored = self._score([example.given() for example in examples])
        facts = fit_calibration(self._compare(examples, scored).predict, len(examples))
        if self.model.judged_by != "span_error" or len(examples) < FEWEST:
            return facts
        right = [self._correct(example) for example in examples]
        fitted = fit_offset(lambda offset: self._chosen(scored, offset), right)
        self.model.offset = fitted["offset"]
        return facts | fitted

    def _chosen(self, scored: ScoredSentences, offset: float) -> list[list[str]]:
        """The tags with the best scores, as the files write them."""
        best = [[self.task.tags[number] for number in row] for row in scored.best(offset)]
        return [self._as_written(tags) for tags in best]

    def _compare(
        self, examples: Sequence[TaggedSentence], scored: ScoredSentences | None = None
    ) -> ComparedTags:
        """The correct and the predicted tags, as the files write them."""
        scored = scored or self._score([example.given() for example in examples])
        return ComparedTags(
            scored,
            right=[self._correct(example) for example in examples],
            guessed=self._chosen(scored, self.model.offset),
            numbers=self.task.numbers(examples),
            marginals=[self.as_marginal(tag) for tag in self.task.tags],
            as_marginal=self.as_marginal,
        )

    def references(self, examples: Sequence[TaggedSentence]) -> list[Any]:
        self.task.check_same_scheme([example.tags for example in examples])
        return [(example.words, self._correct(example)) for example in examples]

    def _correct(self, example: TaggedSentence) -> list[str]:
        """The correct tags, in the scheme of the training files."""
        return self._as_written(example.tags) if is_scheme(example.tags) else [*example.tags]

    def known_labels(self) -> set[str]:
        return self.known_tags()

    def measures_of(self, examples: Sequence[TaggedSentence]) -> list[Measure]:
        right = [self._correct(example) for example in examples]
        return resampled_tagging(right, self.tag([example.given() for example in examples]))

    def known_tags(self) -> set[str]:
        """The tags of the training files, as written there."""
        if not self._converts():
            return set(self.task.tags)
        return tags_in(self.task.tags, self.facts["task"]["scheme"])


class Tagging(SentenceTask):
    """The tagging task with its vocabulary and tags."""

    unit = "sentences"
    judged = "words"
    recipe = "tagger"
    trained_class = TrainedTagger

    def __init__(
        self,
        config: RunConfig,
        words: WordList,
        tags: Sequence[str],
        features: Sequence[WordList] = (),
        cuts: TreebankCuts | None = None,
    ) -> None:
        """`features`: the values of each column that is read beside the words; `cuts`: how the
        training data splits raw text, if it has raw text.
        """
        super().__init__(config, words)
        self.cuts = cuts
        self.tags = list(tags)
        self.features = list(features)
        self._numbers = {tag: number for number, tag in enumerate(self.tags)}

    def cheaper(self) -> dict[str, Any]:
        """No CRF for tags that mark no spans: there are no impossible sequences to learn."""
        if self.config.model.output == "crf" and not is_scheme(self.tags):
            return {"model.output": "softmax"}
        return {}

    @classmethod
    def read(cls, document: Document, config: RunConfig) -> list[TaggedSentence]:
        sentences = read_tagged(document, config.text.column, config.text.features)
        tags = [sentence.tags for sentence in sentences]
        check_scheme(document.name, tags)
        if is_scheme(tag for row in tags for tag in row) and is_iob1(tags):
            note = f"{document.name}: {_IOB1}"
            if note not in document.notes:
                document.notes.append(note)
            return [replace(one, tags=tuple(convert_scheme(one.tags, "bio"))) for one in sentences]
        return sentences

    @classmethod
    def columns(
        cls, document: Document, examples: Sequence[TaggedSentence], config: RunConfig
    ) -> dict[str, str]:
        """Taggers store none; a note says if the training file does not have its raw text."""
        treebank = document.name.removesuffix(".gz").endswith(".conllu")
        note = f"{document.name}: {_NO_RAW_TEXT}"
        if treebank and note not in document.notes and not any(one.chunks for one in examples):
            document.notes.append(note)
        return {}

    @classmethod
    def sample(cls, example: TaggedSentence) -> dict[str, str]:
        return {} if example.features else {"text": " ".join(example.words)}

    @classmethod
    def learn(cls, examples: Sequence[TaggedSentence], config: RunConfig) -> Self:
        words = learn_words([example.words for example in examples], config)
        written = [_as_learned(example.tags, config) for example in examples]
        tags = sorted({tag for tags in written for tag in tags})
        columns = [  # of every column its values, sentence by sentence
            [[beside[place] for beside in example.features] for example in examples]
            for place in range(len(config.text.features))
        ]
        raw = [example.chunks for example in examples if example.chunks]
        cuts = TreebankCuts.learn(raw) if raw else None
        return cls(config, words, tags, [WordList.learn(column) for column in columns], cuts)

    def index(self, sentences: Sequence[Sequence[Any]]) -> IndexedSentences:
        """Sentences of words, or of words with their features."""
        if not self.features:
            return super().index(sentences)
        indexed = super().index([[word for word, *_ in sentence] for sentence in sentences])
        return IndexedFeatures(indexed, [self._feature_ids(sentence) for sentence in sentences])

    def _feature_ids(self, sentence: Sequence[tuple[str, ...]]) -> np.ndarray:
        """(words, columns)."""
        columns = [
            known.ids([word[place] for word in sentence])
            for place, known in enumerate(self.features, 1)
        ]
        return np.stack(columns, axis=1)

    def batches(
        self, examples: Sequence[TaggedSentence], batch_size: int, seed: int | None
    ) -> Examples:
        self.check_same_scheme([example.tags for example in examples])
        inputs = self.index([example.given() for example in examples])
        return Examples([inputs], self.numbers(examples), batch_size=batch_size, seed=seed)

    def numbers(self, examples: Sequence[TaggedSentence]) -> list[np.ndarray]:
        """The tags by number; a tag that training never saw has the next number: always wrong."""
        unknown = len(self.tags)
        return [
            np.array([self._numbers.get(tag, unknown) for tag in _as_learned(e.tags, self.config)])
            for e in examples
        ]

    def calibrate(
        self, model: Tagger, valid: Sequence[TaggedSentence], facts: dict[str, Any]
    ) -> dict[str, Any]:
        return TrainedTagger(self, model, facts).fit_calibration(valid)

    def trivial(
        self, train: Sequence[TaggedSentence], valid: Sequence[TaggedSentence]
    ) -> Trivial | None:
        if self.config.model.validate_by == "spans" and is_scheme(self.tags):
            return Trivial("finds no span", 1.0)
        return most_frequent_tags(_words_and_tags(train), _words_and_tags(valid))

    def notes(self, examples: Sequence[TaggedSentence]) -> list[str]:
        written = [tag for example in examples for tag in _as_learned(example.tags, self.config)]
        unseen = Counter(tag for tag in written if tag not in self._numbers)
        return unseen_notes(dict(unseen.most_common()), "word", "tag")

    def check_same_scheme(self, sentences: Sequence[Sequence[str]]) -> None:
        """Refuse spans in another scheme than the training data."""
        if self.config.text.scheme != "as written" or not is_scheme(self.tags):
            return  # spans are converted, or there are none
        own, other = scheme_of([self.tags]), scheme_of(sentences)
        if own != other and is_scheme(tag for tags in sentences for tag in tags):
            raise InputError(
                f"the tags use {other.upper()}, the training data uses {own.upper()}; use one "
                f"scheme for both, or train with --set text.scheme={own}"
            )

    def splitting(self) -> dict[str, Any]:
        if self.cuts is None:
            return {"splits": "form", "cuts": None}
        return {"splits": "cuts", "cuts": self.cuts.to_data()}

    def build(self, examples: Any = None) -> Tagger:
        return Tagger(
            self.config.model,
            self.counts(),
            len(self.tags),
            self.language_model(),
            [torch.from_numpy(values.counts) for values in self.features],
            self.tags,
        )

    def facts(self, examples: Sequence[TaggedSentence]) -> dict[str, Any]:
        return {"tags": len(self.tags), "scheme": scheme_of(e.tags for e in examples)}

    def to_data(self) -> dict[str, Any]:
        features = [values.to_data() for values in self.features]
        data = {"words": self.words.to_data(), "tags": self.tags, "features": features}
        return data if self.cuts is None else {**data, "cuts": self.cuts.to_data()}

    @classmethod
    def from_data(cls, data: dict[str, Any], config: RunConfig) -> Self:
        features = [WordList.from_data(values) for values in data.get("features", [])]
        cuts = TreebankCuts.from_data(data["cuts"]) if "cuts" in data else None
        words, tags = WordList.from_data(data["words"]), texts(data["tags"], "tags")
        return cls(config, words, tags, features, cuts)


def _words_and_tags(sentences: Sequence[TaggedSentence]) -> list[tuple[str, str]]:
    return [pair for one in sentences for pair in zip(one.words, one.tags, strict=True)]


def _ranked(names: Sequence[str], probabilities: np.ndarray) -> dict[str, float]:
    """The sum by name, the largest first."""
    summed: dict[str, float] = {}
    for name, probability in zip(names, probabilities.tolist(), strict=True):
        summed[name] = summed.get(name, 0.0) + probability
    return dict(sorted(summed.items(), key=lambda one: -one[1]))


def _as_learned(tags: Sequence[str], config: RunConfig) -> Sequence[str]:
    if config.text.scheme == "as written" or not is_scheme(tags):
        return tags
    return convert_scheme(tags, config.text.scheme)


def refuse_lengths(words: Sequence[Any], tags: Sequence[Any]) -> None:
    """Refuse different numbers of words and tags."""
    if len(words) != len(tags):
        raise InputError(f"{len(words)} words have {len(tags)} tags; give one for each")


def refuse_features(sentences: Iterable[Sequence[Word]], features: Sequence[str]) -> None:
    """Refuse words with missing or unexpected features."""
    for word in (word for sentence in sentences for word in sentence):
        found = 0 if isinstance(word, str) else len(word) - 1
        if found != len(features) or not (isinstance(word, str) or features):
            wanted = f"give those of text.features={[*features]}" if features else "give none"
            raise InputError(f"{word!r}: has {found} features; {wanted}")
