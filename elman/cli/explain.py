"""`elman explain`: which counts stand behind the probability of each word."""

from elman.cli.arguments import CountRun, Json
from elman.cli.output import print_json, print_table
from elman.errors import InputError
from elman.tasks.language_modelling.explanation import Explanation, explain_text
from elman.tasks.language_modelling.trained import load


def explain(run: CountRun, /, *, text: str, json: Json = False) -> None:
    """Show, for each word of a text, what every order of a count model had to say: counts,
    discount, back-off weight, probability, and which order answered.

    Interpolated models: p = alpha + backoff * (p one order down). Backing-off models (katz,
    absolute, stupid-backoff, imported ones): p = alpha where the word was seen, else backoff * (p
    one order down). Under Kneser-Ney, counts below the highest order are numbers of different words
    that came before.

    For example:
      elman explain runs/ptb --text "the price of gold"

    Parameters
    ----------
    text
        The text to explain.
    """
    if not text:
        raise InputError("--text is empty; give some text")

    trained = load(run)
    explanations = explain_text(trained, text)
    if json:
        print_json(explanations)
        return
    for number, explanation in enumerate(explanations):
        if number:
            print()
        _print_one(explanation, trained.tokenizer.tokens)


def _probability(explanation: Explanation, tokens: list[str]) -> str:
    """The probability and the order that gave it, or why there is none."""
    first = explanation.orders[0]
    if explanation.probability is None:
        context = " ".join(tokens[number].strip() for number in first.context)
        return f"undefined, 0 / 0: the context {context!r} was never seen"
    if explanation.probability == 0 and first.count is not None and first.total is not None:
        return f"probability 0: seen {first.count:,} of {first.total:,} times after its context"
    return f"probability {explanation.probability:.6g}, answered by order {explanation.answered_by}"


def _print_one(explanation: Explanation, tokens: list[str]) -> None:
    print(f"{explanation.token.strip()}: {_probability(explanation, tokens)}")
    rows = [
        [
            row.order,
            " ".join(tokens[number].strip() for number in row.context) or "–",
            row.count,
            row.total,
            row.followers,
            row.discount,
            f"{row.alpha:.6f}",
            None if row.backoff is None else f"{row.backoff:.6f}",
            "undefined" if row.probability is None else f"{row.probability:.6f}",
        ]
        for row in explanation.orders
    ]
    header = ["order", "context", "count", "of", "followers", "discount", "alpha", "backoff", "p"]
    print_table(header, rows)
