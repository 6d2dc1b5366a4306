"""Trains in children that are forked, so that each is there at once, and notes what is done.

A program of `test_killed.py`: takes a command per line, {"out", "notes", "options"} as JSON, says
the number of the child and, when that has ended, its status.
"""

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import torch

from elman.tasks import training_run
from elman.tasks.task import resume, train
from elman.training import loop
from elman.training.trainer import Trainer


def take_notes(path: str) -> None:
    """Write down every step and every checkpoint as soon as it is done."""
    notes = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    step, save = Trainer.step, loop.Loop._save

    def noted_step(self: Trainer) -> Any:
        shown = step(self)
        os.write(notes, f"step {self.counters.step}\n".encode())
        return shown

    def noted_save(self: loop.Loop) -> None:
        save(self)
        os.write(notes, f"saved {self.trainer.counters.step}\n".encode())

    Trainer.step, loop.Loop._save = noted_step, noted_save  # type: ignore[method-assign]


def live(command: dict[str, Any]) -> None:
    """Train or resume, and end."""
    code = 1
    try:
        take_notes(command["notes"])
        out = Path(command["out"])
        if out.exists():
            resume(out)
        else:
            train(out=out, seed=3, **command["options"])
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


torch.set_num_threads(1)
torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]).step()  # imports for seconds, once
loop._SAVING_SHARE, loop._HISTORY_STEPS = 0, 6
training_run.draw_curves = lambda records, path: None
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        live(json.loads(line))
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
