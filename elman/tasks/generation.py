"""Generate text: a prompt in, continuations out, with stop sequences and streaming.

The text side of `elman.decoding`, which sees ids only. Unknown words are never generated unless
asked for. In a stream, bytes that are not yet a character are held back; bytes that never become
one, which a byte model may draw, show as U+FFFD.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from elman.decoding import DecodingOptions, beam_search, sample
from elman.errors import InputError
from elman.evaluation.generated import GeneratedText, measure_generated
from elman.state import State, select
from elman.text.corpora import open_corpus

if TYPE_CHECKING:
    from elman.tasks.language_model import TrainedModel

HALF_CHARACTER = "\ufffd"


@dataclass(frozen=True)
class Generated:
    """One continuation."""

    text: str  # prompt and continuation
    continuation: str
    tokens: list[str]  # as drawn, a stop sequence included
    log_prob: float  # of the continuation under the model, in nats
    score: float  # what beam search ranked by; the log probability otherwise


def generate(
    trained: TrainedModel,
    prompt: str,
    *,
    stop: Sequence[str] = (),
    allow_unknown: bool = False,
    stop_at_line_end: bool = False,
    **options: Any,
) -> list[Generated]:
    """All continuations at once: one per sample, or the n best of a beam."""
    writer = Writer(trained, prompt, stop)
    decoding = writer.options(allow_unknown, stop_at_line_end, options)
    if decoding.beam is not None:
        with torch.inference_mode():
            found = beam_search(trained.model, writer.state, decoding, writer.finished)
        return [writer.finish(list(best.ids), best.score) for best in found]
    rows: list[list[int]] = [[] for _ in range(decoding.samples)]
    for step in writer.sample(decoding):
        for row, number in zip(rows, step, strict=True):
            if number is not None:
                row.append(number)
    return [writer.finish(row) for row in rows]


def measure_samples(
    trained: TrainedModel, samples: Sequence[Generated], against: str | None = None
) -> GeneratedText:
    """Variety, repetition and length; with `against`, what was copied from its train split."""
    training = None
    if against is not None:
        ids = trained.tokenizer.encode(open_corpus(against).split("train").text)
        training = [trained.tokenizer.tokens[number] for number in ids.tolist()]
    return measure_generated([sample.tokens for sample in samples], training)


def stream(
    trained: TrainedModel,
    prompt: str,
    *,
    stop: Sequence[str] = (),
    allow_unknown: bool = False,
    stop_at_line_end: bool = False,
    **options: Any,
) -> Iterator[str]:
    """The pieces of one continuation. What could be the beginning of a stop sequence waits."""
    writer = Writer(trained, prompt, stop)
    decoding = writer.options(allow_unknown, stop_at_line_end, options)
    if decoding.beam is not None or decoding.samples != 1:
        raise InputError("only one sample can be streamed; leave out beam and samples")
    return _pieces(writer, decoding)


def _pieces(writer: Writer, decoding: DecodingOptions) -> Iterator[str]:
    ids: list[int] = []
    shown = ""
    for step in writer.sample(decoding):
        ids += [number for number in step if number is not None]
        certain = writer.certain(writer.continuation(ids))
        if len(certain) > len(shown):
            yield certain[len(shown) :]
            shown = certain
    rest = writer.cut(writer.continuation(ids))[len(shown) :]
    if rest:
        yield rest


class Writer:
    """A prompt that was read, and the way from ids back to what follows it."""

    def __init__(self, trained: TrainedModel, prompt: str, stop: Sequence[str]) -> None:
        stop = (stop,) if isinstance(stop, str) else tuple(stop)
        if any(not text for text in stop):
            raise InputError("an empty stop sequence would stop at once; leave it out")
        self.tokenizer = trained.tokenizer
        self.model = trained.model
        self.stop = stop
        if self.tokenizer.space_before_words:
            prompt = prompt.rstrip(" ")  # the next word brings its own
        self.prompt_ids = self.tokenizer.encode(prompt)
        self.prompt = self.tokenizer.decode(self.prompt_ids)
        self.state = read_prompt(trained, self.prompt_ids)

    def options(
        self, allow_unknown: bool, stop_at_line_end: bool, options: dict[str, Any]
    ) -> DecodingOptions:
        """Decoding options with what the text level adds."""
        banned = tuple(options.pop("banned", ()))
        stop_ids = tuple(options.pop("stop_ids", ()))
        unknown = self.tokenizer.unknown_id
        if unknown is not None and not allow_unknown:
            banned += (unknown,)
        if stop_at_line_end:
            stop_ids += (self.tokenizer.eos_id,)
        return DecodingOptions(banned=banned, stop_ids=stop_ids, **options)

    def sample(self, options: DecodingOptions) -> Iterator[list[int | None]]:
        """Ids step by step; a row ends at a stop sequence."""
        state = select(self.state, torch.zeros(options.samples, dtype=torch.int64))

        # Gradients are off inside: here, where a stream pauses, they would be off for its reader.
        yield from sample(self.model, state, options, lambda row, ids: self.finished(ids))

    def finished(self, ids: list[int]) -> bool:
        """Whether a stop sequence has come."""
        text = self.continuation(ids) if self.stop else ""
        return any(stop in text for stop in self.stop)

    def continuation(self, ids: Sequence[int]) -> str:
        """The text that ids add to the prompt."""
        return self.tokenizer.decode([*self.prompt_ids, *ids])[len(self.prompt) :]

    def cut(self, text: str) -> str:
        """A continuation without its stop sequence and what follows."""
        places = [place for stop in self.stop if (place := text.find(stop)) >= 0]
        return text[: min(places)] if places else text

    def certain(self, text: str) -> str:
        """The part of a continuation that nothing to come can change."""
        cut = self.cut(text)
        if cut != text:
            return cut
        text = text.rstrip(HALF_CHARACTER)
        longest = max((len(stop) for stop in self.stop), default=0)
        for length in range(min(longest, len(text)), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self.stop):
                return text[:-length]
        return text

    def finish(self, ids: list[int], score: float | None = None) -> Generated:
        """A continuation with its probability."""
        continuation = self.cut(self.continuation(ids))
        log_prob = 0.0
        if ids:
            with torch.inference_mode():
                log_probs, _ = self.model.score(torch.tensor([ids]), self.state)
            log_prob = float(log_probs.sum())
        return Generated(
            text=self.prompt + continuation,
            continuation=continuation,
            tokens=[self.tokenizer.tokens[number] for number in ids],
            log_prob=log_prob,
            score=log_prob if score is None else score,
        )


def read_prompt(trained: TrainedModel, ids: np.ndarray) -> State:
    """The state, one row, after reading ids from the start."""
    with torch.inference_mode():
        state = trained.model.start(1)
        return trained.model.read(torch.from_numpy(ids)[None], state) if len(ids) else state
