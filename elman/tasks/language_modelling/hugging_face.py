"""A Hugging Face causal model as a trained language model: `hf:FOLDER`.

Takes a folder or the name of a model in the user's cache, gives a `TrainedModel`, so that every
question about a language model can be asked of GPT-2 as of an n-gram model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.formats.causal_folder import open_causal
from elman.models.contract import LanguageModel
from elman.recipes import RunConfig
from elman.tasks.language_modelling.task import LanguageModelling
from elman.tasks.language_modelling.trained import TrainedModel
from elman.text.tokenizer import TextConfig


class HuggingFaceModel(TrainedModel):
    """A pretrained transformer with its tokenizer."""

    about = "a Hugging Face language model"

    def _task_name(self) -> str:
        return "language-modelling"

    def around(self, model: LanguageModel, cut_files: frozenset[str]) -> TrainedModel:
        files = cut_files | self.cut_files
        return HuggingFaceModel(self.task, model, self.facts, self.name, files)

    def contents(self) -> dict[str, Any]:
        raise InputError(f"{self.name}: stays in its own folder; it cannot be saved as a run")


def open_model(name: str) -> HuggingFaceModel:
    """Open the model of a folder, or a model in the user's cache."""
    if not name:
        raise InputError("hf: name a folder or a model in your cache, as in hf:FOLDER")
    model, tokenizer, folder = open_causal(name)
    config = RunConfig(
        recipe="hf",
        seed=0,
        text=TextConfig(tokenizer=tokenizer.name, normalise="none"),
        kind=type(model.module).__name__,
        model=None,
    )
    facts = {
        "model": {**model.describe(), "eos_id": tokenizer.eos_id},
        "data": {"name": f"hf:{name}", "sha256": {}, "notes": []},
        "validation": None,
    }
    opened = HuggingFaceModel(
        LanguageModelling(config, tokenizer), model, facts, f"hf:{Path(name).name}"
    )
    opened.folder = folder
    return opened
