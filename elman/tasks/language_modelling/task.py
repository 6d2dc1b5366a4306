"""Neural language modelling: running text becomes windows or lines, and a neural model."""

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from elman.batches import Batches, Lines, Stream
from elman.errors import InputError
from elman.layers.inputs import Material
from elman.models import MODELS
from elman.models.neural import NeuralModel
from elman.models.weights import check_counts, outline, pack
from elman.recipes import RunConfig, load_recipe
from elman.runs.parts import Shapes, part_array
from elman.tasks.fine_tuning import layer_settings
from elman.tasks.gradient_task import GradientTask
from elman.tasks.language_modelling.text_task import TextTask
from elman.tasks.pretrained import vectors_of_tokens
from elman.tasks.task import Lesson, Told
from elman.tasks.trained import Trained
from elman.tasks.trivial import Trivial, token_frequencies
from elman.text.corpora import Corpus
from elman.text.raw_words import RawWords
from elman.text.tokenizer import after_mark, count_ids
from elman.text.words import Words

_VALIDATION_WINDOW = 100  # tokens at a time; does not change the result
_SCHEDULES = ("partial_shuffle", "window_start", "batch_start")  # of a stream
_FEWEST_PER_COLUMN = 200  # tokens of validation text
_REFERENCE_TOKENS = 1_000_000  # of a text for which twice the width of a recipe is of use
_FULL_WORDS = 3000  # the largest vocabulary for which all words are trained on
_SAMPLES = 1000  # words of a sampled softmax
_COUNTING_SECONDS = 2.0  # per million tokens
_REGULARISATION = (  # settings that matter less for fewer epochs
    "dropout_words",
    "dropout_input",
    "dropout_hidden",
    "dropout_output",
    "weight_drop",
    "activation_penalty",
    "temporal_penalty",
)


