"""`elman suggest`: the most likely next words."""

from elman.cli.arguments import Adapters, Json, Run, WholeNumber
from elman.cli.output import print_json, print_table
from elman.tasks.language_modelling.trained import load


def suggest(
    run: Run,
    text: str = "",
    /,
    *,
    top: WholeNumber = 5,
    complete: bool = False,
    with_: Adapters = (),
    json: Json = False,
) -> None:
    """The most likely next words of a text, like a phone keyboard.

    For example:
      elman suggest runs/ptb "the price of"
      elman suggest runs/ptb "the pri" --complete --top 3

    Parameters
    ----------
    text
        What was typed so far.
    top
        How many suggestions.
    complete
        The last word is not finished: suggest its endings.
    """

    suggestions = load(run).with_adapters(with_).suggest(text, top=top, complete=complete)
    if json:
        print_json(suggestions)
        return
    print_table(["token", "probability"], [[s.token, s.probability] for s in suggestions])
