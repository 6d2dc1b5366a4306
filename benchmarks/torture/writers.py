"""Two processes write to one folder: one wins, the other is refused, and nothing is mixed or lost.

Covers all pairs of training, overwriting, resuming, importing and quantising, with random delays.
In some trials one process is killed. Afterwards the folder must contain, to the last bit, either
what one of the writers produces alone or what was there before.
"""

from __future__ import annotations

import random
import shutil
import signal
import time
from itertools import product
from pathlib import Path
from typing import Any

from torture.commands import Command, Ended, prepare
from torture.hostile import _stop_early
from torture.material import KINDS, write_texts
from torture.outcomes import differences, outcome
from torture.tally import Tally

ABOUT = "two processes write to one folder: nothing mixed, nothing lost"
TRIALS = 200
_KILLED = 0.25  # share of trials in which one writer is killed
_OLD = "old"


def attempt(trials: int, seed: int, place: Path) -> Tally:
    """Let pairs of writers write to one folder."""
    drawn, tally = random.Random(seed), Tally()
    prepare()
    write_texts(place)
    writers = _writers(place)
    alone = _alone(writers, place)
    pairs = [*product(writers, writers)]
    drawn.shuffle(pairs)
    for number in range(trials):
        names = pairs[number % len(pairs)]
        run = place / "arena" / "run"
        shutil.rmtree(run.parent, ignore_errors=True)
        run.parent.mkdir()
        existing = "resume" in names or drawn.random() < 0.5
        if existing:
            shutil.copytree(place / _OLD, run)
        kill = drawn.random() < _KILLED
        what = f"{number}: {' and '.join(names)}, {'a run' if existing else 'nothing'} there"
        ended = _fight([writers[name] for name in names], place, run, drawn, kill)
        problem = _said_wrongly(ended) or _judge(names, run, alone, existing, kill, place, ended)
        if problem:
            tally.bad(problem[0], f"{what}{', one killed' if kill else ''}: {problem[1]}")
        else:
            tally.good("one killed" if kill else "both ended")
    return tally


def _writers(place: Path) -> dict[str, list[str]]:
    """Commands that write to the folder RUN."""
    lstm, run = KINDS["lstm"], Path("RUN")
    often = "training.save_minutes=0"
    made = {
        "train": lstm.train(place, run, often),
        "count": KINDS["ngram"].train(place, run),
        "import": ["import", str(place / "model.arpa"), "--out", "RUN"],
        "quantise": ["quantise", str(place / "source"), "--out", "RUN"],
    }
    made |= {f"{name} --overwrite": [*words, "--overwrite"] for name, words in made.items()}
    for number, words in enumerate(made.values()):  # so that their runs differ
        if words[0] == "train":
            words += ["--seed", str(number)]
    return made | {"resume": ["train", "--resume", "RUN"]}


def _alone(writers: dict[str, list[str]], place: Path) -> dict[str, Any]:
    """What each writer produces alone; and the old run, a stopped training."""
    old = KINDS["lstm"].train(place, place / _OLD, "training.epochs=4")
    _finish(Command([*old, "--seed", "99"], place, before=_stop_early), 143)
    source = KINDS["lstm"].train(place, place / "source")
    _finish(Command(source, place), 0)
    _finish(Command(KINDS["ngram"].train(place, place / "counts"), place), 0)
    _finish(Command(["export", str(place / "counts"), str(place / "model.arpa")], place), 0)
    made = {_OLD: outcome(place / _OLD)}
    for name, words in writers.items():
        run = place / "alone"
        shutil.rmtree(run, ignore_errors=True)
        if name == "resume":
            shutil.copytree(place / _OLD, run)
        _finish(Command(_at(words, run), place), 0)
        made[name] = outcome(run)
    return made


def _finish(command: Command, code: int) -> None:
    ended = command.wait()
    assert ended.code == code, ended.err


def _at(words: list[str], run: Path) -> list[str]:
    return [str(run) if word == "RUN" else word for word in words]


def _fight(
    writers: list[list[str]], place: Path, run: Path, drawn: random.Random, kill: bool
) -> list[Ended]:
    """Start both writers, and kill one if `kill` is set."""
    begun = [Command(_at(writers[0], run), place)]
    time.sleep(drawn.choice([0.0, drawn.uniform(0, 0.1), drawn.uniform(0, 1.5)]))
    begun.append(Command(_at(writers[1], run), place))
    if kill:
        time.sleep(drawn.uniform(0, 1.5))
        drawn.choice(begun).signal(signal.SIGKILL)
    return [command.wait() for command in begun]


def _said_wrongly(both: list[Ended]) -> tuple[str, str] | None:
    for ended in both:
        if ended.traceback or ended.code not in (0, 1, 2, -signal.SIGKILL):
            return "traceback", ended.err[-800:]
        if ended.code in (1, 2) and not ended.one_line:
            return "not one line", ended.err[-300:]
    return None


def _judge(
    names: tuple[str, ...],
    run: Path,
    alone: dict[str, Any],
    existing: bool,
    kill: bool,
    place: Path,
    ended: list[Ended],
) -> tuple[str, str] | None:
    """What is wrong with the content of the folder; None if nothing."""
    won = [name for name, one in zip(names, ended, strict=True) if one.code == 0]
    said = " | ".join(one.err.strip()[-150:] for one in ended)
    if not run.exists():
        left = list(run.parent.glob(".run.*.old"))
        if existing and not left:
            return "lost", f"the folder is gone; {said}"
        if won:
            return "lost", f"{won} ended well, but there is no run; {said}"
        if not existing:
            return None
    try:
        found = outcome(run)
    except Exception as error:
        return "broken", f"{error}; {said}"
    candidates = [*names, *([_OLD] if existing else [])]
    match = [name for name in candidates if not differences(alone[name], found)]
    if not match and kill:  # resume a killed training; it must reach the same end
        Command(["train", "--resume", str(run)], place).wait()
        found = outcome(run)
        match = [name for name in (*candidates, "resume") if not differences(alone[name], found)]
    if not match:
        wrong = {name: differences(alone[name], found)[:3] for name in candidates}
        return "mixed", f"{wrong}; {said}"
    if won and not set(match) & set(won) and match != ["resume"]:
        return "lost", f"{won} ended well, but the folder holds {match}; {said}"
    if len(won) == 2 and not any("--overwrite" in name or name == "resume" for name in won):
        return "lost", f"both ended well without --overwrite; {said}"
    litter = [path.name for path in run.parent.iterdir() if path.name != "run"]
    if litter and not kill:
        return "litter", f"{litter}; {said}"
    return None
