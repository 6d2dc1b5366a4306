"""A trained language model with its tokenizer: text in, answers out.

The result of `elman.train` and `elman.load` for language models. Takes text, returns perplexities,
tables, suggestions and generated text. Each method turns text into ids, calls one function of a
lower package, and returns plain data. It uses the contract and never asks for the kind of model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from elman.errors import InputError
from elman.evaluation.measures import BEAM, STREAM, Progress, Reading, silent
from elman.models.contract import LanguageModel
from elman.notebooks import count_in_notebook
from elman.tasks.arguments import check_one_text
from elman.tasks.trained import Trained
from elman.text.corpora import Corpus
from elman.text.reader import Document, named
from elman.text.tokenizer import Tokenizer
from elman.wording import several

if TYPE_CHECKING:
    from elman.evaluation.accuracy import Accuracy, Counted
    from elman.evaluation.measurement import Measurement
    from elman.evaluation.surprisal import SurprisalTable
    from elman.tasks.comparison import ScoredRun
    from elman.tasks.language_modelling.generation import Generated
    from elman.tasks.language_modelling.suggestion import Suggestion


def check_base(base: float) -> None:
    """Refuse a number that is not the base of a logarithm."""
    if not 1 < base < math.inf:
        raise InputError(f"base={base}: the base of a logarithm must be above 1 (2, e or 10)")


class TrainedModel(Trained):
    """A language model with its tokenizer. Immutable: adapters return a new one."""

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
        self.cut_files = cut_files  # SHA-256 of single files with a part used for fitting

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer: text to ids and back."""
        tokenizer: Tokenizer = self.task.tokenizer
        return tokenizer

    # Measuring ------------------------------------------------------------------------------------

    def perplexity(self, text: str, *, reset: str = "stream") -> float:
        """The perplexity per token of a text; its line ends count as tokens."""
        check_one_text(text, "text")
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
        """Evaluate on a file, a folder or a built-in corpus (the test split, if it has splits).

        With `accuracy`, also report how often the most probable token is the correct one; `after`
        and `until` choose the tokens that count (see `accuracy`).
        """
        from elman.evaluation.accuracy import Counted

        reading = Reading(reset, batch_size, window)
        if not accuracy and (after is not None or until is not None):
            raise InputError("--after and --until need --accuracy; give it too")
        counted = Counted(after, until) if accuracy else None  # refuses before the work
        if progress is silent:
            progress = count_in_notebook("tokens", silent)
        document = self.choose_split(self.open(data), split)
        found = self.measure(document, reading, progress)
        right = self.count_right(document, counted, reading, progress) if counted else None
        return replace(found, seen=self.trained_on(document), accuracy=right)

    def open(self, data: str) -> Corpus:
        """Open a corpus with the settings of the training data."""
        corpus: Corpus = self.task.open(str(data), self.config)
        return corpus

    def choose_split(self, corpus: Corpus, split: str | None) -> Document:
        """The text to evaluate on: all of a single file, unless it was used for training."""
        if split is not None or corpus.whole is None:
            return corpus.split(split or "test")
        # A run trained on one file stores the hash of the whole file under its name. A run trained
        # on a folder stores the hash of each file.
        trained_on = self.facts["data"]
        used = {*self.cut_files, trained_on["sha256"].get(trained_on["name"])}
        if corpus.whole.sha256() in used:
            return corpus.split("test")
        return corpus.whole

    def trained_on(self, document: Document) -> bool:
        """Whether the model was trained on exactly this text."""
        hashes = self.facts["data"]["sha256"]
        return document.sha256() == next(iter(hashes.values()), None) and bool(
            self.facts["data"].get("tokens")
        )

    def measure(
        self, document: Document, reading: Reading = STREAM, progress: Progress = silent
    ) -> Measurement:
        """Evaluate on one document."""
        from elman.evaluation.measurement import measure_document

        return measure_document(self.model, self.tokenizer, document, reading, progress)

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
        """Score several models on one text; takes the options of `score_models`."""
        from elman.tasks.language_modelling.comparison import score_models

        return score_models(runs, data, split=split, progress=progress, **options)

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
        """How often the most probable token is correct, on a file, a folder or a corpus.

        With `after`, only the tokens after this one in each line count; with `until` as well, only
        those up to the next `until` token.
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
        """The accuracy on one document; `counted` chooses the tokens that count."""
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
        entropy: bool = True,
        next_word: bool = False,
        beam: int = BEAM,
        progress: Progress = silent,
    ) -> SurprisalTable:
        """Surprisal, entropy and rank of every word of a text.

        `entropy=False` is faster. With `next_word`, also compute the entropy over the next whole
        word, by beam search unless every token is a word.
        """
        from elman.evaluation.surprisal import word_surprisals

        check_one_text(text, "text")
        check_base(base)
        return word_surprisals(
            self.model,
            self.tokenizer,
            text,
            base=base,
            reset=reset,
            entropy=entropy,
            next_word=next_word,
            beam=beam,
            progress=progress,
        )

    def surprisal_table(
        self,
        table: Any,
        *,
        column: str = "",
        by: Sequence[str] = (),
        base: float = 2.0,
        entropy: bool = True,
        next_word: bool = False,
        beam: int = BEAM,
        spillover: int = 0,
        progress: Progress = silent,
    ) -> Any:
        """Add the surprisal of every row to a pandas DataFrame; give a list of sentences for a
        table of their words.

        `column` holds the sentence or the word; rows of words belong to one sentence as long as the
        columns `by` stay the same. All sentences are one batch. `spillover`: also add the surprisal
        of this many previous words of the sentence.
        """
        from elman.tasks.language_modelling.stimuli import Columns, make_frame  # imports this

        check_base(base)
        wanted = Columns(base, entropy, next_word, beam, spillover)
        return make_frame(self, table, column, by, wanted, progress)

    # Generating -----------------------------------------------------------------------------------

    def generate(
        self, prompt: str = "", *, stop: Sequence[str] = (), **options: Any
    ) -> list[Generated]:
        """Continue a prompt; takes the options of `DecodingOptions`."""
        from elman.tasks.language_modelling.generation import generate

        check_one_text(prompt, "prompt")
        return generate(self, prompt, stop=stop, **options)

    def stream(
        self, prompt: str = "", *, stop: Sequence[str] = (), **options: Any
    ) -> Iterator[str]:
        """Continue a prompt and yield the text piece by piece."""
        from elman.tasks.language_modelling.generation import stream

        check_one_text(prompt, "prompt")
        return stream(self, prompt, stop=stop, **options)

    def suggest(self, text: str, *, top: int = 5, complete: bool = False) -> list[Suggestion]:
        """The most probable next words, or with `complete`, completions of the last word."""
        from elman.tasks.language_modelling.suggestion import suggest

        check_one_text(text, "text")
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
        """Wrap the model in adapters; missing settings are fitted on the splits of the data."""
        from elman.tasks.language_modelling.adapter_fitting import put_around

        return put_around(self, written, data, Reading(reset), progress)

    def around(self, model: LanguageModel, cut_files: frozenset[str]) -> TrainedModel:
        """The same run with a wrapped model; `cut_files` are further files used for fitting."""
        return TrainedModel(self.task, model, self.facts, self.name, cut_files | self.cut_files)

    def contents(self) -> dict[str, Any]:
        if not hasattr(self.model, "arrays"):
            raise InputError("a model with adapters cannot be saved; save it without them")
        return super().contents()

    def read_line(self) -> str:
        data, size = self.facts["data"], self.facts["model"]["vocabulary_size"]
        return (
            f"read {several(data['lines'], 'line')}, {several(data['tokens'], 'token')} "
            f"({self.tokenizer.name}), vocabulary {size:,}"
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
        """Make the text of a row independent of the rest of its batch.

        If the model supports it, every row has the same bits in every batch. Others use float64:
        rounding errors are then far too small to change a sample.
        """
        again = self.named(name)
        if hasattr(self.model, "double"):
            again.model = deepcopy(self.model).eval()
            if not again.model.step_alike():
                again.model = again.model.double()
        return again

    def describe_model(self) -> dict[str, Any]:
        return self.model.describe()
