"""`elman suggest`: the most likely next words."""

from elman.cli.arguments import Adapters, WholeNumber
from elman.cli.output import print_json, print_table


def suggest(
    run: str,
    text: str = "",
    /,
    *,
    top: WholeNumber = 5,
    complete: bool = False,
    with_: Adapters = (),
    json: bool = False,
) -> None:
    """The most likely next words of a text, like a phone keyboard.

    Examples:
      elman suggest runs/ptb "the price of"
      elman suggest runs/ptb "the pri" --complete --top 3

    Parameters
    ----------
    run
        A run folder.
    text
        What was typed so far.
    top
        How many suggestions.
    complete
        The last word is not finished: suggest its endings.
    with_
        Put an adapter around the model, with its weight: cache:weight=0.1.
    json
        Print the result as JSON.
    """
    from elman.tasks.language_model import load

    suggestions = load(run).with_adapters(with_).suggest(text, top=top, complete=complete)
    if json:
        print_json(suggestions)
        return
    print_table(["token", "probability"], [[s.token, s.probability] for s in suggestions])
