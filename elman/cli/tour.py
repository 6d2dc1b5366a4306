"""`elman tour`: train a ladder of models on the built-in corpora."""

from pathlib import Path
from typing import Any

from elman.cli.arguments import Json
from elman.cli.output import print_json, print_table, stages
from elman.experiments.tour import RUNGS, Result, Tour
from elman.experiments.tour import tour as take_tour
from elman.experiments.tour_page import agreement_table, surprisal_table, tour_page
from elman.figures.files import check_file

_NEXT = """What to try next:
  elman train ngram --data YOUR-TEXT.txt --out runs/mine     train on your own text, by counting
  elman train small --data YOUR-TEXT.txt --out runs/lstm     or with an LSTM; quick and hour are
                                                             for larger texts
  elman generate runs/mine --prompt "Once upon" --top-p 0.9  generate text
  elman suggest runs/mine "Once upon"                        next words, like a phone keyboard
  elman surprisal runs/mine --text "Once upon a time"        how surprising is each word?
  elman explain runs/mine --text "Once upon a time"          the counts behind each probability
  elman list                                                 all recipes, cells, tokenizers …"""


def tour(*, report: str = "elman-tour.html", json: Json = False) -> None:
    """Train a ladder of models on two built-in corpora and show what each step gains.

    Results appear one by one, the first within seconds. Ctrl-C stops the tour at any point. The
    whole tour takes a few minutes and downloads nothing.

    For example:
      elman tour
      elman tour --report ladder.html

    Parameters
    ----------
    report
        Write a page with curves and samples to this file; "" writes no page.
    """
    if report:
        check_file(report, "a page", ())
    with stages() as progress:
        seen = take_tour(progress, _keep_quiet if json else _print_rung)
    if report:
        Path(report).write_text(tour_page(seen), encoding="utf-8")
    if json:
        print_json({**vars(seen), "ladders": _ladders_as_data(seen)})
        return
    print("\n3. agreement in grammar: verbs of the right number, in %")
    print("   (by the number of words between the noun and its verb)\n")
    print_table(*agreement_table(seen))
    print("\n4. what the models write")
    for corpus in seen.samples:
        _print_samples(seen, corpus)
    print("\n5. surprisal in grammar, word by word, in bits\n")
    print_table(*surprisal_table(seen))
    models = sum(map(len, seen.ladders.values()))
    print(f"\nThat was {models} models in {seen.seconds:.0f} s.")
    if report:
        print(f"Curves, agreement by distance and samples: {report}")
    print(_NEXT)


def _ladders_as_data(seen: Tour) -> dict[str, Any]:
    return {
        corpus: [
            {
                "rung": result.rung,
                "seconds": result.seconds,
                "history": result.history,
                **result.measurement.to_data(),
            }
            for result in results
        ]
        for corpus, results in seen.ladders.items()
    }


_TITLES = {
    "grammar": "1. grammar: an artificial language whose true probabilities are known\n"
    "   (subjects and verbs agree across relative clauses: boys who Mary chases walk .)",
    "python-docs": "2. python-docs: real English, the language reference inside your Python\n"
    "   (perplexities per word, sub-word and character cannot be compared; bits per byte can)",
}
_HEADS = {
    "grammar": ("model", "perplexity", "times the limit", "seconds"),
    "python-docs": ("model", "perplexity", "per", "bits per byte", "seconds"),
}
_WIDTHS = (32, 10, 15, 13, 7)


def _keep_quiet(corpus: str, result: Result, seen: Tour) -> None:
    """Print nothing; with --json everything is printed at the end."""


def _print_rung(corpus: str, result: Result, seen: Tour) -> None:
    """Print a line as soon as a model is trained and measured."""
    if len(seen.ladders[corpus]) == 1:
        print(f"{_TITLES[corpus]}\n")
        _print_cells(_HEADS[corpus])
        if corpus == "grammar":
            limit = f"{seen.limit:.2f}"
            _print_cells(("the limit: the grammar itself", limit, "1.00", "–"))
    perplexity = result.measurement.perplexity
    seconds = f"{result.seconds:.1f}"
    if corpus == "grammar":
        times = f"{perplexity / seen.limit:.2f}"
        _print_cells((result.rung, f"{perplexity:.2f}", times, seconds))
    else:
        unit = result.measurement.protocol.unit
        bits = f"{result.measurement.bits_per_byte:.3f}"
        _print_cells((result.rung, f"{perplexity:.2f}", unit, bits, seconds))
    if len(seen.ladders[corpus]) == len(RUNGS[corpus]) and corpus == "grammar":
        print(f"\n   (over all sentences of the grammar, the limit is {seen.entropy_limit:.4f})\n")


def _print_cells(cells: tuple[str, ...]) -> None:
    first, *others = cells
    aligned = [other.rjust(width) for other, width in zip(others, _WIDTHS[1:], strict=False)]
    print("  ".join([first.ljust(_WIDTHS[0]), *aligned]), flush=True)


def _print_samples(seen: Tour, corpus: str) -> None:
    for rung, texts in seen.samples[corpus].items():
        print(f"\n   {corpus}, {rung}:")
        for text in texts:
            print(f"     {text}")
