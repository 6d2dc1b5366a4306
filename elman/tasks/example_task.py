"""Tasks over examples: documents are read as examples, split and batched; trained by gradients.

Each such task reads documents as examples, learns its vocabulary and labels from them, and makes
batches and a model; the files in its folder define how. Examples may also come from Python
(`lesson_of`). A trained model reads data in the same way (`TrainedTask`).
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import nn

from elman.errors import InputError
from elman.evaluation.bootstrap import Measure
from elman.evaluation.measures import SEEN, TaskMeasures
from elman.models.weights import outline
from elman.recipes import RunConfig
from elman.runs.parts import Shapes
from elman.tasks.comparison import ScoredRun
from elman.tasks.gradient_task import GradientTask
from elman.tasks.samples import choose_samples
from elman.tasks.task import Lesson, Told
from elman.tasks.trained import Trained
from elman.text.corpora import Corpus
from elman.text.example_splits import ORDERED, Splitter
from elman.text.reader import Document

_SHOWN = 5  # labels in a message
_FEWEST_VALIDATED = 20  # validation examples that say something
_KNOWN = {  # of facts on data, and what each counts
    "words": "different words",
    "source_tokens": "source tokens",
    "target_tokens": "target tokens",
    "features": "numbers per vector",
}


class ExampleTask(GradientTask):
    """Turns documents into examples, and examples into batches."""

    part = "vocabulary.json"
    needed_facts = ("examples", "unit")

    # What a kind of task says ---------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def read(cls, document: Document, config: RunConfig) -> list[Any]:
        """The examples of a document."""

    @classmethod
    def splitter(cls, config: RunConfig) -> Splitter:
        """How the examples of one file are split."""
        return Splitter(getattr(config.text, "split", ORDERED))

    @classmethod
    def columns(
        cls, document: Document, examples: Sequence[Any], config: RunConfig
    ) -> dict[str, str]:
        """The columns of the training table; later tables are read in the same way.

        Refuses implausible columns, such as a different label for every text.
        """
        return {}

    @classmethod
    def has_columns(cls, document: Document, columns: dict[str, str]) -> bool:
        """Whether a document is a table with these columns."""
        return False

    @classmethod
    def learned(cls, examples: Sequence[Any]) -> list[Any]:
        """The examples to train on: the given ones, or more, such as the phrases of trees."""
        return list(examples)

    @classmethod
    @abstractmethod
    def learn(cls, examples: Sequence[Any], config: RunConfig) -> Self:
        """The task of training examples."""

    def complete(self, note: Told, warn: Told) -> None:
        """Add parts that the settings name, such as a frozen language model or word vectors."""

    @abstractmethod
    def facts(self, examples: Sequence[Any]) -> dict[str, Any]:
        """Facts about the training examples: labels, schemes."""

    def notes(self, examples: Sequence[Any]) -> list[str]:
        """Notes on examples that are not trained on, such as labels that training never saw."""
        return []

    @classmethod
    def sample(cls, example: Any) -> dict[str, str]:
        """An example as a request of the task's first question; empty if there is none."""
        return {}

    @abstractmethod
    def vocabulary(self) -> dict[str, int]:
        """The sizes of its vocabularies by name: different words, source tokens …"""

    # What follows ---------------------------------------------------------------------------------

    @classmethod
    def prepare(
        cls, corpus: Corpus, config: RunConfig, told: Told, known: Self | None = None
    ) -> Lesson:
        read = _read_split(cls, corpus, config)
        notes = [*read.notes, *(note for source in _sources(corpus) for note in source.notes)]
        data: dict[str, Any] = {"name": corpus.name, "sha256": _hashes(corpus), "notes": notes}
        if read.columns:
            data["columns"] = read.columns
        return cls.lesson_of(read.train, read.valid, data, config, known)

    @classmethod
    def lesson_of(
        cls,
        train: list[Any],
        valid: list[Any],
        data: dict[str, Any],
        config: RunConfig,
        known: Self | None = None,
    ) -> Lesson:
        """A lesson from examples in memory; `data` names their source."""
        task = known or cls.learn(train, config)
        notes: list[str] = []
        warnings: list[str] = []
        if known is None:
            task.complete(notes.append, warnings.append)
        unseen = [f"validation: {note}" for note in task.notes(valid)]
        notes += _about_few(valid, cls.unit)

        def facts() -> dict[str, Any]:
            about = {"examples": len(train), "unit": cls.unit, **task.vocabulary()}
            samples = choose_samples(valid, cls.sample)
            return {"data": {**data, **about}, "task": task.facts(train), "samples": samples}

        return Lesson(task, train, valid, facts, [*unseen, *warnings], notes)

    @classmethod
    def is_same_text(cls, corpus: Corpus, facts: dict[str, Any]) -> bool:
        return [*_hashes(corpus).values()] == [*facts["data"]["sha256"].values()]

    def saved_outline(self, shapes: Shapes, file: Path, facts: dict[str, Any]) -> nn.Module | None:
        return outline(lambda: self.build(None))

    def restore_model(self, arrays: dict[str, Any], facts: dict[str, Any]) -> Any:
        with torch.random.fork_rng(
            devices=[]
        ):  # temporary weights must not change the random state
            model = self.build(None)
        model.load_arrays(arrays)
        return model.eval()


