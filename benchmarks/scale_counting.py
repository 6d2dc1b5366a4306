"""Measure how counting grows with the text: time, memory and disk of every engine, and of KenLM.

    python benchmarks/scale_counting.py TEXT --millions 1 10 --orders 3 5 --engines memory duckdb
    python benchmarks/scale_counting.py TEXT --millions 1 --lmplz lmplz --compare

TEXT is a file of lines, words separated by spaces. Each row is a process of its own: seconds of
processor time (all threads and children), seconds by the clock, peak memory (VmHWM of the process,
mapped files included; for Spark, the sum over Java and Python, twice a second), peak disk (work
folder and result together), bytes of memory and of the model per token, and the SHA-256 of the
model's arrays, which must not depend on the engine. `--limit-all` gives --memory to the engine
`memory` too. `--compare` compares every probability with those of KenLM's lmplz.
"""

import argparse
import hashlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

_CHILD = """
import sys
from elman.cli import run
code = run(sys.argv[1:])
memory = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(memory.split()[1], file=sys.stderr)
sys.exit(code)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 10])
    parser.add_argument("--orders", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--engines", nargs="*", default=["memory", "duckdb"])
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--limit-all", action="store_true", help="--memory for every engine")
    parser.add_argument("--lmplz", help="KenLM's program, to measure it as well")
    parser.add_argument("--compare", action="store_true", help="compare with KenLM's probabilities")
    parser.add_argument("--work", type=Path, help="a folder with room")
    given = parser.parse_args()
    print(
        "tokens      order engine   cpu s clock s  peak MB  disk MB memory/token model/token  model"
    )
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        work = Path(folder)
        for millions in given.millions:
            data = work / "data"
            tokens = cut(given.text, data, round(millions * 1e6))
            for order in given.orders:
                for engine in given.engines:
                    row(tokens, order, engine, train(given, data, work, order, engine))
                if given.lmplz:
                    row(tokens, order, "lmplz", lmplz(given, data, work, order))
                if given.compare:
                    compare(work, order)


@dataclass
class Cost:
    """What a training took."""

    cpu: float  # seconds
    clock: float  # seconds
    memory: int  # bytes, sum over the processes at their worst moment
    disk: int  # bytes
    error: str  # what it wrote to standard error
    model: int = 0  # bytes
    sha: str = "–"


def row(tokens: int, order: int, engine: str, cost: Cost) -> None:
    print(
        f"{tokens:<11,} {order:<5} {engine:<8} {cost.cpu:>6.1f} {cost.clock:>7.0f} "
        f"{cost.memory / 1e6:>8,.0f} {cost.disk / 1e6:>8,.0f} {cost.memory / tokens:>12,.0f} "
        f"{cost.model / tokens:>11,.1f}  {cost.sha}",
        flush=True,
    )


def cut(text: Path, folder: Path, tokens: int) -> int:
    """The first lines of a text, with so many tokens; how many there are."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    count = 0
    with text.open(encoding="utf-8") as lines, (folder / "train.txt").open("w") as out:
        for line in lines:
            if count >= tokens:
                break
            out.write(line)
            count += line.count(" ") + 2
    return count


def train(given: argparse.Namespace, data: Path, work: Path, order: int, engine: str) -> Cost:
    run, cache = work / f"run-{engine}", work / "cache"
    shutil.rmtree(run, ignore_errors=True)
    shutil.rmtree(cache, ignore_errors=True)
    arguments = ["train", "ngram", "--data", str(data), "--out", str(run), "--engine", engine]
    arguments += ["--set", f"model.order={order}", "--set", "text.tokenizer=words"]
    arguments += ["--memory", given.memory] if given.limit_all or engine != "memory" else []
    command = [sys.executable, "-c", _CHILD, *arguments, "--threads", "1"]
    cost = watched(command, work, {**os.environ, "ELMAN_CACHE": str(cache)})
    if engine != "spark":  # a single process
        cost.memory = int(cost.error.split()[-1]) * 1024
    with (run / "weights.safetensors").open("rb") as file:
        cost.sha = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    cost.model = (run / "weights.safetensors").stat().st_size
    return cost


def lmplz(given: argparse.Namespace, data: Path, work: Path, order: int) -> Cost:
    command = ["/usr/bin/env", given.lmplz, "-o", str(order), "-S", given.memory, "-T", str(work)]
    command += ["--text", str(data / "train.txt"), "--arpa", str(work / "kenlm.arpa")]
    command += ["--discount_fallback"]  # drawn text has fewer rare n-grams than lmplz accepts
    cost = watched(command, work, dict(os.environ))
    peak = [part for part in cost.error.replace("\t", " ").split() if part.startswith("RSSMax:")]
    if peak:
        cost.memory = int(float(peak[0].removeprefix("RSSMax:")) * 1024)
    return cost


def watched(command: list[str], work: Path, environment: dict[str, str]) -> Cost:
    """Run a command; its time, and its largest memory and disk, sampled twice a second."""
    disk, memory, start = 0, 0, size_of(work)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryFile("w+") as error:
        running = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=error, text=True, env=environment
        )
        while True:
            with suppress(subprocess.TimeoutExpired):
                running.wait(0.5)
                break
            disk = max(disk, size_of(work) - start)
            memory = max(memory, memory_of(running.pid))
        error.seek(0)
        said = error.read()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if running.returncode:
        raise SystemExit(f"failed: {' '.join(command[3:])}\n{said}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, time.perf_counter() - began, memory, disk, said)


def memory_of(number: int) -> int:
    """The memory of a process and of all that it started."""
    total = 0
    with suppress(psutil.Error):
        process = psutil.Process(number)
        for one in [process, *process.children(recursive=True)]:
            with suppress(psutil.Error):
                total += one.memory_info().rss
    return total


def size_of(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name)).st_size
            except OSError:
                continue  # removed meanwhile
    return total


def compare(work: Path, order: int) -> None:
    """The largest difference to KenLM in log10, over all n-grams."""
    ours = work / "elman.arpa"
    runs = sorted(work.glob("run-*"))
    command = [sys.executable, "-m", "elman", "export", str(runs[-1]), str(ours), "--overwrite"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    theirs, their_values = arrays_of(work / "kenlm.arpa")
    found, values = arrays_of(ours)
    if not np.array_equal(found, theirs):
        raise SystemExit(f"order {order}: {len(found):,} n-grams, KenLM has {len(theirs):,}")
    print(
        f"  order {order}: {len(found):,} n-grams, largest difference in log10 "
        f"{np.abs(values - their_values).max():.1e}",
        flush=True,
    )


def arrays_of(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The n-grams of an ARPA file, as sorted hashes of 64 bits, with their two numbers.

    The probabilities of <s> and <unk> are left out: that of <s> is a convention, and elman has no
    <unk> apart from its vocabulary.
    """
    keys, numbers = array("q"), array("d")
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if len(fields) >= 2 and fields[1] not in ("<s>", "<unk>"):
                # Python's own hash is the same for some words of different alphabets.
                digest = hashlib.blake2b(fields[1].encode(), digest_size=8).digest()
                keys.append(int.from_bytes(digest, "little", signed=True))
                numbers.append(float(fields[0]))
                numbers.append(float(fields[2]) if len(fields) > 2 else 0.0)
    found, values = np.array(keys), np.array(numbers).reshape(-1, 2)
    order = np.argsort(found)
    return found[order], values[order]


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"{time.perf_counter() - started:,.0f} s in all")