class LanguageModelling(TextTask, GradientTask):
    """Predict every token from the tokens before it."""

    recipe = "quick"
    needed_facts = ("lines", "empty_lines", "tokens")

    @classmethod
    def prepare(
        cls, corpus: Corpus, config: RunConfig, told: Told, known: Self | None = None
    ) -> Lesson:
        """Also read the word vectors that the settings name."""
        lesson = super().prepare(corpus, config, told, known)
        if known is None and config.model.vectors:
            told("reading vectors")
            given = vectors_of_tokens(
                config.model, lesson.task.tokenizer, lesson.notes.append, lesson.warnings.append
            )
            lesson.task.pretrained = given
        return lesson

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
            self._refuse_schedules()
            return Lines(examples, batch_size=batch_size, eos_id=eos_id, **given)
        if seed is None:
            columns = max(1, min(batch_size, len(examples) // _FEWEST_PER_COLUMN))
            return Stream(examples, batch_size=columns, window=_VALIDATION_WINDOW, **given)
        return Stream(
            examples,
            batch_size=batch_size,
            window=training.window,
            jitter=training.window_jitter,
            **{name: getattr(training, name) for name in _SCHEDULES},
            **given,
        )

    def _refuse_schedules(self) -> None:
        for name in _SCHEDULES:
            if value := getattr(self.config.training, name):
                raise InputError(
                    f"training.{name}={value}: needs a stream of text; set model.context=stream"
                )

    def _learned(self, ids: np.ndarray) -> np.ndarray | None:
        """Which ids are trained on; None means all."""
        mark = self.config.training.learn_after
        if not mark:
            return None
        learned = after_mark(ids, self.tokenizer.single_id(mark), self.tokenizer.eos_id)
        if not learned.any():
            raise InputError(f"training.learn_after={mark!r}: no token of the text follows it")
        return learned

    @classmethod
    def settings_from(cls, before: Trained, config: RunConfig) -> dict[str, Any] | None:
        """The sizes of a language model with the same settings."""
        alike = type(before.config.model) is type(config.model)
        return layer_settings(before, config) if alike else None

    def build(self, examples: Any = None) -> NeuralModel:
        family: type[NeuralModel] = MODELS.choose(self.config.kind)
        tokens, eos_id = self.tokenizer.tokens, self.tokenizer.eos_id
        return family.build(self.config.model, examples, tokens, eos_id)

    def fresh_model(self, examples: np.ndarray) -> NeuralModel:
        torch.manual_seed(self.config.seed)
        model: NeuralModel = self.with_vectors(self.build(examples))
        return model

    def outline(self, examples: np.ndarray) -> nn.Module | None:
        counts = torch.from_numpy(count_ids(examples, len(self.tokenizer)))
        return self._outline(Material(counts, self.tokenizer.eos_id, self.tokenizer.tokens))

    def saved_outline(self, shapes: Shapes, file: Path, facts: dict[str, Any]) -> nn.Module | None:
        size = len(self.tokenizer)
        counts = torch.ones(size, dtype=torch.long)
        if shapes.get("counts") == (size,):  # otherwise the comparison reports it
            counts = torch.from_numpy(part_array(file, "counts"))
        return self._outline(Material(check_counts(counts), facts["model"]["eos_id"]), shapes)

    def _outline(self, material: Material, shapes: Shapes | None = None) -> nn.Module | None:
        family = MODELS.choose(self.config.kind)

        def build() -> NeuralModel:
            model: NeuralModel = family(self.config.model, material)
            model.make_room(shapes or {})
            return model

        return outline(build)

    def quantised(self, model: NeuralModel, bits: int) -> dict[str, np.ndarray]:
        """Every float matrix in eight bits."""
        if bits != 8:
            raise InputError(f"--bits {bits}: a neural model has 32 bits already; leave out --bits")
        return pack(model.arrays())

    # Budgets and plans ----------------------------------------------------------------------------

    def of_whole(self, lesson: Lesson, share: float) -> Lesson:
        """Add as many words as the whole text will have, by Heaps' law: V = K · n^β."""
        tokenizer = self.tokenizer
        if not isinstance(tokenizer, Words | RawWords):
            return lesson  # sub-words, characters: as many for any text
        ids = lesson.train
        half, all_ = len(np.unique(ids[: len(ids) // 2])), len(np.unique(ids))
        growth = share ** -math.log2(max(all_ / half, 1.0))
        limit = self.config.text.vocabulary_size or math.inf
        more = round(min(growth * len(tokenizer), max(limit, len(tokenizer)))) - len(tokenizer)
        known = tokenizer.words if isinstance(tokenizer, RawWords) else tokenizer.tokens
        words = [*known, *(f"{tokenizer.tokens[-1]}·{n}" for n in range(more))]
        task = copy.copy(self)
        task.tokenizer = type(tokenizer)(words, tokenizer.lowercase)
        return replace(lesson, task=task)

    def widest(self, tokens: int) -> float:
        """Twice the width of the recipe for a million tokens; less for less text."""
        return 2.0 * (tokens / _REFERENCE_TOKENS) ** 0.25

    def cheaper(self) -> dict[str, Any]:
        """The full softmax for small vocabularies, of which a sample would be a large part;
        otherwise a sampled one, which trains on a fraction of the words.
        """
        model, size = self.config.model, len(self.tokenizer)
        if model.output not in ("full", "sampled"):
            return {}
        output = "full" if size <= _FULL_WORDS else "sampled"
        if output == model.output:
            return {}
        options = {"samples": _SAMPLES} if output == "sampled" else {}
        return {"model.output": output, "model.output_options": options}

    def regularisation(self, config: RunConfig, epochs: float) -> dict[str, Any]:
        """Less dropout for few epochs: text that is read once or twice is not learned by heart."""
        share = min(1.0, epochs / config.training.epochs)
        rates = {name: getattr(config.model, name, 0.0) for name in _REGULARISATION}
        return {f"model.{name}": round(share * rate, 2) for name, rate in rates.items() if rate}

    def baseline(self, lesson: Lesson, seconds: float | None) -> float | None:
        """The perplexity of a 5-gram with Kneser–Ney smoothing on the same tokens."""
        takes = _COUNTING_SECONDS * len(lesson.train) / 1e6
        if lesson.valid is None or (seconds is not None and takes > seconds):
            return None
        config = load_recipe("ngram").model
        size, eos_id = len(self.tokenizer), self.tokenizer.eos_id
        model = MODELS["ngram"].fit(lesson.train, config, vocabulary_size=size, eos_id=eos_id)
        nats = -float(model.log_probs(lesson.valid).mean())
        return math.exp(nats) if math.isfinite(nats) else None

    def trivial(self, train: np.ndarray, valid: np.ndarray) -> Trivial | None:
        if self.config.training.learn_after:
            return None  # only some tokens are judged
        size = len(self.tokenizer)
        return token_frequencies(count_ids(train, size), count_ids(valid, size))

    def take_over(self, before: Trained, model: Any, warn: Callable[[str], None]) -> list[str]:
        if not isinstance(before.model, NeuralModel):
            raise InputError(f"--from {before.name}: this is not a neural model; give a neural run")
        return super().take_over(before, model, warn)
