"""Look inside trained models while they read a text: all insights of one or several runs.

Takes a `TrainedModel` and a text, returns an `Inspection`: insights by name, and the reason for
each insight that is not available. `SideBySide` contains several inspections. Called by `elman
inspect`, the server and the report (`figures/inspection.py`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from elman.errors import InputError
from elman.evaluation.measures import Progress
from elman.insight import INSIGHTS
from elman.insight.insight import Insight, Subject
from elman.insight.inspection import Inspection, SideBySide
from elman.models.neural import NeuralModel
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.question import TEXT, Answer, Question, asked
from elman.training.history import read_history

LIMIT = 120  # default maximum of tokens
_SHOWN_AS = {"\n": "⏎", " ": "␣", "\t": "⇥"}

Records = list[dict[str, Any]]


def inspect(
    trained: TrainedModel,
    text: str,
    *,
    only: Sequence[str] = (),
    limit: int = LIMIT,
    history: Records | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> Inspection:
    """Look inside a neural model while it reads a text.

    `only`: names of insights, default all. `limit`: the maximum number of tokens; time and memory
    grow with its square. `history`: records of the training, default those of the run folder.
    """
    for name in only:
        INSIGHTS.check(name)
    subject, left_out = make_subject(trained, text, limit, history)
    insights: dict[str, Insight] = {}
    unseen: dict[str, str] = {}
    for name in only or INSIGHTS:
        progress(f"{trained.name}: {name}")
        try:
            insights[name] = INSIGHTS[name].look(subject)
        except InputError as error:
            unseen[name] = str(error)
    return Inspection(
        name=trained.name,
        model={"tokenizer": trained.tokenizer.name, **trained.model.describe()},
        text=subject.text,
        tokens=len(subject.ids),
        left_out=left_out,
        insights=insights,
        unseen=unseen,
        unknown=_unknown_words(trained, subject),
    )


def _unknown_words(trained: TrainedModel, subject: Subject) -> list[str]:
    """The out-of-vocabulary words of the text, each once."""
    unknown = trained.tokenizer.unknown_id
    pairs = zip(subject.tokens, subject.ids, strict=True)
    return [*dict.fromkeys(token for token, number in pairs if number == unknown)]


def inspect_several(
    models: Mapping[str, tuple[TrainedModel, Records | None]], text: str, **options: Any
) -> SideBySide:
    """Inspect several named models on the same text."""
    found = []
    for name, (trained, history) in models.items():
        seen = inspect(trained, text, history=history, **options)
        found.append(Inspection(**{**vars(seen), "name": name}))
    return SideBySide(found)


def make_subject(
    trained: TrainedModel, text: str, limit: int = LIMIT, history: Records | None = None
) -> tuple[Subject, int]:
    """The model with at most `limit` tokens of the text, and the number of tokens left out."""
    if not isinstance(trained.model, NeuralModel):
        raise InputError(
            f"{trained.name}: this is not a neural model; for n-gram models use elman explain"
        )
    if limit < 2:
        raise InputError(f"tokens={limit}: must be at least 2")
    spans = trained.tokenizer.typed_spans(text)
    if len(spans.ids) == 0:
        raise InputError("the text is empty; give some text")
    ends = [int(end) for end in spans.ends[:limit]]
    pieces = [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    names = trained.tokenizer.tokens
    tokens = [
        piece.strip() or _SHOWN_AS.get(piece) or names[number]
        for piece, number in zip(pieces, spans.ids, strict=False)
    ]
    subject = Subject(
        model=trained.model.eval(),
        text=text[: ends[-1]],
        ids=spans.ids[:limit],
        tokens=tokens,
        pieces=pieces,
        vocabulary=names,
        history=read_history(trained.folder) if history is None else history,
    )
    return subject, len(spans.ids) - len(subject.ids)


# The question -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Inspect:
    """Look inside a neural model while it reads a text."""

    text: str = asked("The text to read.", kind=TEXT, limit="prompt_tokens")
    view: str | list[str] = asked(
        "The views to show (elman list insights, GET /v1/inspect). Default: all.", default=""
    )
    tokens: int = asked(
        "Read at most this many tokens. Time and memory grow with the square of the length.",
        default=LIMIT,
        at_least=2,
        terminal=True,
    )


@dataclass(frozen=True)
class Seen(Answer):
    """The inspection of a model."""

    inspection: Inspection

    def to_data(self) -> dict[str, Any]:
        data = self.inspection.to_data()
        del data["name"]  # the caller knows the model
        return data

    def lines(self) -> Iterable[str]:
        for name, insight in self.inspection.insights.items():
            yield from (f"{name}: {sentence}" for sentence in insight.summary())
        for name, reason in self.inspection.unseen.items():
            yield f"{name}: not shown, {reason}"

    def notes(self) -> list[str]:
        read, left_out = self.inspection.tokens, self.inspection.left_out
        return [f"read {read:,} tokens, left out {left_out:,} (--tokens)"] if left_out else []


def look_inside(trained: TrainedModel, request: Inspect, progress: Progress) -> Seen:
    """Inspect a model while it reads a text."""
    views = [request.view] if isinstance(request.view, str) else request.view
    views = [view for view in views if view]
    with torch.inference_mode(False):  # the views need gradients
        seen = inspect(
            trained,
            request.text,
            only=views,
            limit=request.tokens,
            progress=lambda what: progress(0, 0),
        )
    if views and not seen.insights:
        raise InputError("; ".join(f"{view}: {reason}" for view, reason in seen.unseen.items()))
    return Seen(seen)


INSPECT = Question(
    Inspect, look_inside, lambda trained: isinstance(trained.model, NeuralModel), "views"
)
