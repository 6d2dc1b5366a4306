"""Explain a count model's probabilities: for each token of a text, what every order had to say.

Takes a trained n-gram model and a text, gives one `Explanation` per token; called by the command
line. For teaching, and for finding out why a number is what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from elman.counts.evidence import OrderEvidence, explain
from elman.counts.smoothers import SMOOTHERS
from elman.errors import InputError
from elman.models.ngram import NGram
from elman.tasks.language_modelling.trained import TrainedModel


@dataclass(frozen=True)
class Explanation:
    """One token and the evidence for it, highest order first."""

    token: str
    probability: float | None  # None: undefined, the context was never seen (maximum likelihood)
    answered_by: int  # the order of the longest n-gram that was found
    orders: list[OrderEvidence]


def explain_text(trained: TrainedModel, text: str) -> list[Explanation]:
    """The evidence behind the probability of every token of a text."""
    model = trained.model
    if not isinstance(model, NGram):
        raise InputError(f"{trained.name}: is not a count model; only counts can be shown")
    smoother = SMOOTHERS.get(model.config.smoothing)
    interpolated = smoother is not None and smoother.interpolated
    read = [int(number) for number in model.start_context]
    explanations = []
    for number in trained.tokenizer.encode_typed(text).tolist():
        rows = explain(
            model.tables,
            read,
            number,
            interpolated=interpolated,
            defined_if_unseen=model.always_defined,
        )
        answered = next(row.order for row in rows if row.answered)
        token = trained.tokenizer.tokens[number]
        explanations.append(Explanation(token, rows[0].probability, answered, rows))
        read.append(number)
    return explanations
