"""Measure counting on a small Spark cluster of this machine: two workers of one core and 1 GB.

    python benchmarks/scale_spark.py TEXT --millions 10 --order 5 --out COUNTS
    elman train ngram --counts COUNTS --out RUN --memory 2G

TEXT is a file of lines, words separated by spaces. The workers count words first, then n-grams.
Each row is a stage: seconds of CPU time (Java and Python, all processes), seconds by the clock, the
bytes that the workers sent (shuffle), and the largest sum of memory of all processes. COUNTS is a
folder of counts; the model made of it has the bytes of one that is trained on the text.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession
from scale_counting import cut, memory_of, size_of

from elman.counts.spark import count, learn_words

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--millions", type=float, default=10)
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.out.parent) as folder:
        tokens = cut(given.text, Path(folder) / "data", round(given.millions * 1e6))
        session = started(Path(folder))
        print(f"{tokens:,} tokens, order {given.order}")
        print("stage     cpu s clock s  peak MB  sent MB")
        paths = [str(Path(folder) / "data" / "train.txt")]
        tokenizer = stage(session, "words", lambda: learn_words(session, paths))
        place = {"tokenizer": tokenizer, "order": given.order, "out": str(given.out)}
        stage(session, "n-grams", lambda: count(session, paths, **place))
        print(f"{size_of(given.out) / 1e6:,.0f} MB of counts, {len(tokenizer):,} words")
        session.stop()


def started(folder: Path) -> Any:
    """A session on two workers."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executorEnv.PYTHONPATH", str(ROOT))
        .config("spark.executorEnv.OMP_NUM_THREADS", "1")
        .config("spark.executor.memory", "700m")
        .config("spark.local.dir", str(folder))
        .config("spark.sql.files.maxPartitionBytes", str(8 << 20))
        .config("spark.sql.shuffle.partitions", "16")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def stage(session: Any, name: str, work: Callable[[], Any]) -> Any:
    """Do some work and print its cost."""
    most, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(1):
            most[0] = max(most[0], memory_of(os.getpid()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    cpu, sent, began = cpu_seconds(), sent_bytes(session), time.perf_counter()
    found = work()
    clock = time.perf_counter() - began
    cpu, sent = cpu_seconds() - cpu, sent_bytes(session) - sent
    ended.set()
    watcher.join()
    row = f"{name:<8} {cpu:>6.1f} {clock:>7.0f} {most[0] / 1e6:>8,.0f} {sent / 1e6:>8,.0f}"
    print(row, flush=True)
    return found


def cpu_seconds() -> float:
    """CPU time of this process and of all that it started, as far as they still run."""
    process = psutil.Process()
    times = [one.cpu_times() for one in [process, *process.children(recursive=True)]]
    return sum(t.user + t.system + t.children_user + t.children_system for t in times)


def sent_bytes(session: Any) -> int:
    """The bytes that all workers wrote for others."""
    found = session.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(int(found.apply(number).totalShuffleWrite()) for number in range(found.size()))


if __name__ == "__main__":
    main()
