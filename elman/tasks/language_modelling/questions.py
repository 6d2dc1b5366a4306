"""What can be asked of a language model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, make_dataclass
from typing import Any, Literal, get_type_hints

import torch

from elman.decoding.distribution import next_distribution
from elman.decoding.options import DecodingOptions
from elman.decoding.transforms import TRANSFORMS
from elman.errors import InputError
from elman.evaluation.generated import GeneratedText
from elman.evaluation.measurement import Measurement
from elman.evaluation.measures import Progress, Reading
from elman.evaluation.surprisal import WordSurprisal
from elman.insight.inspection import Inspection
from elman.json_safe import json_safe
from elman.models.neural import NeuralModel
from elman.models.ngram import NGram
from elman.tasks.embed import EMBED
from elman.tasks.language_modelling import generation, inspection
from elman.tasks.language_modelling.continuation import Continuation
from elman.tasks.language_modelling.explanation import Explanation, explain_text
from elman.tasks.language_modelling.suggestion import Suggestion
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.question import ARGUMENT, NAME, TEXT, Question, asked
from elman.tasks.table_lines import aligned_lines
from elman.text.reader import Document
from elman.text.tokenizer import EOS

_RESETS = ("line", "stream")
_RESET = "Start anew at every line (line), or carry the state through the text (stream)."
_MANY_UNKNOWN = 0.05  # of the words
_PENALTIES = ("frequency_penalty", "presence_penalty", "repetition_penalty")
_SHAPING = {*(transform.option for transform in TRANSFORMS.values()), *_PENALTIES}
_LIMITS = {"max_tokens": "max_tokens", "samples": "samples", "beam": "samples"}


@dataclass(frozen=True, kw_only=True)
class _Prompted:
    prompt: str | list[int] = asked(
        "Text to continue, or its ids; empty: from the start of a line.",
        default="",
        limit="prompt_tokens",
    )
    allow_unknown: bool = asked("Let <unk> be generated.", default=False)


def _decoding_fields(name: str, wanted: set[str] | None = None) -> type:
    """A dataclass with the options of decoding, all or those wanted, so that a new transform
    appears by itself.
    """
    hints = get_type_hints(DecodingOptions)
    made = [
        (
            knob.name,
            hints[knob.name],
            asked(
                f"{knob.metadata['about'][0].upper()}{knob.metadata['about'][1:]}.",
                default=knob.default,
                limit=_LIMITS.get(knob.name, ""),
            ),
        )
        for knob in fields(DecodingOptions)
        if knob.metadata and (wanted is None or knob.name in wanted)
    ]
    module = {"__module__": __name__}
    return make_dataclass(
        name, made, bases=(_Prompted,), namespace=module, frozen=True, kw_only=True
    )


# Suggestions --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Suggest:
    """Suggest the next words, like a phone keyboard.

    For example:
      elman suggest runs/ptb "the price of"
      elman suggest runs/ptb "the pri" --complete --top 3
    """

    text: str = asked("What was typed so far.", default="", kind=ARGUMENT, limit="prompt_tokens")
    top: int = asked("How many suggestions.", default=5, at_least=1, limit="top")
    complete: bool = asked("The last word is unfinished: suggest its endings.", default=False)


@dataclass(frozen=True)
class Suggestions:
    """Words that may come next, the likeliest first."""

    suggestions: list[Suggestion]

    def to_data(self) -> dict[str, Any]:
        return {"suggestions": [dict(vars(one)) for one in self.suggestions]}

    def lines(self) -> Iterable[str]:
        rows = [[one.token, one.probability] for one in self.suggestions]
        return aligned_lines(["token", "probability"], rows)

    def notes(self) -> list[str]:
        return []


def suggest(trained: TrainedModel, request: Suggest, progress: Progress) -> Suggestions:
    """The likeliest next words."""
    return Suggestions(trained.suggest(request.text, top=request.top, complete=request.complete))


# Surprisal ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Surprisal:
    """Give surprisal, entropy and rank of every word of a text."""

    text: str = asked("The text, one sentence per line.", kind=TEXT, limit="prompt_tokens")
    base: float | Literal["e"] = asked(
        "Base of the logarithm: 2 (bits), e (nats) or 10.", default=2.0
    )
    reset: str = asked(_RESET, default="line", choices=_RESETS)


@dataclass(frozen=True)
class WordSurprisals:
    """A row per word."""

    base: float
    reset: str
    words: list[WordSurprisal]
    knows_all: bool  # the model has no unknown word

    def to_data(self) -> dict[str, Any]:
        words = [dict(vars(word)) for word in self.words]
        return {"base": self.base, "reset": self.reset, "words": words}

    def lines(self) -> Iterable[str]:
        """Columns with tabs; a word has no white space, so it never holds a tab."""
        names = [field.name for field in fields(WordSurprisal) if field.name != "undefined"]
        yield "\t".join(names)
        for word in self.words:
            cells = {name: _tab_cell(getattr(word, name)) for name in names}
            if word.undefined:
                cells |= {"surprisal": "undefined", "entropy": "undefined"}
            yield "\t".join(cells.values())

    def notes(self) -> list[str]:
        found = []
        if not self.knows_all:
            unknown = sum(word.unknown for word in self.words)
            found.append(unknown_note(unknown, sum(word.word != EOS for word in self.words)))
        if undefined := sum(word.undefined for word in self.words):
            found.append(
                f"{undefined} of {len(self.words)} words have no defined probability: their "
                "context was never seen (0 / 0); train with a smoother for finite numbers"
            )
        return found


def _tab_cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6f}" if isinstance(value, float) else "" if value is None else str(value)


def unknown_note(unknown: int, words: int, run: str = "") -> str:
    """The share of out-of-vocabulary words, with a warning if it is large."""
    of_run = f" for {run}" if run else ""
    share = f"{unknown:,} of {words:,} words ({unknown / max(words, 1):.1%}) are out of vocabulary"
    if unknown > _MANY_UNKNOWN * words:
        return (
            f"WARNING: {share}{of_run}: their surprisal is that of <unk>, not of the word. Do not "
            "analyse them; train on more text, or with --set text.tokenizer=raw-words"
        )
    return f"{share}{of_run}" + (": their surprisal is that of <unk>" if unknown else "")


def surprisal(trained: TrainedModel, request: Surprisal, progress: Progress) -> WordSurprisals:
    """Surprisal, entropy and rank of every word."""
    base = math.e if request.base == "e" else float(request.base)
    if not math.isfinite(base):
        raise InputError(f"base={base}: the base of a logarithm must be above 1 (2, e or 10)")
    words = trained.surprisal(request.text, base=base, reset=request.reset, progress=progress)
    return WordSurprisals(base, request.reset, words, trained.tokenizer.unknown_id is None)


# Score --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Score:
    """Measure a text: perplexity, bits per character and per byte.

    For example:
      elman score runs/ptb --text "the price of gold rose"
      elman score runs/ptb notes.txt --reset line --json
    """

    text: str = asked("The text.", kind=TEXT, limit="prompt_tokens")
    reset: str = asked(_RESET, default="stream", choices=_RESETS)
    name: str = asked("What messages call the text.", default="text", kind=NAME)


@dataclass(frozen=True)
class TextScore:
    """Perplexity and the like, with the protocol."""

    measured: Measurement

    def to_data(self) -> dict[str, Any]:
        return self.measured.to_data()

    def lines(self) -> Iterable[str]:
        data = self.to_data()
        rows = [[name.replace("_", " "), data[name]] for name in data if name != "protocol"]
        return [*aligned_lines(["measure", "value"], rows), str(self.measured.protocol)]

    def notes(self) -> list[str]:
        return []


def score(trained: TrainedModel, request: Score, progress: Progress) -> TextScore:
    """Perplexity and the like."""
    document = Document(request.name, request.text)
    return TextScore(trained.measure(document, Reading(request.reset), progress))


# Distribution -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Distribution(_decoding_fields("_Shaped", _SHAPING)):  # type: ignore[misc]  # fields known at run time
    """Show the distribution of the next token, before and after the options of decoding.

    For example:
      elman distribution runs/ptb --prompt "the price of" --top-p 0.9
      elman distribution runs/ptb --prompt "the price of" --temperature 0.5 --top 5 --json
    """

    top: int = asked("How many of the likeliest tokens.", default=20, at_least=1, limit="top")


@dataclass(frozen=True)
class NextTokens:
    """The likeliest tokens with both probabilities, entropies in bits, and possible tokens."""

    tokens: list[dict[str, Any]]
    before: dict[str, Any]
    after: dict[str, Any]

    def to_data(self) -> dict[str, Any]:
        return dict(vars(self))

    def lines(self) -> Iterable[str]:
        names = ["id", "token", "before", "after"]
        yield from aligned_lines(names, [[token[name] for name in names] for token in self.tokens])
        for name, side in (("before", self.before), ("after", self.after)):
            yield f"{name}: {side['entropy']:.4f} bits, {side['possible']:,} possible tokens"

    def notes(self) -> list[str]:
        return []


@torch.inference_mode()
def distribution(trained: TrainedModel, request: Any, progress: Progress) -> NextTokens:
    """Both distributions of the next token."""
    _check_ids(trained, request.prompt)
    unknown = trained.tokenizer.unknown_id
    banned = () if request.allow_unknown or unknown is None else (unknown,)
    shaping = {name: getattr(request, name) for name in _SHAPING}
    if shaping["top_k"] in (-1, 0):  # all tokens, as vLLM and llama.cpp write it
        shaping["top_k"] = None
    ids = Continuation(trained.tokenizer, request.prompt).prompt_ids
    own = trained.model.predict(generation.read_prompt(trained, ids)).cpu().double()  # (1, V)
    shaped = next_distribution(own, DecodingOptions(**shaping, banned=banned), [[]])
    before, after = own[0].exp(), shaped[0].exp()
    tokens = [
        {
            "id": number,
            "token": trained.tokenizer.tokens[number],
            "before": float(before[number]),
            "after": float(after[number]),
        }
        for number in own[0].topk(min(request.top, len(before))).indices.tolist()
    ]
    return NextTokens(tokens, _summary(before), _summary(after))


def _summary(probabilities: torch.Tensor) -> dict[str, Any]:
    return {
        "entropy": float(torch.special.entr(probabilities).sum()) / math.log(2),
        "possible": int((probabilities > 0).sum()),
    }


def _check_ids(trained: TrainedModel, prompt: str | list[int]) -> None:
    """Refuse ids that the model does not have."""
    for number in prompt if not isinstance(prompt, str) else ():
        if not 0 <= number < len(trained.tokenizer):
            raise InputError(
                f"prompt: id {number} is not among the model's {len(trained.tokenizer)} tokens"
            )


# Generation ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Generate(_decoding_fields("_Decoded")):  # type: ignore[misc]  # fields known at run time
    """Continue a prompt."""

    stop: list[str] = asked("Stop before these texts.", factory=list, limit="stop_sequences")
    stop_at_line_end: bool = asked("Stop at the end of the line.", default=False)
    ban: list[str] = asked("Words that must not come.", factory=list, limit="texts")
    force: str = asked("Text that must come first.", default="", limit="max_tokens")
    measure: bool = asked(
        "Measure the generated text: variety, repetition, length, copying.", default=False
    )
    against: str = asked(
        "With --measure: the data (train split) whose copying is measured.",
        default="",
        terminal=True,
    )


@dataclass(frozen=True)
class Samples:
    """Continuations, and what they look like as a whole, if asked."""

    samples: list[generation.Generated]
    measures: GeneratedText | None
    remarks: list[str]

    def to_data(self) -> dict[str, Any]:
        found = [dict(vars(sample)) for sample in self.samples]
        if self.measures is None:
            return {"samples": found}
        return {"samples": found, "measures": json_safe(self.measures)}

    def lines(self) -> Iterable[str]:
        for number, sample in enumerate(self.samples, 1):
            yield f"── {number} (log probability {sample.log_prob:.2f})"
            yield sample.text
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


def generate(trained: TrainedModel, request: Any, progress: Progress) -> Samples:
    """Continuations of a prompt."""
    if request.against and not request.measure:
        raise InputError("--against is for --measure; add it, or leave both out")
    options = _decoding_options(trained, request)
    samples = generation.generate(trained, request.prompt, progress=progress, **options)
    measures = None
    if request.measure:
        measures = generation.measure_samples(trained, samples, request.against or None)
    return Samples(samples, measures, prompt_notes(trained, request.prompt))


def stream(trained: TrainedModel, request: Any) -> Iterator[str]:
    """The prompt and then the pieces of one continuation, each as soon as it is known."""
    pieces = trained.stream(request.prompt, **_decoding_options(trained, request))
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
    """Options of the model, which bans and forces ids."""
    _check_ids(trained, request.prompt)
    forced = tuple(trained.tokenizer.encode_typed(request.force).tolist())
    if trained.tokenizer.unknown_id in forced:
        raise InputError(f"force {request.force}: has words that this model does not know")
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
    """The tokens that are this word alone, with and without a space before it."""
    forms = [trained.tokenizer.encode(form).tolist() for form in (word, f" {word}")]
    found = {ids[0] for ids in forms if len(ids) == 1} - {trained.tokenizer.unknown_id}
    if not found:
        raise InputError(f"ban {word}: is not a single token of this model")
    return sorted(found)


# Evidence of counts -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Explain:
    """Explain the probabilities of a count model, order by order.

    Interpolated models: p = alpha + backoff * (p one order down). Backing-off models (katz,
    absolute, stupid-backoff, imported ones): p = alpha where the word was seen, else backoff * (p
    one order down). Under Kneser-Ney, counts below the highest order are numbers of different words
    that came before.

    For example:
      elman explain runs/ptb --text "the price of gold"
      cat notes.txt | elman explain runs/ptb - --json
    """

    text: str = asked("The text to explain.", kind=TEXT, limit="prompt_tokens")


@dataclass(frozen=True)
class Evidence:
    """Every token with its evidence, order by order."""

    tokens: list[Explanation]
    vocabulary: list[str]

    def to_data(self) -> dict[str, Any]:
        return {"tokens": json_safe(self.tokens)}

    def lines(self) -> Iterable[str]:
        header = ["order", "context", "count", "of", "followers", "discount", "alpha", "backoff"]
        for number, token in enumerate(self.tokens):
            if number:
                yield ""
            yield f"{token.token.strip()}: {self._probability(token)}"
            rows = [
                [
                    row.order,
                    self._context(row.context) or "–",
                    row.count,
                    row.total,
                    row.followers,
                    row.discount,
                    f"{row.alpha:.6f}",
                    None if row.backoff is None else f"{row.backoff:.6f}",
                    "undefined" if row.probability is None else f"{row.probability:.6f}",
                ]
                for row in token.orders
            ]
            yield from aligned_lines([*header, "p"], rows)

    def notes(self) -> list[str]:
        return []

    def _context(self, ids: tuple[int, ...]) -> str:
        return " ".join(self.vocabulary[number].strip() for number in ids)

    def _probability(self, token: Explanation) -> str:
        """The probability and the order that gave it, or why there is none."""
        first = token.orders[0]
        if token.probability is None:
            return f"undefined, 0 / 0: the context {self._context(first.context)!r} was never seen"
        if token.probability == 0 and first.count is not None and first.total is not None:
            return f"probability 0: seen {first.count:,} of {first.total:,} times after its context"
        return f"probability {token.probability:.6g}, answered by order {token.answered_by}"


def explain(trained: TrainedModel, request: Explain, progress: Progress) -> Evidence:
    """The counts behind each probability."""
    return Evidence(explain_text(trained, request.text), trained.tokenizer.tokens)


# Looking inside -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Inspect:
    """Look inside a neural model while it reads a text."""

    text: str = asked("The text that is read.", kind=TEXT, limit="prompt_tokens")
    view: str | list[str] = asked(
        "What to look at (elman list insights, GET /v1/inspect); empty: everything.", default=""
    )
    tokens: int = asked(
        "How many tokens of the text are looked at, from its beginning; time and memory grow with "
        "the square.",
        default=inspection.LIMIT,
        at_least=2,
        terminal=True,
    )


@dataclass(frozen=True)
class Seen:
    """What was seen in a model."""

    inspection: Inspection

    def to_data(self) -> dict[str, Any]:
        data = self.inspection.to_data()
        del data["name"]  # the asker knows which model was asked
        return data

    def lines(self) -> Iterable[str]:
        for name, insight in self.inspection.insights.items():
            yield from (f"{name}: {sentence}" for sentence in insight.summary())
        for name, reason in self.inspection.unseen.items():
            yield f"{name}: not shown, {reason}"

    def notes(self) -> list[str]:
        read, left_out = self.inspection.tokens, self.inspection.left_out
        return [f"read {read:,} tokens, left out {left_out:,} (--tokens)"] if left_out else []


def inspect(trained: TrainedModel, request: Inspect, progress: Progress) -> Seen:
    """What goes on inside while a text is read."""
    views = [request.view] if isinstance(request.view, str) else request.view
    views = [view for view in views if view]
    with torch.inference_mode(False):  # gradients are what is looked at
        seen = inspection.inspect(
            trained,
            request.text,
            only=views,
            limit=request.tokens,
            progress=lambda what: progress(0, 0),
        )
    if views and not seen.insights:
        raise InputError("; ".join(f"{view}: {reason}" for view, reason in seen.unseen.items()))
    return Seen(seen)


def _is_neural(trained: TrainedModel) -> bool:
    return isinstance(trained.model, NeuralModel)


def _counts(trained: TrainedModel) -> bool:
    return isinstance(trained.model, NGram)


QUESTIONS = {
    "suggest": Question(Suggest, suggest, unit="tokens"),
    "surprisal": Question(Surprisal, surprisal, unit="tokens"),
    "score": Question(Score, score, unit="tokens"),
    "distribution": Question(Distribution, distribution, unit="tokens"),
    "generate": Question(Generate, generate, unit="tokens"),
    "explain": Question(Explain, explain, _counts, "tokens"),
    "inspect": Question(Inspect, inspect, _is_neural, "views"),
    "embed": EMBED,
}
