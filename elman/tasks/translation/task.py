"""Translation: read a source, write a text; from parallel files to BLEU.

`Translation` is the task of all encoder–decoder models: translations, summaries, image captions
(with vectors as sources), sequences in another order. The result of `elman.train` and `elman.load`
is in `trained.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch

from elman.batches.buckets import Pairs
from elman.batches.sources import Source, source_of_ids, source_of_vectors
from elman.errors import ArgumentError, InputError
from elman.layers.inputs import Material
from elman.models.encoder_decoder import EncoderDecoder
from elman.recipes import RunConfig
from elman.tasks.arguments import check_text
from elman.tasks.example_task import ExampleTask
from elman.tasks.pretrained import vectors_of_tokens
from elman.tasks.task import Told
from elman.tasks.trained import Trained
from elman.tasks.translation.pairs import Pair, read_pairs
from elman.tasks.translation.parallel import open_parallel
from elman.tasks.translation.sides import (
    Side,
    number_source,
    number_target,
    text_of,
    vocabulary_to_copy_into,
)
from elman.tasks.translation.trained import TrainedTranslator
from elman.tasks.trivial import Trivial, token_frequencies
from elman.text.corpora import Corpus
from elman.text.reader import Document
from elman.text.tokenizer import count_ids
from elman.text.words import Words


@dataclass(frozen=True)
class ReadSource:
    """A source as the model reads it."""

    numbers: np.ndarray  # ids (S,), or vectors (S, F)
    places: np.ndarray | None = None  # for copying: the id of each word in the target vocabulary
    unknown: tuple[str, ...] = ()  # source words outside the target vocabulary

    def __len__(self) -> int:
        return len(self.numbers)


class Translation(ExampleTask):
    """The translation task with the tokenizers of both sides."""

    unit = "pairs"
    recipe = "translator"
    trained_class = TrainedTranslator

    def __init__(
        self, config: RunConfig, source: Side | None, target: Side, growth: float = 1.0
    ) -> None:
        """`source`: None: vectors. `growth`: tokens of a target per token of its source."""
        super().__init__(config)
        self.source = source
        self.target = target
        self.growth = growth
        self._copied: Words | None = None  # the vocabulary that words are copied into
        if config.model.copy and source is not None:
            self._copied = vocabulary_to_copy_into(source.tokenizer, target.tokenizer)

    # Examples -------------------------------------------------------------------------------------

    @classmethod
    def open(cls, data: str, config: RunConfig) -> Corpus:
        return open_parallel(data, config.text)

    @classmethod
    def read(cls, document: Document, config: RunConfig) -> list[Pair]:
        return read_pairs(document, config.text)

    @classmethod
    def learned(cls, examples: Sequence[Pair]) -> list[Pair]:
        return [pair for pair in examples if pair.whole]

    @classmethod
    def sample(cls, example: Pair) -> dict[str, str]:
        return {"texts": example.source} if isinstance(example.source, str) else {}

    @classmethod
    def learn(cls, examples: Sequence[Pair], config: RunConfig) -> Self:
        text = config.text
        targets = [pair.target for pair in examples]
        own = text.side(text.target_tokenizer or text.tokenizer)
        first, wanted = examples[0].source, config.model.features
        features = 0 if isinstance(first, str) else int(first.shape[-1])  # 0: sources are text
        if wanted and wanted != features:
            have = f"vectors of {features} numbers" if features else "text"
            raise InputError(
                f"model.features={wanted}: the sources are {have}; leave the setting out"
            )
        if features:
            config = replace(config, model=replace(config.model, features=features))
            task = cls(config, None, Side.learn(targets, own))
        elif text.shared:
            both = Side.learn([*(str(pair.source) for pair in examples), *targets], own)
            task = cls(config, both, both)
        else:
            sources = Side.learn([str(pair.source) for pair in examples], text.side(text.tokenizer))
            task = cls(config, sources, Side.learn(targets, own))
        lengths = [sum(map(len, side)) for side in task.encode(examples)]
        task.growth = lengths[1] / max(lengths[0], 1)
        return task

    def complete(self, note: Told, warn: Told) -> None:
        """Read the word vectors of the source that the settings name."""
        if not self.config.model.vectors:
            return
        if self.source is None:
            raise InputError("model.vectors: the sources are vectors already; leave it out")
        self.pretrained = vectors_of_tokens(self.config.model, self.source.tokenizer, note, warn)

    def encode(self, pairs: Sequence[Pair]) -> tuple[list[ReadSource], list[np.ndarray]]:
        """Sources as the model reads them, and the ids of targets."""
        sources = self.encode_sources([pair.source for pair in pairs])
        return sources, self.encode_targets([pair.target for pair in pairs], sources)

    def encode_sources(self, sources: Sequence[str | np.ndarray]) -> list[ReadSource]:
        if self.source is None:
            return [
                ReadSource(self._vectors(number, source))
                for number, source in enumerate(sources, 1)
            ]
        texts = [_text(number, source) for number, source in enumerate(sources, 1)]
        ids = self.source.encode(texts)
        if self._copied is None:
            return [ReadSource(row) for row in ids]
        most = self.config.model.copy_places
        words = [self.source.tokenizer.normalise(text).split() for text in texts]
        numbered = [number_source(row, self._copied, most) for row in words]
        return [ReadSource(row, *more) for row, more in zip(ids, numbered, strict=True)]

    def _vectors(self, number: int, source: Any) -> np.ndarray:
        if isinstance(source, str):
            raise InputError(f"source {number} is a text; this run reads vectors (.npy, .npz)")
        if not isinstance(source, np.ndarray):
            kind = type(source).__name__
            raise ArgumentError(f"source {number} is of type {kind}; give an array of vectors")
        wanted = self.config.model.features
        if source.shape[-1] != wanted:
            raise InputError(
                f"source {number}: its vectors have {source.shape[-1]} numbers; the run was "
                f"trained with {wanted}"
            )
        return source

    def encode_targets(
        self, targets: Sequence[str], sources: Sequence[ReadSource]
    ) -> list[np.ndarray]:
        """The ids of targets; copied words have the numbers of their source."""
        if self._copied is None:
            return self.target.encode(targets)
        words = [self._copied.normalise(target).split() for target in targets]
        return [
            number_target(row, self._copied, source.unknown)
            for row, source in zip(words, sources, strict=True)
        ]

    def decode(self, ids: Sequence[int], source: ReadSource) -> str:
        """The text of the ids of a target, without `<eos>`."""
        if self._copied is None:
            return self.target.decode(ids)
        return text_of(ids, self._copied, source.unknown)

    def batches(self, examples: Sequence[Pair], batch_size: int, seed: int | None) -> Pairs:
        longest = self.config.text.longest
        sources, targets = self.encode(self.learned(examples))
        kept = [
            row
            for row, (source, target) in enumerate(zip(sources, targets, strict=True))
            if seed is None or max(len(source), len(target)) <= longest
        ]
        if not kept:
            raise InputError(
                f"all {len(examples):,} pairs are longer than text.longest={longest} tokens; "
                "set it higher"
            )
        return Pairs(
            [sources[row].numbers for row in kept],
            [targets[row] for row in kept],
            batch_size=batch_size,
            eos_id=self.target.tokenizer.eos_id,
            source_eos_id=0 if self.source is None else self.source.tokenizer.eos_id,
            places=_places([sources[row] for row in kept]),
            vectors=self.source is None,
            seed=seed,
        )

    def source_batch(self, sources: Sequence[ReadSource]) -> Source:
        """A batch of sources to start the model from."""
        numbers = [source.numbers for source in sources]
        if self.source is None:
            return source_of_vectors(numbers)
        return source_of_ids(numbers, self.source.tokenizer.eos_id, _places(sources))

    # The model, and what a run keeps --------------------------------------------------------------

    def build(self, examples: Any = None) -> EncoderDecoder:
        target = self.target
        material = Material(
            torch.from_numpy(target.counts), target.tokenizer.eos_id, target.tokenizer.tokens
        )
        source = None
        if self.source is not None and not self.config.text.shared:
            source = torch.from_numpy(self.source.counts)
        return EncoderDecoder(self.config.model, material, source)

    def trivial(self, train: Sequence[Pair], valid: Sequence[Pair]) -> Trivial | None:
        if self._copied is not None:
            return None  # copied words have no frequency
        target = self.target
        text = "".join(f"{pair.target}\n" for pair in self.learned(valid))
        ids = target.tokenizer.encode(text)
        return token_frequencies(target.counts, count_ids(ids, len(target.counts)))

    def take_over(self, before: Trained, model: Any, warn: Callable[[str], None]) -> list[str]:
        if not isinstance(before.task, Translation):
            raise InputError(f"--from {before.name}: not supported for {self.unit}; leave it out")
        return super().take_over(before, model, warn)

    def facts(self, examples: Sequence[Pair]) -> dict[str, Any]:
        longest = self.config.text.longest
        lengths = [map(len, side) for side in self.encode(examples)]
        too_long = sum(max(both) > longest for both in zip(*lengths, strict=True))
        tokenizers = [side.tokenizer.name for side in (self.source, self.target) if side]
        return {"tokenizers": tokenizers, "growth": round(self.growth, 4), "too_long": too_long}

    def vocabulary(self) -> dict[str, int]:
        target = {"target_tokens": len(self.target.tokenizer)}
        if self.source is None:
            return {"features": self.config.model.features, **target}
        return {"source_tokens": len(self.source.tokenizer), **target}

    def kept(self) -> dict[str, Any]:
        data = {"target": self.target.to_data(), "growth": self.growth}
        if self.source is not None and not self.config.text.shared:
            data["source"] = self.source.to_data()
        return data

    @classmethod
    def restored(cls, data: dict[str, Any], config: RunConfig) -> Self:
        target = Side.from_data(data["target"])
        source: Side | None = target
        if config.model.features:
            source = None
        elif not config.text.shared:
            source = Side.from_data(data["source"])
        return cls(config, source, target, float(data["growth"]))


def _places(sources: Sequence[ReadSource]) -> list[np.ndarray] | None:
    """The copy information of each source, if words are copied."""
    places = [source.places for source in sources if source.places is not None]
    return places or None


def _text(number: int, source: str | np.ndarray) -> str:
    if isinstance(source, np.ndarray):
        raise InputError("this run reads text, not vectors; give a text")
    check_text(source, f"source {number}")
    return source
