"""Run the ablations of the race one after the other, and write their table.

    python benchmarks/race_ablation.py ptb --out runs/race --budget 70teraflop --seeds 3
    python benchmarks/race_ablation.py ptb --out runs/race --budget 7teraflop --only quick pdr
    python benchmarks/race_ablation.py --table runs/race --write docs/race.md

Every variant is trained with `elman study race`, so epochs fit the budget and only the validation
text is scored. Each line of ablation.jsonl in the folder is a lap with the name of its variant. The
same command goes on where it was interrupted: finished laps are read, a stopped training resumes. A
variant that fails is reported and left out; the others go on.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

from elman.atomic import replacing
from elman.errors import ElmanError
from elman.experiments.race import Lap, race
from elman.training.machine import Machine

RESIDUAL = "model.output=ngram-residual"
MIXTURE = "model.output=ngram-mixture"
VARIANTS: dict[str, list[str]] = {
    "quick": [],
    "n-gram residual": [RESIDUAL],
    "n-gram residual, order 3": [RESIDUAL, "model.output_options.order=3"],
    "n-gram mixture": [MIXTURE],
    "n-gram mixture, network learns half alone": [MIXTURE, "model.output_options.own=0.5"],
    "n-gram mixture, network learns in the mixture only": [MIXTURE, "model.output_options.own=0"],
    "partial shuffle": ["training.partial_shuffle=true"],
    "average of recent weights": ["training.average=recent"],
    "average of recent weights, constant rate": [
        "training.average=recent",
        "training.schedule=constant",
    ],
    "EMA 0.999": ["training.average=ema"],
    "windows from 10": ["training.window_start=10"],
    "windows of 70": ["training.window=70"],
    "windows of random length": ["training.window_jitter=5"],
    "batches of 10": ["training.batch_size=10"],
    "batches from 10 to 40": ["training.batch_start=10", "training.batch_size=40"],
    "weight decay": ["training.weight_decay=1.2e-6"],
    "weight decay to zero": ["training.weight_decay=2.4e-6", "training.weight_decay_end=0.0"],
    "weight decay from zero": ["training.weight_decay_end=2.4e-6"],
    "all words in the last fifth": ["model.output_options.full_last=0.2"],
    "fewer sampled words": ["model.output_options.samples=500"],
    "Mogrifier, rank 40": ["model.cell=mogrifier", "model.options={rounds = 4, rank = 40}"],
    "min-LSTM": ["model.cell=min-lstm"],
    "residual, partial shuffle, windows from 10": [
        RESIDUAL,
        "training.partial_shuffle=true",
        "training.window_start=10",
    ],
    "residual, less dropout": [
        RESIDUAL,
        "model.dropout_input=0.1",
        "model.dropout_hidden=0.1",
        "model.dropout_output=0.15",
    ],
    "residual, rate 10": [RESIDUAL, "training.learning_rate=10.0"],
}
LINES = "ablation.jsonl"
BEGIN, END = "<!-- ablations -->\n", "<!-- end of ablations -->\n"


def main(words: list[str] | None = None) -> int:
    """Parse arguments; run, or write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", nargs="?", help="the corpus")
    parser.add_argument("--out", type=Path, help="the folder of the runs and of ablation.jsonl")
    parser.add_argument("--budget", default="70teraflop")
    parser.add_argument("--recipe", default="quick")
    parser.add_argument("--set", action="append", default=[], help="a setting of all variants")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=VARIANTS, metavar="VARIANT")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--list", action="store_true", help="print the variants")
    parser.add_argument("--table", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--write", type=Path, help="the page to write the table into")
    given = parser.parse_args(words)
    if given.list:
        for name, settings in VARIANTS.items():
            print(f"{name}: {' '.join(settings) or 'as it is'}")
        return 0
    if given.table:
        return write_table(given.table, given.write)
    if given.data is None or given.out is None:
        parser.error("give a corpus and --out, or --table")
    return run_all(given)


def run_all(given: argparse.Namespace) -> int:
    """Run the variants; the exit code is 1 if one of them failed."""
    failed = 0
    for name in given.only or VARIANTS:
        print(f"{name}: {' '.join(VARIANTS[name]) or 'as it is'}", flush=True)
        try:
            laps = race(
                given.recipe,
                data=given.data,
                out=given.out,
                budget=given.budget,
                overrides=[*given.set, *VARIANTS[name]],
                seeds=range(1, given.seeds + 1),
                machine=Machine(threads=given.threads, warn=lambda message: None),
            )
        except ElmanError as error:
            print(f"  failed: {error}", file=sys.stderr, flush=True)
            failed = 1
            continue
        for lap in laps:
            keep(given.out / LINES, name, lap)
            print(f"  seed {lap.seed}: validation {lap.validation:.2f}", flush=True)
    return failed


def keep(path: Path, name: str, lap: Lap) -> None:
    """Add a line, unless it is there."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    line = json.dumps({"variant": name, **lap.to_data()}, ensure_ascii=False)
    if line not in lines:
        with replacing(path) as temporary:
            temporary.write_text("\n".join([*lines, line]) + "\n", encoding="utf-8")


# The table ----------------------------------------------------------------------------------------


def write_table(folders: list[Path], page: Path | None) -> int:
    """Print the table of the laps in some folders, or put it between the marks of a page."""
    laps = [
        json.loads(line)
        for folder in folders
        for line in (folder / LINES).read_text(encoding="utf-8").splitlines()
    ]
    table = "\n".join(rows_of(laps)) + "\n"
    if page is None:
        print(table, end="")
        return 0
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        print(f"{page}: lacks the marks {BEGIN.strip()} and {END.strip()}", file=sys.stderr)
        return 2
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
    return 0


def rows_of(laps: list[dict]) -> list[str]:
    """Markdown: one row per budget and variant, the mean over its seeds, best first."""
    groups: dict[tuple[float, str], list[dict]] = {}
    for lap in laps:
        groups.setdefault((lap["budget"], lap["variant"]), []).append(lap)
    rows = ["| budget | variant | settings | validation | against `quick` | epochs | seeds |"]
    rows.append("|---:|---|---|---:|---:|---:|---:|")
    means = {key: statistics.fmean(lap["validation"] for lap in own) for key, own in groups.items()}
    for budget, name in sorted(groups, key=lambda key: (key[0], means[key])):
        own, mean, base = groups[budget, name], means[budget, name], means.get((budget, "quick"))
        against = "" if base is None or name == "quick" else f"{mean / base - 1:+.1%}"
        settings = " ".join(f"`{word}`" for word in own[0]["settings"]) or "–"
        figures = f"{mean:.2f} | {against.replace('%', ' %')} | {own[0]['epochs']:g} | {len(own)}"
        rows.append(f"| {budget:g} | {name} | {settings} | {figures} |")
    return rows


if __name__ == "__main__":
    sys.exit(main())
