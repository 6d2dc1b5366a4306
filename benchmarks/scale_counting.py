"""Measure how counting grows with the text: time, memory and disk of every engine, and of KenLM.

    python benchmarks/scale_counting.py TEXT --millions 1 10 --orders 3 5 --engines memory duckdb
    python benchmarks/scale_counting.py TEXT --millions 1 --lmplz lmplz --compare

TEXT is a file of lines, words separated by spaces. Each row is a process of its own: seconds of
processor time (all threads and children), peak memory (VmHWM of the process, mapped files
included), peak disk (work folder and result together), and the SHA-256 of the model's arrays, which
must not depend on the engine. `--compare` compares every probability with those of KenLM's lmplz.
"""

import argparse
import hashlib
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

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
    parser.add_argument("--lmplz", help="KenLM's program, to measure it as well")
    parser.add_argument("--compare", action="store_true", help="compare with KenLM's probabilities")
    parser.add_argument("--work", type=Path, help="a folder with room")
    given = parser.parse_args()
    print("tokens      order engine   cpu s  peak MB  disk MB  bytes/token  model")
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        work = Path(folder)
        for millions in given.millions:
            data = work / "data"
            tokens = cut(given.text, data, round(millions * 1e6))
            for order in given.orders:
                for engine in given.engines:
                    row(tokens, order, engine, *train(data, work, order, engine, given.memory))
                if given.lmplz:
                    row(tokens, order, "lmplz", *lmplz(given, data, work, order))
                if given.compare:
                    compare(work, order)


def row(
    tokens: int, order: int, engine: str, cpu: float, memory: float, disk: int, sha: str
) -> None:
    print(
        f"{tokens:<11,} {order:<5} {engine:<8} {cpu:>6.1f} {memory:>8,.0f} {disk / 1e6:>8,.0f} "
        f"{memory * 1e6 / tokens:>12,.0f}  {sha}",
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


def train(
    data: Path, work: Path, order: int, engine: str, memory: str
) -> tuple[float, float, int, str]:
    run, cache = work / f"run-{engine}", work / "cache"
    shutil.rmtree(run, ignore_errors=True)
    shutil.rmtree(cache, ignore_errors=True)
    arguments = ["train", "ngram", "--data", str(data), "--out", str(run), "--engine", engine]
    arguments += ["--set", f"model.order={order}", "--set", "text.tokenizer=words"]
    arguments += [] if engine == "memory" else ["--memory", memory]
    command = [sys.executable, "-c", _CHILD, *arguments, "--threads", "1"]
    environment = {**os.environ, "ELMAN_CACHE": str(cache)}
    cpu, disk, error = watched(command, work, environment)
    with (run / "weights.safetensors").open("rb") as file:
        sha = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    return cpu, int(error.split()[-1]) / 1024, disk, sha


def lmplz(
    given: argparse.Namespace, data: Path, work: Path, order: int
) -> tuple[float, float, int, str]:
    command = ["/usr/bin/env", given.lmplz, "-o", str(order), "-S", given.memory, "-T", str(work)]
    command += ["--text", str(data / "train.txt"), "--arpa", str(work / "kenlm.arpa")]
    cpu, disk, error = watched(command, work, dict(os.environ))
    peak = [part for part in error.replace("\t", " ").split() if part.startswith("RSSMax:")]
    memory = float(peak[0].removeprefix("RSSMax:")) / 1024 if peak else math.nan
    return cpu, memory, disk, "–"


def watched(command: list[str], work: Path, environment: dict[str, str]) -> tuple[float, int, str]:
    """Processor time and peak disk of a command, and what it said."""
    most, ended, start = [0], threading.Event(), size_of(work)

    def watch() -> None:
        while not ended.wait(0.5):
            most[0] = max(most[0], size_of(work) - start)

    watcher = threading.Thread(target=watch)
    watcher.start()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended.set()
    watcher.join()
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(command[3:])}\n{done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, most[0], done.stderr


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
    largest, compared = 0.0, 0
    theirs = dict(ngrams(work / "kenlm.arpa"))
    for words, values in ngrams(ours):
        other = theirs.pop(words, None)
        if other is None:
            raise SystemExit(f"KenLM lacks {words!r}")
        if words not in ("<s>", "<unk>"):  # log10 p of <s> is a convention
            largest = max(largest, *(abs(a - b) for a, b in zip(values, other, strict=True)))
            compared += 1
    rest = list(islice(theirs, 3))
    print(
        f"  order {order}: {compared:,} n-grams, largest difference {largest:.1e}; "
        f"only KenLM has: {rest}"
    )


def ngrams(path: Path) -> Iterator[tuple[str, tuple[float, float]]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if len(fields) >= 2:
                backoff = float(fields[2]) if len(fields) > 2 else 0.0
                yield fields[1], (float(fields[0]), backoff)


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"{time.perf_counter() - started:,.0f} s in all")