def _about_few(valid: Sequence[Any], unit: str) -> list[str]:
    """A note if there are too few validation examples to choose weights or to judge by."""
    if not 0 < len(valid) < _FEWEST_VALIDATED:
        return []
    few = f"{len(valid)} {unit}" if len(valid) > 1 else f"1 {unit.removesuffix('s')}"
    return [
        f"only {few} to validate on, so the result of validation says little; give more, as a "
        "valid file beside the train file"
    ]


@dataclass
class _Split:
    """Examples to learn from and to validate on."""

    train: list[Any]
    valid: list[Any]
    notes: list[str]  # on how they were split
    columns: dict[str, str]  # of the table that was learned from


def _read_split(kind: type[ExampleTask], corpus: Corpus, config: RunConfig) -> _Split:
    """Read a corpus; a part of a single file is held out."""
    splitter = kind.splitter(config)
    document = corpus.whole or corpus.split("train")
    every = kind.read(document, config)
    columns = kind.columns(document, every, config)
    ordered = splitter.way == ORDERED
    if corpus.whole is not None:  # one file: cut between examples, not between its lines
        parts = splitter.split(every)
        note = f"no splits: the first 90 % of the {kind.unit} are train, then 5 % valid, 5 % test"
        if not ordered:
            counts = ", ".join(f"{len(part):,} {name}" for name, part in parts.items())
            note = (
                f"no splits: {len(every):,} {kind.unit} were split at random into {counts}; "
                "the seed is fixed, so all runs on this data share the split"
            )
        return _Split(
            kind.learned(parts["train"]), parts["valid"] or parts["train"], [note], columns
        )
    if "valid" in corpus.documents:
        given = corpus.documents["valid"]
        valid = kind.read(given, _reading_alike(kind, given, config, columns))
        return _Split(kind.learned(every), valid, [], columns)
    train, held_out = splitter.hold_out(every)
    drawn = "the last" if ordered else "a random"
    note = f"no valid file: {drawn} {len(held_out):,} of {len(every):,} {kind.unit} of train"
    notes = [f"{note} are held out for validation"]
    return _Split(kind.learned(train), held_out, notes, columns)


def _reading_alike(
    kind: type[ExampleTask], document: Document, config: RunConfig, columns: dict[str, str]
) -> RunConfig:
    """Settings that read a table by the columns of the training table, if it has them."""
    text = config.text
    if not columns or text.columns or not kind.has_columns(document, columns):
        return config
    return replace(config, text=replace(text, columns=columns))


def _sources(corpus: Corpus) -> list[Document]:
    return [corpus.whole] if corpus.whole else [*corpus.documents.values()]


def _hashes(corpus: Corpus) -> dict[str, str]:
    return {source.name: source.sha256() for source in _sources(corpus)}


