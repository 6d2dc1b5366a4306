"""Explain the probabilities of a count model: the evidence of every order for each token.

The question `explain`, for teaching and for tracing a number to its counts. Needs no torch.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from elman.counts.evidence import OrderEvidence
from elman.counts.evidence import explain as explain_token
from elman.counts.smoothers import SMOOTHERS
from elman.evaluation.measures import Progress
from elman.json_safe import json_safe
from elman.models.ngram import NGram
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.question import TEXT, Answer, Question, aligned_lines, asked


@dataclass(frozen=True)
class Explanation:
    """One token and its evidence, highest order first."""

    token: str
    probability: float | None  # None: undefined, the context was never seen (maximum likelihood)
    answered_by: int  # the order of the longest n-gram that was found
    orders: list[OrderEvidence]


def explain_text(trained: TrainedModel, text: str) -> list[Explanation]:
    """The evidence behind the probability of every token of a text."""
    model: NGram = trained.model
    smoother = SMOOTHERS.get(model.config.smoothing)
    interpolated = smoother is not None and smoother.interpolated
    read = [int(number) for number in model.start_context]
    explanations = []
    for number in trained.tokenizer.encode_typed(text).tolist():
        rows = explain_token(
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


@dataclass(frozen=True, kw_only=True)
class Explain:
    """Explain the probabilities of a count model, order by order.

    Interpolated models: p = alpha + backoff * (p of the next lower order). Back-off models (katz,
    absolute, stupid-backoff, imported ones): p = alpha if the word was seen, otherwise backoff * (p
    of the next lower order). With Kneser-Ney, the counts below the highest order are numbers of
    different preceding words.

    For example:
      elman explain runs/ptb --text "the price of gold"
      cat notes.txt | elman explain runs/ptb - --json
    """

    text: str = asked("The text to explain.", kind=TEXT, limit="prompt_tokens")


@dataclass(frozen=True)
class Evidence(Answer):
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

    def _context(self, ids: tuple[int, ...]) -> str:
        return " ".join(self.vocabulary[number].strip() for number in ids)

    def _probability(self, token: Explanation) -> str:
        """The probability and its order, or the reason why it is undefined."""
        first = token.orders[0]
        if token.probability is None:
            return f"undefined, 0 / 0: the context {self._context(first.context)!r} was never seen"
        if token.probability == 0 and first.count is not None and first.total is not None:
            return f"probability 0: seen {first.count:,} of {first.total:,} times after its context"
        return f"probability {token.probability:.6g}, answered by order {token.answered_by}"


def explain(trained: TrainedModel, request: Explain, progress: Progress) -> Evidence:
    """The counts behind each probability."""
    return Evidence(explain_text(trained, request.text), trained.tokenizer.tokens)


EXPLAIN = Question(Explain, explain, lambda trained: isinstance(trained.model, NGram), "tokens")
