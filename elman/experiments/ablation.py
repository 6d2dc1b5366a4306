"""Compare recurrent cells on a task with known answers, to see which of their parts matter.

Takes names of cells, gives a `CellResult` for each: models with the same number of parameters,
recipe, texts, seeds and number of steps, and their accuracy on the next character of unseen text.
After Józefowicz, Zaremba and Sutskever (2015), on tasks that take minutes. Every model has its own
run folder; finished runs are not trained again.
"""

import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elman.cells import CELLS
from elman.errors import ElmanError, InputError, choose
from elman.experiments.vary import is_finished
from elman.recipes import load_recipe
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load
from elman.text.corpora import open_corpus

STUDIED = (
    "elman",
    "lstm",
    "lstm-f",
    "lstm-i",
    "lstm-o",
    "lstm-b",
    "gru",
    "mut1",
    "mut2",
    "mut3",
)

SEEDS = (1, 2, 3)  # the settings were chosen by looking at seed 0


@dataclass(frozen=True)
class AblationTask:
    """A recipe, its text, and the characters to score."""

    recipe: str
    data: str  # without the seed
    after: str | None = None  # score characters after this one in a line; None: all


TASKS = {
    "arithmetic": AblationTask("arithmetic", "arithmetic:digits=2,distractors=8,lines=60000", "="),
    "xml": AblationTask("xml", "xml:longest_name=4,steps=10,lines=20000"),
}


@dataclass(frozen=True)
class CellRun:
    """One model."""

    seed: int
    accuracy: float  # on the scored characters
    lines_right: float  # fraction of lines with all scored characters right
    counted: int  # scored characters of the test text
    parameters: int
    seconds: float  # of training
    run: str  # folder


@dataclass(frozen=True)
class CellResult:
    """A cell over all seeds."""

    cell: str
    runs: list[CellRun]

    @property
    def mean(self) -> float:
        return statistics.fmean(run.accuracy for run in self.runs)

    @property
    def spread(self) -> float:
        """Standard deviation of the accuracy over the seeds; NaN with one seed."""
        accuracies = [run.accuracy for run in self.runs]
        return statistics.stdev(accuracies) if len(accuracies) > 1 else math.nan

    def to_data(self) -> dict[str, Any]:
        """Plain data; null for a spread that does not exist."""
        spread = None if math.isnan(self.spread) else self.spread
        runs = [vars(run) for run in self.runs]
        return {"cell": self.cell, "mean": self.mean, "spread": spread, "runs": runs}


def run_ablation(
    cells: Iterable[str] = STUDIED,
    task: str = "arithmetic",
    seeds: Sequence[int] = SEEDS,
    out: str | Path = "runs/ablation",
    *,
    overrides: Iterable[str] = (),
    data: str | None = None,
    at_once: int | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> list[CellResult]:
    """Train every cell with every seed, each in a process of one thread, and measure it.

    `overrides` are settings of the recipe and `data` replaces the corpus, for all cells alike.
    `at_once` processes run in parallel (default: the number of cores). Results are in the order of
    `cells`.
    """
    names = list(cells)
    for name in names:
        CELLS.check(name)
    if not names or not seeds:
        raise InputError("an ablation needs at least one cell and one seed")
    chosen = choose(TASKS, task, "task")
    corpus, settings = data or chosen.data, list(overrides)
    _check_corpus(corpus, chosen.data, task, seeds[0])
    for name in names:  # report errors before the work, not after it
        load_recipe(chosen.recipe, [f"model.cell={name}", *settings])
    places = [(seed, name) for seed in seeds for name in names]  # a first ranking after one seed
    done = 0

    def one(place: tuple[int, str]) -> CellRun:
        nonlocal done
        seed, name = place
        folder = Path(out) / f"{task}-{name}-{seed}"
        text = seeded_text(corpus, seed)
        _train(folder, chosen.recipe, text, [f"model.cell={name}", *settings], seed)
        result = measure_run(folder, text, chosen.after, seed)
        done += 1
        progress(f"{done} of {len(places)}: {name}, seed {seed}: accuracy {result.accuracy:.4f}")
        return result

    with ThreadPoolExecutor(at_once or os.cpu_count() or 1) as pool:
        try:
            runs = dict(zip(places, pool.map(one, places), strict=True))
        except BaseException:
            pool.shutdown(cancel_futures=True)  # cancel jobs that have not started
            raise
    return [CellResult(name, [runs[seed, name] for seed in seeds]) for name in names]


def _check_corpus(data: str, usual: str, task: str, seed: int) -> None:
    """Refuse a corpus that does not belong to the task, and invalid settings."""
    corpus = usual.partition(":")[0]
    if data.partition(":")[0] != corpus:
        raise InputError(
            f"--data {data}: the task {task} learns the built-in corpus {corpus}; change its "
            f"settings, like --data {usual}"
        )
    open_corpus(seeded_text(data, seed))


def _train(folder: Path, recipe: str, data: str, settings: list[str], seed: int) -> None:
    """Make a finished run in the folder: reuse it, resume it, or train it from the start."""
    config = load_recipe(recipe, settings, seed)
    if not folder.exists():
        _train_apart(folder, recipe, data, settings, seed)
    elif not is_finished(folder, config, data):
        _run_elman(["train", "--resume", str(folder)], folder)


def _train_apart(folder: Path, recipe: str, data: str, settings: list[str], seed: int) -> None:
    words = ["train", recipe, "--data", data, "--out", str(folder), "--seed", str(seed)]
    _run_elman([*words, *(word for setting in settings for word in ("--set", setting))], folder)


def _run_elman(words: list[str], folder: Path) -> None:
    """Run a command in a separate process, with one thread."""
    command = [sys.executable, "-m", "elman", *words, "--threads", "1"]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, env=one_thread, capture_output=True, text=True, check=False)
    if ended.returncode:
        reason = (ended.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ElmanError(f"{folder}: the training failed ({reason.removeprefix('elman: ')})")


def seeded_text(data: str, seed: int) -> str:
    """A built-in corpus, drawn with this seed."""
    return f"{data}{',' if ':' in data else ':'}seed={seed}"


def measure_run(folder: Path, data: str, after: str | None, seed: int) -> CellRun:
    """The accuracy of a trained model on the scored characters."""
    trained = load(folder, TrainedModel)
    found = trained.accuracy(data, split="test", after=after)
    return CellRun(
        seed=seed,
        accuracy=found.accuracy,
        lines_right=found.line_accuracy,
        counted=found.counted,
        parameters=trained.facts["model"]["parameters"],
        seconds=trained.facts["seconds"],
        run=str(folder),
    )
