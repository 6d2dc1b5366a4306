"""Measure count models that outgrow a laptop: memory, load time, speed of asking.

    python benchmarks/scale.py growth --data PENN-TREEBANK-FOLDER     memory per token of training
    python benchmarks/scale.py loading --data PENN-TREEBANK-FOLDER    a mapped model of 1 GB
    python benchmarks/scale.py asking --data PENN-TREEBANK-FOLDER     speed of scoring and surprisal
    python benchmarks/scale.py rounding --data PENN-TREEBANK-FOLDER   8 bits: size, perplexity

Large texts are copies of the Penn Treebank, each with its words permuted, so that nearly all of
their n-grams are new: the worst case for memory. Each part prints a table. Times are CPU times of
one thread, the best of several; KenLM's module is measured in the same run if it is installed.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS: dict[str, Callable[[Path, Path], None]] = {}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=sorted(PARTS))
    parser.add_argument("--data", type=Path, required=True, help="folder of the Penn Treebank")
    parser.add_argument("--folder", type=Path, help="keep runs and texts here, and use them again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = given.folder or Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        PARTS[given.part](given.data, folder)


def part(function: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
    PARTS[function.__name__] = function
    return function


# Texts, processes, tables -----------------------------------------------------------------------


def permuted_text(data: Path, folder: Path, copies: int) -> Path:
    """A folder whose training text is so many copies, each with its words permuted."""
    place = folder / f"text-{copies}"
    if place.exists():
        return place
    text = (data / "ptb.train.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines()]
    words = sorted({word for line in lines for word in line})
    chosen = random.Random(0)
    partial = folder / f"partial-{copies}"
    partial.mkdir()
    with (partial / "train.txt").open("w", encoding="utf-8") as file:
        for _ in range(copies):
            other = dict(zip(words, chosen.sample(words, len(words)), strict=True))
            file.writelines(" ".join(map(other.__getitem__, line)) + "\n" for line in lines)
    partial.rename(place)
    return place


def tokens_of(text: Path) -> int:
    with (text / "train.txt").open(encoding="utf-8") as file:
        return sum(len(line.split()) + 1 for line in file)


CHILD = """
import json, sys, time
begun = time.perf_counter(), time.process_time()
def peak(): return next(int(l.split()[1]) for l in open("/proc/self/status") if "VmHWM" in l)
"""


def in_process(code: str, *arguments: str) -> dict[str, float]:
    """What a new process prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD + code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def print_rows(header: list[str], rows: list[list[object]]) -> None:
    print("| " + " | ".join(header) + " |", "|---" * len(header) + "|", sep="\n")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def trained(data: Path, folder: Path, copies: int = 0) -> Path:
    """A modified Kneser-Ney 5-gram of the Penn Treebank or of permuted copies."""
    run = folder / f"kn5-{copies}"
    if not run.exists():
        text = permuted_text(data, folder, copies) if copies else data
        command = ["train", "ngram", "--data", str(text), "--out", str(run)]
        in_process(TRAIN, *command)
    return run


TRAIN = """
import contextlib, io
from elman.cli import run
with contextlib.redirect_stdout(io.StringIO()):
    code = run(sys.argv[1:])
if code: sys.exit(code)
print(json.dumps({"kilobytes": peak(), "seconds": time.process_time() - begun[1]}))
"""


def best_rate(count: int, work: Callable[[], object], repeats: int = 9) -> float:
    """How many per second of CPU time, in the fastest of several turns."""
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return count / min(times)


# Growth of the memory of training ---------------------------------------------------------------


@part
def growth(data: Path, folder: Path) -> None:
    """Peak memory of `elman train ngram` for 10 and 30 million tokens."""
    rows: list[list[object]] = []
    points = []
    for copies in (11, 32):
        text = permuted_text(data, folder, copies)
        run = folder / f"kn5-{copies}"
        command = ["train", "ngram", "--data", str(text), "--out", str(run), "--overwrite"]
        found = in_process(TRAIN, *command)
        tokens, size = tokens_of(text), found["kilobytes"] * 1024
        points.append((tokens, size))
        rows.append([f"{tokens:,}", f"{size / 1e6:,.0f}", f"{found['seconds']:.1f}"])
    print_rows(["tokens", "peak MB", "CPU s"], rows)
    (few, low), (many, high) = points
    print(f"growth: {(high - low) / (many - few):.1f} bytes per token")


# Loading a model of 1 GB ------------------------------------------------------------------------

ASK = """
import numpy as np
from elman.tasks.task import load
model = load(sys.argv[1], verify=sys.argv[2] == "verify")
loaded = time.perf_counter()
ids = model.tokenizer.encode_typed("the price of gold rose")
model.model.log_probs(ids)
first = time.perf_counter()
if sys.argv[3] != "0":
    model.model.log_probs(np.load(sys.argv[3]))
def pss():
    lines = open("/proc/self/smaps_rollup").read().splitlines()
    return {l.split(":")[0]: int(l.split()[1]) for l in lines[1:]}
print(json.dumps({"ready": 1}), flush=True)
sys.stdin.readline()
found = pss()
print(json.dumps({"load": loaded - begun[0], "first": first - begun[0], "pss": found["Pss"],
                  "rss": found["Rss"], "peak": peak()}), flush=True)
sys.stdin.readline()  # stay until all have measured: a process that has ended shares nothing
"""