class TrainedTask(Trained):
    """A trained model of examples.

    Each task defines `measure(examples)`, which returns `TaskMeasures`; `evaluate` reads the
    examples of a dataset and calls it.
    """

    about: ClassVar[str] = "a model of examples"

    def __init__(self, task: Any, model: Any, facts: dict[str, Any], name: str = "model") -> None:
        super().__init__(task, model, facts, name)
        self.notes: list[str] = []  # on the text that `examples` read last

    def read_line(self) -> str:
        data = self.facts["data"]
        counts = [f"{data[name]:,} {what}" for name, what in _KNOWN.items() if name in data]
        return f"{super().read_line()}, {', '.join(counts)}"

    def examples(self, data: str, split: str | None = None) -> list[Any]:
        """The examples of a split of a folder (default test), or of a file.

        A file that was used for training is split as in training.
        """
        corpus = self.task.open(data, self.config)
        document = corpus.split(split or "test") if corpus.whole is None else corpus.whole
        columns = self.facts["data"].get("columns", {})
        config = _reading_alike(type(self.task), document, self.config, columns)
        every: list[Any] = [*self.task.read(document, config)]
        self.notes = document.notes
        if corpus.whole is None:
            return every
        if split is None and self._trained_on() != [corpus.whole.sha256()]:
            return every
        corpus.split(split or "test")  # refuses an unknown split
        found = self.task.splitter(self.config).split(every)[split or "test"]
        if not found:
            raise InputError(
                f"{data}: its {len(every):,} {self.task.unit} are too few for a {split or 'test'} "
                "part; give another file"
            )
        return found

    def notes_on(self, data: str, split: str | None = None) -> list[str]:
        return [*self.notes, *([SEEN] if self.has_seen(data, split) else [])]

    def has_seen(self, data: str, split: str | None = None) -> bool:
        """Whether the run was trained on these examples."""
        corpus = self.task.open(data, self.config)
        if corpus.whole is None or split is not None:
            document = corpus.split(split or "test")
        else:
            document = corpus.whole
        if corpus.whole is not None and self._trained_on() == [corpus.whole.sha256()]:
            return split == "train"
        return [document.sha256()] == self._trained_on()[:1]

    def _trained_on(self) -> list[str]:
        """Hashes of the files of training, the text that was learned first."""
        return [*self.facts["data"]["sha256"].values()]

    def evaluate(self, data: str, *, split: str | None = None, **options: Any) -> TaskMeasures:
        """Evaluate on the test split of a folder, or on a file; takes the options of `measure`."""
        return self.measure(self.examples(data, split), **options)

    def measure(self, examples: Sequence[Any]) -> TaskMeasures:
        """Measure on examples; every task defines it."""
        raise InputError(f"{self.name}: a {self.config.kind} has no measures")

    # Comparing ------------------------------------------------------------------------------------

    @classmethod
    def score_together(
        cls,
        runs: Sequence[Any],
        data: str,
        *,
        split: str | None = None,
        progress: Callable[[str], None] = lambda what: None,
        **options: Any,
    ) -> list[ScoredRun]:
        first = runs[0]
        for option in options:
            raise InputError(
                f"--{option} does not apply to {first.name}, which is {cls.about}; leave it out"
            )
        if split is None and any(run.holds_part_of(data) for run in runs):
            split = "test"  # for all, since a run was trained on the rest of the file
        examples = [run.examples(data, split) for run in runs]
        references = first.references(examples[0])
        if not references:
            raise InputError(f"{data}: has no {first.task.unit} with a correct answer; give some")
        for run, own in zip(runs, examples, strict=True):
            _check_labels(first, run)
            if run.references(own) != references:
                raise InputError(
                    f"{first.name} and {run.name} do not read the same examples from {data}: their "
                    "settings of the section text differ; compare runs that read data alike"
                )
        found = []
        for run, own in zip(runs, examples, strict=True):
            progress(f"scoring {run.name}")
            notes = [f"{run.name}: {note}" for note in run.task.notes(own)]
            if run.has_seen(data, split):
                notes.append(f"{run.name}: {SEEN}")
            unit, measures = run.task.unit, run.measures_of(own)
            found.append(ScoredRun(run.name, len(references), unit, measures, [*run.notes, *notes]))
        return found

    def holds_part_of(self, data: str) -> bool:
        """Whether the data is a single file and the run was trained on a part of it."""
        whole = self.task.open(data, self.config).whole
        return whole is not None and self._trained_on() == [whole.sha256()]

    def references(self, examples: Sequence[Any]) -> list[Any]:
        """The inputs and correct answers of the measured examples, equal for all runs."""
        return [*examples]

    def known_labels(self) -> set[str]:
        """The labels or tags that the run can predict; empty if it predicts none."""
        return set()

    def measures_of(self, examples: Sequence[Any]) -> list[Measure]:
        """The measures of a comparison, from counts per example; every task defines them."""
        raise InputError(f"{self.name}: a {self.config.kind} cannot be compared")


def _check_labels(first: TrainedTask, other: TrainedTask) -> None:
    """Refuse to compare runs with different labels; some rare labels may be missing in one."""
    own, others = first.known_labels(), other.known_labels()
    if len(own & others) * 2 < min(len(own), len(others)):
        raise InputError(
            f"{first.name} and {other.name} predict different labels ({_some(own)} and "
            f"{_some(others)}); compare runs with the same labels"
        )


def _some(labels: set[str]) -> str:
    return ", ".join(sorted(labels)[:_SHOWN]) + ", …" * (len(labels) > _SHOWN)
