"""Compare the speed of this version with another one. Exit code 1 if a job is below 0.97 of it.

    python benchmarks/guard.py --against elman-0.1.0-py3-none-any.whl --data PENN-TREEBANK-FOLDER
    python benchmarks/guard.py --against ../old --data … --rounds 3 --only server help

The two versions take turns (A B, B A, …). Each job runs in its own process with one thread. A ratio
is the speed of this version divided by that of the other, so above 1 this version is faster. There
are two: of the fastest turns, because other programs can only add time, and the median of the
rounds, because a processor that changes its speed favours whoever met its fastest minute. A job is
slower if both are below 0.97. `spread` is the noise of the machine: how much longer the slowest
turn took than the fastest, for the version that varied more. Jobs are judged by CPU time, which
other programs affect least. The server also waits, so it is judged by the time that its clients
measure.

Training and generation use only the command line and `elman.load`, which every version has. The
runs that are loaded were made by the other version.
"""

import argparse
import asyncio
import contextlib
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOWEST = 0.97
LINES = 3000  # lines of the Penn Treebank for training a network
Seconds = dict[str, float]


# The jobs; each runs in its own process ---------------------------------------------------------


def train_quick(folder: Path, data: Path) -> Seconds:
    settings = ["--set", "training.epochs=1"]
    return _train("quick", str(folder / "slice"), settings, warm_up=str(folder / "lines"))


def train_small(folder: Path, data: Path) -> Seconds:
    settings = ["--set", "training.epochs=2"]
    return _train("small", "grammar", settings, warm_up=str(folder / "lines"))


def train_kn5(folder: Path, data: Path) -> Seconds:
    return _train("ngram", str(data), [], warm_up=str(folder / "lines"))


def _train(recipe: str, data: str, settings: list[str], warm_up: str) -> Seconds:
    with tempfile.TemporaryDirectory() as out:
        command = ["train", recipe, "--threads", "1", "--out", f"{out}/run", "--overwrite"]
        _call(*command, *settings, "--data", warm_up)
        with _stopwatch() as seconds:
            _call(*command, *settings, "--data", data)
    return seconds


def evaluate_kn5(folder: Path, data: Path) -> Seconds:
    command = ["evaluate", str(folder / "kn5"), "--data"]
    _call(*command, str(folder / "lines"))
    with _stopwatch() as seconds:
        _call(*command, str(data))
    return seconds


def generate_greedy_1(folder: Path, data: Path) -> Seconds:
    return _generate(folder, max_tokens=1000, greedy=True)


def generate_greedy_64(folder: Path, data: Path) -> Seconds:
    return _generate(folder, max_tokens=100, greedy=True, samples=64)


def generate_sampled_1(folder: Path, data: Path) -> Seconds:
    return _generate(folder, max_tokens=1000, top_p=0.9)


def generate_sampled_64(folder: Path, data: Path) -> Seconds:
    return _generate(folder, max_tokens=100, top_p=0.9, samples=64)


def _generate(folder: Path, **options: Any) -> Seconds:
    import torch

    import elman

    torch.set_num_threads(1)
    model = elman.load(folder / "network")
    model.generate("the price of", **{**options, "max_tokens": 5})
    with _stopwatch() as seconds:
        model.generate("the price of", **options)
    return seconds


def serve_one_by_one(folder: Path, data: Path) -> Seconds:
    return _serve(folder, at_once=False)


def serve_64_at_once(folder: Path, data: Path) -> Seconds:
    return _serve(folder, at_once=True)


def _serve(folder: Path, *, at_once: bool) -> Seconds:
    import httpx2
    import server  # benchmarks/server.py

    async def measure(running: server.Server) -> Seconds:
        limits = httpx2.Limits(max_connections=64, max_keepalive_connections=64)
        address = running.address
        async with httpx2.AsyncClient(base_url=address, timeout=300, limits=limits) as client:
            await server.until_up(client)
            await server.at_once(client, clients=8, each=1)
            before = running.cpu_seconds()
            started = time.perf_counter()
            if at_once:
                figures, _ = await server.at_once(client, clients=64, each=3)
            else:
                figures, _ = await server.one_by_one(client, count=48)
            assert figures["answers"].keys() == {200}, figures
            wall = time.perf_counter() - started
            return {"wall": wall, "cpu": running.cpu_seconds() - before}

    with server.Server(str(folder / "network"), "--threads", "1") as running:
        return asyncio.run(measure(running))


