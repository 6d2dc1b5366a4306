"""Generate text: a prompt in, continuations out, with stop sequences and streaming.

The text side of `elman.decoding`, which works on ids only. `<unk>` is generated only on request. In
a stream, bytes of an incomplete character are held back. Bytes that never become a character, which
a byte model may sample, appear as U+FFFD.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch

from elman.decoding.beam import beam_search
from elman.decoding.options import DecodingOptions
from elman.decoding.sampling import sample
from elman.errors import InputError
from elman.evaluation.generated import GeneratedText, measure_generated
from elman.evaluation.measures import Progress, silent
from elman.json_safe import json_safe
from elman.state import select
from elman.tasks.language_modelling.continuation import Continuation
from elman.tasks.language_modelling.distribution import check_ids, decoding_fields, read_prompt
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.question import Answer, Question, aligned_lines, asked


@dataclass(frozen=True)
class Generated:
    """One continuation."""

    text: str  # prompt and continuation
    continuation: str
    tokens: list[str]  # as sampled, including a stop sequence
    log_prob: float  # of the continuation under the model, in nats
    score: float  # the score of beam search; otherwise the log probability


def generate(
    trained: TrainedModel, prompt: str | Sequence[int], progress: Progress = silent, **options: Any
) -> list[Generated]:
    """All continuations: one per sample, or the n best of a beam; takes options of `_Writer`."""
    writer = _Writer(trained, prompt, **options)
    return writer.draw(progress) if writer.options.beam is None else writer.search(progress)


def stream(trained: TrainedModel, prompt: str, **options: Any) -> Iterator[str]:
    """The pieces of one continuation; a possible beginning of a stop sequence is held back."""
    writer = _Writer(trained, prompt, **options)
    if writer.options.beam is not None or writer.options.samples != 1:
        raise InputError("only one sample can be streamed; leave out beam and samples")
    return writer.continuation.pieces(number for (number,) in writer.steps() if number is not None)


def measure_samples(
    trained: TrainedModel, samples: Sequence[Generated], against: str | None = None
) -> GeneratedText:
    """Variety, repetition and length; with `against`, the share copied from its train split."""
    training = None
    if against is not None:
        ids = trained.tokenizer.encode(trained.open(against).split("train").text)
        training = [trained.tokenizer.tokens[number] for number in ids.tolist()]
    return measure_generated([sample.tokens for sample in samples], training)


class _Writer:
    """The state after a prompt, and the options of its continuation.

    Takes the options of `DecodingOptions`, and those that need a tokenizer: stop sequences, whether
    to stop at the end of the line, whether `<unk>` is allowed.
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

    def steps(self, log_probs: list[float] | None = None) -> Iterator[list[int | None]]:
        """Ids step by step, one per sample; a row ends at a stop sequence.

        `log_probs`, one number per sample, adds up those of the ids.
        """
        state = select(self.state, torch.zeros(self.options.samples, dtype=torch.int64))
        # `sample` turns gradients off inside. Here it would turn them off for the reader of a
        # paused stream.
        stops = self.continuation.stops
        finished = (lambda _, ids: stops(ids)) if self.continuation.stop else None
        return sample(self.model, state, self.options, finished, log_probs)

    def draw(self, progress: Progress) -> list[Generated]:
        rows: list[list[int]] = [[] for _ in range(self.options.samples)]
        log_probs = [0.0] * self.options.samples
        for step in self.steps(log_probs):
            for row, number in zip(rows, step, strict=True):
                if number is not None:
                    row.append(number)
            progress(1, self.options.max_tokens)
        return [self._finish(row, total) for row, total in zip(rows, log_probs, strict=True)]

    def search(self, progress: Progress) -> list[Generated]:

        def stops(ids: Sequence[int]) -> bool:
            progress(0, self.options.max_tokens)
            return self.continuation.stops(ids)

        with torch.inference_mode():
            found = beam_search(self.model, self.state, self.options, stops)
        return [self._finish(best.ids, self._log_prob(best.ids), best.score) for best in found]

    def _log_prob(self, ids: Sequence[int]) -> float:
        with torch.inference_mode():
            log_probs, _ = self.model.score(torch.tensor([[*ids]], dtype=torch.int64), self.state)
        return float(log_probs.sum())

    def _finish(self, ids: Sequence[int], log_prob: float, score: float | None = None) -> Generated:
        """A continuation with its probability."""
        continuation = self.continuation.cut(self.continuation.text(ids))
        return Generated(
            text=self.continuation.prompt + continuation,
            continuation=continuation,
            tokens=[self.tokenizer.tokens[number] for number in ids],
            log_prob=log_prob,
            score=log_prob if score is None else score,
        )


