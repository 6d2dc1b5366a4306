"""Training a neural model on disk: from the first text to the finished run, and on from there."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elman.errors import ElmanError, InputError
from elman.models.recurrent import RecurrentModel
from elman.runs.folder import read_run
from elman.tasks import neural_training
from elman.tasks.language_model import TrainedModel, load
from elman.tasks.neural_training import Machine, resume
from elman.tasks.training import train
from elman.training import loop
from elman.training.history import CURVES, read_history
from elman.training.loop import Loop, Stopped
from elman.training.trainer import Trainer

RECIPE = """
[text]
tokenizer = "words"

[model]
kind = "recurrent"
hidden_size = 6
embedding_size = 6

[training]
batch_size = 4
window = 10
epochs = 2
learning_rate = 2.0
schedule = "linear"
hold = 0.5
"""
ELAPSED = ("tokens_per_second", "seconds")


def sentences(lines: int, seed: int) -> str:
    drawn = np.random.default_rng(seed)
    nouns, verbs = ("cat", "dog", "bird"), ("sees", "hears", "likes")
    return "".join(
        f"the {nouns[a]} {verbs[a - 1]} a {nouns[b]} .\n"
        for a, b in drawn.integers(0, 3, (lines, 2))
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for seed, (split, lines) in enumerate({"train": 60, "valid": 20, "test": 20}.items()):
        (folder / f"{split}.txt").write_text(sentences(lines, seed))
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "curves" not in request.node.name:
        monkeypatch.setattr(neural_training, "draw_curves", lambda records, path: None)


def tiny(data: Path, out: Path | None, *overrides: str, **options: Any) -> TrainedModel:
    recipe = data.parent / "recipe.toml"
    recipe.write_text(RECIPE)
    return train(str(recipe), data=str(data), out=out, overrides=overrides, **options)


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps in which a signal comes."""
    steps: list[int] = []
    step = Trainer.step

    def stop(self: Trainer) -> Any:
        shown = step(self)
        if self.step_number in steps:
            signal.raise_signal(signal.SIGINT)
        return shown

    monkeypatch.setattr(Trainer, "step", stop)
    return steps


def stop(data: Path, out: Path, step: int, stopping: list[int], *overrides: str) -> None:
    stopping.append(step)
    with pytest.raises(Stopped):
        tiny(data, out, *overrides)
    stopping.clear()


def weights(trained: TrainedModel) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in trained.model.arrays().items()}  # type: ignore[attr-defined]


def history(out: Path) -> list[dict[str, Any]]:
    records = read_history(out)
    return [{k: v for k, v in record.items() if k not in ELAPSED} for record in records]


# A whole training -------------------------------------------------------------------------------


