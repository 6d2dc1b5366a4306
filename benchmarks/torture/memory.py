"""Too little memory (ulimit -v): the command must print one clear line.

Commands that need hundreds of megabytes run with limits that are too low.
"""

from __future__ import annotations

import random
import resource
from collections.abc import Callable
from pathlib import Path

from torture.commands import Command, prepare
from torture.material import KINDS, WORDS, write_texts
from torture.tally import Tally

ABOUT = "too little memory (ulimit): one clear line"
TRIALS = 20
_LARGE = ["model.hidden_size=1400", "model.embedding_size=1400", "model.num_layers=2"]


def attempt(trials: int, seed: int, place: Path) -> Tally:
    """Run commands with too little memory."""
    drawn, tally = random.Random(seed), Tally()
    prepare()
    write_texts(place)
    many = [f"w{number}" for number in range(60_000)]
    words = [drawn.choice(many if number % 3 else WORDS) for number in range(1_500_000)]
    lines = [" ".join(words[first : first + 25]) for first in range(0, len(words), 25)]
    (place / "large.txt").write_text("\n".join(lines) + "\n")
    kind = KINDS["lstm"]
    train = kind.train(place, place / "run", *_LARGE, "training.epochs=0.1")
    assert Command(train, place).wait(600).code == 0
    run, large = str(place / "run"), str(place / "large.txt")
    asked = [
        (["train", "ngram", "--data", large, "--out", str(place / "a")], 300),
        (["train", "zaremba-small", "--data", large, "--out", str(place / "b")], 900),
        (["evaluate", run, "--data", str(place / "text")], 200),
        (["generate", run, "--max-tokens", "5"], 200),
        (["quantise", run, "--out", str(place / "c")], 200),
        (["train", "--resume", run], 400),
        (["plan", "zaremba-large", "--data", large], 900),
        (["compare", run, run, "--data", str(place / "text")], 300),
    ]
    for number in range(trials):
        command, most = asked[number % len(asked)]
        megabytes = drawn.uniform(10, most * 0.6)
        ended = Command(command, place, before=_bound(megabytes)).wait(300)
        what = f"{number}: {megabytes:.0f} MB for elman {' '.join(command)[:80]}"
        if ended.code in (1, 2) and ended.one_line and not ended.traceback:
            tally.good("one clear line")
        else:
            tally.bad("not a clear line", f"{what}: {ended.code} {ended.err[-800:]}")
    return tally


def _bound(megabytes: float) -> Callable[[], None]:
    def bound() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + int(megabytes * 1e6)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    return bound
