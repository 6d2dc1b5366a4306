"""The weights of a run folder, compared with its settings before they are in memory.

`check_shapes` is called by `read_run` when everything but arrays was read. Called by whatever loads
a run or goes on with one.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elman.errors import UNFIT, InputError, is_memory_error
from elman.models import MODELS, SENTENCE_MODELS
from elman.recipes import RunConfig, saved_config
from elman.runs.parts import part_array, part_shapes
from elman.tasks.plugins import explaining_what_is_missing
from elman.text import tokenizer_from_data

if TYPE_CHECKING:
    from torch import nn

    from elman.runs.parts import Shapes

_MEMORY_TIMES = 16  # of the weights: what optimizer, averages and a regime may remember at most
_MEMORY_BYTES = 100_000_000  # and beside that: random generators, carried states


def check_shapes(name: str, file: Path, contents: dict[str, Any]) -> None:
    """Refuse arrays that are not those of the model that the settings describe."""
    path = file.parent
    try:
        with explaining_what_is_missing(path, contents.get("facts.json")):
            # An older run may mean by its settings what the names of its arrays say.
            arrays = contents.get("weights.safetensors") or part_shapes(file)
            _compare(name, file, saved_config(contents["config.json"], arrays.keys()), contents)
    except KeyError as error:
        raise InputError(f"{path}: the run lacks {error}; train again") from None
    except UNFIT as error:
        if is_memory_error(error):
            raise
        raise InputError(f"{path}: the parts of the run do not fit ({error})") from None


def _compare(name: str, file: Path, config: RunConfig, contents: dict[str, Any]) -> None:
    if not hasattr(_family(config), "loss"):
        return  # counts are what they are
    model = _outline(config, file, contents)
    if model is None:
        return
    from elman.models.weights import compare_shapes

    if name in ("weights.safetensors", "last.safetensors"):
        compare_shapes(model, part_shapes(file))
    else:
        _check_memory(model, part_shapes(file))


def _family(config: RunConfig) -> Any:
    kind = config.kind
    return SENTENCE_MODELS[kind] if kind in SENTENCE_MODELS else MODELS.choose(kind)


def _outline(config: RunConfig, file: Path, contents: dict[str, Any]) -> nn.Module | None:
    from elman.models.weights import check_counts, outline

    if config.kind in SENTENCE_MODELS:
        from elman.tasks.example_task import TASKS

        task = TASKS.choose(config.kind).restored(contents["vocabulary.json"], config)
        return outline(task.build)
    import torch

    from elman.layers.inputs import Material

    size = len(tokenizer_from_data(contents["tokenizer.json"]))
    shapes = part_shapes(file)
    counts = torch.ones(size, dtype=torch.long)
    if shapes.get("counts") == (size,):  # else the comparison says so
        counts = torch.from_numpy(part_array(file, "counts"))
    material = Material(check_counts(counts), contents["facts.json"]["model"]["eos_id"])
    family = _family(config)
    return outline(lambda: family(config.model, material))


def _check_memory(model: nn.Module, shapes: Shapes) -> None:
    weights = sum(value.nbytes for value in model.state_dict().values())
    found = 8 * sum(math.prod(shape) for shape in shapes.values())
    if found > _MEMORY_TIMES * 2 * weights + _MEMORY_BYTES:
        raise ValueError(f"{found / 1e6:,.0f} MB of memory for {weights / 1e6:,.1f} MB of weights")
