"""`elman tour`: the ladder of models on the built-in corpora."""

from pathlib import Path
from typing import Any

from elman.cli.arguments import Json
from elman.cli.output import print_json, print_table, stages
from elman.experiments.tour import Tour
from elman.experiments.tour import tour as take_tour
from elman.experiments.tour_page import docs_table, surprisal_table, tour_page
from elman.figures.files import check_file

_NEXT = """What to try next:
  elman train ngram --data YOUR-TEXT.txt --out runs/mine     train on your own text, by counting
  elman train small --data YOUR-TEXT.txt --out runs/lstm     or with an LSTM; quick and hour are
                                                             for larger texts
  elman generate runs/mine --prompt "Once upon" --top-p 0.9  let it write
  elman suggest runs/mine "Once upon"                        next words, like a phone keyboard
  elman surprisal runs/mine --text "Once upon a time"        how surprising is each word?
  elman explain runs/mine --text "Once upon a time"          which counts say so?
  elman list                                                 everything there is to choose from"""


def tour(*, report: str = "elman-tour.html", json: Json = False) -> None:
    """Train a ladder of models on two built-in corpora and show what each step buys.

    This takes a few minutes. Nothing is downloaded.

    For example:
      elman tour
      elman tour --report ladder.html

    Parameters
    ----------
    report
        The page to write, with curves and samples; an empty word: none.
    """
    if report:
        check_file(report, "a page", ())
    with stages() as progress:
        seen = take_tour(progress)
    if report:
        Path(report).write_text(tour_page(seen), encoding="utf-8")
    if json:
        print_json({**vars(seen), "ladders": _ladders_as_data(seen)})
        return
    _print_grammar(seen)
    _print_docs(seen)
    print("\n3. surprisal, word by word, in bits\n")
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


def _print_grammar(seen: Tour) -> None:
    print("1. grammar: an artificial language whose true probabilities are known")
    print("   (subjects and verbs agree across relative clauses: boys who Mary chases walk .)\n")
    rows = [
        [
            r.rung,
            *_numbers(r.measurement.perplexity, r.measurement.perplexity / seen.limit),
            f"{r.seconds:.1f}",
        ]
        for r in seen.ladders["grammar"]
    ]
    rows.append(["the limit: the grammar itself", *_numbers(seen.limit, 1.0), "–"])
    print_table(["model", "perplexity", "times the limit", "seconds"], rows)
    print(f"\n   (over all sentences it can make, the limit is exactly {seen.entropy_limit:.4f})")
    _print_samples(seen, "grammar")
    print("\n   agreement by distance: verbs of the right number, by words between noun and verb\n")
    distances = [score.distance for score in next(iter(seen.agreement.values()))]
    rows = [
        [rung, *[f"{100 * score.accuracy:.0f}" for score in scores]]
        for rung, scores in seen.agreement.items()
    ]
    print_table(["model", *[f"{d} %" for d in distances]], rows)


def _print_docs(seen: Tour) -> None:
    print("\n2. python-docs: real English, the language reference inside your Python\n")
    print_table(*docs_table(seen))
    print("\n   (perplexities per word, sub-word and character do not compare; bits per byte do)")
    _print_samples(seen, "python-docs")


def _numbers(*values: float) -> list[str]:
    return [f"{value:.2f}" for value in values]


def _print_samples(seen: Tour, corpus: str) -> None:
    for rung, texts in seen.samples[corpus].items():
        print(f"\n   {rung} says:")
        for text in texts:
            print(f"     {text}")
