"""From a run folder to a trained model: facts are checked by type, and errors take one line.

Run folders may come from anybody, so nothing in them is trusted.

The facts of a run name the components from other packages (a cell, a smoother, an optimizer), such
as "cell leaky" from "leaky-cell 0.1". They are used only in the message when one is missing:
nothing is imported or installed because a run folder names it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elman.data_checks import number, section, text, texts, whole, wholes
from elman.errors import UNFIT, ElmanError, InputError, UnknownName, is_memory_error
from elman.models import MODELS
from elman.recipes import RunConfig, saved_config
from elman.registry import origins
from elman.runs.parts import part_shapes
from elman.tasks import TASKS
from elman.tasks.trained import Trained

if TYPE_CHECKING:
    from elman.tasks.task import Task

_TEXTS = ("name", "unit")
_PACKAGE = re.compile(
    r"[\w.-]{1,100} [\w.+!-]{1,50}"
)  # this text from the folder is printed, so keep it harmless


@contextmanager
def explaining_misfits(path: Path) -> Iterator[None]:
    """Report in one line which part of a run is missing or does not fit the others."""
    try:
        yield
    except InputError:
        raise
    except ElmanError as error:  # weights that are not finite
        raise InputError(f"{path}: {error}") from None
    except KeyError as error:
        raise InputError(f"{path}: the run lacks {error}; train again") from None
    except UNFIT as error:
        if is_memory_error(error):
            raise
        raise InputError(f"{path}: the files of the run do not match ({error})") from None


def check_facts(facts: Any) -> dict[str, Any]:
    """Check the facts; a ValueError or a KeyError names the problem."""
    found = section(facts, "facts.json")
    _check_data(section(found["data"], "data"))
    _check_model(section(found["model"], "model"))
    if found["validation"] is not None:
        for name, value in section(found["validation"], "validation").items():
            if value is not None:
                number(value, f"validation {name}")
    for name, value in section(found.get("training", {}), "training").items():
        if not isinstance(value, bool):
            number(value, f"training {name}")
    _check_calibration(section(found.get("calibration", {}), "calibration"))
    number(found.get("seconds", 0.0), "seconds")
    section(found.get("task", {}), "task")
    for sample in found.get("samples", []):
        for name, value in section(sample, "samples").items():
            text(value, f"sample {name}")
    return found


def _check_calibration(calibration: dict[str, Any]) -> None:
    for name, value in calibration.items():
        number(value, f"calibration {name}")
    temperature = calibration.get("temperature", 1.0)
    if not 0 < temperature < math.inf:
        raise ValueError(f"calibration temperature is {temperature}, not a positive number")


def require_facts(path: Path, facts: dict[str, Any], *names: str) -> None:
    """An InputError if facts on the data of a training are missing that are told at its end."""
    missing = [name for name in names if name not in facts["data"]]
    if missing or "seconds" not in facts:
        lacking = ", ".join(missing or ["seconds"])
        raise InputError(f"{path}: the run lacks {lacking}; train again")


def _check_data(data: dict[str, Any]) -> None:
    for name, digest in section(data["sha256"], "sha256").items():
        text(digest, f"sha256 of {name}")
    text(data["name"], "name")
    for name, value in data.items():
        if name == "notes":
            texts(value, name)
        elif name in _TEXTS:
            text(value, name)
        elif name == "columns":
            for role, column in section(value, name).items():
                text(column, f"column {role}")
        elif name != "sha256":
            whole(value, name)


def _check_model(model: dict[str, Any]) -> None:
    for name in ("vocabulary_size", "eos_id", "parameters"):
        whole(model.get(name, 0), name)
    texts(model.get("notes", []), "notes")
    wholes(model.get("ngrams", []), "ngrams")
    for row in model.get("discounts") or []:
        for discount in row:
            number(discount, "discounts")


def recorded_source(facts: dict[str, Any]) -> str:
    """The path of the run's data, if it can be read again: no pipe, no device."""
    name: str = facts["data"]["name"]
    if os.path.exists(name) and not (os.path.isfile(name) or os.path.isdir(name)):
        raise InputError(f"{name}: is neither a file nor a folder, so it cannot be read again")
    return name


def keep_plugins(facts: dict[str, Any], config: RunConfig) -> None:
    """Store the packages of components in the facts of a run, if there are any."""
    if found := origins(config.to_data()):
        facts["packages"] = found


@contextmanager
def explaining_what_is_missing(path: Path, facts: Any) -> Iterator[None]:
    """Report which package provided an unknown component of the run."""
    try:
        yield
    except UnknownName as error:
        kept = facts.get("packages") if isinstance(facts, dict) else None
        package = kept.get(error.member) if isinstance(kept, dict) else None
        what, _, name = error.member.rpartition(" ")
        if package == "":
            raise InputError(
                f"{path}: its {what} {name!r} was added in Python; add it again before loading, "
                "or make it a package with an entry point"
            ) from None
        if not isinstance(package, str) or not _PACKAGE.fullmatch(package):
            raise InputError(f"{path}: {error}") from None
        raise InputError(
            f"{path}: its {what} {name!r} is not part of elman; it came with {package}, "
            "which is not installed here: pip install it"
        ) from None


# From a folder to a trained model -----------------------------------------------------------------


def task_of(kind: str) -> type[Task]:
    """The task of a kind of model."""
    found: type[Task] = TASKS.choose(MODELS.choose(kind).task).load()
    return found


def check_kind(what: str, found: str, wanted: type[Trained]) -> None:
    """Refuse a kind of model whose trained class differs from the expected one."""
    if not issubclass(task_of(found).trained_class, wanted):
        article = "an" if found.startswith(("a", "e", "n")) else "a"
        commands = [f"elman {name}" for name in (*TASKS[MODELS[found].task].questions, "evaluate")]
        raise InputError(
            f"{what}: is {article} {found}, not {wanted.about}; use it with {', '.join(commands)}"
        )


def kind_in(contents: dict[str, Any]) -> str:
    """The kind of model in the contents of a run folder; "" if they contain no settings."""
    config = contents.get("config.json")
    model = config.get("model") if isinstance(config, dict) else None
    return str(model.get("kind", "")) if isinstance(model, dict) else ""


def saved_run(path: Path, contents: dict[str, Any]) -> Trained:
    """Build the trained model from the contents of a run folder."""
    with explaining_misfits(path):
        with explaining_what_is_missing(path, contents["facts.json"]):
            config = saved_config(contents["config.json"], contents["weights.safetensors"].keys())
            kind = task_of(config.kind)
            task = kind.restored(contents[kind.part], config)
        facts = check_facts(contents["facts.json"])
        model = task.restore_model(contents["weights.safetensors"], facts["model"])
    return task.trained_class(task, model, facts, str(path))


def check_arrays(name: str, file: Path, contents: dict[str, Any]) -> None:
    """Refuse arrays that do not fit the model in the settings.

    Called by `read_run` when everything except the arrays was read.
    """
    with (
        explaining_misfits(file.parent),
        explaining_what_is_missing(file.parent, contents.get("facts.json")),
    ):
        # In an older run, the names of its arrays may decide what its settings mean.
        arrays = contents.get("weights.safetensors") or part_shapes(file)
        config = saved_config(contents["config.json"], arrays.keys())
        task_of(config.kind).check_arrays(name, file, config, contents)
