"""Neural language modelling: running text becomes windows or lines, and a neural model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from elman.batches import Batches, Lines, Stream
from elman.errors import InputError
from elman.layers.inputs import Material
from elman.models import MODELS
from elman.models.neural import NeuralModel
from elman.models.weights import check_counts, outline, pack
from elman.runs.folder import write_run
from elman.runs.parts import Shapes, part_array
from elman.tasks.gradient_task import GradientTask
from elman.tasks.language_modelling.text_task import TextTask
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.trained import Trained
from elman.text.tokenizer import after_mark

_VALIDATION_WINDOW = 100  # tokens at a time; does not change the result
_FEWEST_PER_COLUMN = 200  # tokens of validation text


class LanguageModelling(TextTask, GradientTask):
    """Predict every token from the tokens before it."""

    recipe = "quick"
    needed_facts = ("lines", "empty_lines", "tokens")

    def batches(self, examples: np.ndarray, batch_size: int, seed: int | None) -> Batches | None:
        """Windows of the stream, or lines.

        The validation text is cut into columns too, for speed. So the first words of a column have
        less context than in the text.
        """
        if seed is None and len(examples) < 2:
            return None
        eos_id, training = self.tokenizer.eos_id, self.config.training
        given: dict[str, Any] = {} if seed is None else {"seed": seed}
        given["learned"] = self._learned(examples)
        if self.config.model.context == "line":
            return Lines(examples, batch_size=batch_size, eos_id=eos_id, **given)
        if seed is None:
            columns = max(1, min(batch_size, len(examples) // _FEWEST_PER_COLUMN))
            return Stream(examples, batch_size=columns, window=_VALIDATION_WINDOW, **given)
        window, jitter = training.window, training.window_jitter
        return Stream(examples, batch_size=batch_size, window=window, jitter=jitter, **given)

    def _learned(self, ids: np.ndarray) -> np.ndarray | None:
        """Which ids are trained on; None means all."""
        mark = self.config.training.learn_after
        if not mark:
            return None
        learned = after_mark(ids, self.tokenizer.single_id(mark), self.tokenizer.eos_id)
        if not learned.any():
            raise InputError(f"training.learn_after={mark!r}: no token of the text follows it")
        return learned

    def build(self, examples: Any = None) -> NeuralModel:
        family: type[NeuralModel] = MODELS.choose(self.config.kind)
        tokens, eos_id = self.tokenizer.tokens, self.tokenizer.eos_id
        return family.build(self.config.model, examples, tokens, eos_id)

    def fresh_model(self, examples: np.ndarray) -> NeuralModel:
        torch.manual_seed(self.config.seed)
        return self.build(examples)

    def outline(self, examples: np.ndarray) -> nn.Module | None:
        counts = torch.from_numpy(np.bincount(examples, minlength=len(self.tokenizer)))
        return self._outline(Material(counts, self.tokenizer.eos_id, self.tokenizer.tokens))

    def saved_outline(self, shapes: Shapes, file: Path, facts: dict[str, Any]) -> nn.Module | None:
        size = len(self.tokenizer)
        counts = torch.ones(size, dtype=torch.long)
        if shapes.get("counts") == (size,):  # otherwise the comparison reports it
            counts = torch.from_numpy(part_array(file, "counts"))
        return self._outline(Material(check_counts(counts), facts["model"]["eos_id"]))

    def _outline(self, material: Material) -> nn.Module | None:
        family = MODELS.choose(self.config.kind)
        return outline(lambda: family(self.config.model, material))

    def take_over(self, before: Trained, model: Any, warn: Callable[[str], None]) -> list[str]:
        if not isinstance(before.model, NeuralModel):
            raise InputError(f"--from {before.name}: this is not a neural model; give a neural run")
        return super().take_over(before, model, warn)


def quantise(trained: TrainedModel, path: str | Path, *, overwrite: bool = False) -> dict[str, int]:
    """Save the run with 8-bit weights; return the size of the weights before and after."""
    if not isinstance(trained.model, NeuralModel):
        raise InputError(
            f"{trained.name}: a count model has no weights to quantise; to make it smaller, train "
            "it without rare n-grams (--set model.cutoffs=…)"
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
