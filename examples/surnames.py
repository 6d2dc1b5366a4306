"""Surnames, letter by letter: a recurrent network that is told a language and makes up names.

    python examples/surnames.py FOLDER [--languages Russian Italian Japanese] [--epochs 6]

FOLDER holds one list per language (Russian.txt, Italian.txt …), one name per line. Every name is
learned as `Russian: Ivanov`, so the prompt `Russian: ` asks for a Russian one. What is generated is
marked with * where it is in none of the lists: the network has made it up. The last table turns
the model round: the language under which a name is likeliest (Bayes, all languages alike).
"""

import argparse
from pathlib import Path

import elman
from elman.errors import ElmanError
from elman.tasks.language_modelling.trained import TrainedModel
from elman.training.machine import Machine

SETTINGS = ("model.hidden_size=96", "training.batch_size=128", "training.learning_rate=0.01")


def read_lists(folder: Path) -> dict[str, set[str]]:
    """The names by language."""
    return {
        path.stem: {line.strip() for line in path.read_text(encoding="utf-8").splitlines()}
        for path in sorted(folder.glob("*.txt"))
    }


def make_up(model: TrainedModel, language: str, samples: int) -> list[str]:
    """New names of a language."""
    prompt = f"{language}: "
    drawn = model.generate(
        prompt, samples=samples, max_tokens=20, temperature=0.7, stop_at_line_end=True, seed=0
    )
    return [one.text.removeprefix(prompt).strip() for one in drawn]


def guess(model: TrainedModel, name: str, languages: list[str]) -> list[tuple[str, float]]:
    """Languages by how likely they make a name, in bits of surprisal per name."""
    bits = {}
    for language in languages:
        rows = model.surprisal(f"{language}: {name}\n")
        bits[language] = sum(row.surprisal for row in rows[1:])  # the first word is the language
    return sorted(bits.items(), key=lambda pair: pair[1])


def main() -> None:
    """Train, make up names, and guess the language of some."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--languages", nargs="+", help="as the files are called; five by default")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--names", nargs="+", default=["Satoshi", "Rossi", "Petrov", "Schmidt"])
    arguments = parser.parse_args()
    try:
        model = elman.train(
            "surnames",
            data=str(arguments.folder),
            overrides=(*SETTINGS, f"training.epochs={arguments.epochs}"),
            machine=Machine(threads=1),
        )
        lists = read_lists(arguments.folder)
        known = set().union(*lists.values())
        largest = sorted(lists, key=lambda language: -len(lists[language]))[:5]
        for language in arguments.languages or sorted(largest):
            names = make_up(model, language, 8)
            marked = [name if name in known else f"{name}*" for name in names]
            print(f"{language:<12}{', '.join(marked)}")
        print()
        for name in arguments.names:
            best = guess(model, name, [*lists])[:3]
            print(f"{name:<12}{', '.join(f'{lang} ({bits:.1f} bits)' for lang, bits in best)}")
    except ElmanError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()
