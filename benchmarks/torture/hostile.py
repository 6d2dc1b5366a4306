"""Manipulated run folders with a valid manifest: refused in one line, or used.

A part of a run is changed at random: a value in its JSON, an array in its weights, or a whole file
(a FIFO, a device, a folder, garbage, gigabytes of zeros). The manifest gets the right hashes, then
a command reads the run. Promised: no traceback, no hang, little memory.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save

from elman.runs import manifest
from elman.training.trainer import Trainer
from torture.commands import Command, Ended, own_megabytes, prepare
from torture.material import KINDS, write_texts
from torture.tally import Tally

ABOUT = "manipulated runs with a valid manifest: no traceback, no hang, below 1 GB of extra memory"
TRIALS = 1000
_SECONDS = 60.0
_TRAINING_SECONDS = 15.0
_MEGABYTES = 1000.0

_VALUES: list[Any] = [None, True, False, 0, -1, 1, 2, 7, 10**6, 10**9, 2**31, 2**63, 10**18]
_VALUES += [10**400, -(10**18), 0.5, -0.5, 1e308, -1e308, float("nan"), float("inf"), 1e-320]
_VALUES += ["", "none", "x" * 100_000, "\ud800", "\0", "../../etc/passwd", "/dev/zero", "lstm"]
_VALUES += [[], {}, [[]], [None], [0], [-1], [10**9] * 3, ["a", "a"], {"a": 1}, {"": {}}]


def attempt(trials: int, seed: int, place: Path) -> Tally:
    """Manipulate runs and read them."""
    drawn = random.Random(seed)
    prepare()
    write_texts(place)
    runs = _make_runs(place)
    tally, beginning = Tally(), own_megabytes()
    for number in range(trials):
        name = drawn.choice([*runs])
        run, out = place / "hostile", place / "made"
        for old in (run, out):
            _remove(old)
        shutil.copytree(runs[name], run)
        what = spoil(run, drawn)
        kind = KINDS[name.partition("-")[0]]
        command = kind.ask(drawn.choice(kind.commands), place, run, out)
        ended = _patient(Command(command, place), training="--resume" in command)
        _judge(tally, f"{number} {name} {what}: elman {' '.join(command)}", ended, beginning)
    return tally


def _patient(command: Command, training: bool) -> Ended:
    """Wait for a command; a long training gets SIGTERM and must then save and end."""
    if training:
        latest = time.monotonic() + _TRAINING_SECONDS
        while command.poll() is None and time.monotonic() < latest:
            time.sleep(0.01)
        command.signal(signal.SIGTERM)
    return command.wait(_SECONDS)


def _judge(tally: Tally, trial: str, ended: Any, beginning: float) -> None:
    memory = ended.megabytes - beginning
    tally.largest("MB above the beginning", memory)
    tally.largest("seconds", ended.seconds)
    if ended.code == -signal.SIGKILL:
        tally.bad("hang", trial)
    elif ended.traceback or ended.code == 70:
        tally.bad("traceback", f"{trial}\n{ended.err[-1500:]}")
    elif ended.code == -signal.SIGTERM:  # our signal, before there was anything to save
        tally.good("stopped")
    elif ended.code < 0:
        tally.bad(f"signal {-ended.code}", f"{trial}\n{ended.err[-500:]}")
    elif memory > _MEGABYTES:
        tally.bad("memory", f"{trial}: {memory:.0f} MB")
    elif ended.code and not ended.one_line:
        tally.bad("not one line", f"{trial}\n{ended.err[-500:]}")
    else:
        tally.good("refused" if ended.code else "used")


def _make_runs(place: Path) -> dict[str, Path]:
    """A finished run of every kind, and a stopped one where it can be resumed."""
    made = {}
    for name, kind in KINDS.items():
        for ending in ("", "-stopped"):
            if ending and "train --resume {run}" not in kind.commands:
                continue
            out = place / f"{name}{ending}"
            before = _stop_early if ending else lambda: None
            ended = Command(kind.train(place, out), place, before=before).wait()
            assert ended.code == (143 if ending else 0), ended.err
            made[out.name] = out
    return made


def _stop_early() -> None:
    step = Trainer.step

    def stopping(self: Trainer) -> Any:
        if self.counters.step == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(self)

    Trainer.step = stopping  # type: ignore[method-assign]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


# Ways to manipulate a run -----------------------------------------------------------------------


def spoil(run: Path, drawn: random.Random) -> str:
    """Manipulate a run and give it a valid manifest; returns what was changed."""
    ways: list[tuple[int, Callable[[Path, random.Random], str]]] = [
        (12, _change_json),
        (6, _change_arrays),
        (2, _change_file),
        (2, _change_header),
        (1, _change_manifest),
        (2, _change_history),
    ]
    way = drawn.choices([way for _, way in ways], [weight for weight, _ in ways])[0]
    return way(run, drawn)


def _parts(run: Path) -> dict[str, Any]:
    files: dict[str, Any] = json.loads((run / manifest.MANIFEST).read_text())["files"]
    return files


def _seal(run: Path, changes: dict[str, Any] | None = None, sizes: bool = True) -> None:
    """Write the manifest that elman would write for the current files."""
    data = json.loads((run / manifest.MANIFEST).read_text())
    data.pop("sha256")
    for name, entry in data["files"].items():
        file = run / entry.get("stored", name)
        if sizes and file.is_file() and not file.is_symlink() and file.stat().st_size < 2**28:
            content = file.read_bytes()
            entry |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        elif sizes and file.exists():
            entry |= {"bytes": file.stat().st_size}
    data |= changes or {}
    (run / manifest.MANIFEST).write_text(manifest._sealed(data))


def _stored(run: Path, ending: str, drawn: random.Random) -> Path:
    entries = _parts(run)
    names = [entry.get("stored", name) for name, entry in entries.items() if name.endswith(ending)]
    return run / drawn.choice(names)


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a tree; only the first few of long lists."""
    found = [path] if path else []
    if isinstance(tree, dict):
        for key in [*tree][:50]:
            found += _places(tree[key], (*path, key))
    elif isinstance(tree, list):
        for number in range(min(len(tree), 4)):
            found += _places(tree[number], (*path, number))
    return found