# The question -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Generate(decoding_fields("_Decoded")):  # type: ignore[misc]  # fields known at run time
    """Continue a prompt."""

    stop: list[str] = asked(
        "Stop sequences; generation stops before them.", factory=list, limit="stop_sequences"
    )
    stop_at_line_end: bool = asked("Stop at the end of the line.", default=False)
    ban: list[str] = asked("Words that must not be generated.", factory=list, limit="texts")
    force: str = asked("Start the continuation with this text.", default="", limit="max_tokens")
    measure: bool = asked(
        "Measure the generated text: variety, repetition, length, copying.", default=False
    )
    against: str = asked(
        "With --measure: the dataset whose train split is checked for copies.",
        default="",
        terminal=True,
    )


@dataclass(frozen=True)
class Samples(Answer):
    """Continuations, with their measures on request."""

    samples: list[Generated]
    measures: GeneratedText | None
    remarks: list[str]

    def to_data(self) -> dict[str, Any]:
        found = [dict(vars(one)) for one in self.samples]
        if self.measures is None:
            return {"samples": found}
        return {"samples": found, "measures": json_safe(self.measures)}

    def lines(self) -> Iterable[str]:
        for number, one in enumerate(self.samples, 1):
            yield f"── {number} (log probability {one.log_prob:.2f})"
            yield one.text
        if self.measures is not None:
            yield from aligned_lines(["measure", "value"], _measure_rows(self.measures))

    def notes(self) -> list[str]:
        return self.remarks


def _measure_rows(measures: GeneratedText) -> list[list[Any]]:
    rows: list[list[Any]] = [["samples", measures.samples], ["mean length", measures.mean_length]]
    rows += [[f"distinct-{n}", share] for n, share in measures.distinct.items()]
    rows.append(["repeated 4-grams", measures.repetition])
    if measures.copied is not None:
        rows += [[f"copied {n}-grams", share] for n, share in measures.copied.items()]
        rows.append(["longest copy (tokens)", measures.longest_copy])
    return rows


def answer_prompt(trained: TrainedModel, request: Any, progress: Progress) -> Samples:
    """Continue a prompt."""
    if request.against and not request.measure:
        raise InputError("--against needs --measure; give both, or leave both out")
    options = _decoding_options(trained, request)
    samples = generate(trained, request.prompt, progress=progress, **options)
    measures = None
    if request.measure:
        measures = measure_samples(trained, samples, request.against or None)
    return Samples(samples, measures, prompt_notes(trained, request.prompt))


def stream_answer(trained: TrainedModel, request: Any) -> Iterator[str]:
    """Yield the prompt, then the continuation piece by piece."""
    pieces = stream(trained, request.prompt, **_decoding_options(trained, request))
    yield Continuation(trained.tokenizer, request.prompt).prompt
    yield from pieces


def prompt_notes(trained: TrainedModel, prompt: str | list[int]) -> list[str]:
    """How much of a prompt is out of vocabulary."""
    ids = Continuation(trained.tokenizer, prompt).prompt_ids.tolist()
    unknown = ids.count(trained.tokenizer.unknown_id)
    return (
        [f"{unknown} of {len(ids)} tokens of the prompt are out of vocabulary"] if unknown else []
    )


def _decoding_options(trained: TrainedModel, request: Any) -> dict[str, Any]:
    """The options of `generate`, with banned and forced words as ids."""
    check_ids(trained, request.prompt)
    forced = tuple(trained.tokenizer.encode_typed(request.force).tolist())
    if trained.tokenizer.unknown_id in forced:
        raise InputError(f"force {request.force}: contains out-of-vocabulary words")
    knobs = {
        knob.name: getattr(request, knob.name) for knob in fields(DecodingOptions) if knob.metadata
    }
    return {
        **knobs,
        "stop": request.stop,
        "stop_at_line_end": request.stop_at_line_end,
        "allow_unknown": request.allow_unknown,
        "banned": tuple(number for word in request.ban for number in _tokens_of(trained, word)),
        "forced": forced,
    }


def _tokens_of(trained: TrainedModel, word: str) -> list[int]:
    """The tokens of a word, with and without a space before it."""
    forms = [trained.tokenizer.encode(form).tolist() for form in (word, f" {word}")]
    found = {ids[0] for ids in forms if len(ids) == 1} - {trained.tokenizer.unknown_id}
    if not found:
        raise InputError(f"ban {word}: this is not a single token of the model")
    return sorted(found)


GENERATE = Question(Generate, answer_prompt, unit="tokens")
