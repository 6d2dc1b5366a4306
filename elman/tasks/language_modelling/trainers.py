"""Settings and a text to a trainer: the model, and the batches that it learns and is validated on.

What training, resuming and planning build, so that a plan is of the very training. Called by
`neural_training.py` and `planning.py`.
"""

from __future__ import annotations

import numpy as np
import torch

from elman.batches import Batches, Lines, Stream
from elman.errors import InputError
from elman.layers.inputs import Material
from elman.models import MODELS
from elman.models.neural import NeuralModel
from elman.models.weights import outline
from elman.recipes import RunConfig
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.language_modelling.training_text import TrainingText
from elman.text.marks import after_mark
from elman.text.tokenizer import Tokenizer
from elman.training.memory import refuse_too_large
from elman.training.processes import Processes
from elman.training.trainer import Trainer

_VALIDATION_WINDOW = 100  # tokens at a time; of no consequence for the result
_FEWEST_PER_COLUMN = 200  # tokens of validation text


def build_trainer(
    config: RunConfig,
    text: TrainingText,
    device: torch.device,
    processes: Processes | None = None,
    before: TrainedModel | None = None,
) -> Trainer:
    """Model and batches that the settings ask for; with the weights of the run `before`, if any."""
    processes = processes or Processes()
    tokenizer = text.tokenizer
    family = MODELS.choose(config.kind)
    refuse_too_large(outline_model(config, text), config.training)
    torch.manual_seed(config.seed)
    model = family.build(config.model, text.ids, tokenizer.tokens, tokenizer.eos_id)
    if before is not None:
        _take_over_weights(model, before)
        torch.manual_seed(config.seed)  # as if nothing had been drawn for weights
    batches = make_batches(config, text.ids, tokenizer)
    validation = _validation_batches(config, text)
    model.to(device)
    processes.copy_first(model.state_dict().values())  # other machines may have drawn others
    processes.seed(config.seed)
    return Trainer(model, batches, config.training, validation, processes)


def outline_model(config: RunConfig, text: TrainingText) -> torch.nn.Module | None:
    """The model without numbers, if it can be had, before anything is built."""
    tokenizer = text.tokenizer
    counts = torch.from_numpy(np.bincount(text.ids, minlength=len(tokenizer)))
    material = Material(counts, tokenizer.eos_id, tokenizer.tokens)
    family = MODELS.choose(config.kind)
    return outline(lambda: family(config.model, material))


def _take_over_weights(model: NeuralModel, before: TrainedModel) -> None:
    if not isinstance(before.model, NeuralModel):
        raise InputError(f"--from {before.name}: is not a neural model, so it has no such weights")
    try:
        model.load_arrays(before.model.arrays())
    except ValueError as error:
        raise InputError(
            f"--from {before.name}: its model is another than this recipe's ({error})"
        ) from None


def make_batches(config: RunConfig, ids: np.ndarray, tokenizer: Tokenizer) -> Batches:
    """The batches that the settings ask for."""
    training = config.training
    size, seed, learned = training.batch_size, config.seed, _learned(config, ids, tokenizer)
    if config.model.context == "line":
        return Lines(ids, batch_size=size, eos_id=tokenizer.eos_id, seed=seed, learned=learned)
    window, jitter = training.window, training.window_jitter
    return Stream(ids, batch_size=size, window=window, jitter=jitter, seed=seed, learned=learned)


def _validation_batches(config: RunConfig, text: TrainingText) -> Batches | None:
    """Side by side, for speed: a column's first words have less before them than in the text."""
    ids, tokenizer = text.validation_ids(), text.tokenizer
    if ids is None or len(ids) < 2:
        return None
    size, learned = config.training.batch_size, _learned(config, ids, tokenizer)
    if config.model.context == "line":
        return Lines(ids, batch_size=size, eos_id=tokenizer.eos_id, learned=learned)
    columns = max(1, min(size, len(ids) // _FEWEST_PER_COLUMN))
    return Stream(ids, batch_size=columns, window=_VALIDATION_WINDOW, learned=learned)


def _learned(config: RunConfig, ids: np.ndarray, tokenizer: Tokenizer) -> np.ndarray | None:
    """Which ids are learned, where not all of them are."""
    mark = config.training.learn_after
    if not mark:
        return None
    learned = after_mark(ids, tokenizer.single_id(mark), tokenizer.eos_id)
    if not learned.any():
        raise InputError(f"training.learn_after={mark!r}: nothing in the text stands after it")
    return learned
