"""Types against tokens: the same tagger and classifier with several representations of words.

    python benchmarks/representations.py text DATA OUT      write the text for the vectors
    python benchmarks/representations.py measure DATA --vectors RUN [--elmo RUN]
        [--only sst2 sst5 ewt conll2000 wnut17] [--systems random word2vec …]
        [--sizes 500] [--seeds 0 1 2]
    python benchmarks/representations.py table              write the table of docs/results.md

DATA is a folder with `sst`, `ud-english-ewt`, `conll2000`, `wnut17` and `wikitext-2`. `random` is
the default of the recipes `classifier` and `tagger`; `word2vec` adds the vectors of a run of `elman
train word2vec`, `elmo` the layers of a run of `elman train elmo-small`. Everything is measured on
the validation sets; each result is a row of `benchmarks/representations.json`. Rows that exist are
not measured again. The text is the training text of WikiText-2 and the sentences of the training
sets of SST-2 and EWT without labels and tags. One thread.
"""

import argparse
import os
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import torch
from baseline.data import ALL, chosen, conll2000, ewt, read, sst2, sst5, wnut17
from baseline.rows import keep, load_rows, write_table
from baseline.systems import columns, train_elman
from baselines import is_row

ROWS = Path(__file__).with_name("representations.json")
TASKS = {  # reader, ending of the files, recipe, data, measure
    "sst2": (sst2, "tsv", "classifier", "SST-2", "accuracy"),
    "sst5": (sst5, "tsv", "classifier", "SST-5", "accuracy"),
    "ewt": (ewt, "conllu", "tagger", "UD English EWT", "accuracy"),
    "conll2000": (conll2000, "txt", "tagger", "CoNLL-2000, chunks", "F1"),
    "wnut17": (wnut17, "txt", "tagger", "WNUT-17, names", "F1"),
}
SYSTEMS = {  # settings; the words in capitals are run folders
    "random": (),
    "word2vec": ("model.vectors=VECTORS",),
    "word2vec, not trained": ("model.vectors=VECTORS", "model.vectors_fixed=true"),
    "elmo": ("model.elmo=ELMO",),
    "word2vec + elmo": ("model.vectors=VECTORS", "model.elmo=ELMO"),
}


def write_text(data, out):
    """Write train and valid: running text, and the sentences of both tasks."""
    out.mkdir(parents=True, exist_ok=True)
    for split in ("train", "valid"):
        text = read(data / "wikitext-2" / f"wiki.{split}.tokens").splitlines()
        lines = [line.strip() for line in text if line.strip() and not line.startswith(" = ")]
        if split == "train":
            lines += [line.rsplit("\t", 1)[0] for line in sst2(data)["train"]]
            lines += [" ".join(columns(block, "conllu")[0]) for block in ewt(data)["train"]]
        (out / f"{split}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure(options):
    data, runs = Path(options.data), {"VECTORS": options.vectors, "ELMO": options.elmo}
    for task in options.only:
        reader, ending, recipe, *_ = TASKS[task]
        splits = reader(data)
        for size in options.sizes:
            some = splits | {"train": chosen(splits["train"], size)}
            for seed in options.seeds:
                for system in options.systems:
                    key = {"task": task, "size": size or "all", "system": system, "seed": seed}
                    if any(is_row(row, key) for row in load_rows(ROWS)):
                        continue
                    started = time.process_time()
                    found = train_elman(
                        recipe, some, ending, "valid", seed, named(SYSTEMS[system], runs)
                    )
                    seconds = round(time.process_time() - started, 1)
                    date = datetime.now(UTC).date().isoformat()
                    row = {**key, **found, "cpu_seconds": seconds, "date": date}
                    keep(ROWS, row)
                    print({**key, "value": found["value"], "cpu_seconds": seconds}, flush=True)


def named(settings, runs):
    """Settings with the paths of the runs."""
    found = []
    for setting in settings:
        name, _, value = setting.partition("=")
        if value in runs and runs[value] is None:
            sys.exit(f"give --{value.lower()} RUN")
        found.append(f"{name}={runs.get(value, value)}")
    return found


def table(rows):
    """Markdown: a line for each task, size and representation, with the gain over random."""
    lines = [
        "| data | training examples | representation | measure | score | unknown words | seeds "
        "| gain |"
    ]
    lines.append("|---|---:|---|---|---:|---:|---:|---:|")
    for task, (*_, name, measured) in TASKS.items():
        sizes = dict.fromkeys(row["size"] for row in rows if row["task"] == task)
        for size in sizes:
            for system in SYSTEMS:
                line = table_line(
                    [r for r in rows if (r["task"], r["size"]) == (task, size)], system, measured
                )
                if line:
                    shown = size if size == "all" else f"{size:,}"
                    lines.append(f"| {name} | {shown} | {line}")
    return "\n".join(lines)


def table_line(rows, system, measured):
    """The mean of a system over its seeds, and its gain over random on the same seeds."""
    mine = {row["seed"]: row for row in rows if row["system"] == system}
    base = {row["seed"]: row for row in rows if row["system"] == "random"}
    if not mine:
        return ""
    mean = statistics.fmean(row["value"] for row in mine.values())
    unknown = [row["unknown"] for row in mine.values() if "unknown" in row]
    shared = sorted(mine.keys() & base.keys())
    gains = [mine[seed]["value"] - base[seed]["value"] for seed in shared]
    gain = "" if system == "random" or not gains else f"{statistics.fmean(gains):+.2f}"
    if gain:
        gain += f" ({', '.join(f'{one:+.2f}' for one in gains)})"
    share = f"{statistics.fmean(unknown):.2f}" if unknown else ""
    return f"{system} | {measured} | {mean:.2f} | {share} | {len(mine)} | {gain} |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    text = commands.add_parser("text")
    text.add_argument("data")
    text.add_argument("out")
    measured = commands.add_parser("measure")
    measured.add_argument("data")
    measured.add_argument("--vectors")
    measured.add_argument("--elmo")
    measured.add_argument("--only", nargs="+", choices=TASKS, default=[*TASKS])
    measured.add_argument("--systems", nargs="+", choices=SYSTEMS, default=["random", "word2vec"])
    measured.add_argument(
        "--sizes", nargs="+", type=lambda size: ALL if size == "all" else int(size), default=[500]
    )
    measured.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    commands.add_parser("table")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)
    if options.command == "text":
        write_text(Path(options.data), Path(options.out))
    elif options.command == "measure":
        measure(options)
    else:
        write_table("representations", table(load_rows(ROWS)))


if __name__ == "__main__":
    main()
