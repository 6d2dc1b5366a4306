"""elman's defaults against simple baselines on small and large data.

    python benchmarks/baselines.py measure DATA [--only sst2 ewt …] [--sizes 500 2000]
        [--systems elman …] [--split test] [--seeds 0 1 2] [--samples 0 1 2 3 4]
        [--set section.field=value …] [--runs FOLDER]
    python benchmarks/baselines.py table        write the tables of docs/results.md

DATA is a folder with `sst`, `names`, `ud-english-ewt`, `conll2000`, `wnut17` and `multi30k`. Every
system trains on the same random examples (each of `--samples` draws others) and may use the whole
validation set. Each result is a row of `benchmarks/defaults.json` (validation) or
`benchmarks/baselines.json` (test). Rows that exist are not measured again, so an interrupted
command continues. To choose settings, use `--split valid --set …`, or `--split unused`: the
training examples that are not in the sample; the test set is for the final table. With
`--runs FOLDER`, trained models are kept there, and the other splits are measured with the same
models.

Needs `pip install 'elman[oracles]'`. One thread.
"""

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import torch
from baseline.data import (
    ALL,
    chosen,
    conll2000,
    ewt,
    multi30k,
    names,
    remaining,
    sst2,
    sst5,
    wnut17,
)
from baseline.rows import keep, load_rows, write_table
from baseline.systems import crf, linear, perceptron, train_elman

ROWS = {
    "valid": Path(__file__).with_name("defaults.json"),
    "unused": Path(__file__).with_name("defaults.json"),
    "test": Path(__file__).with_name("baselines.json"),
}
OLD_TRANSLATOR = (  # the settings of version 0.1
    *("text.vocabulary_size=5000", "text.min_count=2", "text.longest=100"),
    *("model.attend=before", "model.attention=additive", "model.output_options={}"),
    *("model.hidden_size=256", "model.embedding_size=256"),
    *("model.dropout_input=0.3", "model.dropout_output=0.5", "training.average=none"),
    *("training.epochs=12", "training.batch_size=64", "training.learning_rate=0.001"),
    *("training.schedule=linear", "training.warm_up=0.02", "training.patience=0"),
    *("training.validate_every=1", "training.min_steps=0", "training.min_batches=0"),
)


# Name: reader, ending of the files, sizes, recipe, name and function of the baseline, measure.
TASKS = {
    "sst2": (sst2, "tsv", (500, 2000, ALL), "classifier", "tf-idf + SVM", linear, "accuracy"),
    "sst5": (sst5, "tsv", (500,), "classifier", "tf-idf + SVM", linear, "accuracy"),
    "names": (names, "tsv", (500,), "classifier", "tf-idf + SVM", linear, "accuracy"),
    "ewt": (ewt, "conllu", (200, 1000, ALL), "tagger", "perceptron", perceptron, "accuracy"),
    "conll2000": (
        *(conll2000, "txt", (500, ALL), "tagger", "CRF"),
        *(lambda splits, judged: crf(splits, judged, False), "F1"),
    ),
    "conll2000+pos": (
        *(conll2000, "txt", (500, ALL), "chunker", "CRF"),
        *(lambda splits, judged: crf(splits, judged, True), "F1"),
    ),
    "wnut17": (
        *(wnut17, "txt", (500, ALL), "tagger", "CRF"),
        *(lambda splits, judged: crf(splits, judged, False), "F1"),
    ),
    "multi30k": (
        *(multi30k, "pairs", (2000, 10000, ALL), "translator", "translator of 0.1"),
        *(None, "BLEU"),
    ),
}


def measure(wanted, splits, runs):
    """The row of a system: its result, settings and cost."""
    task, system, judged, seed, settings = (
        wanted[name] for name in ("task", "system", "split", "seed", "settings")
    )
    _, ending, _, recipe, name, baseline, _ = TASKS[task]
    started, clock = time.process_time(), time.perf_counter()
    if system == "elman" or baseline is None:
        used = [*(OLD_TRANSLATOR if system != "elman" else ()), *settings]
        found = train_elman(recipe, splits, ending, judged, seed, used, runs)
    else:
        found = baseline(splits, judged)
    return {
        **wanted,
        "name": recipe if system == "elman" else name,
        **found,
        "cpu_seconds": round(time.process_time() - started, 1),
        "seconds": round(time.perf_counter() - clock, 1),
        "date": datetime.now(UTC).date().isoformat(),
    }


def key(task, size, sample, system, judged, seed, settings):
    """The fields that identify a row; baselines have neither seeds nor settings."""
    own = system == "elman" or TASKS[task][5] is None
    return {
        "task": task,
        "size": "all" if size == ALL else size,
        "sample": 0 if size == ALL else sample,
        "system": system,
        "split": judged,
        "seed": seed if own else 0,
        "settings": [*settings] if own else [],
    }


def sampled_rows(path):
    """The rows of a file; those without a number are of the first sample."""
    return [{"sample": 0, **row} for row in load_rows(path)]


