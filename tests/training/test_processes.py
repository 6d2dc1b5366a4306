"""Several processes learn what one would, go on bit for bit, and notice when one of them dies.

The processes here are real ones, forked from one that has everything imported, since that takes
longer than training. A pair works off a list of trainings, in the last of which one is killed.
Those that `torchrun` starts are in `test_torchrun.py`.
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from outcome import differences, outcome
from several import free_port, write_text
from stopping import recipe

from elman.batches import Batch
from elman.errors import InputError
from elman.runs.folder import read_run
from elman.tasks.task import resume, train
from elman.training import loop
from elman.training.history import read_history
from elman.training.machine import Machine
from elman.training.processes import Processes
from elman.training.several_processes import SeveralProcesses

SCRIPT = Path(__file__).with_name("forked_pairs.py")
PLAIN = ["model.dropout_input=0", "model.weight_drop=0", "training.validate_every=1"]
PLAIN += ["training.epochs=2.2"]
LINES = ["model.context=line"]
PER_ROW = ["training.loss_per=row", "training.learning_rate=0.3"]
PER_ROW += ["training.batch_size=6", "training.epochs=3.2"]  # 101 lines: the last batch has 3 + 2
SAMPLED = ["model.output=sampled", "model.output_options.samples=4", "model.tied=false"]
CURVES = {
    "stream": [*PLAIN, "model.activation_penalty=0.5", "model.temporal_penalty=0.5"],
    "lines": [*PLAIN, *LINES, "training.average=none"],
    "lines per row": [*PLAIN, *LINES, *PER_ROW],
}
EXACT = {"stream": SAMPLED, "lines": [*SAMPLED, *LINES]}


@pytest.fixture(scope="module", autouse=True)
def every_step_in_the_history(without_curves: None) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_HISTORY_STEPS", 1)
        patch.setattr(loop, "_SAVING_SHARE", 1e9)
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("text"))


def options(data: Path, overrides: list[str]) -> dict[str, Any]:
    return {"recipe": recipe(data), "data": str(data), "overrides": overrides}


@dataclass
class Ended:
    """How a process ended, and what it said."""

    code: int
    out: str
    errors: str


class Nursery:
    """Starts pairs of processes."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._pairs = 0
        self._process = subprocess.Popen(
            [sys.executable, str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def work_off(self, todos: list[dict[str, Any]]) -> list[Ended]:
        """Two processes, until both have ended."""
        self._pairs += 1
        said = str(self._place / f"said{self._pairs}")
        place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"todos": todos, "said": said, "place": place}) + "\n")
        codes = json.loads(self._process.stdout.readline())
        return [
            Ended(code, *(Path(f"{said}.{rank}.{name}").read_text() for name in ("out", "errors")))
            for rank, code in enumerate(codes)
        ]

    def close(self) -> None:
        self._process.communicate(timeout=60)
        assert self._process.returncode == 0


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = Nursery(tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def trained(
    tmp_path_factory: pytest.TempPathFactory, data: Path, nursery: Nursery
) -> tuple[Path, list[Ended]]:
    """What two processes made of everything below; the last training was cut short by a kill."""
    place = tmp_path_factory.mktemp("runs")
    todos: list[dict[str, Any]] = []

    def add(name: str, overrides: list[str], **events: int) -> None:
        todos.append({"out": str(place / name), "options": options(data, overrides), **events})

    for name, overrides in CURVES.items():
        add(f"curve {name}", overrides)
    for name, overrides in EXACT.items():
        add(f"straight {name}", overrides)
        add(f"stopped {name}", overrides, stop=11)
        todos.append({"out": str(place / f"stopped {name}"), "stop": 20})
        todos.append({"out": str(place / f"stopped {name}")})
    add("spoiled", [*EXACT["stream"], "training.epochs=0.5"], spoil=6)
    add("killed", [*EXACT["stream"], "training.save_minutes=0"], kill=14)
    return place, nursery.work_off(todos)


def curve(out: Path) -> dict[str, np.ndarray]:
    """Nats per token and norm of the gradient of every step, and the validations."""
    records = read_history(out)
    steps = [record for record in records if "train_perplexity" in record]
    return {
        "nats": np.array([math.log(record["train_perplexity"]) for record in steps]),
        "norms": np.array([record["gradient_norm"] for record in steps]),
        "valid": np.array([r["valid_perplexity"] for r in records if "valid_perplexity" in r]),
    }


# The same as one process ------------------------------------------------------------------------


@pytest.mark.parametrize("name", CURVES)
def test_two_processes_learn_what_one_does(
    trained: tuple[Path, list[Ended]], data: Path, tmp_path: Path, name: str
) -> None:
    train(out=tmp_path / "one", seed=3, **options(data, CURVES[name]))
    one, two = curve(tmp_path / "one"), curve(trained[0] / f"curve {name}")
    assert len(one["nats"]) >= 50
    for what in one:
        np.testing.assert_allclose(two[what], one[what], rtol=1e-5 if what == "nats" else 1e-4)
    facts = [
        read_run(out)["facts.json"] for out in (tmp_path / "one", trained[0] / f"curve {name}")
    ]
    assert facts[0]["training"]["tokens"] == facts[1]["training"]["tokens"]


def test_rows_are_shared_out_and_no_row_twice() -> None:
    batch = Batch(
        torch.arange(15).view(5, 3), torch.arange(1, 16).view(5, 3), torch.tensor([3] * 5)
    )
    shares = []
    for rank in range(3):
        processes = object.__new__(SeveralProcesses)  # without the others
        processes.rank, processes.count = rank, 3
        own, counts = processes.share(batch)
        shares.append((own.inputs[:, 0].tolist(), own.targets[:, 0].tolist(), own.tokens, counts))
    assert shares == [([0, 9], [1, 10], 6, 1), ([3, 12], [4, 13], 6, 1), ([6], [7], 3, 1)]
    processes.rank, processes.count = 5, 6
    own, counts = processes.share(batch)
    assert (own.inputs.tolist(), counts) == ([[0, 1, 2]], 0)


def test_what_is_learned_is_shared_out_with_its_rows() -> None:
    ids = torch.arange(12).view(4, 3)
    batch = Batch(ids, ids, learned=ids % 2 == 0)
    processes = object.__new__(SeveralProcesses)
    processes.rank, processes.count = 1, 2
    own, _ = processes.share(batch)
    assert own.targets.tolist() == [[3, 4, 5], [9, 10, 11]]
    assert torch.equal(own.learned, own.targets % 2 == 0)


def test_a_batch_that_cannot_be_shared_out_is_refused() -> None:
    processes = object.__new__(SeveralProcesses)
    processes.count = 3
    processes.check(6)
    with pytest.raises(InputError, match="batch_size=20: cannot be divided among 3 .*=18"):
        processes.check(20)
    with pytest.raises(InputError, match="batch_size=3"):
        processes.check(2)


# Exact resume -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXACT)
def test_a_stopped_pair_goes_on_bit_for_bit(trained: tuple[Path, list[Ended]], name: str) -> None:
    place, done = trained
    whole = outcome(place / f"straight {name}")
    assert whole["step"] >= 25
    assert differences(whole, outcome(place / f"stopped {name}")) == []
    said = [line for line in done[0].out.splitlines() if f"stopped {name}" in line]
    go_on = f"torchrun --nproc-per-node 2 -m elman train --resume '{place / f'stopped {name}'}'"
    assert said == [f"stopped; everything is saved; continue with: {go_on}"] * 2
    assert done[1].out == done[0].out  # both stopped, though one was asked to


def test_every_process_has_random_numbers_and_a_state_of_its_own(
    trained: tuple[Path, list[Ended]],
) -> None:
    memory = read_run(trained[0] / "killed")["memory.safetensors"]
    own = [name for name in memory if name.startswith(("carried", "random"))]
    assert len(own) >= 3
    for name in own:
        other = memory[f"process/1/{name}"]
        assert other.shape == memory[name].shape
        assert not other.size or other.tobytes() != memory[name].tobytes()
        assert name == "random/cpu" or len(other) == 2  # rows of four


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_processes_is_refused(
    trained: tuple[Path, list[Ended]], count: int
) -> None:
    processes = Processes()
    processes.count = count
    with pytest.raises(
        InputError, match=rf"2 processes, not by {count}; continue with: torchrun .* 2"
    ):
        resume(trained[0] / "killed", machine=Machine(processes=processes))


def test_one_process_goes_on_alone(data: Path, tmp_path: Path) -> None:
    train(out=tmp_path / "one", seed=3, **options(data, ["training.epochs=0.1"]))
    processes = Processes()
    processes.count = 2
    with pytest.raises(InputError, match=r"by 1 process, not by 2; continue with: elman train"):
        resume(tmp_path / "one", machine=Machine(processes=processes))


# What one of them meets, all of them do ---------------------------------------------------------


def test_what_is_no_number_in_one_process_is_recovered_from_in_all(
    trained: tuple[Path, list[Ended]],
) -> None:
    place, _ = trained
    history = read_history(place / "spoiled")
    assert [r["diverged_at_step"] for r in history if "diverged_at_step" in r] == [6]
    contents = read_run(place / "spoiled")
    assert contents["training.json"]["trainer"]["rate_factor"] == 0.5
    assert contents["facts.json"]["training"]["finished"]
    assert all(np.isfinite(array).all() for array in contents["last.safetensors"].values())


def test_a_killed_worker_leaves_a_run_that_goes_on(
    trained: tuple[Path, list[Ended]], nursery: Nursery
) -> None:
    place, done = trained
    run = place / "killed"
    assert done[1].code == -signal.SIGKILL
    assert done[0].code == 1
    assert done[0].errors.count("elman: a worker was lost") == 1
    assert "Traceback" not in done[0].errors
    assert f"torchrun --nproc-per-node 2 -m elman train --resume {run}" in done[0].errors
    assert read_run(run)["training.json"]["trainer"]["step"] == 13
    again = nursery.work_off([{"out": str(run)}])
    assert [process.code for process in again] == [0, 0], again[0].errors
    assert differences(outcome(place / "straight stream"), outcome(run)) == []