def show_help(folder: Path, data: Path) -> Seconds:
    command = [sys.executable, "-m", "elman", "--help"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    with _stopwatch() as seconds:
        for _ in range(3):
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return {name: value / 3 for name, value in seconds.items()}


JOBS: dict[str, tuple[Callable[[Path, Path], Seconds], str]] = {  # and what judges them
    "train quick, Penn Treebank": (train_quick, "cpu"),
    "train small, grammar": (train_small, "cpu"),
    "train KN5, Penn Treebank": (train_kn5, "cpu"),
    "evaluate KN5, Penn Treebank": (evaluate_kn5, "cpu"),
    "generate, greedy, 1 row": (generate_greedy_1, "cpu"),
    "generate, greedy, 64 rows": (generate_greedy_64, "cpu"),
    "generate, top-p, 1 row": (generate_sampled_1, "cpu"),
    "generate, top-p, 64 rows": (generate_sampled_64, "cpu"),
    "server, one by one": (serve_one_by_one, "wall"),
    "server, 64 clients": (serve_64_at_once, "wall"),
    "help": (show_help, "cpu"),
}


def _call(*command: str) -> None:
    from elman.cli import run

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = run([*command])
    if code:
        raise SystemExit(f"elman {' '.join(command)}: exit code {code}")


@contextlib.contextmanager
def _stopwatch() -> Iterator[Seconds]:
    """Wall-clock seconds, and CPU seconds of this process and of its finished children."""

    def spent() -> float:
        uses = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(use.ru_utime + use.ru_stime for use in uses)

    seconds: Seconds = {}
    cpu, wall = spent(), time.perf_counter()
    yield seconds
    seconds |= {"wall": time.perf_counter() - wall, "cpu": spent() - cpu}


# Two versions in turns --------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, required=True, help="a wheel or a checkout")
    parser.add_argument("--data", type=Path, required=True, help="folder of the Penn Treebank")
    parser.add_argument("--rounds", type=int, default=5, help="turns per version")
    parser.add_argument("--only", nargs="+", default=[""], help="parts of job names")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        check_version(given.against)
        print(json.dumps(JOBS[given.job][0](given.folder, given.data)))
        return
    jobs = [job for job in JOBS if any(part in job for part in given.only)]
    with tempfile.TemporaryDirectory() as place:
        versions = {"this": ROOT, "other": unpack(given.against, Path(place, "other"))}
        folder = prepare(Path(place), versions["other"], given.data)
        measured = {
            job: take_turns(job, versions, folder, given.data, given.rounds) for job in jobs
        }
    sys.exit(print_table(measured))


def check_version(path: Path) -> None:
    """Refuse to measure another copy of the package, such as an installed one."""
    import elman

    found = Path(elman.__file__).resolve().parents[1]
    if found != path.resolve():
        raise SystemExit(f"elman was imported from {found}, not from {path}")


def unpack(path: Path, folder: Path) -> Path:
    """The folder to import from: the checkout, or the unpacked wheel."""
    if path.suffix == ".whl":
        zipfile.ZipFile(path).extractall(folder)
        return folder
    return path.resolve()


def prepare(place: Path, other: Path, data: Path) -> Path:
    """Write a part of the text and a few lines for warm-up, and train two runs with `other`."""
    for name, lines in {"slice": LINES, "lines": 100}.items():
        (place / name).mkdir()
        for split in ("train", "valid", "test"):
            (source,) = data.glob(f"*{split}*.txt")
            text = source.read_text(encoding="utf-8").splitlines(keepends=True)
            count = lines if split == "train" else 100
            (place / name / f"{split}.txt").write_text("".join(text[:count]), encoding="utf-8")
    train = [sys.executable, "-m", "elman", "train"]
    quick = ["quick", "--set", "training.epochs=0.5", "--data", str(place / "slice")]
    for name, command in {"kn5": ["ngram", "--data", str(data)], "network": quick}.items():
        call = [*train, *command, "--out", str(place / name)]
        subprocess.run(call, env=environment(other), capture_output=True, check=True)
    return place


def environment(path: Path) -> dict[str, str]:
    """Import from `path`, never from the current folder, and use one thread."""
    places = os.pathsep.join([str(path), str(ROOT / "benchmarks")])
    settings = {"PYTHONPATH": places, "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **settings}


def take_turns(
    job: str, versions: dict[str, Path], folder: Path, data: Path, rounds: int
) -> dict[str, list[Seconds]]:
    """The seconds of every turn, by version; the versions alternate in going first."""
    found: dict[str, list[Seconds]] = {name: [] for name in versions}
    for number in range(rounds):
        for name in sorted(versions, reverse=number % 2 == 0):
            command = [sys.executable, __file__, "--against", str(versions[name]), "--job", job]
            command += ["--data", str(data), "--folder", str(folder)]
            shown = subprocess.run(
                command,
                env=environment(versions[name]),
                capture_output=True,
                text=True,
                check=False,
            )
            if shown.returncode:
                raise SystemExit(f"{job}, {name} version: {shown.stderr}")
            found[name].append(json.loads(shown.stdout))
        print(f"{job}: round {number + 1} of {rounds}", file=sys.stderr)
    return found


def print_table(measured: dict[str, dict[str, list[Seconds]]]) -> int:
    """Print one row per job; returns 1 if this version is too slow in any of them."""
    print("| job | this, s | other, s | fastest turns | median of rounds | judged | spread | |")
    print("|---|---:|---:|---:|---:|---|---:|---|")
    slow = 0
    for job, turns in measured.items():
        judge = JOBS[job][1]
        this, other = ([turn[judge] for turn in turns[name]] for name in ("this", "other"))
        fastest = min(other) / min(this)
        median = statistics.median(b / a for a, b in zip(this, other, strict=True))
        spread = max(max(each) / min(each) for each in (this, other)) - 1
        slower = max(fastest, median) < LOWEST
        slow += slower
        print(
            f"| {job} | {min(this):.3f} | {min(other):.3f} | {fastest:.3f} | {median:.3f} "
            f"| {judge} | {spread:.0%} | {'slower' if slower else 'ok'} |"
        )
    return int(slow > 0)


if __name__ == "__main__":
    main()
