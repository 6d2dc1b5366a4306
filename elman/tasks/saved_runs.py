"""Run folders may come from anybody: facts checked by type, and misfits told in one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from elman.data_checks import number, section, text, texts, whole, wholes
from elman.errors import UNFIT, ElmanError, InputError, is_memory_error

_TEXTS = ("name", "unit")


@contextmanager
def explaining_misfits(path: Path) -> Iterator[None]:
    """Say in one line which part of a run is missing or does not fit the others."""
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
        raise InputError(f"{path}: the parts of the run do not fit ({error})") from None


def check_facts(facts: Any) -> dict[str, Any]:
    """The facts, or a ValueError or a KeyError that says what is wrong with them."""
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
    number(found.get("seconds", 0.0), "seconds")
    section(found.get("task", {}), "task")
    for sample in found.get("samples", []):
        for name, value in section(sample, "samples").items():
            text(value, f"sample {name}")
    return found


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
    """Where the text of a run came from, if that can be read again: no pipe, no device."""
    name: str = facts["data"]["name"]
    if os.path.exists(name) and not (os.path.isfile(name) or os.path.isdir(name)):
        raise InputError(f"{name}: is neither a file nor a folder, so it cannot be read again")
    return name
