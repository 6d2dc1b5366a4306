"""A trained language model with its tokenizer: text in, answers out.

What `elman.train` and `elman.load` give. Takes text, gives perplexities, tables, suggestions and
generated text; each method turns text into ids, calls one function of a room below, and returns
plain data. Knows the contract, never the kind of model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elman.adapters import adapt
from elman.adapters.surroundings import Surroundings
from elman.errors import InputError
from elman.models import MODELS
from elman.models.contract import LanguageModel
from elman.runs.folder import read_run, write_run
from elman.tasks.recipes import RunConfig, saved_config
from elman.text import tokenizer_from_data, tokenizer_to_data
from elman.text.corpora import Corpus, open_corpus
from elman.text.reader import Document, named
from elman.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from elman.evaluation.accuracy import Accuracy
    from elman.evaluation.measurement import Measurement
    from elman.evaluation.surprisal import WordSurprisal
    from elman.tasks.generation import Generated
    from elman.tasks.suggestion import Suggestion

RESETS = ("stream", "line")


class TrainedModel:
    """A model and its tokenizer; immutable: adapters give a new one."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        model: LanguageModel,
        config: RunConfig,
        facts: dict[str, Any],
        name: str = "model",
        cut_files: frozenset[str] = frozenset(),
    ) -> None:
        self.tokenizer = tokenizer
        self.model = model
        self.config = config
        self.facts = facts  # about the training: data, hashes, seconds, notes
        self.name = name
        self.cut_files = cut_files  # SHA-256 of lone files of which a part was fitted on

    # Measuring ------------------------------------------------------------------------------------

    def perplexity(self, text: str, *, reset: str = "stream") -> float:
        """Perplexity per token of a text; line ends count where the text has them."""
        return self.measure(Document("text", text), reset=reset).perplexity

    def evaluate(
        self,
        data: str,
        *,
        split: str | None = None,
        reset: str = "stream",
        batch_size: int = 1,
        window: int | None = None,
        progress: Callable[[int, int], None] = lambda tokens, of: None,
    ) -> Measurement:
        """Measure on a file, a folder or a built-in corpus (its test split, if it has splits)."""
        document = self.choose_split(self.open(data), split)
        return self.measure(
            document, reset=reset, batch_size=batch_size, window=window, progress=progress
        )

    def open(self, data: str) -> Corpus:
        """A corpus, read as the one that the model was trained on."""
        return open_corpus(str(data), labelled=self.config.text.labelled)

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
        self,
        document: Document,
        *,
        reset: str = "stream",
        batch_size: int = 1,
        window: int | None = None,
        progress: Callable[[int, int], None] = lambda tokens, of: None,
    ) -> Measurement:
        """Measure on one document."""
        from elman.evaluation.measurement import Protocol, measure
        from elman.evaluation.scoring import DEFAULT_WINDOW, score_ids

        _check_reset(reset)
        with named(document):
            ids = self.tokenizer.encode(document.text)
        if len(ids) == 0:
            raise InputError(f"{document.name}: there is nothing to measure in an empty text")
        log_probs = score_ids(
            self.model,
            ids,
            eos_id=self.tokenizer.eos_id,
            reset=reset,
            batch_size=batch_size,
            window=DEFAULT_WINDOW if window is None else window,
            progress=progress,
        )
        anew = reset == "line" or self.model.resets_at_lines
        protocol = Protocol(
            unit=self.tokenizer.name + (", lower case" if self.tokenizer.lowercase else ""),
            vocabulary_size=len(self.tokenizer),
            state="every line by itself" if anew else "state carried from line to line",
            unknown="what is unknown counts as <unk>"
            if self.tokenizer.unknown_id is not None
            else "",
            text=f"{document.name} sha256:{document.sha256()[:12]}",
            vocabulary=hashlib.sha256("\n".join(self.tokenizer.tokens).encode()).hexdigest()[:12],
        )
        return measure(
            log_probs,
            ids,
            document.text,
            protocol,
            self.tokenizer.eos_id,
            self.tokenizer.count_unknown(document.text, ids),
        )

    def accuracy(
        self,
        data: str,
        *,
        split: str | None = None,
        after: str | None = None,
        until: str | None = None,
        reset: str = "stream",
        batch_size: int = 1,
        progress: Callable[[int, int], None] = lambda tokens, of: None,
    ) -> Accuracy:
        """How often the likeliest token is the one that comes, on a file, a folder or a corpus.

        With `after`, only what follows this token in its line counts; with `until` too, only up to
        the next of those.
        """
        from elman.evaluation.accuracy import Counted, measure_accuracy

        _check_reset(reset)
        document = self.choose_split(self.open(data), split)
        with named(document):
            return measure_accuracy(
                self.model,
                self.tokenizer,
                document.text,
                Counted(after, until),
                reset=reset,
                batch_size=batch_size,
                progress=progress,
            )

    def surprisal(
        self,
        text: str,
        *,
        base: float = 2.0,
        reset: str = "line",
        progress: Callable[[int, int], None] = lambda tokens, of: None,
    ) -> list[WordSurprisal]:
        """Surprisal, entropy and rank of every word of a text."""
        from elman.evaluation.surprisal import word_surprisals

        _check_reset(reset)
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
        from elman.tasks.generation import generate

        return generate(self, prompt, stop=stop, **options)

    def stream(
        self, prompt: str = "", *, stop: Sequence[str] = (), **options: Any
    ) -> Iterator[str]:
        """One continuation of a prompt, piece by piece, as soon as each is known."""
        from elman.tasks.generation import stream

        return stream(self, prompt, stop=stop, **options)

    def suggest(self, text: str, *, top: int = 5, complete: bool = False) -> list[Suggestion]:
        """The most likely next words; with `complete`, the most likely endings of the last one."""
        from elman.tasks.suggestion import suggest

        return suggest(self, text, top=top, complete=complete)

    # Wrapping and keeping -------------------------------------------------------------------------

    def with_adapters(
        self,
        written: Iterable[str],
        data: str | None = None,
        *,
        reset: str = "stream",
        progress: Callable[[int, int], None] = lambda tokens, of: None,
    ) -> TrainedModel:
        """The same with adapters around the model; what they fit is fitted on the data's splits."""
        from elman.evaluation.scoring import score_ids

        cut_files = set(self.cut_files)

        def ids_of(split: str) -> np.ndarray:
            corpus = self._own_corpus() if data is None else self.open(data)
            if split not in corpus.documents:
                raise InputError(
                    f"{corpus.name}: has no {split} text to fit an adapter on; "
                    "give its settings, as in cache:weight=0.1"
                )
            if corpus.whole is not None:
                cut_files.add(corpus.whole.sha256())
            return self.tokenizer.encode(corpus.split(split).text)

        def score(model: LanguageModel) -> np.ndarray:
            eos_id = self.tokenizer.eos_id
            return score_ids(model, ids_of("valid"), eos_id=eos_id, reset=reset, progress=progress)

        around = Surroundings(
            score,
            self._load_alike,
            lambda: ids_of("train"),
            self._id_of,
            self.tokenizer.eos_id,
            progress,
        )
        model = adapt(self.model, written, around)
        return TrainedModel(
            self.tokenizer, model, self.config, self.facts, self.name, frozenset(cut_files)
        )

    def _own_corpus(self) -> Corpus:
        """What the model was trained on, if it is still there."""
        trained_on = self.facts["data"]["name"]
        try:
            return self.open(trained_on)
        except InputError as error:
            raise InputError(
                f"the adapter is fitted on the run's own data, and {error}; "
                "give its settings, as in cache:weight=0.1"
            ) from None

    def _id_of(self, token: str) -> int:
        if token not in self.tokenizer.tokens:
            raise InputError(f"{token!r} is not a token of {self.name}")
        return self.tokenizer.tokens.index(token)

    def _load_alike(self, path: str) -> LanguageModel:
        other = load(path)
        if other.tokenizer.tokens != self.tokenizer.tokens:
            raise InputError(f"{path}: has another vocabulary, so the two cannot be mixed")
        return other.model

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the run folder."""
        if not hasattr(self.model, "arrays"):
            raise InputError("adapters are not saved; save the model without them and load it")
        contents = {
            "config.json": self.config.to_data(),
            "tokenizer.json": tokenizer_to_data(self.tokenizer),
            "facts.json": self.facts,
            "weights.safetensors": self.model.arrays(),
        }
        write_run(Path(path), contents, overwrite=overwrite)

    def describe(self) -> dict[str, Any]:
        """What a person wants to know about it, as plain data."""
        tokenizer = {"tokenizer": self.tokenizer.name, "loses": self.tokenizer.loses}
        return {"name": self.name, **tokenizer, **self.model.describe(), "training": self.facts}


_PARTS = ("config.json", "tokenizer.json", "facts.json", "weights.safetensors")


def load(path: str | Path) -> TrainedModel:
    """The model in a run folder, with its best weights; every file is checked first."""
    return saved_run(Path(path), read_run(Path(path), _PARTS))


def saved_run(path: Path, contents: dict[str, Any]) -> TrainedModel:
    """The model in the contents of a run folder."""
    try:
        config = saved_config(contents["config.json"])
        tokenizer = tokenizer_from_data(contents["tokenizer.json"])
        facts = contents["facts.json"]
        model = MODELS.choose(config.kind).restore(
            config.model, contents["weights.safetensors"], facts["model"]
        )
        whole = len(tokenizer) == model.vocabulary_size
    except KeyError as error:
        raise InputError(f"{path}: the run lacks {error}; train again") from None
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"{path}: the parts of the run do not fit ({error})") from None
    if not whole:
        raise InputError(f"{path}: the parts of the run do not fit (tokenizer and weights)")
    return TrainedModel(tokenizer, model, config, facts, str(path))


def _check_reset(reset: str) -> None:
    if reset not in RESETS:
        raise InputError(f"reset={reset!r}: choose 'stream' (carry the state) or 'line'")
