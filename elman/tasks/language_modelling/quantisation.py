"""A neural language model with weights of eight bits: a run folder of a quarter of the size.

Takes a `TrainedModel` and a path, writes a run folder that every command reads like any other. What
training needs to go on (optimizer, position) is not in it. Called by `elman quantise`.
"""

from __future__ import annotations

from pathlib import Path

from elman.errors import InputError
from elman.models.neural import NeuralModel
from elman.models.weights import pack
from elman.runs.folder import write_run
from elman.tasks.language_modelling.trained import TrainedModel


def quantise(trained: TrainedModel, path: str | Path, *, overwrite: bool = False) -> dict[str, int]:
    """Write the run with eight-bit weights; bytes of the weights before and after."""
    if not isinstance(trained.model, NeuralModel):
        raise InputError(
            f"{trained.name}: is a count model, which has no weights to quantise; for a smaller one"
            " leave out rare n-grams (--set model.cutoffs=…)"
        )
    before = trained.model.arrays()
    after = pack(before)
    contents = {**trained.contents(), "weights.safetensors": after}
    contents["facts.json"] = {**trained.facts, "bits": 8}
    write_run(Path(path), contents, overwrite=overwrite)
    return {
        "bytes_before": sum(array.nbytes for array in before.values()),
        "bytes_after": sum(array.nbytes for array in after.values()),
    }
