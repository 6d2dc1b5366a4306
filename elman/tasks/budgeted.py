"""Keep a training within its budget: what a run folder stores of it, and the pacer of the loop.

Called by `gradient_task.py`. `facts.json` has the section `budget`: the budget, the time used so
far, the settings that were chosen and the part of the validation data that is used. A run that was
stopped continues with the rest of its budget; a new budget extends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elman.data_checks import number, section, whole
from elman.errors import InputError
from elman.tasks.sizing import Choice
from elman.tasks.task import Lesson
from elman.training.budget import Allowance, Budget
from elman.training.pacing import Pacer
from elman.training.probe import Speed
from elman.training.trainer import Trainer

_BASELINE_SHARE = 0.05  # of the budget, for a model to compare with
_NO_LIMIT = 1e9  # epochs


@dataclass(frozen=True)
class Pace:
    """The allowance of a training, and its pacer if the budget is a time."""

    allowance: Allowance
    pacer: Pacer | None


def pace_of(choice: Choice, allowance: Allowance) -> Pace:
    """The pace of a training with the chosen settings."""
    ending = choice.ending_seconds
    return Pace(allowance, _pacer(allowance, choice.validation_seconds, ending, choice.most_epochs))


def _pacer(
    allowance: Allowance, validation_seconds: float, ending_seconds: float, most_epochs: float
) -> Pacer | None:
    seconds = allowance.budget.seconds
    if seconds is None:
        return None
    return Pacer(
        allowance.started + seconds,
        validation_seconds=validation_seconds,
        ending_seconds=ending_seconds,
        most_epochs=most_epochs,
    )


def budget_facts(choice: Choice, allowance: Allowance) -> dict[str, Any]:
    """What the run folder stores."""
    budget = allowance.budget
    return {
        "seconds": budget.seconds,
        "teraflop": budget.teraflop,
        "used": round(allowance.used, 1),
        "settings": choice.settings,
        "validated": choice.validated,
        "most_epochs": choice.most_epochs,
    }


def compare_with_baseline(lesson: Lesson, allowance: Allowance) -> float | None:
    """The validation perplexity of an n-gram model, where one takes little of the budget."""
    seconds = allowance.budget.seconds
    found: float | None = lesson.task.baseline(
        lesson, None if seconds is None else _BASELINE_SHARE * seconds
    )
    return found


# Resuming -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kept:
    """The section `budget` of the facts of a run, checked."""

    budget: Budget
    used: float
    validated: int
    most_epochs: float


def kept_budget(path: Path, facts: dict[str, Any]) -> _Kept | None:
    """The budget that a run was started with; None if it had none."""
    if "budget" not in facts:
        return None
    try:
        data = section(facts["budget"], "budget")
        seconds, teraflop = data.get("seconds"), data.get("teraflop")
        return _Kept(
            Budget(
                None if seconds is None else float(number(seconds, "seconds")),
                None if teraflop is None else float(number(teraflop, "teraflop")),
            ),
            float(number(data["used"], "used")),
            whole(data["validated"], "validated"),
            float(number(data["most_epochs"], "most_epochs")),
        )
    except (KeyError, ValueError) as error:
        raise InputError(f"{path}: its budget cannot be read ({error}); train again") from None


def rest_of(kept: _Kept, started: float) -> Allowance:
    """The allowance of a run that continues with what is left of its budget."""
    return Allowance(kept.budget, started - kept.used)


def continue_pace(kept: _Kept, trainer: Trainer, started: float) -> Pace:
    """The pace of a stopped run that continues with the rest of its budget."""
    allowance = rest_of(kept, started)
    ending = allowance.budget.ending_seconds(trainer.model.count_parameters())
    return Pace(allowance, _pacer(allowance, 0.0, ending, kept.most_epochs))


def extend_within(path: Path, trainer: Trainer, allowance: Allowance, speed: Speed | None) -> Pace:
    """Lengthen a run, finished or not, by a new budget; its schedule follows the new length."""
    if trainer.schedule.finished:
        raise InputError(
            f"{path}: its schedule ended the training; start from these weights with: "
            "elman train RECIPE --from"
        )
    trainer.counters.waited = 0  # a new budget is a new chance
    done, tokens = trainer.epochs_done, trainer.batches.tokens_per_epoch
    if speed is None:
        steps = max(trainer.counters.step, 1)
        per_token = trainer.model.multiplications(round(max(done * tokens, 1) / steps))
        more = (allowance.budget.teraflop or 0.0) * 1e12 / (6 * per_token * tokens)
        trainer.set_epochs(done + more)
        return Pace(allowance, None)
    validated = 0 if trainer.validation is None else trainer.validation.tokens_per_epoch
    once = validated / speed.validation_speed
    per_epoch = tokens / speed.tokens_per_second + once / trainer.config.validate_every
    ending = allowance.budget.ending_seconds(trainer.model.count_parameters())
    left = max(allowance.left - ending - once, 0.0)
    trainer.set_epochs(max(done + left / per_epoch, done * (1 + 1e-9)))
    return Pace(allowance, _pacer(allowance, once, ending, _NO_LIMIT))
