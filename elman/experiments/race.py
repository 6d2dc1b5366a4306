"""The race: the lowest perplexity for a budget of operations, measured so that it cannot be fooled.

Takes a recipe, data and a budget in teraflop; trains the recipe once per seed and gives a `Lap` for
each, written as one line of JSON. Called by `elman study race` and by the benchmark of ablations.

- Operations are counted step by step while training (`training/trainer.py: Trainer.operations`):
  forward and backward, and what comes before the first step, such as counting n-grams. Validation
  is counted separately. A training that exceeds the budget is refused, before and after it.
- Validation text chooses settings. The test text is scored only on request, once per lap, when the
  training has ended.
- Help from outside the budget, like pretrained vectors, is refused.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from elman.atomic import replacing
from elman.errors import ElmanError, InputError
from elman.experiments.vary import finish
from elman.recipes import RunConfig, load_recipe
from elman.tasks.gradient_task import build_trainer
from elman.tasks.language_modelling.task import LanguageModelling
from elman.tasks.saved_runs import task_of
from elman.tasks.task import load
from elman.training.budget import Budget
from elman.training.machine import Machine
from elman.training.trainer import Trainer
from elman.version import __version__

LINES = "race.jsonl"  # the file of the laps, in the folder of the runs
_ROUNDS = 4  # of fitting the epochs to the budget; they converge after two
_LEAST = 1e-4  # epochs
_TERA = 1e12
_EPOCHS = "training.epochs="


@dataclass(frozen=True)
class Lap:
    """One training in a race."""

    hash: str  # of settings, data, budget and version
    recipe: str
    settings: list[str]  # overrides of the recipe
    seed: int
    budget: float  # teraflop
    teraflop: float  # of the training, metered
    validating_teraflop: float  # of the validations while training
    seconds: float  # of the training
    epochs: float
    parameters: int
    validation: float  # perplexity
    test: float | None  # perplexity; None: not scored
    run: str  # its folder, in that of the race
    version: str
    data: dict[str, str]  # SHA-256 of each file

    def to_data(self) -> dict[str, Any]:
        return asdict(self)


def race(
    recipe: str,
    *,
    data: str,
    out: str | Path,
    budget: str,
    overrides: Iterable[str] = (),
    seeds: Sequence[int] = (1, 2, 3),
    final: bool = False,
    machine: Machine | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> list[Lap]:
    """Train a recipe within a budget, once per seed.

    The number of epochs fits the budget, unless the overrides set it. `final`: also score the test
    text, once per lap. Finished laps are read from the folder; interrupted ones are resumed.
    """
    words, machine, folder = list(overrides), machine or Machine(), Path(out)
    limit = _limit(budget)
    config = load_recipe(recipe, words)
    refuse_help(config)
    progress("reading")
    lesson = LanguageModelling.prepare(
        LanguageModelling.open(data, config), config, lambda what: None
    )
    trainer = build_trainer(lesson, machine.prepare())
    fitted = [*words, *fit_epochs(trainer, limit, words)]
    refuse_more(trainer, limit)
    hashes = lesson.facts()["data"]["sha256"]
    del lesson, trainer
    laps = []
    for seed in seeds:
        key = _key(load_recipe(recipe, fitted, seed), hashes, limit)
        lap = read_laps(folder / LINES).get((key, seed))
        if lap is None:
            progress(f"seed {seed}")
            run = folder / f"{key}-seed-{seed}"
            finish(run, recipe, data, fitted, seed, machine, progress)
            lap = _measure(run, key, data, words, limit, hashes)
            _write(folder / LINES, lap)
        if final and lap.test is None:
            progress(f"test text, seed {seed}")
            lap = replace(lap, test=_perplexity(folder / lap.run, data, "test"))
            _write(folder / LINES, lap)
        laps.append(lap)
    return laps


def _limit(written: str) -> float:
    """The operations of a budget."""
    budget = Budget.parse(written)
    if budget.teraflop is None:
        raise InputError(f"--budget {written}: a race is about operations, like 70teraflop")
    return budget.teraflop * _TERA


def refuse_help(config: RunConfig) -> None:
    """Refuse what the meter cannot see, or what did not come from the training text."""
    if not issubclass(task_of(config.kind), LanguageModelling):
        raise InputError(
            f"{config.recipe}: a race is between neural language models, like the recipe quick"
        )
    if config.model.vectors:
        raise InputError(
            "model.vectors: pretrained vectors cost operations outside the budget; leave them out"
        )
    if config.training.regime != "teacher-forcing":
        raise InputError(
            f"training.regime={config.training.regime}: its operations are not metered; "
            "set training.regime=teacher-forcing"
        )


# Operations ---------------------------------------------------------------------------------------


def planned_operations(trainer: Trainer) -> float:
    """The operations of a whole training: its batches are drawn, but nothing is computed."""
    counters, batches = trainer.counters, trainer.batches
    before, position = replace(counters), batches.position()
    follow = getattr(trainer.model, "follow", lambda progress: False)
    while trainer.epochs_done < trainer.config.epochs:
        batches.progress = trainer.progress
        if (batch := batches.next()) is None:
            counters.epoch, counters.tokens_in_epoch = counters.epoch + 1, 0
            continue
        if follow(trainer.progress):
            trainer.forget_costs()
        counters.tokens_in_epoch += batch.tokens
        counters.operations += trainer.operations(batch.tokens)
    found = counters.operations
    trainer.counters, batches.progress = before, 0.0
    batches.go_to(position)
    return found


def fit_epochs(trainer: Trainer, limit: float, words: Sequence[str]) -> list[str]:
    """The override of the epochs that uses the budget; none if the user has set them."""
    if any(word.replace(" ", "").startswith(_EPOCHS) for word in words):
        return []
    tokens = trainer.batches.tokens_per_epoch
    step = trainer.config.batch_size * trainer.config.window / tokens
    for _ in range(_ROUNDS):
        used = planned_operations(trainer)
        trainer.set_epochs(trainer.config.epochs * limit / used)
    epochs = trainer.config.epochs
    while epochs >= _LEAST:  # the last step is taken whole
        trainer.set_epochs(round(epochs, 4))
        if planned_operations(trainer) <= limit:
            return [f"{_EPOCHS}{trainer.config.epochs:g}"]
        epochs -= step
    raise InputError(
        f"one step takes more than the budget of {limit / _TERA:g} teraflop; give a larger "
        "--budget, or a smaller model or batch"
    )


def refuse_more(trainer: Trainer, limit: float) -> None:
    """Refuse a training that will exceed the budget."""
    needed = planned_operations(trainer)
    if needed > limit:
        raise InputError(
            f"this training needs {needed / _TERA:.4g} teraflop, more than the budget of "
            f"{limit / _TERA:g}; lower training.epochs, or leave it out to fit the budget"
        )


# Laps ---------------------------------------------------------------------------------------------


def _key(config: RunConfig, hashes: dict[str, str], limit: float) -> str:
    """A short hash of everything that decides a lap, except its seed."""
    settings = {**config.to_data(), "seed": None}
    decided = [settings, sorted(hashes.values()), limit, __version__]
    return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()[:12]


def _measure(
    run: Path, key: str, data: str, words: list[str], limit: float, hashes: dict[str, str]
) -> Lap:
    """The lap of a finished run."""
    trained = load(run)
    facts, config = trained.facts, trained.config
    training = facts["training"]
    if training["metered_teraflop"] * _TERA > limit:
        raise ElmanError(
            f"{run}: took {training['metered_teraflop']:.4g} teraflop, more than the budget of "
            f"{limit / _TERA:g}; this lap does not count"
        )
    return Lap(
        hash=key,
        recipe=config.recipe,
        settings=words,
        seed=config.seed,
        budget=limit / _TERA,
        teraflop=training["metered_teraflop"],
        validating_teraflop=training["validating_teraflop"],
        seconds=facts["seconds"],
        epochs=training["epochs"],
        parameters=facts["model"]["parameters"],
        validation=_perplexity(run, data, "valid"),
        test=None,
        run=run.name,
        version=__version__,
        data=hashes,
    )


def _perplexity(run: Path, data: str, split: str) -> float:
    return float(load(run).evaluate(data, split=split).main()[1])


def read_laps(path: Path) -> dict[tuple[str, int], Lap]:
    """The laps in a file, by hash and seed; none if there is no file."""
    if not path.exists():
        return {}
    laps = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            lap = Lap(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise InputError(f"{path}, line {number}: is not a lap of a race ({error})") from None
        laps[lap.hash, lap.seed] = lap
    return laps


def _write(path: Path, lap: Lap) -> None:
    """Add a lap, or replace the same lap without a test figure."""
    laps = read_laps(path) | {(lap.hash, lap.seed): lap}
    with replacing(path) as temporary:
        lines = [json.dumps(one.to_data(), ensure_ascii=False) for one in laps.values()]
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(laps: Sequence[Lap]) -> tuple[list[str], list[list[str]]]:
    """One row per lap, and the mean if there are several."""
    header = ["seed", "validation", "test", "teraflop", "validating", "epochs", "seconds"]
    rows = [
        [
            str(lap.seed),
            f"{lap.validation:.2f}",
            "–" if lap.test is None else f"{lap.test:.2f}",
            f"{lap.teraflop:.4g}",
            f"{lap.validating_teraflop:.3g}",
            f"{lap.epochs:g}",
            f"{lap.seconds:,.0f}",
        ]
        for lap in laps
    ]
    if len(laps) > 1:
        tests = [lap.test for lap in laps if lap.test is not None]
        shown = f"{sum(tests) / len(tests):.2f}" if len(tests) == len(laps) else "–"
        mean = sum(lap.validation for lap in laps) / len(laps)
        rows.append(["mean", f"{mean:.2f}", shown, "", "", "", ""])
    return header, rows
