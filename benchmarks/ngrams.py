"""Measure the speed of count models: training, memory, scoring, growth, comparison with others.

    python benchmarks/ngrams.py PENN-TREEBANK-FOLDER

Trains in new processes and takes the best of several runs. Ratios compare times of the same call.
KenLM's Python module and nltk are measured too if they are installed
(pip install 'elman[oracles]').
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

REPEATS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with ptb.train.txt, ptb.test.txt")
    data = parser.parse_args().data
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, numpy {np.__version__}"
    )
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        train(data, work)
        score(data, work)
        growth(data, work)
        against_nltk(data, work)


def best_of(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The time of the fastest of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


_CHILD = """
import sys
from elman.cli import run
code = run(sys.argv[1:])
memory = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(memory.split()[1], file=sys.stderr)
sys.exit(code)
"""


def run_elman(*arguments: str) -> tuple[float, float]:
    """Seconds and peak megabytes of one command in its own process, including start-up."""
    command = [sys.executable, "-c", _CHILD, *arguments]
    started = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"failed: elman {' '.join(arguments)}\n{done.stderr}")
    return seconds, int(done.stderr.split()[-1]) / 1024


def train(data: Path, work: Path) -> None:
    print("\ntrain a modified Kneser-Ney 5-gram on the Penn Treebank, from text file to run folder")
    command = ("train", "ngram", "--data", str(data), "--out", str(work / "kn5"), "--overwrite")
    runs = [run_elman(*command) for _ in range(REPEATS)]
    print(
        f"  elman: {min(s for s, _ in runs):.2f} s, {max(m for _, m in runs):.0f} MB "
        f"(whole process, best of {REPEATS}; slowest {max(s for s, _ in runs):.2f} s)"
    )


def score(data: Path, work: Path) -> None:
    import elman
    from elman.evaluation.scoring import score_ids
    from elman.formats.arpa_writer import write_arpa

    print("\nscore the test text, model loaded")
    seconds = best_of(lambda: elman.load(work / "kn5"))
    print(f"  elman: load and check the run {seconds:.2f} s")
    model = elman.load(work / "kn5")
    text = (data / "ptb.test.txt").read_text()
    ids = model.tokenizer.encode(text)
    ours = len(ids) / best_of(lambda: score_ids(model.model, ids, eos_id=0))
    print(f"  elman: {ours:,.0f} tokens per second from ids")
    from_text = len(ids) / best_of(
        lambda: score_ids(model.model, model.tokenizer.encode(text), eos_id=0)
    )
    print(f"  elman: {from_text:,.0f} tokens per second from text")
    try:
        import kenlm
    except ImportError:
        print("  kenlm: not installed")
        return
    started = time.perf_counter()
    write_arpa(work / "kn5.arpa", model.model.tables, model.tokenizer.tokens)
    print(f"  elman: wrote the ARPA file in {time.perf_counter() - started:.1f} s")
    started = time.perf_counter()
    theirs = kenlm.Model(str(work / "kn5.arpa"))
    print(f"  kenlm: loaded it in {time.perf_counter() - started:.1f} s")
    lines = text.splitlines()
    rate = len(ids) / best_of(lambda: [theirs.score(line) for line in lines])
    print(
        f"  kenlm: {rate:,.0f} tokens per second from text, "
        f"{rate / from_text:.1f} times as many as elman"
    )


def growth(data: Path, work: Path) -> None:
    print("\ngrowth: copies of the text, each with permuted words, so that its n-grams are new")
    text = (data / "ptb.train.txt").read_text()
    words = sorted(set(text.split()))
    print("  copies     tokens    seconds   microseconds/token   MB   bytes/token")
    for copies in (1, 2, 4, 8):
        path = work / f"train-{copies}.txt"
        with path.open("w") as file:
            for copy in range(copies):
                shifted = words[copy * 1234 % len(words) :] + words[: copy * 1234 % len(words)]
                other = dict(zip(words, shifted, strict=True))
                for line in text.splitlines():
                    file.write(" ".join(map(other.__getitem__, line.split())) + "\n")
        folder = work / f"data-{copies}"
        folder.mkdir()
        path.rename(folder / "train.txt")
        tokens = copies * (len(text.split()) + text.count("\n"))
        runs = [
            run_elman(
                "train", "ngram", "--data", str(folder), "--out", str(work / "grown"), "--overwrite"
            )
            for _ in range(3)
        ]
        seconds, megabytes = min(s for s, _ in runs), max(m for _, m in runs)
        print(
            f"  {copies:6} {tokens:10,} {seconds:10.2f} {seconds / tokens * 1e6:20.2f} "
            f"{megabytes:6.0f} {megabytes * 2**20 / tokens:11.0f}"
        )


def against_nltk(data: Path, work: Path) -> None:
    from elman.counts.estimate import NgramConfig
    from elman.evaluation.scoring import score_ids
    from elman.models.ngram import NGram
    from elman.text.tokenizer import TextConfig
    from elman.text.words import Words

    try:
        from nltk.lm import KneserNeyInterpolated
        from nltk.lm.preprocessing import pad_both_ends, padded_everygram_pipeline
    except ImportError:
        print("\nnltk: not installed")
        return
    order, train_lines, test_lines = 5, 10_000, 10
    lines = (data / "ptb.train.txt").read_text().splitlines()[:train_lines]
    test = (data / "ptb.test.txt").read_text().splitlines()[:test_lines]
    print(
        f"\nagainst nltk.lm.KneserNeyInterpolated: order {order}, {train_lines:,} lines; "
        f"{test_lines} lines scored"
    )
    split = [line.split() for line in lines]
    started = time.perf_counter()
    theirs = KneserNeyInterpolated(order)
    theirs.fit(*padded_everygram_pipeline(order, split))
    their_fit = time.perf_counter() - started
    started = time.perf_counter()
    for line in test:
        padded = list(pad_both_ends(line.split(), n=order))
        for end in range(order - 1, len(padded)):
            theirs.logscore(padded[end], padded[end - order + 1 : end])
    their_score = time.perf_counter() - started

    text = "\n".join(lines) + "\n"

    def fit() -> NGram:
        tokenizer, ids = Words.learn(text, TextConfig())
        config = NgramConfig(order=order, smoothing="kneser-ney")
        return NGram.fit(ids, config, vocabulary_size=len(tokenizer), eos_id=0)

    our_fit = best_of(fit)
    model, tokenizer = fit(), Words.train(text, TextConfig())
    ids = tokenizer.encode("\n".join(test) + "\n")
    our_score = best_of(lambda: score_ids(model, ids, eos_id=0))
    for what, nltk, elman in (
        ("fit", their_fit, our_fit),
        ("score", their_score, our_score),
        ("both", their_fit + their_score, our_fit + our_score),
    ):
        print(
            f"  {what:5}  nltk {nltk:8.2f} s   elman {elman:8.4f} s   {nltk / elman:10,.0f} times"
        )


if __name__ == "__main__":
    main()
