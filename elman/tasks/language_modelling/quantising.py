"""Save a language model with shorter numbers, as a new run folder."""

from pathlib import Path

from elman.errors import InputError
from elman.runs.folder import write_run
from elman.tasks.language_modelling.trained import TrainedModel


def quantise(
    trained: TrainedModel, path: str | Path, *, bits: int = 8, overwrite: bool = False
) -> dict[str, int]:
    """Save the run with 8 or 32 bits per number; return the size of its arrays before and after."""
    if bits not in (8, 32):
        raise InputError(f"--bits {bits}: choose 8 or 32")
    contents = trained.contents()  # refuses a model with adapters
    before, after = contents["weights.safetensors"], trained.task.quantised(trained.model, bits)
    contents |= {"weights.safetensors": after, "facts.json": {**trained.facts, "bits": bits}}
    write_run(Path(path), contents, overwrite=overwrite)
    return {
        "bytes_before": sum(array.nbytes for array in before.values()),
        "bytes_after": sum(array.nbytes for array in after.values()),
    }
