"""Full disks during training, overwriting, quantising and exporting: no saved run is damaged.

Small disks of many sizes are mounted (tmpfs; this needs the right to mount). Each disk holds an old
run, and a command writes until no space is left. Afterwards the old run or a complete new one must
be there, and the command must have printed one clear line.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

from torture.commands import Command, prepare
from torture.material import KINDS, write_texts
from torture.outcomes import differences, outcome
from torture.tally import Tally

ABOUT = "full disk during training, overwriting or exporting: the old run is not lost"
TRIALS = 64
# The most space that a command gets, relative to the size of the old run: about what it needs.
_ROOM = {"train": 2.2, "overwrite": 2.2, "count": 0.15, "quantise": 0.5, "export": 0.05}
_ROOM |= {"resume": 1.2}
_WAYS = [*_ROOM]
_BLOCKS = 40_960  # bytes that a disk loses because files take whole blocks
_ALL_OR_NOTHING = ("train", "export", "count", "quantise")  # these must leave the old run unchanged


def attempt(trials: int, seed: int, place: Path) -> Tally:
    """Run commands on disks that are too small."""
    drawn, tally = random.Random(seed), Tally()
    prepare()
    write_texts(place, lines=400)
    large = [setting for setting in KINDS["lstm"].settings if "_size" not in setting]
    large += ["model.hidden_size=60", "model.embedding_size=60", "training.epochs=1"]
    settings = [word for setting in large for word in ("--set", setting)]
    train = ["train", "quick", "--data", str(place / "text"), *settings]
    train += ["--set", "training.save_minutes=0", "--set", "training.validate_every=0.2"]
    old, disk = place / "old", place / "disk"
    disk.mkdir()
    assert Command([*train, "--out", str(old), "--seed", "5"], place).wait().code == 0
    assert Command(KINDS["ngram"].train(place, place / "counts"), place).wait().code == 0
    before, size = outcome(old), sum(file.stat().st_size for file in old.iterdir())
    for number in range(trials):
        way = _WAYS[number % len(_WAYS)]
        room = int(size * (1 + _ROOM[way] * (number + drawn.random()) / trials)) + _BLOCKS
        mount = ["mount", "-t", "tmpfs", "-o", f"size={room // 1024}k", "tmpfs", str(disk)]
        subprocess.run(mount, check=True)
        try:
            shutil.copytree(old, disk / "run")
            command = {
                "train": [*train, "--out", str(disk / "new"), "--seed", "6"],
                "overwrite": [*train, "--out", str(disk / "run"), "--seed", "6", "--overwrite"],
                "count": [*KINDS["ngram"].train(place, disk / "run"), "--overwrite"],
                "quantise": ["quantise", str(old), "--out", str(disk / "run"), "--overwrite"],
                "export": ["export", str(place / "counts"), str(disk / "model.arpa")],
                "resume": ["train", "--resume", str(disk / "run")],
            }[way]
            _try(f"{number}: {way} on {room:,} bytes", way, command, place, disk, before, tally)
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)
    return tally


def _try(
    what: str,
    way: str,
    command: list[str],
    place: Path,
    disk: Path,
    before: dict[str, object],
    tally: Tally,
) -> None:
    ended = Command(command, place).wait()
    try:
        found = outcome(disk / "run")  # every file is checked
    except Exception as error:
        tally.bad("lost", f"{what}: {error}; {ended.err[-300:]}")
        return
    if ended.traceback or ended.code not in (0, 1, 2) or (ended.code and not ended.one_line):
        tally.bad("traceback", f"{what}: {ended.code} {ended.err[-800:]}")
    elif ended.code and way in _ALL_OR_NOTHING and (changed := differences(before, found)):
        tally.bad("changed", f"{what}: {changed[:4]} {ended.err[-300:]}")
    else:
        tally.good("full" if ended.code else "fitted")
