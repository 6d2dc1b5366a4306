"""`elman tour`: the ladder of models on the built-in corpora."""

from typing import TYPE_CHECKING

from elman.cli.output import print_json, print_table, stages

if TYPE_CHECKING:
    from elman.tour import Tour

_NEXT = """What to try next:
  elman train ngram --data YOUR-TEXT.txt --out runs/mine     train on your own text
  elman generate runs/mine --prompt "Once upon" --top-p 0.9  let it write
  elman suggest runs/mine "Once upon"                        next words, like a phone keyboard
  elman surprisal runs/mine --text "Once upon a time"        how surprising is each word?
  elman explain runs/mine --text "Once upon a time"          which counts say so?
  elman list                                                 everything there is to choose from"""


def tour(*, json: bool = False) -> None:
    """A tour of the package: trains a ladder of models on two built-in corpora and shows what each
    step buys. Nothing is downloaded, nothing is written.

    Example: elman tour

    Parameters
    ----------
    json
        Print everything as JSON.
    """
    from elman.tour import tour as take_tour

    with stages() as progress:
        seen = take_tour(progress)
    if json:
        ladders = {
            corpus: [
                {"rung": r.rung, "seconds": r.seconds, **r.measurement.to_data()} for r in results
            ]
            for corpus, results in seen.ladders.items()
        }
        print_json({**vars(seen), "ladders": ladders})
        return
    _print_grammar(seen)
    _print_docs(seen)
    _print_sentence(seen)
    models = sum(map(len, seen.ladders.values()))
    print(f"\nThat was {models} models in {seen.seconds:.0f} s.\n{_NEXT}")


def _print_grammar(seen: "Tour") -> None:
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


def _print_docs(seen: "Tour") -> None:
    print("\n2. python-docs: real English, the language reference inside your Python\n")
    rows = [
        [
            r.rung,
            f"{r.measurement.perplexity:.2f}",
            r.measurement.protocol.unit,
            f"{r.measurement.bits_per_byte:.3f}",
            f"{r.seconds:.1f}",
        ]
        for r in seen.ladders["python-docs"]
    ]
    print_table(["model", "perplexity", "per", "bits per byte", "seconds"], rows)
    print("\n   (perplexities per word, sub-word and character do not compare; bits per byte do)")
    _print_samples(seen, "python-docs")


def _numbers(*values: float) -> list[str]:
    return [f"{value:.2f}" for value in values]


def _print_samples(seen: "Tour", corpus: str) -> None:
    print("\n   the 5-gram says:")
    for text in seen.samples[corpus]:
        print(f"     {text}")


def _print_sentence(seen: "Tour") -> None:
    print("\n3. surprisal, word by word: the 5-gram against the truth, in bits\n")
    for row, truth in zip(seen.sentence, seen.true_sentence, strict=True):
        bar = "█" * round(2 * row.surprisal)
        print(f"   {row.word:8} {row.surprisal:6.2f}  (true {truth:5.2f})  {bar}")
