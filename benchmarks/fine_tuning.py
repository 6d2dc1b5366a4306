"""Training on 500 examples: from scratch, from a language model, and with ELMo.

    python benchmarks/fine_tuning.py texts DATA OUT      the texts of the language models, in OUT
    python benchmarks/fine_tuning.py measure DATA OUT [--split test] [--only …] [--seeds 0 1]
    python benchmarks/fine_tuning.py table               write the table of docs/results.md

DATA is a folder with `sst`, `ud-english-ewt`, `conll2000` and `wikitext-2`. `texts` prints the
commands that train the language models. `measure` trains what is missing in OUT, for three seeds,
and evaluates it; a training that was stopped goes on. Each result is a row of
`benchmarks/fine_tuning.json`. All systems have the settings of their recipe and the same examples,
so the table shows the gain over the defaults. Settings were chosen on the validation set (`--split
valid`, the default); the test set is for the final table.

One thread.
"""

import argparse
import json
import statistics
import sys
from datetime import UTC, datetime
from pathlib import Path

import torch
from baseline.data import chosen, conll2000, ewt, read, sst2, sst5, write
from baseline.rows import keep, load_rows, write_table

import elman
from elman.runs.folder import read_run
from elman.tasks.task import resume
from elman.training.machine import Machine

ROWS = Path(__file__).with_suffix(".json")
EXAMPLES, SEEDS = 500, (0, 1, 2)
WORDS = 1_000_000  # of WikiText-2, for ELMo

# Data: reader, ending of the files, recipe.
DATA = {
    "sst2": (sst2, "tsv", "classifier"),
    "sst5": (sst5, "tsv", "classifier"),
    "ewt": (ewt, "conllu", "tagger"),
    "conll2000": (conll2000, "txt", "tagger"),
}
# System: the data, the run to start from, the run of the ELMo.
SYSTEMS = {
    "sst2-scratch": ("sst2", None, None),
    "sst2-from": ("sst2", "lm-sst", None),
    "sst2-elmo": ("sst2", None, "elmo-more"),
    "ewt-scratch": ("ewt", None, None),
    "ewt-from": ("ewt", "lm-wiki", None),
    "ewt-elmo": ("ewt", None, "elmo"),
    "sst5-scratch": ("sst5", None, None),
    "sst5-elmo": ("sst5", None, "elmo-more"),
    "conll2000-scratch": ("conll2000", None, None),
    "conll2000-elmo": ("conll2000", None, "elmo-more"),
}
COMMANDS = """\
elman train quick --data {out}/texts/wiki --out {out}/lm-wiki --budget 30teraflop \\
    --set text.lowercase=true --set text.min_count=2
elman train quick --data {out}/texts/sst --out {out}/lm-sst --from {out}/lm-wiki \\
    --set model.context=line --set training.epochs=5 --set training.learning_rate=10 \\
    --set training.schedule=slanted
elman train elmo-small --data {out}/texts/elmo --out {out}/elmo --budget 25m \\
    --set model.hidden_size=256
elman train elmo-small --data {out}/texts/elmo-more --out {out}/elmo-more --budget 20teraflop \\
    --set model.hidden_size=256"""


def write_texts(data, out):
    """Training and validation texts of the four language models."""
    wiki = [line.strip() for line in read(data / "wikitext-2" / "wiki.train.tokens").splitlines()]
    wiki = [line for line in wiki if line]
    reviews = {
        split: [line.split(" ", 1)[1] for line in read(data / "sst" / name).splitlines()]
        for split, name in (("train", "stsa.fine.train"), ("valid", "stsa.fine.dev"))
    }
    web = {split: [words_of(block) for block in part] for split, part in ewt(data).items()}
    news = {
        split: [" ".join(row.split()[0] for row in block.split("\n")) for block in part]
        for split, part in conll2000(data).items()
    }
    lower = [line.lower() for line in wiki]
    texts = {
        "wiki": {"train": [*lower, *reviews["train"]], "valid": reviews["valid"]},
        "sst": reviews,
        "elmo": {"train": [*first_words(wiki, WORDS), *web["train"]], "valid": web["valid"][:1000]},
        "elmo-more": {
            "train": [*first_words(wiki, WORDS), *reviews["train"], *news["train"]],
            "valid": [*reviews["valid"][:500], *news["valid"][:500]],
        },
    }
    for name, splits in texts.items():
        folder = out / "texts" / name
        folder.mkdir(parents=True, exist_ok=True)
        for split, lines in splits.items():
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{split}.txt").write_text(text, encoding="utf-8")


