"""Generate text: a prompt in, continuations out, with stop sequences and streaming.

The text side of `elman.decoding`, which sees ids only. Unknown words are never generated unless
asked for. In a stream, bytes that are not yet a character are held back; bytes that never become
one, which a byte model may draw, show as U+FFFD.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from elman.decoding.beam import beam_search
from elman.decoding.options import DecodingOptions
from elman.decoding.sampling import sample
from elman.errors import InputError
from elman.evaluation.generated import GeneratedText, measure_generated
from elman.evaluation.measures import Progress, silent
from elman.state import State, select
from elman.tasks.language_modelling.continuation import Continuation
from elman.tasks.language_modelling.trained import TrainedModel


@dataclass(frozen=True)
class Generated:
    """One continuation."""

    text: str  # prompt and continuation
    continuation: str
    tokens: list[str]  # as drawn, a stop sequence included
    log_prob: float  # of the continuation under the model, in nats
    score: float  # what beam search ranked by; the log probability otherwise


def generate(
    trained: TrainedModel, prompt: str | Sequence[int], progress: Progress = silent, **options: Any
) -> list[Generated]:
    """All continuations at once: one per sample, or the n best of a beam; options of `_Writer`."""
    writer = _Writer(trained, prompt, **options)
    return writer.draw(progress) if writer.options.beam is None else writer.search(progress)


def stream(trained: TrainedModel, prompt: str, **options: Any) -> Iterator[str]:
    """The pieces of one continuation. What could be the beginning of a stop sequence waits."""
    writer = _Writer(trained, prompt, **options)
    if writer.options.beam is not None or writer.options.samples != 1:
        raise InputError("only one sample can be streamed; leave out beam and samples")
    return writer.continuation.pieces(number for (number,) in writer.steps() if number is not None)


def measure_samples(
    trained: TrainedModel, samples: Sequence[Generated], against: str | None = None
) -> GeneratedText:
    """Variety, repetition and length; with `against`, what was copied from its train split."""
    training = None
    if against is not None:
        ids = trained.tokenizer.encode(trained.open(against).split("train").text)
        training = [trained.tokenizer.tokens[number] for number in ids.tolist()]
    return measure_generated([sample.tokens for sample in samples], training)


def read_prompt(trained: TrainedModel, ids: np.ndarray) -> State:
    """The state, one row, after reading ids from the start."""
    with torch.inference_mode():
        state = trained.model.start(1)
        return trained.model.read(torch.from_numpy(ids)[None], state) if len(ids) else state


class _Writer:
    """A prompt that a model has read, and how to go on from there.

    Takes the options of `DecodingOptions`, and those that need a tokenizer: texts to stop before,
    whether to stop at the end of the line, whether unknown words may come.
    """

    def __init__(
        self,
        trained: TrainedModel,
        prompt: str | Sequence[int],
        *,
        stop: Sequence[str] = (),
        stop_at_line_end: bool = False,
        allow_unknown: bool = False,
        banned: Sequence[int] = (),
        stop_ids: Sequence[int] = (),
        **options: Any,
    ) -> None:
        self.model = trained.model
        self.tokenizer = trained.tokenizer
        self.continuation = Continuation(trained.tokenizer, prompt, stop)
        unknown = trained.tokenizer.unknown_id
        never = () if allow_unknown or unknown is None else (unknown,)
        last = (trained.tokenizer.eos_id,) if stop_at_line_end else ()
        self.options = DecodingOptions(
            banned=(*banned, *never), stop_ids=(*stop_ids, *last), **options
        )
        self.state = read_prompt(trained, self.continuation.prompt_ids)

    def steps(self) -> Iterator[list[int | None]]:
        """Ids step by step, one per sample; a row ends at a stop sequence."""
        state = select(self.state, torch.zeros(self.options.samples, dtype=torch.int64))
        # Gradients are off inside: here, where a stream pauses, they would be off for its reader.
        return sample(self.model, state, self.options, lambda _, ids: self.continuation.stops(ids))

    def draw(self, progress: Progress) -> list[Generated]:
        """Every sample."""
        rows: list[list[int]] = [[] for _ in range(self.options.samples)]
        for step in self.steps():
            for row, number in zip(rows, step, strict=True):
                if number is not None:
                    row.append(number)
            progress(1, self.options.max_tokens)
        return [self._finish(row) for row in rows]

    def search(self, progress: Progress) -> list[Generated]:
        """The best of a beam."""

        def stops(ids: Sequence[int]) -> bool:
            progress(0, self.options.max_tokens)
            return self.continuation.stops(ids)

        with torch.inference_mode():
            found = beam_search(self.model, self.state, self.options, stops)
        return [self._finish(best.ids, best.score) for best in found]

    def _finish(self, ids: Sequence[int], score: float | None = None) -> Generated:
        """A continuation with its probability."""
        continuation = self.continuation.cut(self.continuation.text(ids))
        log_prob = 0.0
        if ids:
            with torch.inference_mode():
                log_probs, _ = self.model.score(torch.tensor([ids]), self.state)
            log_prob = float(log_probs.sum())
        return Generated(
            text=self.continuation.prompt + continuation,
            continuation=continuation,
            tokens=[self.tokenizer.tokens[number] for number in ids],
            log_prob=log_prob,
            score=log_prob if score is None else score,
        )
