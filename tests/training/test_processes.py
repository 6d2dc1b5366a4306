"""Several processes learn what one would, go on bit for bit, and notice when one of them dies.

The processes here are real ones, forked from one that has everything imported, since that takes
longer than training. A pair works off a list of trainings, in the last of which one is killed.
Those that `torchrun` starts are in the slow tests.
"""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elman.batches import Batch
from elman.errors import InputError
from elman.runs.folder import read_run
from elman.tasks import neural_training
from elman.tasks.neural_training import Machine, resume
from elman.tasks.training import train
from elman.training import loop
from elman.training.history import read_history
from elman.training.processes import Processes, _SeveralProcesses

RECIPE = """
[text]
tokenizer = "words"

[model]
kind = "recurrent"
num_layers = 2
hidden_size = 7
embedding_size = 5
dropout_input = 0.2
weight_drop = 0.2

[training]
batch_size = 4
window = 7
window_jitter = 2
clip = 0.5
optimizer = "sgd"
learning_rate = 2.0
momentum = 0.5
schedule = "plateau"
average = "nt-asgd"
trigger = 1
epochs = 1.2
validate_every = 0.25
"""
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

# Forks pairs of processes, each of which works off a list of trainings. Process 1 would never save
# by itself; signals, numbers that are none, and kills come to process 1 alone.
NURSERY = """
import json, math, os, signal, sys, traceback
import torch
import torch.distributed
torch.set_num_threads(1)
from pathlib import Path
from elman.errors import ElmanError
from elman.tasks import neural_training
from elman.tasks.neural_training import Machine, resume
from elman.tasks.training import train
from elman.training import loop
from elman.training.loop import Stopped
from elman.training.processes import joined
from elman.training.trainer import Trainer

torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]).step()  # imports for seconds, once
neural_training.draw_curves = lambda records, path: None
loop._HISTORY_STEPS = 1
step = Trainer.step
todo = {}

def eventful_step(self):
    here = self.step_number + 1
    if self.processes.rank == 1:
        if todo.get("stop") == here:
            signal.raise_signal(signal.SIGTERM)
        if todo.get("kill") == here:
            os.kill(os.getpid(), signal.SIGKILL)
        if todo.get("spoil") == here:
            del todo["spoil"]
            return spoiled_step(self)
    return step(self)

def spoiled_step(trainer):
    average = trainer.processes.average
    def spoiled(parameters, weight, nats, tokens):
        return average(parameters, weight, nats * math.nan, tokens)
    trainer.processes.average = spoiled
    try:
        return step(trainer)
    finally:
        trainer.processes.average = average

Trainer.step = eventful_step

def work(todos):
    global todo
    with joined() as processes:
        loop._SAVING_SHARE = 1e9 if processes.rank else 0
        for todo in todos:
            machine = Machine(processes=processes)
            try:
                if "options" in todo:
                    train(out=todo["out"], seed=3, machine=machine, **todo["options"])
                else:
                    resume(Path(todo["out"]), machine=machine)
            except Stopped as stopped:
                print(stopped, flush=True)

def live(rank, command):
    for number, name in (1, "out"), (2, "errors"):
        os.dup2(os.open(f"{command['said']}.{rank}.{name}", os.O_WRONLY | os.O_CREAT), number)
    os.environ |= {"RANK": str(rank), **command["place"]}
    code = 0
    try:
        work(command["todos"])
    except ElmanError as error:
        code = error.exit_code
        print(f"elman: {error}", file=sys.stderr, flush=True)
    except BaseException:
        code = 99
        traceback.print_exc()
    finally:
        os._exit(code)

for line in sys.stdin:
    command = json.loads(line)
    children = []
    for rank in range(2):
        children.append(os.fork())
        if children[-1] == 0:
            live(rank, command)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(json.dumps(codes), flush=True)
"""