def is_row(row, wanted):
    return all(row[name] == value for name, value in wanted.items())


def table(rows):
    """Markdown: a line for each task and size; means over samples and seeds."""
    lines = [
        "| data | training examples | measure | baseline | | elman | | samples × seeds "
        "| difference |"
    ]
    lines.append("|---|---:|---|---|---:|---|---:|---:|---:|")
    for task, (*_, measured) in TASKS.items():
        found = dict.fromkeys(row["size"] for row in rows if row["task"] == task)
        for size in sorted(found, key=lambda size: float("inf") if size == "all" else size):
            mine = [row for row in rows if (row["task"], row["size"]) == (task, size)]
            lines += [line for name in ("value", "unknown") if (line := cell(mine, name, measured))]
    return "\n".join(lines)


def cell(rows, name, measured):
    """A line of the table; empty if a system is missing or the measure says little."""
    sides = {system: by_sample(rows, system, name) for system in ("baseline", "elman")}
    both = sorted({*sides["baseline"]} & {*sides["elman"]})
    if not both or (name == "unknown" and measured != "accuracy"):
        return ""
    first, second = ([found[sample] for sample in both] for found in sides.values())
    gains = [own - other for other, own in zip(first, second, strict=True)]
    what = measured if name == "value" else "accuracy of unknown words"
    mine = [row for row in rows if row["system"] == "elman"]
    seeds = max(Counter(row["sample"] for row in mine).values())
    size = rows[0]["size"]
    return (
        f"| {rows[0]['task']} | {size if size == 'all' else f'{size:,}'} | {what} "
        f"| {TASKS[rows[0]['task']][4]} | {spread(first)} "
        f"| `{mine[0]['name']}` | {spread(second)} | {len(both)} × {seeds} "
        f"| {spread(gains, '+')} |"
    )


def by_sample(rows, system, name):
    """The results of a system: for each sample of training examples, the mean over the seeds."""
    found = {}
    for row in rows:
        if row["system"] == system and name in row:
            found.setdefault(row["sample"], []).append(row[name])
    return {sample: statistics.fmean(values) for sample, values in found.items()}


def spread(values, sign=""):
    """The mean, and the standard deviation if there are several."""
    mean = f"{statistics.fmean(values):{sign}.2f}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else mean


def write_tables():
    """Replace the tables of the page."""
    parts = []
    headings = {"test": "Test", "valid": "Validation, on which settings were chosen"}
    headings["unused"] = "Training examples that were not in the sample"
    for split, heading in headings.items():
        rows = sampled_rows(ROWS[split])
        rows = [row for row in rows if row["split"] == split and not row["settings"]]
        parts.append(f"**{heading}**\n\n{table(rows)}")
    write_table("baselines", "\n\n".join(parts))


def measure_all(given):
    """Measure the rows that are missing, and print a table of them."""
    path = given.out or ROWS[given.split]
    torch.set_num_threads(1)
    for task in given.only:
        splits = TASKS[task][0](given.data)
        sizes = TASKS[task][2]
        if given.sizes:
            sizes = [ALL if size == "all" else int(size) for size in given.sizes]
        for size in sizes:
            for sample, system, seed in product(given.samples, given.systems, given.seeds):
                wanted = key(task, size, sample, system, given.split, seed, given.set)
                if any(is_row(row, wanted) for row in sampled_rows(path)):
                    continue
                train = chosen(splits["train"], size, sample)
                part = splits | {"train": train, "unused": remaining(splits["train"], train)}
                row = measure(wanted, part, given.runs)
                keep(path, row)
                print(json.dumps(row, ensure_ascii=False), file=sys.stderr, flush=True)
    kept = [row for row in sampled_rows(path) if row["split"] == given.split]
    print(table([row for row in kept if row["settings"] in ([], given.set)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("table", help="write the tables of docs/results.md")
    measuring = commands.add_parser("measure", help="measure the missing rows")
    measuring.add_argument("data", type=Path)
    measuring.add_argument("--only", nargs="*", default=[*TASKS], choices=[*TASKS])
    measuring.add_argument("--sizes", nargs="*", help="like 500 2000 all; default: all sizes")
    measuring.add_argument("--systems", nargs="*", default=["baseline", "elman"])
    measuring.add_argument("--out", type=Path, help="default: the file of the split, see above")
    measuring.add_argument("--runs", type=Path, help="keep trained models in this folder")
    measuring.add_argument("--split", default="test", choices=("valid", "unused", "test"))
    measuring.add_argument("--seeds", nargs="*", type=int, default=[0])
    measuring.add_argument("--samples", nargs="*", type=int, default=[0])
    measuring.add_argument("--set", nargs="*", default=[], metavar="section.field=value")
    given = parser.parse_args()
    if given.command == "table":
        write_tables()
    else:
        measure_all(given)


if __name__ == "__main__":
    main()
