"""Save a language model with eight-bit numbers, as a new run folder."""

from pathlib import Path

from elman.runs.folder import write_run
from elman.tasks.language_modelling.trained import TrainedModel


def quantise(trained: TrainedModel, path: str | Path, *, overwrite: bool = False) -> dict[str, int]:
    """Save the run in eight bits; return the size of its arrays before and after."""
    contents = trained.contents()  # refuses a model with adapters
    before, after = contents["weights.safetensors"], trained.task.quantised(trained.model)
    contents |= {"weights.safetensors": after, "facts.json": {**trained.facts, "bits": 8}}
    write_run(Path(path), contents, overwrite=overwrite)
    return {
        "bytes_before": sum(array.nbytes for array in before.values()),
        "bytes_after": sum(array.nbytes for array in after.values()),
    }
