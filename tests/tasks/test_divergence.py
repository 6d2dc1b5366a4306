"""Learning rates that are too high and weights that are not finite: one clear line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pairs import train_translator, write_parallel
from tagged import train_tagger, write_tagged
from tiny import history, train_tiny

from elman.errors import ElmanError, InputError
from elman.models.tagger import Tagger
from elman.runs.folder import read_run, write_run
from elman.tasks.task import load
from elman.training.loop import Loop
from elman.training.regimes.own_words import draw

pytestmark = pytest.mark.usefixtures("without_curves")


@pytest.mark.parametrize("rate", ["1e3", "1e6", "1e30"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_rate_far_too_high_ends_with_an_error(
    data: Path, out: Path, rate: str, optimizer: str
) -> None:
    settings = [f"training.learning_rate={rate}", f"training.optimizer={optimizer}"]
    with pytest.raises(ElmanError, match=r"training diverged.* after 3 re(starts|turns)") as error:
        train_tiny(data, out, *settings)
    assert error.value.exit_code == 1
    assert load(out).perplexity("the cat\n") < 1000  # the run holds weights of before
    factors = [record["rate_factor"] for record in history(out) if "rate_factor" in record]
    assert factors[-1] <= 0.125


def test_it_ends_when_every_step_is_saved_too(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Loop, "_saving_due", lambda self: True)
    with pytest.raises(ElmanError, match="training diverged"):
        train_tiny(data, out, "training.learning_rate=1e6")
    assert load(out).perplexity("the cat\n") < 1000


def test_a_lower_rate_from_the_start_can_mend_it(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = train_tiny(data, out, "training.learning_rate=100", "training.clip=1.0")
    told = [record for record in history(out) if "problem" in record]
    assert told
    assert told[0]["step"] == 0  # back at the start
    assert "a uniform guess has" in told[0]["problem"]
    assert trained.facts["validation"]["perplexity"] < len(trained.tokenizer)


def test_validation_text_unlike_the_training_text_is_no_divergence(data: Path, out: Path) -> None:
    """Training succeeds, but validation is worse than a uniform guess."""
    lines = (data / "train.txt").read_text().splitlines()
    (data / "valid.txt").write_text("\n".join(" ".join(line.split()[::-1]) for line in lines))
    trained = train_tiny(data, out, "training.epochs=40", "training.validate_every=40")
    assert trained.facts["validation"]["perplexity"] > 1.2 * len(trained.tokenizer)
    assert not [record for record in history(out) if "problem" in record]


@pytest.mark.parametrize(
    "regime", ["free-running", "scheduled-sampling", "professor-forcing", "minimum-risk"]
)
def test_regimes_that_draw_words_recover_like_teacher_forcing(
    data: Path, out: Path, regime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance, spoiled = Loop._advance, []

    def spoil(self: Loop) -> None:
        if self.trainer.counters.step == 8 and not spoiled:
            spoiled.append(True)
            for parameter in self.trainer.model.parameters():
                parameter.data.fill_(math.nan)
        advance(self)

    monkeypatch.setattr(Loop, "_advance", spoil)
    trained = train_tiny(data, out, f"training.regime={regime}")
    told = [record["diverged_at_step"] for record in history(out) if "problem" in record]
    assert told == [9]
    assert trained.facts["training"]["finished"] is True


def test_words_are_drawn_even_from_what_is_no_distribution() -> None:
    log_probs = torch.tensor([[math.nan, 0.0, 0.0], [-math.inf] * 3, [-math.inf, 0.0, -math.inf]])
    torch.manual_seed(0)
    assert draw(log_probs)[2] == 1


def test_weights_that_are_not_finite_are_never_saved(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NaN in the weights, for any reason: the previous checkpoint stays."""
    advance, spoiled = Loop._advance, []

    def spoil(self: Loop) -> None:
        advance(self)
        if self.trainer.counters.step == 8 and not spoiled:
            spoiled.append(True)
            next(self.trainer.model.parameters()).data[-1] = math.nan  # a word that may not come
            self._save()

    monkeypatch.setattr(Loop, "_advance", spoil)
    train_tiny(data, out)
    told = [record["problem"] for record in history(out) if "problem" in record]
    assert len(told) == 1
    assert "is NaN or infinite" in told[0]
    for part in ("last.safetensors", "weights.safetensors"):
        assert all(np.isfinite(array).all() for array in read_run(out)[part].values())


@pytest.mark.parametrize("value", [math.nan, math.inf, 3e38], ids=["NaN", "infinite", "too large"])
def test_weights_that_nothing_can_be_computed_with_are_refused(
    data: Path, out: Path, tmp_path: Path, value: float
) -> None:
    train_tiny(data, out)
    path = _spoiled(out, tmp_path / "spoiled", value)
    with pytest.raises(InputError, match=r"spoiled: .*NaN or infinity: the training diverged"):
        load(path)


def test_the_weights_of_a_task_are_looked_at_too(tmp_path: Path, out: Path) -> None:
    train_tagger(write_tagged(tmp_path / "tagged"), out)
    path = _spoiled(out, tmp_path / "spoiled", math.nan)
    with pytest.raises(InputError, match=r"spoiled: the weights .* hold NaN or infinity"):
        load(path)


def test_a_tagger_recovers(tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors can be finite although logits are not: the checkpoint must not be saved."""
    loss = Tagger.loss

    def spoil(self: Tagger, batch: Any, carried: Any = None) -> Any:
        shown, state = loss(self, batch, carried)
        factor = 1.0 if self.training else math.nan
        return type(shown)(shown.nats * factor, shown.tokens, shown.penalty), state

    monkeypatch.setattr(Tagger, "loss", spoil)
    with pytest.raises(ElmanError, match="loss nan when rereading the last batch"):
        train_tagger(write_tagged(tmp_path / "tagged"), out)


def test_a_translator_that_diverges_ends_with_an_error(tmp_path: Path, out: Path) -> None:
    with pytest.raises(ElmanError, match="training diverged"):
        train_translator(write_parallel(tmp_path / "pairs"), out, "training.learning_rate=1e6")


def _spoiled(run: Path, place: Path, value: float) -> Path:
    """The run with this value in its weights, and hashes that fit."""
    parts = dict(read_run(run))
    weights = {name: array.copy() for name, array in parts["weights.safetensors"].items()}
    for array in weights.values():
        if array.dtype.kind == "f":
            array[:] = value
            array[::2] *= -1 if math.isfinite(value) else 1
    write_run(place, {**parts, "weights.safetensors": weights})
    return place