@part
def loading(data: Path, folder: Path) -> None:
    """Time to the first answer, and memory, of one and of four processes with one model."""
    import numpy as np

    from elman.tasks.task import load

    run = trained(data, folder, 18)
    size = (run / "weights.safetensors").stat().st_size
    print(f"model of {size / 1e9:.2f} GB")
    text = (data / "ptb.test.txt").read_text(encoding="utf-8")
    np.save(folder / "test.npy", load(run).tokenizer.encode(text))
    rows: list[list[object]] = []
    for count, how, scored in (
        (1, "verify", "0"),
        (1, "map", "0"),
        (1, "map", str(folder / "test.npy")),
        (4, "map", str(folder / "test.npy")),
        (4, "verify", str(folder / "test.npy")),
    ):
        found = together(count, str(run), how, scored)
        asked = "first question" if scored == "0" else "82,430 tokens scored"
        rows.append(
            [
                count,
                "mapped" if how == "map" else "read and verified",
                asked,
                f"{max(one['first'] for one in found):.2f}",
                f"{sum(one['pss'] for one in found) / 1024:,.0f}",
                f"{max(one['rss'] for one in found) / 1024:,.0f}",
            ]
        )
    header = ["processes", "tables", "asked", "s from import to first answer"]
    print_rows([*header, "MB, PSS of all", "MB, RSS of one"], rows)


def together(count: int, *arguments: str) -> list[dict[str, float]]:
    """Start processes one after the other, and measure all while all are alive."""
    processes = []
    for _ in range(count):
        process = subprocess.Popen(
            [sys.executable, "-c", CHILD + ASK, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert process.stdout is not None
        process.stdout.readline()  # it has answered
        processes.append(process)
    found = []
    for process in processes:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        found.append(json.loads(process.stdout.readline()))
    for process in processes:
        process.communicate("\n")
    return found


# Speed of asking --------------------------------------------------------------------------------


@part
def asking(data: Path, folder: Path) -> None:
    """Tokens scored per second from ids, words per second of surprisal, and KenLM beside them."""
    import torch

    from elman.evaluation.scoring import score_ids
    from elman.formats.arpa_writer import write_arpa
    from elman.tasks.task import load

    torch.set_num_threads(1)
    model = load(trained(data, folder))
    text = (data / "ptb.test.txt").read_text(encoding="utf-8")
    ids = model.tokenizer.encode(text)
    rows: list[list[object]] = []

    def add(what: str, rate: float) -> None:
        rows.append([what, f"{rate:,.0f}"])

    add(
        "elman: scoring from ids",
        best_rate(len(ids), lambda: score_ids(model.model, ids, eos_id=0)),
    )
    words = len(text.split()) + text.count("\n")
    rate = best_rate(words, lambda: model.surprisal(text), 3)
    add("elman: surprisal, entropy and rank, from text", rate)
    try:
        import kenlm
    except ImportError:
        print("KenLM is not installed")
    else:
        arpa = folder / "kn5.arpa"
        write_arpa(arpa, model.model.tables, model.tokenizer.tokens)
        theirs, lines = kenlm.Model(str(arpa)), text.splitlines()
        rate = best_rate(len(ids), lambda: [theirs.score(line) for line in lines])
        add("KenLM: scoring from text, sentence by sentence", rate)
    print_rows(["what", "per second"], rows)


# Eight bits -------------------------------------------------------------------------------------


@part
def rounding(data: Path, folder: Path) -> None:
    """Size and perplexity of rounded tables, and the size of KenLM's trie if its path is given in
    the environment variable BUILD_BINARY.
    """
    from elman.formats.arpa_writer import write_arpa
    from elman.tasks.language_modelling.quantising import quantise
    from elman.tasks.task import load

    run = trained(data, folder)
    model = load(run)
    places = {"elman, 64 bits and counts": run}
    for bits in (32, 8):
        places[f"elman, {bits} bits"] = folder / f"kn5-{bits}-bits"
        quantise(model, places[f"elman, {bits} bits"], bits=bits, overwrite=True)
    rows: list[list[object]] = []
    for what, place in places.items():
        measured = load(place).evaluate(str(data), split="test")
        size = (place / "weights.safetensors").stat().st_size
        rows.append([what, f"{size:,}", f"{measured.perplexity:.6f}"])
    if program := os.environ.get("BUILD_BINARY"):
        arpa, binary = folder / "kn5.arpa", folder / "kn5.binary"
        write_arpa(arpa, model.model.tables, model.tokenizer.tokens)
        for what, options in {
            "KenLM trie": [],
            "KenLM trie, 8 bits": ["-q", "8", "-b", "8", "-a", "22"],
        }.items():
            command = [program, *options, "trie", str(arpa), str(binary)]
            subprocess.run(command, check=True, capture_output=True)
            rows.append([what, f"{binary.stat().st_size:,}", ""])
    print_rows(["tables", "bytes", "perplexity"], rows)


if __name__ == "__main__":
    main()
