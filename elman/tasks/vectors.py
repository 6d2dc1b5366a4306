"""Vectors of the words of a text, from any run that has them: per layer, in context or not.

    bidirectional model        every layer: characters, then the LSTM layers        (ELMo)
    task with such a model     the same, and the mix that the task learned
    neural language model      one layer: the hidden vector after each token
    word vectors               one layer: the vector of each word, the same in every context

Takes a trained model and returns an `Embedder`; called by `embed.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from elman.batches.sentences import SentenceReader
from elman.errors import InputError
from elman.layers.elmo import ScalarMix
from elman.models.bidirectional import BidirectionalModel
from elman.models.word2vec import Word2Vec
from elman.state import select

Words = tuple[str, ...]  # of a sentence
_BATCH = 32  # lines per batch


@dataclass(frozen=True)
class Line:
    """The words of a line, with the vectors of each layer."""

    words: tuple[str, ...]
    layers: np.ndarray  # (layers, words, numbers)


class Embedder(ABC):
    """Turns lines into vectors."""

    num_layers: int
    size: int  # numbers per word and layer

    @abstractmethod
    def embed(self, lines: Sequence[str]) -> list[Line]:
        """The vectors of lines; lines do not influence each other."""

    def embed_carrying(self, lines: Sequence[str], rows: int) -> Iterator[list[Line]]:
        """The vectors of lines in batches of `rows`; each row continues after its last line."""
        raise InputError(
            f"carry_state={rows}: only a bidirectional language model (ELMo), or a task with one, "
            "carries its state between lines; leave it out"
        )

    @abstractmethod
    def type_vectors(self, words: Sequence[str]) -> np.ndarray:
        """Vectors of words without any context, (words, numbers)."""

    def mixed(self, layers: np.ndarray) -> np.ndarray:
        """Mix all layers into one, (words, numbers): their mean, or the mix that a task learned."""
        mean: np.ndarray = layers.mean(0)
        return mean

    def choose(self, layer: str, layers: np.ndarray) -> np.ndarray:
        """Choose layers, (chosen, words, numbers): a number from 0, `all` or `mix`."""
        if layer == "all":
            return layers
        if layer == "mix":
            return self.mixed(layers)[None]
        if layer.isdecimal() and int(layer) < self.num_layers:
            return layers[int(layer)][None]
        raise InputError(
            f"--layer {layer}: choose all, mix, or a number from 0 to {self.num_layers - 1}"
        )


class BidirectionalEmbedder(Embedder):
    """Layers of a bidirectional model."""

    def __init__(
        self, model: BidirectionalModel, reader: SentenceReader, mix: ScalarMix | None = None
    ) -> None:
        self._model = model.eval()
        self._reader = reader
        self._mix = mix
        self.num_layers, self.size = model.num_layers, model.size

    def embed(self, lines: Sequence[str]) -> list[Line]:
        words = [tuple(line.split()) for line in lines]
        return [*map(Line, words, layers_of(self._model, self._reader, words))]

    def embed_carrying(self, lines: Sequence[str], rows: int) -> Iterator[list[Line]]:
        words = [tuple(line.split()) for line in lines]
        for some, layers in carried_layers_of(self._model, self._reader, words, rows):
            yield [*map(Line, some, layers)]

    def type_vectors(self, words: Sequence[str]) -> np.ndarray:
        return type_vectors_of(self._model, self._reader, words)

    def mixed(self, layers: np.ndarray) -> np.ndarray:
        if self._mix is None:
            return super().mixed(layers)
        with torch.inference_mode():
            mixed: np.ndarray = self._mix(torch.from_numpy(layers)).numpy(force=True)
        return mixed


class LanguageModelEmbedder(Embedder):
    """Hidden vectors of a neural language model after each token of a line."""

    num_layers = 1

    def __init__(self, trained: Any) -> None:
        self._tokenizer = trained.tokenizer
        self._model = trained.model.eval()
        self.size = int(self._hidden([[]]).shape[2])

    def embed(self, lines: Sequence[str]) -> list[Line]:
        spans = [self._tokenizer.typed_spans(line) for line in lines]
        found = []
        for first in range(0, len(lines), _BATCH):
            some = spans[first : first + _BATCH]
            hidden = self._hidden([span.ids for span in some]).numpy(force=True)
            for row, span in enumerate(some):
                line = lines[first + row]
                words = tuple(
                    line[start:end].strip() or self._tokenizer.tokens[number]
                    for start, end, number in zip(span.starts, span.ends, span.ids, strict=True)
                )
                # The first vector belongs to the beginning of the line.
                found.append(Line(words, hidden[None, row, 1 : len(words) + 1].copy()))
        return found

    def _hidden(self, lines: Sequence[Any]) -> torch.Tensor:
        """Hidden vectors after the previous line end and after each token, (B, T + 1, size)."""
        end = self._tokenizer.eos_id
        rows = [torch.tensor([end, *line]) for line in lines]
        ids = pad_sequence(
            rows, batch_first=True, padding_value=end
        )  # padding has no effect on earlier tokens
        with torch.inference_mode():
            hidden: torch.Tensor = self._model.hidden_vectors(ids, self._model.begin(len(rows)))
        return hidden

    def type_vectors(self, words: Sequence[str]) -> np.ndarray:
        """Input vectors; the mean over the tokens of a word."""
        tokens = [self._tokenizer.encode(word) for word in words]
        with torch.inference_mode():
            means = [self._model.input(torch.tensor([[*ids]])).mean(1) for ids in tokens]
        return torch.cat(means).numpy(force=True)


class TypeEmbedder(Embedder):
    """Word vectors without context; zeros for words that have none."""

    num_layers = 1

    def __init__(self, trained: Any) -> None:
        self._trained = trained
        self.size = trained.model.config.embedding_size

    def embed(self, lines: Sequence[str]) -> list[Line]:
        words = [tuple(line.split()) for line in lines]
        return [Line(some, self.type_vectors(some)[None]) for some in words]

    def type_vectors(self, words: Sequence[str]) -> np.ndarray:
        vectors: np.ndarray = self._trained.vectors(words)
        return vectors


@torch.inference_mode()
def layers_of(
    model: BidirectionalModel, reader: SentenceReader, sentences: Sequence[Words]
) -> list[np.ndarray]:
    """The layers of each sentence, (layers, words, numbers)."""
    found = []
    for first in range(0, len(sentences), _BATCH):
        some = sentences[first : first + _BATCH]
        found += _by_sentence(model.layers(reader.read(some)), some)
    return found


def carried_layers_of(
    model: BidirectionalModel, reader: SentenceReader, sentences: Sequence[Words], rows: int
) -> Iterator[tuple[Sequence[Words], list[np.ndarray]]]:
    """Batches of so many sentences with their layers, (layers, words, numbers).

    Each row starts from its state after the previous batch, as in the published code of ELMo.
    """
    state = model.start(min(rows, len(sentences)))
    for first in range(0, len(sentences), rows):
        some = sentences[first : first + rows]
        with torch.inference_mode():
            own = select(state, torch.arange(len(some)))  # the last batch may be smaller
            layers, state = model.layers_and_state(reader.read(some), own)
        yield some, _by_sentence(layers, some)


def _by_sentence(layers: torch.Tensor, sentences: Sequence[Words]) -> list[np.ndarray]:
    """The layers of each sentence without padding."""
    arrays = layers.numpy(force=True)
    return [arrays[:, row, : len(words)].copy() for row, words in enumerate(sentences)]


@torch.inference_mode()
def type_vectors_of(
    model: BidirectionalModel, reader: SentenceReader, words: Sequence[str]
) -> np.ndarray:
    """Word vectors from characters alone, (words, numbers)."""
    sentences = reader.read([[word] for word in words])
    return model.characters(sentences.spelled)[sentences.places[:, 0]].numpy(force=True)


def embed_lines(
    embedder: Embedder,
    lines: Sequence[str],
    layer: str = "all",
    progress: Callable[[int, int], None] = lambda more, total: None,
    carry_state: int = 0,
) -> list[Line]:
    """Embed lines and keep the requested layers.

    `carry_state`: lines per batch whose states the next batch continues; 0: no line sees another.
    """
    batches: Iterable[list[Line]]
    if carry_state:
        batches = embedder.embed_carrying(lines, carry_state)
    else:
        starts = range(0, len(lines), _BATCH)
        batches = (embedder.embed(lines[first : first + _BATCH]) for first in starts)
    found = []
    for some in batches:
        found += [Line(line.words, embedder.choose(layer, line.layers)) for line in some]
        progress(len(some), len(lines))
    return found


def embedder_of(trained: Any, name: str) -> Embedder:
    """Make the embedder for a trained model. Messages refer to the model by `name`."""
    if _has_hidden_vectors(trained):
        return LanguageModelEmbedder(trained)
    if isinstance(trained.model, BidirectionalModel):
        return BidirectionalEmbedder(trained.model, trained.task.reader)
    if isinstance(trained.model, Word2Vec):
        return TypeEmbedder(trained)
    contextual = _contextual(trained)
    if contextual is not None:
        return BidirectionalEmbedder(contextual.model, trained.task.reader, contextual.mixes[0])
    if hasattr(trained, "tokenizer"):
        raise InputError(f"{name}: an n-gram model has no word vectors; give a neural run")
    raise InputError(
        f"{name}: a {trained.config.kind} has contextual word vectors only if it was trained with "
        "--set model.elmo=RUN; or give a run of the recipe elmo-small"
    )


def has_vectors(trained: Any) -> bool:
    """Whether this model has word vectors."""
    always = isinstance(trained.model, BidirectionalModel | Word2Vec)
    return always or _has_hidden_vectors(trained) or _contextual(trained) is not None


def _has_hidden_vectors(trained: Any) -> bool:
    return hasattr(trained, "tokenizer") and hasattr(trained.model, "hidden_vectors")


def _contextual(trained: Any) -> Any:
    """The frozen language model inside the model of a task, if it has one."""
    return getattr(getattr(trained.model, "encoder", trained.model), "contextual", None)
