"""Rates, widths and dropout of the recipes of tasks, by the number of training examples.

    python benchmarks/grid.py measure DATA OUT [--only classifier …] [--sizes 100 500 …]
        [--settings training.learning_rate …]
    python benchmarks/grid.py table               write the table of docs/results.md

DATA is a folder with `sst`, `ud-english-ewt` and `multi30k`; the questions are made from EWT. For
every recipe and size, `measure` runs `elman study vary` with one setting at a time below and above
its default, and keeps the validation results as rows of `benchmarks/grid.json`. Finished runs in
OUT are not trained again, interrupted ones continue. The test set is not used.

One thread.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from baseline.data import ALL, chosen, ewt, multi30k, sst2, write
from baseline.questions import ewt_questions, write_squad
from baseline.rows import keep, load_rows, write_table

ROWS = Path(__file__).with_suffix(".json")
SIZES = (100, 500, 2_000, 10_000, ALL)
# Recipe: reader, ending of the files, and each setting with its default and the values beside it.
GRID = {
    "classifier": (
        sst2,
        "tsv",
        {
            "training.learning_rate": ("0.001", ("0.0005", "0.002")),
            "model.hidden_size": ("150", ("75", "300")),
            "model.dropout_features": ("0.5", ("0.3", "0.7")),
        },
    ),
    "tagger": (
        ewt,
        "conllu",
        {
            "training.learning_rate": ("0.002", ("0.001", "0.004")),
            "model.hidden_size": ("150", ("75", "300")),
            "model.dropout_features": ("0.5", ("0.3", "0.7")),
        },
    ),
    "answerer": (
        ewt_questions,
        "json",
        {
            "training.learning_rate": ("0.002", ("0.001", "0.004")),
            "model.hidden_size": ("128", ("64", "256")),
            "model.dropout_features": ("0.3", ("0.1", "0.5")),
        },
    ),
    "translator": (
        multi30k,
        "pairs",
        {
            "training.learning_rate": ("0.002", ("0.001", "0.004")),
            "model.hidden_size": ("256", ("128", "384")),
            "model.dropout_output": ("0.5", ("0.3", "0.6")),
        },
    ),
}


def variants(recipe):
    """The default, then each other value: pairs of a setting and its value."""
    _, _, settings = GRID[recipe]
    name, (default, _) = next(iter(settings.items()))
    yield name, default
    for name, (_, others) in settings.items():
        for value in others:
            yield name, value


def is_default(recipe, row):
    return GRID[recipe][2][row["setting"]][0] == row["value"]


def sampled(recipe, size, data, out):
    """The folder with so many training examples, or nothing if the data has fewer."""
    reader, ending, _ = GRID[recipe]
    folder = out / "data" / f"{recipe}-{size}"
    if folder.exists():
        return folder
    splits = reader(data)
    if size > len(splits["train"]):
        return None
    splits |= {"train": chosen(splits["train"], size)}
    folder.mkdir(parents=True)
    if ending == "json":
        write_squad(folder, splits)
    else:
        write(folder, splits, ending)
    return folder


def measure(recipe, size, setting, value, folder, out):
    """A row: the validation result of one training."""
    command = ["study", "vary", recipe, "--data", str(folder), "--split", "valid", "--threads", "1"]
    command += ["--out", str(out / f"{recipe}-{size}"), "--try", f"{setting}={value}", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "elman", *command],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    if done.returncode:
        sys.exit(done.stderr)
    (variant,) = json.loads(done.stdout)
    return {
        "recipe": recipe,
        "size": size,
        "setting": setting,
        "value": value,
        "measure": variant["measure"],
        "result": variant["mean"],
        "seconds": variant["seconds"],
    }


def measure_all(given):
    for recipe in given.only:
        for size in given.sizes:
            folder = sampled(recipe, size, given.data, given.out)
            if folder is None:
                print(f"{recipe}: there are fewer than {size:,} examples", file=sys.stderr)
                continue
            for setting, value in variants(recipe):
                if given.settings and setting not in given.settings:
                    continue
                wanted = (recipe, size, setting, value)
                names = ("recipe", "size", "setting", "value")
                if any(tuple(row[name] for name in names) == wanted for row in load_rows(ROWS)):
                    continue
                row = measure(*wanted, folder, given.out)
                keep(ROWS, row)
                print(json.dumps(row), file=sys.stderr, flush=True)


def shown(row):
    return f"{row['result']:.2f}" if row["measure"] == "BLEU" else f"{100 * row['result']:.2f}"


def table(rows):
    """Markdown: a line for each recipe and setting, a column for each size."""
    yield "| recipe | setting | " + " | ".join(map(size_name, SIZES)) + " |"
    yield "|---|---|" + "---:|" * len(SIZES)
    for recipe in GRID:
        mine = [row for row in rows if row["recipe"] == recipe]
        for setting, value in variants(recipe):
            found = {
                row["size"]: row
                for row in mine
                if (row["setting"], row["value"]) == (setting, value)
            }
            if not found:
                continue
            row = next(iter(found.values()))
            name = "as in the recipe" if is_default(recipe, row) else f"`{setting}={value}`"
            cells = [shown(found[size]) if size in found else "" for size in SIZES]
            yield f"| `{recipe}`, {row['measure']} | {name} | {' | '.join(cells)} |"


def size_name(size):
    return "all" if size == ALL else f"{size:,}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("table", help="write the table of docs/results.md")
    measuring = commands.add_parser("measure", help="measure the missing rows")
    measuring.add_argument("data", type=Path)
    measuring.add_argument("out", type=Path)
    measuring.add_argument("--only", nargs="*", default=[*GRID], choices=[*GRID])
    measuring.add_argument("--sizes", nargs="*", type=int, default=[*SIZES], help="0: all")
    measuring.add_argument("--settings", nargs="*", help="only these; default: all")
    given = parser.parse_args()
    if given.command == "table":
        write_table("grid", "\n".join(table(load_rows(ROWS))))
    else:
        measure_all(given)


if __name__ == "__main__":
    main()
