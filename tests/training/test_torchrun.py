"""Training under `torchrun`: signals, kills, error messages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from outcome import differences, outcome
from several import free_port, write_text
from stopping import recipe

from elman.errors import InputError
from elman.runs.folder import read_run
from elman.training.history import read_history

pytestmark = pytest.mark.slow

# The command line, which leaves its number for whoever wants to kill it.
NUMBERED = """
import os, pathlib, sys
from elman.cli import main
pathlib.Path(sys.argv.pop(1), os.environ["RANK"]).write_text(str(os.getpid()))
main()
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("text"))


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


def test_torchrun_stops_resumes_and_ends_as_if_never_stopped(data: Path, tmp_path: Path) -> None:
    given = [recipe(data), "--data", str(data), "--set", "training.epochs=8"]
    given += ["--set", "training.save_minutes=0"]
    straight = Launched(tmp_path, *given, "--out", str(tmp_path / "straight"))
    code, said, errors, _ = straight.end()
    assert code == 0, errors
    assert said.count("trained in") == 1
    stopped = Launched(tmp_path, *given, "--out", str(tmp_path / "run"))
    stopped.wait_for_step(tmp_path / "run", 1)
    stopped.ask_to_stop()
    _, said, errors, _ = stopped.end()
    assert errors.count("stopped; everything is saved") == 1
    assert said == ""
    code, said, errors, _ = Launched(tmp_path, "--resume", str(tmp_path / "run")).end()
    assert code == 0, errors
    assert differences(outcome(tmp_path / "straight"), outcome(tmp_path / "run")) == []


@pytest.mark.parametrize(("count", "rank"), [(2, 0), (2, 1), (4, 0), (4, 2)])
def test_a_worker_of_torchrun_is_killed(data: Path, tmp_path: Path, count: int, rank: int) -> None:
    given = [recipe(data), "--data", str(data), "--set", "training.epochs=2000"]
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
    assert again.end()[2].count("stopped; everything is saved") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ngram", "--data", "grammar", "--out", "x"], "counting uses one process"),
        (["nonsense", "--data", "grammar", "--out", "x"], "nonsense"),
        (
            ["small", "--data", "grammar", "--out", "x", "--set", "training.batch_size=7"],
            "divided among 2",
        ),
        (["--resume", "nowhere"], "nowhere: no such run"),
    ],
)
def test_what_is_wrong_is_said_once(tmp_path: Path, arguments: list[str], message: str) -> None:
    code, said, errors, _ = Launched(tmp_path, *arguments).end()
    assert code != 0
    assert said == ""
    assert errors.count("elman: ") == 1
    assert message in errors


EXAMPLES = {
    "tagger": (
        "train.txt",
        "the DET\ndog NOUN\nruns VERB\n\na DET\ncat NOUN\nsleeps VERB\n\n" * 15,
    ),
    "classifier": ("train.tsv", "good\tpos\nbad film\tneg\nvery good film\tpos\nbad\tneg\n" * 8),
    "translator": ("train.tsv", "the dog\tder Hund\nthe cat\tdie Katze\na dog\tein Hund\n" * 10),
}
STILL = {  # nothing is drawn at random while it learns
    "tagger": ["model.dropout_features=0", "model.dropout_output=0", "model.unknown_rate=0"],
    "classifier": ["model.dropout_features=0", "model.dropout_pooled=0", "model.unknown_rate=0"],
    "translator": ["model.dropout_output=0", "model.dropout_input=0"],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_two_processes_learn_a_task_as_one_does(name: str, tmp_path: Path) -> None:
    file, text = EXAMPLES[name]
    (tmp_path / file).write_text(text)
    settings = ["training.epochs=2", "training.batch_size=4", *STILL[name]]
    words = [word for setting in settings for word in ("--set", setting)]
    histories = []
    for count in (1, 2):
        place = tmp_path / str(count)
        place.mkdir()
        run = place / "run"
        given = (name, "--data", str(tmp_path / file), "--out", str(run), *words, "--threads", "1")
        code, _, errors, _ = Launched(place, *given, count=count).end()
        assert code == 0, errors
        histories.append(read_history(run))
    one, two = ([r["train_perplexity"] for r in h if "train_perplexity" in r] for h in histories)
    assert one == pytest.approx(two, rel=1e-3)
    assert one
