"""Wrap a trained model in adapters and fit their missing settings.

Takes a `TrainedModel` and adapters as written for --with, returns another `TrainedModel`; called by
`TrainedModel.with_adapters`. Without data, adapters are fitted on the data of the training, if it
still exists.
"""

from collections.abc import Callable, Iterable

import numpy as np

from elman.adapters import FitContext, adapt
from elman.errors import InputError
from elman.evaluation.measures import Progress, Reading
from elman.evaluation.scoring import score_ids
from elman.models.contract import LanguageModel
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.saved_runs import recorded_source
from elman.tasks.task import load
from elman.text.corpora import Corpus

_GIVE_SETTINGS = "give its settings, as in cache:weight=0.1"


def load_model(path: str) -> TrainedModel:
    """Load the run of a language model."""
    return load(path, TrainedModel)


def put_around(
    trained: TrainedModel,
    written: Iterable[str],
    data: str | None,
    reading: Reading,
    progress: Progress,
    open_run: Callable[[str], TrainedModel] = load_model,
) -> TrainedModel:
    """Wrap the model in adapters; missing settings are fitted on the splits of the data.

    open_run: loads the other runs of a mixture.
    """
    texts = _Texts(trained, data)
    eos_id = trained.tokenizer.eos_id

    def score(model: LanguageModel) -> np.ndarray:
        ids = texts.ids("valid")
        return score_ids(model, ids, eos_id=eos_id, reading=reading, progress=progress)

    around = FitContext(
        score=score,
        load_model=lambda path: _check_alike(trained, open_run(path), path),
        training_ids=lambda: texts.ids("train"),
        token_id=lambda token: _id_of(trained, token),
        eos_id=eos_id,
        progress=progress,
    )
    return trained.around(adapt(trained.model, written, around), frozenset(texts.cut_files))


class _Texts:
    """The splits to fit on, opened when needed, and the files that they were cut from."""

    def __init__(self, trained: TrainedModel, data: str | None) -> None:
        self._trained = trained
        self._data = data
        self.cut_files: set[str] = set()  # SHA-256 of single files with a part used for fitting

    def ids(self, split: str) -> np.ndarray:
        data = self._data
        corpus = _own_corpus(self._trained) if data is None else self._trained.open(data)
        if split not in corpus.documents:
            raise InputError(
                f"{corpus.name}: there is no {split} text to fit an adapter on; {_GIVE_SETTINGS}"
            )
        if corpus.whole is not None:
            self.cut_files.add(corpus.whole.sha256())
        return self._trained.tokenizer.encode(corpus.split(split).text)


def _own_corpus(trained: TrainedModel) -> Corpus:
    """The data of the training, if it still exists."""
    try:
        return trained.open(recorded_source(trained.facts))
    except InputError as error:
        raise InputError(
            f"the adapter needs the data of the run, but {error}; {_GIVE_SETTINGS}"
        ) from None


def _id_of(trained: TrainedModel, token: str) -> int:
    if token not in trained.tokenizer.tokens:
        raise InputError(f"{token!r} is not a token of {trained.name}")
    return trained.tokenizer.tokens.index(token)


def _check_alike(trained: TrainedModel, other: TrainedModel, path: str) -> LanguageModel:
    if other.tokenizer.tokens != trained.tokenizer.tokens:
        raise InputError(
            f"{path}: the vocabularies differ, so the two runs cannot be mixed; train both on the "
            "same text with the same tokenizer"
        )
    return other.model
