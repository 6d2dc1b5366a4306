"""A trained language model with its tokenizer: text in, answers out.

What `elman.train` and `elman.load` give of one. Takes text, gives perplexities, tables, suggestions
and generated text; each method turns text into ids, calls one function of a room below, and returns
plain data. Knows the contract, never the kind of model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from elman.errors import InputError
from elman.evaluation.measures import STREAM, Progress, Reading, silent
from elman.models.contract import LanguageModel
from elman.tasks.trained import Trained
from elman.text.corpora import Corpus
from elman.text.reader import Document, named
from elman.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from elman.evaluation.accuracy import Accuracy, Counted
    from elman.evaluation.measurement import Measurement
    from elman.evaluation.surprisal import WordSurprisal
    from elman.tasks.language_modelling.generation import Generated
    from elman.tasks.language_modelling.suggestion import Suggestion


class TrainedModel(Trained):
    """A language model and its tokenizer; immutable: adapters give a new one."""

    about = "a language model"

    def __init__(
        self,
        task: Any,
        model: LanguageModel,
        facts: dict[str, Any],
        name: str = "model",
        cut_files: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(task, model, facts, name)
        self.cut_files = cut_files  # SHA-256 of lone files of which a part was fitted on

    @property
    def tokenizer(self) -> Tokenizer:
        """From text to ids and back."""
        tokenizer: Tokenizer = self.task.tokenizer
        return tokenizer

    # Measuring ------------------------------------------------------------------------------------

    def perplexity(self, text: str, *, reset: str = "stream") -> float:
        """Perplexity per token of a text; line ends count where the text has them."""
        return self.measure(Document("text", text), Reading(reset)).perplexity

    def evaluate(
        self,
        data: str,
        *,
        split: str | None = None,
        reset: str = "stream",
        batch_size: int = 1,
        window: int | None = None,
        accuracy: bool = False,
        after: str | None = None,
        until: str | None = None,
        progress: Progress = silent,
    ) -> Measurement:
        """Measure on a file, a folder or a built-in corpus (its test split, if it has splits).

        With `accuracy`, also count how often the likeliest token is the one that comes; `after` and
        `until` say which tokens count (see `accuracy`).
        """
        from elman.evaluation.accuracy import Counted

        reading = Reading(reset, batch_size, window)
        if not accuracy and (after is not None or until is not None):
            raise InputError("--after and --until say what --accuracy counts; give that too")
        counted = Counted(after, until) if accuracy else None  # is refused before the work
        document = self.choose_split(self.open(data), split)
        found = self.measure(document, reading, progress)
        right = self.count_right(document, counted, reading, progress) if counted else None
        return replace(found, seen=self.trained_on(document), accuracy=right)

    def open(self, data: str) -> Corpus:
        """A corpus, read as the one that the model was trained on."""
        corpus: Corpus = self.task.open(str(data), self.config)
        return corpus

    def choose_split(self, corpus: Corpus, split: str | None) -> Document:
        """The text to measure on: a lone file as a whole, unless it was trained or fitted on."""
        if split is not None or corpus.whole is None:
            return corpus.split(split or "test")
        # A run of one file has that file's hash under the file's name; a run of a folder has the
        # hashes of its files, and each of them is a whole.
        trained_on = self.facts["data"]
        used = {*self.cut_files, trained_on["sha256"].get(trained_on["name"])}
        if corpus.whole.sha256() in used:
            return corpus.split("test")
        return corpus.whole

    def trained_on(self, document: Document) -> bool:
        """Whether this very text is what the model was trained on."""
        hashes = self.facts["data"]["sha256"]
        return document.sha256() == next(iter(hashes.values()), None) and bool(
            self.facts["data"].get("tokens")
        )

    def measure(
        self, document: Document, reading: Reading = STREAM, progress: Progress = silent
    ) -> Measurement:
        """Measure on one document."""
        from elman.evaluation.measurement import measure_document

        return measure_document(self.model, self.tokenizer, document, reading, progress)

    def accuracy(
        self,
        data: str,
        *,
        split: str | None = None,
        after: str | None = None,
        until: str | None = None,
        reset: str = "stream",
        batch_size: int = 1,
        progress: Progress = silent,
    ) -> Accuracy:
        """How often the likeliest token is the one that comes, on a file, a folder or a corpus.

        With `after`, only what follows this token in its line counts; with `until` too, only up to
        the next of those.
        """
        from elman.evaluation.accuracy import Counted

        counted, reading = Counted(after, until), Reading(reset, batch_size)
        document = self.choose_split(self.open(data), split)
        return self.count_right(document, counted, reading, progress)

    def count_right(
        self,
        document: Document,
        counted: Counted,
        reading: Reading = STREAM,
        progress: Progress = silent,
    ) -> Accuracy:
        """The same on one document; `counted` says which tokens count."""
        from elman.evaluation.accuracy import measure_accuracy

        with named(document):
            return measure_accuracy(
                self.model, self.tokenizer, document.text, counted, reading, progress
            )

    def surprisal(
        self,
        text: str,
        *,
        base: float = 2.0,
        reset: str = "line",
        progress: Progress = silent,
    ) -> list[WordSurprisal]:
        """Surprisal, entropy and rank of every word of a text."""
        from elman.evaluation.surprisal import word_surprisals

        if base <= 1:
            raise InputError(f"base={base}: the base of a logarithm must be above 1 (2, e or 10)")
        return word_surprisals(
            self.model, self.tokenizer, text, base=base, reset=reset, progress=progress
        )

    # Generating -----------------------------------------------------------------------------------

    def generate(
        self, prompt: str = "", *, stop: Sequence[str] = (), **options: Any
    ) -> list[Generated]:
        """Continuations of a prompt; the options are those of `DecodingOptions`."""
        from elman.tasks.language_modelling.generation import generate

        return generate(self, prompt, stop=stop, **options)

    def stream(
        self, prompt: str = "", *, stop: Sequence[str] = (), **options: Any
    ) -> Iterator[str]:
        """One continuation of a prompt, piece by piece, as soon as each is known."""
        from elman.tasks.language_modelling.generation import stream

        return stream(self, prompt, stop=stop, **options)

    def suggest(self, text: str, *, top: int = 5, complete: bool = False) -> list[Suggestion]:
        """The most likely next words; with `complete`, the most likely endings of the last one."""
        from elman.tasks.language_modelling.suggestion import suggest

        return suggest(self, text, top=top, complete=complete)

    # Wrapping and keeping -------------------------------------------------------------------------

    def with_adapters(
        self,
        written: Iterable[str],
        data: str | None = None,
        *,
        reset: str = "stream",
        progress: Progress = silent,
    ) -> TrainedModel:
        """The same with adapters around the model; what they fit is fitted on the data's splits."""
        from elman.tasks.language_modelling.adapter_fitting import put_around

        return put_around(self, written, data, Reading(reset), progress)

    def around(self, model: LanguageModel, cut_files: frozenset[str]) -> TrainedModel:
        """The same run with another model, made of its own, which has seen parts of more files."""
        return TrainedModel(self.task, model, self.facts, self.name, cut_files | self.cut_files)

    def contents(self) -> dict[str, Any]:
        if not hasattr(self.model, "arrays"):
            raise InputError("adapters are not saved; save the model without them and load it")
        return super().contents()

    def read_line(self) -> str:
        data, size = self.facts["data"], self.facts["model"]["vocabulary_size"]
        return (
            f"read {data['lines']:,} lines, {data['tokens']:,} tokens ({self.tokenizer.name}), "
            f"vocabulary {size:,}"
        )

    def validation_line(self, judged_by: str, value: float | None, tokens: int) -> str:
        shown = "infinite (unseen words are impossible)" if value is None else f"{value:.2f}"
        return f"validation {judged_by} {shown} on {tokens:,} tokens"

    def next_command(self, run: str) -> str:
        return f"elman generate {run} --max-tokens 50"

    def describe(self) -> dict[str, Any]:
        tokenizer = {"tokenizer": self.tokenizer.name, "loses": self.tokenizer.loses}
        return {"name": self.name, **tokenizer, **self.describe_model(), "training": self.facts}

    def for_serving(self, name: str) -> Self:
        """With a network in double precision: a row of a batch then says the same whatever stands
        beside it, since what rounding changes is far below what a draw can see.
        """
        again = self.named(name)
        if hasattr(self.model, "double"):
            again.model = deepcopy(self.model).double().eval()
        return again

    def describe_model(self) -> dict[str, Any]:
        return self.model.describe()