def _change_json(run: Path, drawn: random.Random) -> str:
    file = _stored(run, ".json", drawn)
    tree = json.loads(file.read_text())
    places = _places(tree)
    place = drawn.choice(places)
    parent = tree
    for key in place[:-1]:
        parent = parent[key]
    way = drawn.choice(["value"] * 6 + ["gone", "twice", "deep", "many", "of another"])
    if way == "gone":
        del parent[place[-1]]
    elif way == "twice" and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[place[-1]]))
    elif way == "of another":
        other = tree
        for key in drawn.choice(places):
            other = other[key]
        parent[place[-1]] = copy.deepcopy(other)
    else:
        parent[place[-1]] = drawn.choice(_VALUES)
    text = json.dumps(tree)
    if way == "deep":
        depth = drawn.choice([60, 500, 900, 5000, 200_000])
        parent[place[-1]] = "DEEP"
        text = json.dumps(tree).replace('"DEEP"', "[" * depth + "]" * depth)
    elif way == "many":
        parent[place[-1]] = "MANY"
        values = ",".join([drawn.choice(["[]", "{}", "0", '""'])] * drawn.choice([10**5, 10**7]))
        text = json.dumps(tree).replace('"MANY"', f"[{values}]")
    file.write_bytes(text.encode(errors="backslashreplace"))
    _seal(run)
    return f"{file.name} {'.'.join(map(str, place))} {way}"


def _change_arrays(run: Path, drawn: random.Random) -> str:
    file = _stored(run, ".safetensors", drawn)
    arrays = load_file(file)
    name = drawn.choice([*arrays])
    array = arrays[name]
    way = drawn.choice(["type", "values", "shape", "gone", "more", "renamed", "larger", "swapped"])
    if way == "type":
        kinds = [np.float64, np.float16, np.int8, np.int64, np.bool_, np.uint8]
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(drawn.choice(kinds))
    elif way == "values":
        value = drawn.choice([-1, 0, 10**6, 2**30, float("nan"), float("inf"), 1e30])
        changed = array.copy().reshape(-1)
        count = drawn.choice([1, len(changed)])
        with np.errstate(all="ignore"):
            if len(changed):
                changed[:count] = np.array(value).astype(array.dtype)
        arrays[name] = changed.reshape(array.shape)
    elif way == "shape":
        shapes = [array.reshape(-1), array[None], array.reshape(-1)[:1], array.reshape(-1)[:0]]
        shapes += [array.T.copy(), array.reshape(-1, 1), array.sum(dtype=array.dtype)]
        arrays[name] = np.ascontiguousarray(drawn.choice(shapes))
    elif way == "gone":
        del arrays[name]
    elif way == "renamed":
        arrays[drawn.choice(["x", "", "optimizer/x", "carried/0", "../x", "a" * 10**4])] = (
            arrays.pop(name)
        )
    elif way == "more":
        arrays[f"{name}.more"] = array
    elif way == "larger":
        arrays[name] = np.concatenate([array.reshape(-1), np.zeros(10**6, array.dtype)])
    else:
        other = drawn.choice([*arrays])
        arrays[name], arrays[other] = arrays[other], arrays[name]
    file.write_bytes(save({key: np.ascontiguousarray(value) for key, value in arrays.items()}))
    _seal(run)
    return f"{file.name} {name} {way}"


