"""Compare training regimes on the built-in grammar: the effect of each on exposure bias.

Takes names of regimes, gives a `RegimeResult` for each: small models that differ only in the
regime, with the same text, seeds and number of steps, measured on unseen text. Called by `elman
study regimes`.
"""

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from elman.errors import InputError
from elman.evaluation.exposure import (
    IMPOSSIBLE,
    Drift,
    Exposure,
    measure_drift,
    measure_exposure,
    rows_of_text,
)
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import train
from elman.text.grammar import elman_grammar, grammar_text
from elman.training.machine import Machine
from elman.training.regimes import REGIMES

SENTENCES = 1000  # of the training text
_HELD_OUT = 3000  # sentences for the measurement; no split of the corpus has their seed
_HELD_OUT_SEED = 99
_ROW = 60  # words read from the initial state
# Every regime, with options that make a difference in a short training.
SHOWN = (
    "teacher-forcing",
    "scheduled-sampling:final=0.75",
    "professor-forcing:learning_rate=0.01,fool_above=0.5,weight=0.1",
    "free-running",
    "minimum-risk",
)
# A continuous text, so that own words accumulate; the weights after the last step, so that every
# regime has completed its schedule.
_SETTINGS = (
    "model.hidden_size=48",
    "model.embedding_size=48",
    "model.dropout_input=0",
    "model.dropout_output=0",
)


@dataclass(frozen=True)
class RegimeRun:
    """One model."""

    seed: int
    perplexity: float  # of the validation text
    exposure: Exposure  # own words are drawn among the possible ones
    skipping: Exposure  # sentences end at an impossible word
    drift: Drift  # the rise of the loss when half of the words read are its own
    seconds: float  # of training


@dataclass(frozen=True)
class RegimeResult:
    """A regime over all seeds."""

    regime: str
    options: tuple[str, ...]
    runs: list[RegimeRun]

    def mean(self, value: Callable[[RegimeRun], float]) -> float:
        return statistics.fmean(map(value, self.runs))

    def error(self, value: Callable[[RegimeRun], float]) -> float:
        """The standard error of that mean; NaN with one seed."""
        values = [value(run) for run in self.runs]
        return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def regimes(
    names: Iterable[str] = (),
    *,
    seeds: Sequence[int] = (1, 2, 3),
    sentences: int = SENTENCES,
    epochs: float = 15.0,
    overrides: Iterable[str] = (),
    progress: Callable[[str], None] = lambda what: None,
) -> list[RegimeResult]:
    """Train a small model per regime and seed, and measure its exposure bias.

    A name may carry options: "scheduled-sampling:final=0.8,schedule=exponential".
    """
    chosen = [_parse(name) for name in (list(names) or SHOWN)]
    if sentences < 50:
        raise InputError(f"--sentences {sentences}: must be at least 50")
    results = []
    for regime, options in chosen:
        runs = []
        for seed in seeds:
            progress(f"{regime}, seed {seed}")
            settings = [
                *_SETTINGS,
                f"training.epochs={epochs}",
                f"training.validate_every={epochs}",
                f"training.regime={regime}",
                *(f"training.regime_options.{option}" for option in options),
                *overrides,
            ]
            runs.append(_run(settings, seed, sentences))
        results.append(RegimeResult(regime, options, runs))
    return results


def limit() -> float:
    """The perplexity of the grammar itself on the validation text."""
    lines = grammar_text("valid").splitlines()
    log_probs = [value for line in lines for value in elman_grammar().log_probs(line.split())]
    return math.exp(-statistics.fmean(log_probs))


def _parse(name: str) -> tuple[str, tuple[str, ...]]:
    regime, _, options = name.partition(":")
    REGIMES.check(regime)
    return regime, tuple(option for option in options.split(",") if option)


def _run(settings: list[str], seed: int, sentences: int) -> RegimeRun:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        text = grammar_text("train", sentences, seed)
        Path(folder, "train.txt").write_text(text, encoding="utf-8")
        Path(folder, "valid.txt").write_text(grammar_text("valid"), encoding="utf-8")
        trained = train(
            "small",
            data=folder,
            overrides=settings,
            seed=seed,
            machine=Machine(),
            kind=TrainedModel,
        )
    seconds = time.perf_counter() - started
    held_out = grammar_text("test", _HELD_OUT, _HELD_OUT_SEED)
    found = {
        way: measure_exposure(trained.model, trained.tokenizer, held_out, impossible=way, seed=seed)
        for way in IMPOSSIBLE
    }
    ids = trained.tokenizer.encode(held_out)
    rows = rows_of_text(ids, trained.tokenizer.eos_id, _ROW)
    drift = measure_drift(trained.model, rows, seed=seed)
    perplexity = trained.facts["validation"]["perplexity"]
    return RegimeRun(seed, perplexity, found["redraw"], found["skip"], drift, seconds)