@pytest.fixture(scope="module", autouse=True)
def light() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neural_training, "draw_curves", lambda records, path: None)
        patch.setattr(loop, "_HISTORY_STEPS", 1)
        patch.setattr(loop, "_SAVING_SHARE", 1e9)
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines of many lengths; the last batch of four has a single line."""
    folder = tmp_path_factory.mktemp("text")
    drawn = np.random.default_rng(5)
    words = [f"w{number}" for number in range(12)]
    for split, lines in {"train": 101, "valid": 30}.items():
        rows = [drawn.choice(words, drawn.integers(1, 11)) for _ in range(lines)]
        (folder / f"{split}.txt").write_text("".join(" ".join(row) + "\n" for row in rows))
    (folder / ".recipe.toml").write_text(RECIPE)
    return folder


def options(data: Path, overrides: list[str]) -> dict[str, Any]:
    return {"recipe": str(data / ".recipe.toml"), "data": str(data), "overrides": overrides}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


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
            [sys.executable, "-c", NURSERY],
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


def outcome(out: Path) -> dict[str, Any]:
    """Everything that training left, in comparable form: arrays as bytes."""
    contents = read_run(out)
    found: dict[str, Any] = {}
    for name in ("weights.safetensors", "last.safetensors", "memory.safetensors"):
        for key, array in contents[name].items():
            found[f"{name}: {key}"] = (str(array.dtype), array.shape, array.tobytes())
    found |= contents["training.json"]["trainer"]
    found["history"] = [
        {name: value for name, value in record.items() if name != "tokens_per_second"}
        for record in read_history(out)
    ]
    return found


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    names = sorted(first.keys() | second.keys())
    return [name for name in names if name not in first or first[name] != second.get(name)]


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
        processes = object.__new__(_SeveralProcesses)  # without the others
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
    processes = object.__new__(_SeveralProcesses)
    processes.rank, processes.count = 1, 2
    own, _ = processes.share(batch)
    assert own.targets.tolist() == [[3, 4, 5], [9, 10, 11]]
    assert torch.equal(own.learned, own.targets % 2 == 0)


def test_a_batch_that_cannot_be_shared_out_is_refused() -> None:
    processes = object.__new__(_SeveralProcesses)
    processes.count = 3
    processes.check(6)
    with pytest.raises(InputError, match="batch_size=20: cannot be shared out to 3 .*=18"):
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
    assert said == [f"stopped, and everything is saved; go on with: {go_on}"] * 2
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
        InputError, match=rf"2 processes, not by {count}; go on with: torchrun .* 2"
    ):
        resume(trained[0] / "killed", machine=Machine(processes=processes))


def test_one_process_goes_on_alone(data: Path, tmp_path: Path) -> None:
    train(out=tmp_path / "one", seed=3, **options(data, ["training.epochs=0.1"]))
    processes = Processes()
    processes.count = 2
    with pytest.raises(InputError, match=r"by 1 process, not by 2; go on with: elman train"):
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


# Started by torchrun ----------------------------------------------------------------------------

# The command line, which leaves its number for whoever wants to kill it.
NUMBERED = """
import os, pathlib, sys
from elman.cli import main
pathlib.Path(sys.argv.pop(1), os.environ["RANK"]).write_text(str(os.getpid()))
main()
"""


class Launched:
    """A training under torchrun."""

    def __init__(self, place: Path, *arguments: str, count: int = 2) -> None:
        self.place = place
        (place / "numbered.py").write_text(NUMBERED)
        launcher = ["--nproc-per-node", str(count), "--master-port", str(free_port())]
        called = [str(place / "numbered.py"), str(place), "train", *arguments]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", *launcher, *called],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_step(self, run: Path, step: int) -> None:
        until = time.monotonic() + 240
        while time.monotonic() < until:
            with suppress(InputError):
                if read_run(run, ["training.json"])["training.json"]["trainer"]["step"] >= step:
                    return
            time.sleep(0.05)
        self.ask_to_stop()
        pytest.fail(self.end()[2])

    def kill(self, rank: int) -> None:
        os.kill(int((self.place / str(rank)).read_text()), signal.SIGKILL)

    def ask_to_stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def end(self) -> tuple[int, str, str, float]:
        """Exit code, output, errors, and how long that took."""
        begun = time.perf_counter()
        try:
            said, errors = self._process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            self.ask_to_stop()
            self._process.communicate()
            raise
        return self._process.returncode, said, errors, time.perf_counter() - begun


@pytest.mark.slow
def test_torchrun_stops_resumes_and_ends_as_if_never_stopped(data: Path, tmp_path: Path) -> None:
    given = [str(data / ".recipe.toml"), "--data", str(data), "--set", "training.epochs=8"]
    given += ["--set", "training.save_minutes=0"]
    straight = Launched(tmp_path, *given, "--out", str(tmp_path / "straight"))
    code, said, errors, _ = straight.end()
    assert code == 0, errors
    assert said.count("trained in") == 1
    stopped = Launched(tmp_path, *given, "--out", str(tmp_path / "run"))
    stopped.wait_for_step(tmp_path / "run", 1)
    stopped.ask_to_stop()
    _, said, errors, _ = stopped.end()
    assert errors.count("stopped, and everything is saved") == 1
    assert said == ""
    code, said, errors, _ = Launched(tmp_path, "--resume", str(tmp_path / "run")).end()
    assert code == 0, errors
    assert differences(outcome(tmp_path / "straight"), outcome(tmp_path / "run")) == []


@pytest.mark.slow
@pytest.mark.parametrize(("count", "rank"), [(2, 0), (2, 1), (4, 0), (4, 2)])
def test_a_worker_of_torchrun_is_killed(data: Path, tmp_path: Path, count: int, rank: int) -> None:
    given = [str(data / ".recipe.toml"), "--data", str(data), "--set", "training.epochs=2000"]
    given += ["--set", "training.save_minutes=0"]
    run = tmp_path / "run"
    launched = Launched(tmp_path, *given, "--out", str(run), count=count)
    launched.wait_for_step(run, 1)
    launched.kill(rank)
    code, said, errors, seconds = launched.end()
    print(f"{count} processes, {rank} killed: over after {seconds:.1f} s")
    assert code != 0
    assert said == ""
    assert errors.count("elman: a worker was lost") == 1, errors
    assert seconds < 60  # mostly that of torchrun itself
    step = read_run(run)["training.json"]["trainer"]["step"]
    assert step >= 1
    again = Launched(tmp_path, "--resume", str(run), count=count)
    again.wait_for_step(run, step + 1)  # the next checkpoint may take its time
    again.ask_to_stop()
    assert again.end()[2].count("stopped, and everything is saved") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ngram", "--data", "grammar", "--out", "x"], "counting takes one process"),
        (["nonsense", "--data", "grammar", "--out", "x"], "nonsense"),
        (["small", "--data", "grammar", "--out", "x", "--set", "training.batch_size=7"], "to 2"),
        (["--resume", "nowhere"], "nowhere: no such run"),
    ],
)
def test_what_is_wrong_is_said_once(tmp_path: Path, arguments: list[str], message: str) -> None:
    code, said, errors, _ = Launched(tmp_path, *arguments).end()
    assert code != 0
    assert said == ""
    assert errors.count("elman: ") == 1
    assert message in errors
