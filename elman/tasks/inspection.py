"""Look inside trained models while they read a text: every insight of a run, or of several.

Takes a `TrainedModel` and a text, gives an `Inspection`: insights by name, and what could not be
seen and why. Several of them side by side are a `SideBySide`. Called by `elman inspect`, the server
and the report (`inspection_page.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.insight import INSIGHTS
from elman.insight.gradient_flow import GradientFlow, side_by_side
from elman.insight.insight import Drawing, Insight, Subject
from elman.insight.remembering import Remembering, draw_remembering
from elman.models.neural import NeuralModel
from elman.tasks.language_model import TrainedModel
from elman.training.history import read_history

LIMIT = 120  # tokens of a text that are looked at
_SHOWN_AS = {"\n": "⏎", " ": "␣", "\t": "⇥"}

Progress = Callable[[str], None]
Records = list[dict[str, Any]]


@dataclass(frozen=True)
class Inspection:
    """What was seen in one model."""

    name: str
    model: dict[str, Any]  # what it is
    text: str  # as far as it was read
    tokens: int
    left_out: int  # tokens of the text beyond the limit
    insights: dict[str, Insight]
    unseen: dict[str, str]  # insight to the reason why there is none

    def to_data(self) -> dict[str, Any]:
        """Plain data: every insight with its numbers, its pictures as data, and its sentences."""
        return {
            "name": self.name,
            "model": self.model,
            "text": self.text,
            "tokens": self.tokens,
            "left_out": self.left_out,
            "insights": {
                name: {
                    "about": insight.about,
                    "summary": insight.summary(),
                    "data": insight.to_data(),
                    "drawings": [drawing.to_data() for drawing in insight.drawings()],
                }
                for name, insight in self.insights.items()
            },
            "unseen": self.unseen,
        }


@dataclass(frozen=True)
class SideBySide:
    """Several models on one text; after training on `tickets`, also what each remembered."""

    inspections: list[Inspection]
    remembering: dict[str, Remembering] = field(default_factory=dict)  # by name of the model

    def drawings(self) -> list[Drawing]:
        """What compares them: how well they remember, and how far gradients reach in each."""
        flows = {
            one.name: flow
            for one in self.inspections
            if isinstance(flow := one.insights.get("gradient-flow"), GradientFlow)
        }
        remembered = [draw_remembering(self.remembering)] if self.remembering else []
        return [*remembered, *(side_by_side(flows) if len(flows) > 1 else [])]

    def to_data(self) -> dict[str, Any]:
        """Plain data."""
        remembering = {name: one.to_data() for name, one in self.remembering.items()}
        return {
            "runs": [one.to_data() for one in self.inspections],
            "drawings": [drawing.to_data() for drawing in self.drawings()],
            **({"remembering": remembering} if remembering else {}),
        }


def inspect(
    trained: TrainedModel,
    text: str,
    *,
    only: Sequence[str] = (),
    limit: int = LIMIT,
    history: Records | None = None,
    progress: Progress = lambda what: None,
) -> Inspection:
    """Look inside a neural model while it reads a text.

    `only`: names of insights; all unless given. `limit`: how many tokens are read at most; work and
    memory grow with its square. `history`: the records of the training; else those of the folder.
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
    model = {"tokenizer": trained.tokenizer.name, **trained.model.describe()}
    return Inspection(
        trained.name, model, subject.text, len(subject.ids), left_out, insights, unseen
    )


def inspect_several(
    models: Mapping[str, tuple[TrainedModel, Records | None]], text: str, **options: Any
) -> SideBySide:
    """The same text in several models, each under a name."""
    found = []
    for name, (trained, history) in models.items():
        seen = inspect(trained, text, history=history, **options)
        found.append(Inspection(**{**vars(seen), "name": name}))
    return SideBySide(found)


def make_subject(
    trained: TrainedModel, text: str, limit: int = LIMIT, history: Records | None = None
) -> tuple[Subject, int]:
    """The model and the text, at most `limit` tokens of it; and how many were left out."""
    if not isinstance(trained.model, NeuralModel):
        raise InputError(
            f"{trained.name}: is not a neural model; elman explain shows what a count model knows"
        )
    if limit < 2:
        raise InputError(f"tokens={limit}: must be at least 2")
    spans = trained.tokenizer.typed_spans(text)
    if len(spans.ids) == 0:
        raise InputError("the text is empty; give some text to look at")
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
        history=read_history(Path(trained.name)) if history is None else history,
    )
    return subject, len(spans.ids) - len(subject.ids)
