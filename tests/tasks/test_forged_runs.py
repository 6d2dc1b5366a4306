"""Manipulated runs with a valid manifest: refused in one line, with little memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny import train_tiny, write_sentences

from elman.errors import InputError
from elman.runs.folder import read_run, update_run
from elman.tasks.task import load, resume, train
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")
Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    train("ngram", data=str(write_sentences(tmp_path / "texts")), out=tmp_path / "counts")
    return tmp_path / "counts"


@pytest.fixture
def stopped(data: Path, out: Path, stopping: list[int]) -> Path:
    """A stopped neural run."""
    stopping.append(5)
    with pytest.raises(Stopped):
        train_tiny(data, out)
    stopping.clear()
    return out


def forge(run: Path, part: str, change: Change) -> None:
    """Change a part of a run and write a valid manifest."""
    content = read_run(run, [part])[part]
    change(content)
    update_run(run, {part: content})


def put(*path: Any) -> Change:
    """A change: sets the last argument at the path of the others."""

    def change(content: Any) -> None:
        for key in path[:-2]:
            content = content[key]
        content[path[-2]] = path[-1]

    return change


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("facts.json", put("data", None)),
        ("facts.json", put("data", "sha256", ["x"])),
        ("facts.json", put("data", "notes", 3)),
        ("facts.json", put("data", "name", 3)),
        ("facts.json", put("model", [])),
        ("facts.json", put("model", "vocabulary_size", 10**12)),
        ("facts.json", put("model", "eos_id", -1)),
        ("facts.json", put("model", "ngrams", {})),
        ("facts.json", put("validation", {"perplexity": "x"})),
        ("tokenizer.json", put("tokens", 3)),
        ("tokenizer.json", put("tokens", 2, None)),
        ("tokenizer.json", put("lowercase", "yes")),
        ("config.json", put("model", 3)),
        ("weights.safetensors", put("order2.words", np.full(3, 10**6, dtype=np.int32))),
        ("weights.safetensors", lambda arrays: arrays["order2.words"].fill(10**6)),
        ("weights.safetensors", lambda arrays: arrays["order3.starts"].fill(-5)),
        ("weights.safetensors", lambda arrays: arrays["order1.log_probs"].fill(np.nan)),
    ],
)
def test_a_count_model_that_does_not_hang_together(counts: Path, part: str, change: Change) -> None:
    forge(counts, part, change)
    with pytest.raises(InputError):
        load(counts).suggest("the")


@pytest.mark.parametrize(
    ("setting", "value"),
    [("hidden_size", 200_000), ("hidden_size", 10**15), ("num_layers", 10**7), ("topics", 10**9)],
)
def test_settings_are_compared_with_the_file_before_a_model_is_built(
    data: Path, out: Path, setting: str, value: int
) -> None:
    train_tiny(data, out)
    forge(out, "config.json", put("model", setting, value))
    tracemalloc.start()
    try:
        with pytest.raises(InputError):
            load(out)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "change",
    [
        put("counts", np.full(9, -1)),
        lambda arrays: arrays["counts"].fill(-1),
        lambda arrays: arrays["counts"].fill(2**62),
        put("stack.layers.0.weight", np.zeros(3, dtype=np.float32)),
        put("further", np.zeros(3, dtype=np.float32)),
        lambda arrays: arrays.pop("counts"),
    ],
)
def test_weights_of_another_model(data: Path, out: Path, change: Change) -> None:
    train_tiny(data, out)
    forge(out, "weights.safetensors", change)
    with pytest.raises(InputError):
        load(out)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("training.json", put("threads", 0)),
        ("training.json", put("threads", "4")),
        ("training.json", put("history", -1)),
        ("training.json", put("trainer", [])),
        ("training.json", put("trainer", "step", 10**40)),
        ("training.json", put("trainer", "step", "5")),
        ("training.json", put("trainer", "rate_factor", None)),
        ("training.json", put("trainer", "meter", {})),
        ("training.json", put("trainer", "schedule", "factor", 3)),
        ("training.json", put("trainer", "averages", "validations", [{}])),
        ("training.json", put("trainer", "position", "offset", None)),
        ("training.json", put("trainer", "position", "random", {})),
        ("memory.safetensors", put("random/cpu", np.zeros(3, dtype=np.uint8))),
        ("memory.safetensors", put("optimizer/nothing/step", np.zeros(1, dtype=np.float32))),
        ("memory.safetensors", put("carried.0.0", np.zeros((7, 7), dtype=np.float32))),
        ("last.safetensors", lambda arrays: arrays.clear()),
        ("facts.json", lambda facts: facts["data"].pop("empty_lines")),
        ("facts.json", put("data", "name", "/dev/zero")),
        ("facts.json", put("seconds", "long")),
    ],
)
def test_a_checkpoint_that_does_not_fit(stopped: Path, part: str, change: Change) -> None:
    forge(stopped, part, change)
    with pytest.raises(InputError):
        resume(stopped)


def test_what_was_not_forged_is_used(stopped: Path, counts: Path) -> None:
    assert resume(stopped).facts["training"]["finished"] is True
    assert json.dumps(load(counts).facts)