def words_of(block):
    """The words of a CoNLL-U sentence."""
    rows = [row.split("\t") for row in block.split("\n")]
    return " ".join(row[1].replace(" ", "") for row in rows if row[0].isdigit())


def first_words(lines, count):
    """The first lines, until they have more words than this."""
    found = []
    for line in lines:
        found.append(line)
        count -= len(line.split())
        if count < 0:
            break
    return found


def measure(system, splits, split, seed, out):
    """The row of a system; its run is trained if there is none."""
    name, start_from, elmo = SYSTEMS[system]
    _, ending, recipe = DATA[name]
    folder, run = out / "data" / name, out / f"{system}-{seed}"
    if not folder.exists():
        folder.mkdir(parents=True)
        write(folder, splits, ending)
    machine = Machine(threads=1, warn=lambda message: None)
    if not (run / "manifest.json").exists():
        elman.train(
            recipe,
            data=str(folder),
            out=run,
            overrides=[f"model.elmo={out / elmo}"] if elmo else [],
            seed=seed,
            start_from=out / start_from if start_from else None,
            machine=machine,
        )
    elif not is_finished(run):
        resume(run, machine=machine)
    trained = elman.load(run)
    training = trained.facts["training"]
    return {
        "system": system,
        "seed": seed,
        "split": split,
        "value": 100 * trained.evaluate(str(folder), split=split).main()[1],
        "steps": training["steps"],
        "epochs": training["epochs"],
        "seconds": round(trained.facts["seconds"], 1),
        "date": datetime.now(UTC).date().isoformat(),
    }


def is_finished(run):
    """Whether a training has ended, early or after all epochs."""
    if not (run / "manifest.json").exists():
        return False
    training = read_run(run, ("facts.json",))["facts.json"].get("training", {})
    return training.get("ended_early") or training.get("epochs", 0) >= training.get("of_epochs", 1)


def table(rows):
    """Markdown: a line for each system and split, with the gain over training from scratch."""
    seeds = " | ".join(f"seed {seed}" for seed in SEEDS)
    lines = [f"| data | split | system | {seeds} | mean | gain |"]
    lines.append("|---|---|---|" + "---:|" * (len(SEEDS) + 2))
    for split in ("valid", "test"):
        means = {}
        for system in SYSTEMS:
            mine = [row for row in rows if (row["system"], row["split"]) == (system, split)]
            found = {row["seed"]: row["value"] for row in mine}
            if [*sorted(found)] != [*SEEDS]:
                continue
            data, kind = system.split("-")
            means[system] = statistics.fmean(found.values())
            values = " | ".join(f"{found[seed]:.2f}" for seed in SEEDS)
            scratch = means.get(f"{data}-scratch")
            known = kind != "scratch" and scratch is not None
            gain = f"{means[system] - scratch:+.2f}" if known else ""
            lines.append(f"| {data} | {split} | {kind} | {values} | {means[system]:.2f} | {gain} |")
    return "\n".join(lines)


def measure_all(given):
    """Measure the rows that are missing, and print the table."""
    torch.set_num_threads(1)
    for system in given.only:
        splits = DATA[SYSTEMS[system][0]][0](given.data)
        splits |= {"train": chosen(splits["train"], EXAMPLES)}
        for seed in given.seeds:
            wanted = (system, seed, given.split)
            if any((row["system"], row["seed"], row["split"]) == wanted for row in load_rows(ROWS)):
                continue
            row = measure(system, splits, given.split, seed, given.out)
            keep(ROWS, row)
            print(json.dumps(row), file=sys.stderr, flush=True)
    print(table(load_rows(ROWS)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("table", help="write the table of docs/results.md")
    writing = commands.add_parser("texts", help="write the texts of the language models")
    measuring = commands.add_parser("measure", help="measure the missing rows")
    for command in (writing, measuring):
        command.add_argument("data", type=Path)
        command.add_argument("out", type=Path)
    measuring.add_argument("--split", default="valid", choices=("valid", "test"))
    measuring.add_argument("--only", nargs="*", default=[*SYSTEMS], choices=[*SYSTEMS])
    measuring.add_argument("--seeds", nargs="*", type=int, default=[*SEEDS])
    given = parser.parse_args()
    if given.command == "texts":
        write_texts(given.data, given.out)
        print(COMMANDS.format(out=given.out))
    elif given.command == "measure":
        measure_all(given)
    else:
        write_table("fine_tuning", table(load_rows(ROWS)))


if __name__ == "__main__":
    main()
