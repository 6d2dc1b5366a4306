"""Look inside trained models while they read a text: every insight of a run, or of several.

Takes a `TrainedModel` and a text, gives an `Inspection`: insights by name, and what could not be
seen and why. Several of them side by side are a `SideBySide`. Called by `elman inspect`, the server
and the report (`inspection_page.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from elman.errors import InputError
from elman.insight import INSIGHTS
from elman.insight.insight import Insight, Subject
from elman.insight.inspection import Inspection, SideBySide
from elman.models.neural import NeuralModel
from elman.tasks.language_modelling.trained import TrainedModel
from elman.training.history import read_history

LIMIT = 120  # tokens of a text that are looked at
_SHOWN_AS = {"\n": "⏎", " ": "␣", "\t": "⇥"}

Progress = Callable[[str], None]
Records = list[dict[str, Any]]


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
    """The words that the model reads as the unknown word, each once."""
    unknown = trained.tokenizer.unknown_id
    pairs = zip(subject.tokens, subject.ids, strict=True)
    return [*dict.fromkeys(token for token, number in pairs if number == unknown)]


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
        history=read_history(trained.folder) if history is None else history,
    )
    return subject, len(spans.ids) - len(subject.ids)