def test_a_run_from_beginning_to_end(data: Path, out: Path) -> None:
    stages: list[str] = []
    trained = tiny(data, out, progress=stages.append)
    assert stages == ["reading", "tokenizing"]
    facts = trained.facts
    assert facts["training"]["finished"] is True
    assert facts["training"]["epochs"] == 2
    assert facts["training"]["steps"] == 22  # two times eleven windows of ten
    assert facts["training"]["tokens"] == 2 * 4 * (60 * 7 // 4 - 1)  # in four columns
    assert facts["validation"]["perplexity"] < 11  # it has learned something
    assert facts["validation"]["tokens"] == 20 * 7 - 1
    assert facts["seconds"] > 0
    json.dumps(facts, allow_nan=False)
    loaded = load(out)
    assert loaded.facts == json.loads(json.dumps(read_run(out)["facts.json"]))
    assert weights(loaded) == weights(trained)
    assert loaded.facts["training"] == facts["training"]
    assert trained.perplexity("the cat sees a dog .\n") == loaded.perplexity(
        "the cat sees a dog .\n"
    )
    names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert "history.jsonl" in names
    assert not any("partial" in path.name for path in out.iterdir())


def test_validation_is_nearly_what_evaluate_measures(data: Path, out: Path) -> None:
    trained = tiny(data, out)
    measured = trained.evaluate(str(data), split="valid")
    # The training's measurement leaves out the first token of its one column.
    assert trained.facts["validation"]["tokens"] == measured.tokens - 1
    assert trained.facts["validation"]["perplexity"] == pytest.approx(measured.perplexity, rel=0.01)


def test_without_a_place_nothing_is_written(
    data: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trained = tiny(data, None)
    before = sorted(tmp_path.rglob("*"))
    assert weights(tiny(data, None)) == weights(trained)
    assert sorted(tmp_path.rglob("*")) == before
    assert weights(trained) == weights(tiny(data, out))


def test_the_seed_decides(data: Path) -> None:
    first, again, other = (weights(tiny(data, None, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_every_record_and_every_saved_number_is_json(data: Path, out: Path) -> None:
    tiny(data, out, "training.schedule=plateau")

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    texts = [path.read_text() for path in out.glob("*.json")]
    texts += (out / "history.jsonl").read_text().splitlines()
    for text in texts:
        json.loads(text, parse_constant=refuse)


def test_the_curves_are_drawn(data: Path, out: Path, stopping: list[int]) -> None:
    stop(data, out, 12, stopping)
    assert (out / CURVES).read_bytes().startswith(b"\x89PNG")
    (out / CURVES).unlink()
    resume(out)
    assert (out / CURVES).read_bytes().startswith(b"\x89PNG")


def test_progress_is_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_HISTORY_STEPS", 5)
    seen: list[loop.Progress] = []
    tiny(data, None, machine=Machine(watch=seen.append))
    assert [progress.epochs for progress in seen] == sorted(progress.epochs for progress in seen)
    assert seen[-1].epochs == seen[-1].of_epochs == 2
    assert seen[0].validation is None
    assert seen[-1].validation is not None
    assert all(progress.tokens_per_second > 0 for progress in seen)


@pytest.mark.parametrize("settings", [[], ["training.average=ema"]], ids=["last", "averages"])
def test_without_validation_text_the_last_weights_are_kept(
    data: Path, out: Path, settings: list[str]
) -> None:
    (data / "valid.txt").unlink()
    trained = tiny(data, out, *settings)
    parts = read_run(out)
    last = {name: array.tobytes() for name, array in parts["last.safetensors"].items()}
    untrained = weights(tiny(data, None, *settings, "training.epochs=0.01"))
    assert (weights(trained) == last) == (not settings)
    assert weights(trained) == weights(load(out)) != untrained
    assert trained.facts["validation"] is None
    assert trained.perplexity(sentences(20, 9)) < 9.5
    assert history(out)[-1]["step"] == trained.facts["training"]["steps"]


def test_a_stopped_run_without_validation_holds_what_it_has_learned(
    data: Path, out: Path, stopping: list[int]
) -> None:
    (data / "valid.txt").unlink()
    stop(data, out, 20, stopping)
    assert load(out).perplexity(sentences(20, 9)) < 9.5
    assert load(out).facts["training"]["finished"] is False


def test_early_stopping(data: Path, out: Path) -> None:
    (data / "valid.txt").write_text(". likes hears cat a\n" * 20)  # soon gets worse
    trained = tiny(data, out, "training.epochs=20", "training.patience=3")
    best = [record["best"] for record in history(out) if "best" in record]
    written = "".join("better " if each else "no " for each in best)
    assert written.endswith("better no no no ")
    assert written.count("no no no") == 1  # at the first three without a gain
    assert trained.facts["training"]["epochs"] == len(best) < 20
    assert trained.facts["training"]["finished"] is True
    parts = read_run(out)
    assert parts["facts.json"]["training"]["finished"] is True
    assert (
        parts["training.json"]["trainer"]["best_step"] < parts["training.json"]["trainer"]["step"]
    )


# Going on ---------------------------------------------------------------------------------------


def test_a_stopped_run_says_how_to_go_on(data: Path, tmp_path: Path, stopping: list[int]) -> None:
    out = tmp_path / "my run"
    stopping.append(5)
    with pytest.raises(Stopped, match=r"everything is saved; go on with: .*--resume '.*my run'$"):
        tiny(data, out)
    with pytest.raises(Stopped, match="^stopped$"):
        tiny(data, None)


def test_a_stopped_run_goes_on_and_has_each_record_once(
    data: Path, tmp_path: Path, stopping: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_HISTORY_STEPS", 4)
    whole = tiny(data, tmp_path / "whole")
    out = tmp_path / "stopped"
    stop(data, out, 13, stopping)
    with (out / "history.jsonl").open("a") as file:
        file.write('{"step": 14, "written": "after the checkpoint"}\n{"')
    trained = resume(out)
    assert weights(trained) == weights(whole)
    assert history(out) == history(tmp_path / "whole")
    steps = [(record["step"], "best" in record) for record in history(out)]
    assert len(steps) == len(set(steps))
    assert trained.facts["training"] == whole.facts["training"]
    assert trained.facts["validation"] == whole.facts["validation"]


def test_a_finished_run_stays_as_it_is(data: Path, out: Path) -> None:
    trained = tiny(data, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    again = resume(out)
    assert weights(again) == weights(trained)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_the_number_of_threads_is_kept(data: Path, out: Path, stopping: list[int]) -> None:
    stop(data, out, 5, stopping)
    assert read_run(out)["training.json"]["threads"] == 1
    torch.set_num_threads(2)
    try:
        resume(out)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("split", ["train", "valid"])
def test_another_text_is_refused(data: Path, out: Path, stopping: list[int], split: str) -> None:
    stop(data, out, 15, stopping)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    text = data / f"{split}.txt"
    whole = text.read_text()
    text.write_text(whole + "the cat sees a dog .\n")
    with pytest.raises(InputError, match="is not the text that .*run was trained on; .*--from"):
        resume(out)
    text.unlink()
    with pytest.raises(InputError):
        resume(out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    text.write_text(whole)
    resume(out)


def test_text_that_has_moved_is_named(
    data: Path, out: Path, tmp_path: Path, stopping: list[int]
) -> None:
    whole = weights(tiny(data, None))
    stop(data, out, 5, stopping)
    data.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="data: no such file.*moved, say where to with --data"):
        resume(out)
    assert weights(resume(out, data=str(tmp_path / "elsewhere"))) == whole


def test_a_lone_file_that_has_moved_is_named(
    tmp_path: Path, out: Path, stopping: list[int]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(sentences(100, 0))
    whole = weights(tiny(text, None))
    stop(text, out, 5, stopping)
    text.rename(tmp_path / "moved.txt")
    with pytest.raises(InputError, match="text.txt: no such file"):
        resume(out)
    assert weights(resume(out, data=str(tmp_path / "moved.txt"))) == whole


def test_what_is_not_in_training_is_not_resumed(data: Path, out: Path) -> None:
    with pytest.raises(InputError, match="no such run"):
        resume(out)
    train("ngram", data=str(data), out=out)
    with pytest.raises(InputError, match="run: is not a run in training"):
        resume(out)


def test_a_damaged_checkpoint_is_refused(data: Path, out: Path, stopping: list[int]) -> None:
    stop(data, out, 5, stopping)
    memory = next(out.glob("memory.*"))
    memory.write_bytes(memory.read_bytes()[:-1] + b"!")
    with pytest.raises(InputError, match=r"memory\..*: damaged: expected"):
        resume(out)
    load(out)  # what is needed to use it is whole


# Fine-tuning ------------------------------------------------------------------------------------


def test_a_run_begins_with_the_weights_of_another(data: Path, out: Path, tmp_path: Path) -> None:
    first = tiny(data, out)
    # After one step with next to no rate they still are the same.
    settings = ["training.learning_rate=1e-30", "training.epochs=0.01"]
    second = tiny(data, tmp_path / "second", *settings, start_from=out)
    assert weights(second) == weights(first)
    assert second.tokenizer.encode("the cat").tolist() == first.tokenizer.encode("the cat").tolist()
    other = tmp_path / "other.txt"
    other.write_text("the bird sees a unicorn .\n" * 60)
    tuned = tiny(other, tmp_path / "third", start_from=out)
    assert len(tuned.tokenizer) == len(first.tokenizer)  # the vocabulary is that of the first
    assert tuned.facts["data"]["unknown_tokens"] == 54
    text = "the bird sees a bird .\n" * 5
    assert tuned.perplexity(text) < first.perplexity(text)


def test_a_fine_tuned_run_is_resumed_as_any_other(
    data: Path, out: Path, tmp_path: Path, stopping: list[int]
) -> None:
    tiny(data, out, "model.dropout_output=0.3")
    whole = tiny(data, None, "model.dropout_output=0.3", start_from=out)
    stopping.append(7)
    with pytest.raises(Stopped):
        tiny(data, tmp_path / "tuned", "model.dropout_output=0.3", start_from=out)
    stopping.clear()
    shutil.rmtree(out)  # it is not needed any more
    assert weights(resume(tmp_path / "tuned")) == weights(whole)


def test_only_like_models_begin_with_each_other(data: Path, out: Path, tmp_path: Path) -> None:
    tiny(data, out)
    for change in ("model.hidden_size=7", "model.cell=gru", "model.num_layers=2"):
        with pytest.raises(InputError, match="--from .*run: its model is another than this recipe"):
            tiny(data, tmp_path / "new", change, start_from=out)
    train("ngram", data=str(data), out=tmp_path / "counts")
    with pytest.raises(InputError, match="--from .*counts: is not a neural model"):
        tiny(data, tmp_path / "new", start_from=tmp_path / "counts")
    with pytest.raises(InputError, match="a count model has nothing to begin with"):
        train("ngram", data=str(data), start_from=out)
    assert not (tmp_path / "new").exists()


# What goes wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (Machine(device="nonsense"), "--device nonsense: cannot be used here"),
        (Machine(device="meta"), "--device meta: cannot be used here"),
        (Machine(device="cuda:99"), "--device cuda:99: cannot be used here"),
        (Machine(threads=0), "--threads 0: must be at least 1"),
    ],
    ids=["nonsense", "meta", "cuda:99", "threads"],
)
def test_a_machine_that_is_not_there(data: Path, out: Path, machine: Machine, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tiny(data, out, machine=machine)
    assert not out.exists()


def test_tensorboard_that_is_not_installed(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match="TensorBoard is not installed: pip install tensorboard"):
        tiny(data, out, machine=Machine(tensorboard=True))
    assert not out.exists()


def test_tensorboard_is_told_every_number(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, float, int]] = []

    class Writer:
        def __init__(self, place: str) -> None:
            assert place == str(out / "tensorboard")

        def add_scalar(self, name: str, value: float, step: int) -> None:
            told.append((name, value, step))

        def close(self) -> None:
            told.append(("closed", 0, 0))

    monkeypatch.setattr(neural_training, "_summary_writer", lambda: Writer)
    tiny(data, out, machine=Machine(tensorboard=True))
    last = history(out)[-1]
    assert ("valid_perplexity", last["valid_perplexity"], last["step"]) in told
    assert told[-1] == ("closed", 0, 0)
    with pytest.raises(InputError, match="tensorboard needs a run folder"):
        tiny(data, None, machine=Machine(tensorboard=True))


def test_too_little_text_is_refused_before_anything_is_written(tmp_path: Path, out: Path) -> None:
    (tmp_path / "short.txt").write_text("a b\n")
    with pytest.raises(InputError, match="too few for training.batch_size=4"):
        tiny(tmp_path / "short.txt", out)
    assert not out.exists()


@pytest.mark.parametrize("kind", ["loss", "gradient"])
def test_a_divergence_is_recovered_from_and_told(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    calls = 0
    loss = RecurrentModel.loss

    def spoil(self: RecurrentModel, batch: Any, carried: Any) -> Any:
        nonlocal calls
        shown, state = loss(self, batch, carried)
        calls += self.training
        if self.training and calls == 15:
            worse = shown.nats * math.nan
            if kind == "gradient":
                zero = self.input.weight.sum()
                worse = shown.nats + torch.sqrt(zero - zero.detach())
            shown = type(shown)(worse, shown.tokens, shown.penalty)
        return shown, state

    monkeypatch.setattr(RecurrentModel, "loss", spoil)
    trained = tiny(data, out)
    told = [record for record in history(out) if "problem" in record]
    assert [record["diverged_at_step"] for record in told] == [15]
    assert told[0]["rate_factor"] == 0.5
    parts = read_run(out)
    assert parts["training.json"]["trainer"]["rate_factor"] == 0.5
    assert all(np.isfinite(array).all() for array in parts["last.safetensors"].values())
    assert trained.facts["training"]["finished"] is True


def test_after_three_returns_the_run_holds_the_good_checkpoint(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = RecurrentModel.loss
    seen: list[int] = []

    def spoil(self: RecurrentModel, batch: Any, carried: Any) -> Any:
        shown, state = loss(self, batch, carried)
        seen.append(1)
        if self.training and len(seen) > 15:
            shown = type(shown)(shown.nats * math.inf, shown.tokens, shown.penalty)
        return shown, state

    monkeypatch.setattr(RecurrentModel, "loss", spoil)
    with pytest.raises(ElmanError, match=r"training diverged \(loss inf.*and again after 3") as e:
        tiny(data, out)
    assert e.value.exit_code == 1
    assert len([record for record in history(out) if "problem" in record]) == 3
    monkeypatch.setattr(RecurrentModel, "loss", loss)
    parts = read_run(out)
    assert parts["training.json"]["trainer"]["rate_factor"] == 0.125
    assert all(np.isfinite(array).all() for array in parts["last.safetensors"].values())
    assert load(out).perplexity("the cat\n") < 100
    assert resume(out).facts["training"]["finished"] is True  # when the trouble is over


def test_a_full_disk_ends_it_with_the_last_checkpoint_whole(
    data: Path, tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tiny(data, tmp_path / "whole")
    monkeypatch.setattr(Loop, "_saving_due", lambda self: self.trainer.step_number % 3 == 0)
    written = 0
    write = Path.write_bytes

    def fill(self: Path, content: bytes) -> int:
        nonlocal written
        written += 1
        if written == 11:
            write(self, content[:100])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, content)

    monkeypatch.setattr(Path, "write_bytes", fill)
    with pytest.raises(ElmanError, match=r"run: the disk is full; about \d+\.\d MB are needed"):
        tiny(data, out)
    monkeypatch.setattr(Path, "write_bytes", write)
    step = read_run(out)["training.json"]["trainer"]["step"]
    assert step % 3 == 0
    assert 0 < step < 12
    assert not [path for path in out.iterdir() if "partial" in path.name]
    assert len(list(out.glob("last.*"))) == len(list(out.glob("weights.*"))) == 1
    assert weights(resume(out)) == weights(whole)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk on which little more than one checkpoint fits."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("needs the right to mount a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.slow
def test_curves_and_all_on_a_disk_that_is_really_full(small_disk: Path, data: Path) -> None:
    out = small_disk / "run"
    with pytest.raises(ElmanError, match=r"disk is full|No space left"):
        tiny(data, out, "model.hidden_size=30", "training.epochs=30")
    assert load(out).perplexity("the cat\n") < 100
    assert not [path for path in out.iterdir() if "partial" in path.name]