def _change_header(run: Path, drawn: random.Random) -> str:
    """Change the header of a weights file, or add gigabytes of zeros that use no disk space."""
    file = _stored(run, ".safetensors", drawn)
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    name = drawn.choice([*header])
    way = drawn.choice(["length", "shape", "offsets", "dtype", "huge", "text", "entry"])
    size = 0
    if way == "length":
        huge = drawn.choice([0, 2**31, 2**63 - 1, len(content), length + 1])
        file.write_bytes(huge.to_bytes(8, "little") + content[8:])
    else:
        if way == "shape":
            header[name]["shape"] = drawn.choice([[2**62], [2**32, 2**32], [0, 2**60], [-1], "x"])
        elif way == "offsets":
            header[name]["data_offsets"] = drawn.choice([[0, 2**60], [5, 1], [0, 0], [-4, 4], []])
        elif way == "dtype":
            header[name]["dtype"] = drawn.choice(["BF16", "F8_E4M3", "F64", "X", "BOOL", 3, ""])
        elif way == "huge":
            size = drawn.choice([3, 40, 4000]) * 2**30
            header = {name: {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}
        elif way == "entry":
            header[name] = drawn.choice([None, 3, [], "x", {}])
        text = json.dumps(header).encode()
        if way == "text":
            text = drawn.choice([b"[" * 10**6, b"\xff" * 64, b"{" * 64, b" " * (90 * 2**20)])
        file.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])
        if size:
            os.truncate(file, 8 + len(text) + size)
    _seal(run)
    return f"{file.name} header {way}"


def _change_file(run: Path, drawn: random.Random) -> str:
    """Replace a file by something else."""
    entries = _parts(run)
    name, entry = drawn.choice([*entries.items()])
    file = run / entry.get("stored", name)
    if drawn.random() < 0.2:
        file = run / manifest.MANIFEST
    way = drawn.choice(["fifo", "zero", "tty", "folder", "loop", "gone", "garbage", "endless"])
    _remove(file)
    if way == "fifo":
        os.mkfifo(file)
    elif way in ("zero", "tty"):
        file.symlink_to({"zero": "/dev/zero", "tty": "/dev/ptmx"}[way])
    elif way == "folder":
        file.mkdir()
    elif way == "loop":
        file.symlink_to(file)
    elif way == "garbage":
        file.write_bytes(drawn.randbytes(drawn.choice([0, 1, 1000])))
    elif way == "endless":
        file.write_bytes(b"{")
        os.truncate(file, drawn.choice([1, 200]) * 2**30)
    if file.name != manifest.MANIFEST and way != "gone":
        _seal(run)
    return f"{file.name} is {way}"


def _change_manifest(run: Path, drawn: random.Random) -> str:
    entries = _parts(run)
    name = drawn.choice([*entries])
    way = drawn.choice(["generation", "bytes", "stored", "sha256", "version", "files", "names"])
    changes: dict[str, Any] = {}
    if way in ("bytes", "sha256", "stored"):
        entries[name][way] = drawn.choice(_VALUES[:30])
        changes = {"files": entries}
    elif way == "names":
        changes = {"files": {drawn.choice(["", ".", "a/b", "\ud800", "x" * 9999]): entries[name]}}
    else:
        changes = {way: drawn.choice(_VALUES)}
    try:
        _seal(run, changes, sizes=False)
    except ValueError:
        _seal(run, {"generation": -1}, sizes=False)
    return f"manifest {way}"


def _change_history(run: Path, drawn: random.Random) -> str:
    """Change the history, which is not part of the manifest."""
    file = run / "history.jsonl"
    record = {"step": 1, "epoch": 0.5, "train_perplexity": 3.0, "gradient_norm": 1.0}
    record |= {"learning_rate": 1.0, "valid_perplexity": 2.0}
    record[drawn.choice([*record])] = drawn.choice(_VALUES)
    lines = [json.dumps(record), "[]", "3", "null", "[" * 10**5, '"x"', "{}", '{"step": {}}']
    way = drawn.choice(["line", "line", "line", "fifo", "zero", "large"])
    _remove(file)
    if way == "fifo":
        os.mkfifo(file)
    elif way == "zero":
        file.symlink_to("/dev/zero")
    elif way == "large":
        file.write_text("{}\n" * 10**6)
    else:
        file.write_text("".join(drawn.choice(lines) + "\n" for _ in range(4)))
    return f"history {way}"
