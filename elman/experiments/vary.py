"""Compare variants of a recipe: every combination of the given settings.

Takes a recipe, data, and settings with several values each; gives a `Variant` for each combination:
its runs, one per seed, with the main measure of the task (perplexity, accuracy, F1). Every run has
its own folder; finished runs are not trained again, and stopped runs are resumed. Called by `elman
study vary`.
"""

import itertools
import json
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.recipes import RunConfig, load_recipe
from elman.runs.folder import read_run
from elman.tasks.saved_runs import task_of
from elman.tasks.task import load, resume, train
from elman.training.machine import Machine

_COMMA = re.compile(r",(?![^\[{]*[\]}])")  # not inside a list like [1, 2]
_STRANGE = re.compile(r"[^\w.=+-]+")  # not allowed in the name of a folder


@dataclass(frozen=True)
class VariantRun:
    """One training."""

    seed: int
    value: float  # of the main measure
    parameters: int | None  # None for models without parameters, like counts
    seconds: float  # of training
    run: str  # folder


@dataclass(frozen=True)
class Variant:
    """One combination of settings, over all seeds."""

    settings: dict[str, str]
    measure: str  # perplexity, accuracy …
    runs: list[VariantRun]

    @property
    def mean(self) -> float:
        return statistics.fmean(run.value for run in self.runs)

    @property
    def lowest(self) -> float:
        return min(run.value for run in self.runs)

    @property
    def highest(self) -> float:
        return max(run.value for run in self.runs)

    @property
    def seconds(self) -> float:
        """The mean training time over the seeds."""
        return statistics.fmean(run.seconds for run in self.runs)

    def to_data(self) -> dict[str, Any]:
        return {
            "settings": self.settings,
            "measure": self.measure,
            "mean": self.mean,
            "lowest": self.lowest,
            "highest": self.highest,
            "parameters": self.runs[0].parameters,
            "seconds": self.seconds,
            "runs": [vars(run) for run in self.runs],
        }


def combinations(tries: Iterable[str]) -> list[dict[str, str]]:
    """Every combination of settings like `model.pooling=last,max`; the last changes fastest."""
    values: dict[str, list[str]] = {}
    for tried in tries:
        name, separator, written = tried.partition("=")
        found = [value.strip() for value in _COMMA.split(written)]
        if not separator or not all(found):
            raise InputError(f"--try {tried}: write it as section.field=value,value")
        if name.strip() in values:
            raise InputError(f"--try {name.strip()}: is given twice; list all values in one --try")
        values[name.strip()] = [*dict.fromkeys(found)]
    if not values:
        raise InputError("nothing to vary; add for example --try model.hidden_size=100,200")
    chosen = itertools.product(*values.values())
    return [dict(zip(values, combination, strict=True)) for combination in chosen]


def vary(
    recipe: str,
    *,
    data: str,
    out: str | Path,
    tries: Iterable[str],
    seeds: Sequence[int] = (1,),
    overrides: Iterable[str] = (),
    split: str | None = None,
    machine: Machine | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> list[Variant]:
    """Train every combination with every seed, one after the other, and measure it on a split."""
    if not seeds:
        raise InputError("give at least one seed")
    chosen, fixed = combinations(tries), list(overrides)
    for settings in chosen:  # report errors before the work, not after it
        load_recipe(recipe, [*fixed, *_words(settings)])
    found: dict[int, list[VariantRun]] = {number: [] for number in range(len(chosen))}
    measure = ""
    total = len(seeds) * len(chosen)
    for done, (seed, number) in enumerate(itertools.product(seeds, found)):
        settings = chosen[number]
        folder = Path(out) / _folder_name(settings, seed)
        words = [*fixed, *_words(settings)]
        progress(f"{done + 1} of {total}: {', '.join(_words(settings))}, seed {seed}")
        finish(folder, recipe, data, words, seed, machine or Machine(), progress)
        measure, run = _measure(folder, data, split, seed)
        found[number].append(run)
    return [Variant(chosen[number], measure, runs) for number, runs in found.items()]


def _words(settings: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in settings.items()]


def _folder_name(settings: dict[str, str], seed: int) -> str:
    return _STRANGE.sub("_", "+".join([*_words(settings), f"seed={seed}"]))


def finish(
    folder: Path,
    recipe: str,
    data: str,
    words: list[str],
    seed: int,
    machine: Machine,
    progress: Callable[[str], None],
) -> None:
    """Make a finished run in the folder: reuse it, resume it, or train it from the start."""
    if not folder.exists():
        options: dict[str, Any] = {"overrides": words, "seed": seed, "machine": machine}
        train(recipe, data=data, out=folder, **options, progress=progress)
    elif not is_finished(folder, load_recipe(recipe, words, seed), data):
        resume(folder, data=data, machine=machine, progress=progress)


def is_finished(folder: Path, config: RunConfig, data: str) -> bool:
    """Whether a run is finished; a run with other settings or another text is refused."""
    contents = read_run(folder, ("config.json", "facts.json"))
    saved, facts = contents["config.json"], contents["facts.json"]
    wanted = json.loads(json.dumps(config.to_data()))  # as in a file
    if wanted["text"].get("tokenizer") == "auto":  # the run has the tokenizer that was chosen
        wanted["text"]["tokenizer"] = saved["text"]["tokenizer"]
    corpus = task_of(config.kind).open_again(data, config)
    text = corpus.whole or corpus.split("train")
    if wanted != saved or text.sha256() not in facts["data"]["sha256"].values():
        raise InputError(
            f"{folder}: is a run with other settings or another text; choose another --out"
        )
    return bool(facts.get("training", {}).get("finished", True))  # counting is done at once


def _measure(folder: Path, data: str, split: str | None, seed: int) -> tuple[str, VariantRun]:
    trained = load(folder)
    measure, value = trained.evaluate(data, split=split).main()
    facts = trained.facts
    parameters = facts["model"].get("parameters")
    return measure, VariantRun(seed, value, parameters, facts["seconds"], str(folder))
