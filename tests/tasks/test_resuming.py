"""A stopped run resumes with the same text, and is refused with any other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny import history, sentences, train_tiny, weights

from elman.errors import InputError
from elman.runs.folder import read_run
from elman.tasks.task import load, resume, train
from elman.training import loop
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")


def stop(data: Path, out: Path, step: int, stopping: list[int]) -> None:
    stopping.append(step)
    with pytest.raises(Stopped):
        train_tiny(data, out)
    stopping.clear()


def test_a_stopped_run_says_how_to_go_on(data: Path, tmp_path: Path, stopping: list[int]) -> None:
    out = tmp_path / "my run"
    stopping.append(5)
    with pytest.raises(
        Stopped, match=r"everything is saved; continue with: .*--resume '.*my run'$"
    ):
        train_tiny(data, out)
    with pytest.raises(Stopped, match="^stopped$"):
        train_tiny(data, None)


def test_a_stopped_run_goes_on_and_has_each_record_once(
    data: Path, tmp_path: Path, stopping: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_HISTORY_STEPS", 4)
    whole = train_tiny(data, tmp_path / "whole")
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
    trained = train_tiny(data, out)
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
    whole = weights(train_tiny(data, None))
    stop(data, out, 5, stopping)
    data.rename(tmp_path / "elsewhere")
    with pytest.raises(
        InputError, match="data: no such file.*moved, give its new path with --data"
    ):
        resume(out)
    assert weights(resume(out, data=str(tmp_path / "elsewhere"))) == whole


def test_a_lone_file_that_has_moved_is_named(
    tmp_path: Path, out: Path, stopping: list[int]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(sentences(100, 0))
    whole = weights(train_tiny(text, None))
    stop(text, out, 5, stopping)
    text.rename(tmp_path / "moved.txt")
    with pytest.raises(InputError, match="text.txt: no such file"):
        resume(out)
    assert weights(resume(out, data=str(tmp_path / "moved.txt"))) == whole


def test_what_is_not_in_training_is_not_resumed(data: Path, out: Path) -> None:
    with pytest.raises(InputError, match="no such run"):
        resume(out)
    train("ngram", data=str(data), out=out)
    with pytest.raises(
        InputError, match=r"run: this run cannot be resumed \(counting has no steps"
    ):
        resume(out)


def test_a_damaged_checkpoint_is_refused(data: Path, out: Path, stopping: list[int]) -> None:
    stop(data, out, 5, stopping)
    memory = next(out.glob("memory.*"))
    memory.write_bytes(memory.read_bytes()[:-1] + b"!")
    with pytest.raises(InputError, match=r"memory\..*: damaged: expected"):
        resume(out)
    load(out)  # what is needed to use it is whole


def test_a_stopped_run_without_validation_holds_what_it_has_learned(
    data: Path, out: Path, stopping: list[int]
) -> None:
    (data / "valid.txt").unlink()
    stop(data, out, 20, stopping)
    assert load(out).perplexity(sentences(20, 9)) < 9.5
    assert load(out).facts["training"]["finished"] is False
