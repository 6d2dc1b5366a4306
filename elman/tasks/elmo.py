"""A trained bidirectional model inside a task (ELMo): `--set model.elmo=RUN`.

Takes the settings of a task, gives its frozen language model. It is read from its own run once, as
the training begins. From then on its weights lie among those of the task, and its settings in the
task's `vocabulary.json`, so the run of the task is whole without it. Called by `sentence_task.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elman.config import as_data, build
from elman.errors import InputError
from elman.models.bidirectional import BidirectionalConfig, BidirectionalModel
from elman.recipes import saved_config
from elman.runs.folder import read_run
from elman.tasks.task import check_arrays, kind_in

_SOFTMAX = "softmax."  # its weights, which a task has no use for
_KIND = "bidirectional"
_PARTS = ("config.json", "vocabulary.json", "facts.json", "weights.safetensors")


class Elmo:
    """The settings of a bidirectional model, and its weights while they are not the task's yet."""

    def __init__(
        self, config: BidirectionalConfig, arrays: Mapping[str, np.ndarray] | None = None
    ) -> None:
        self.config = config
        self._arrays = arrays

    @classmethod
    def read(cls, run: str) -> Elmo:
        """The model in a run folder."""
        if not Path(run).exists():
            raise InputError(
                f"model.elmo={run}: no such run; train one with: elman train elmo-small --data … "
                f"--out {run}"
            )
        contents = read_run(Path(run), _PARTS, check_arrays)
        kind = kind_in(contents)
        if kind != _KIND:
            raise InputError(
                f"model.elmo={run}: is a run of the model {kind!r}; give one of the recipe elmo or "
                "elmo-small"
            )
        weights = contents["weights.safetensors"].items()
        arrays = {name: array for name, array in weights if not name.startswith(_SOFTMAX)}
        return cls(saved_config(contents["config.json"]).model, arrays)

    def build(self) -> BidirectionalModel:
        """The model, without a softmax; its weights are fresh if they are to be loaded later."""
        model = BidirectionalModel(self.config)
        if self._arrays is not None:
            model.load_arrays(self._arrays)
        return model

    def to_data(self) -> dict[str, Any]:
        """Its settings, as plain data."""
        return as_data(self.config)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Elmo:
        """Of these settings; its weights come with those of the task."""
        return cls(build(BidirectionalConfig, data, "elmo"))
