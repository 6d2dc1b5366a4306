"""Where trained models come from, besides run folders: `hf:FOLDER` is a Hugging Face model.

`PLACES` maps the part before the colon to a function that takes the rest and returns a `Trained`.
Called by `tasks/task.py: load`, so every command that takes a run takes these names too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from elman.registry import Registry

PLACES = Registry(
    "place of models",
    {"hf": "elman.tasks.language_modelling.hugging_face:open_model"},
    group="places",
)


def find_place(run: str | Path) -> tuple[Callable[[str], Any], str] | None:
    """The function that opens a model from elsewhere, and its name there; None for a run folder."""
    scheme, colon, name = str(run).partition(":")
    if not colon or scheme not in PLACES or Path(run).exists():
        return None
    return PLACES[scheme], name
