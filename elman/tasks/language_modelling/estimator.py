"""The estimator of language models: texts in, a trained language model out.

Takes texts in memory or the name of a corpus. With a recipe that counts, it needs no torch.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from elman.errors import ArgumentError, argument_errors
from elman.evaluation.measures import Reading
from elman.tasks.arguments import check_list, check_one_text, check_text, refuse_characters
from elman.tasks.estimator import Estimator
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.saved_runs import task_of
from elman.text.corpora import Corpus
from elman.text.example_splits import ORDERED, Splitter
from elman.text.files import is_pattern
from elman.text.reader import Document

if TYPE_CHECKING:
    from elman.evaluation.measurement import Measurement
    from elman.evaluation.surprisal import WordSurprisal
    from elman.tasks.language_modelling.generation import Generated
    from elman.tasks.language_modelling.suggestion import Suggestion


class LanguageModel(Estimator):
    """Predict the next word. The default recipe, `ngram`, counts; `small` trains an LSTM.

    Texts are given as a list; each has one or more lines.
    """

    default_recipe = "ngram"
    trained_class = TrainedModel
    needs_answers = False
    trained_: TrainedModel

    @argument_errors()
    def fit(
        self,
        X: Sequence[str] | str | Path,
        y: None = None,
        validation: Sequence[str] | None = None,
    ) -> Self:
        """Train on a list of texts, or on a corpus: a file, a folder or a built-in corpus.

        `validation`: a list of texts; an empty list trains without validation. Default: the last
        tenth of the lines. A corpus has its own validation text. There are no answers: `y` must be
        None.
        """
        _refuse_answers(y)
        config = self._config()
        data = _open(X, validation)
        trained = task_of(config.kind).fit(config, data, self._order())
        self.trained_ = cast("TrainedModel", trained)  # the recipe was checked
        return self

    # Measuring ------------------------------------------------------------------------------------

    def score(self, X: Sequence[str] | str, y: None = None) -> float:
        """The mean log probability of a token, in nats: minus the logarithm of the perplexity.

        Higher is better, as scikit-learn requires.
        """
        _refuse_answers(y)
        measured = self.measure(X)
        return -math.inf if measured.impossible else -measured.nats / measured.tokens

    def perplexity(self, X: Sequence[str] | str, *, reset: str = "stream") -> float:
        """The perplexity per token of a text or a list of texts; line ends count as tokens.

        "stream" carries the state through the texts, "line" resets it at every line.
        """
        return self.measure(X, reset=reset).perplexity

    @argument_errors()
    def measure(self, X: Sequence[str] | str, *, reset: str = "stream") -> Measurement:
        """Perplexity, bits per character and all other measures of one text or a list of texts."""
        text = X if isinstance(X, str) else _joined(X, "X")
        return self._model().measure(Document("text", text), Reading(reset))

    @argument_errors()
    def surprisal(
        self, text: str, *, base: float = 2.0, reset: str = "line"
    ) -> list[WordSurprisal]:
        """Surprisal, entropy and rank of every word of a text."""
        check_one_text(text, "text")
        return self._model().surprisal(text, base=base, reset=reset)

    # Generating -----------------------------------------------------------------------------------

    @argument_errors()
    def suggest(self, text: str, *, top: int = 5, complete: bool = False) -> list[Suggestion]:
        """The most probable next words, or with `complete`, completions of the last word."""
        check_one_text(text, "text")
        return self._model().suggest(text, top=top, complete=complete)

    @argument_errors()
    def generate(
        self, prompt: str = "", *, stop: Sequence[str] = (), **options: Any
    ) -> list[Generated]:
        """Continue a prompt; takes the options of `DecodingOptions`."""
        check_one_text(prompt, "prompt")
        return self._model().generate(prompt, stop=stop, **options)

    def _model(self) -> TrainedModel:
        return cast("TrainedModel", self._fitted())  # the recipe was checked


def _refuse_answers(y: object) -> None:
    if y is not None:
        raise ArgumentError("a language model learns from texts alone; leave out y")


def _open(X: Sequence[str] | str | Path, validation: Sequence[str] | None) -> str | Corpus:
    """The name of a corpus, or the given texts as one."""
    if isinstance(X, str | os.PathLike):
        if "\n" in str(X):
            raise ArgumentError("X is a text; put texts into a list: fit([text])")
        if " " in str(X) and not is_pattern(str(X)) and not os.path.exists(str(X)):
            raise ArgumentError(
                f"{X}: no such file or folder; if this is a text, put it into a list: fit([text])"
            )
        if validation is not None:
            raise ArgumentError(
                f"{X}: a corpus has its own validation text; leave out validation, or give lists"
            )
        return str(X)
    train, valid = _joined(X, "X"), ""
    if validation is None:
        lines = train.removesuffix("\n").split("\n")
        train, valid = (_joined(part, "X") for part in Splitter(ORDERED).hold_out(lines))
    elif len(validation):
        valid = _joined(validation, "validation")
    documents = {"train": Document("texts (train)", train)}
    if valid:
        documents["valid"] = Document("texts (valid)", valid)
    return Corpus("texts", documents)


def _joined(texts: Sequence[object], name: str) -> str:
    """One text made of several; each ends its line."""
    if isinstance(texts, str):
        raise ArgumentError(f"{name} is a single text; put it into a list: [text]")
    lines = []
    for number, text in enumerate(check_list(texts, name, "texts")):
        check_text(text, f"{name}[{number}]")
        lines.append(text.removesuffix("\n") + "\n")
    characters = (line[:-1] for line in lines)
    refuse_characters(characters, name, "give a list of texts: [text], not list(text)")
    joined = "".join(lines)
    if not joined.strip():
        raise ArgumentError(f"{name} contains no text; give some")
    return joined
