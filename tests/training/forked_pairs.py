"""Forks pairs of processes, each of which works off a list of trainings.

A program of `test_processes.py`: takes a command per line, {"todos", "said", "place"} as JSON, says
with which codes the two have ended. Process 1 would never save by itself; signals, numbers that are
none, and kills come to process 1 alone.
"""

import json
import math
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import torch
import torch.distributed

from elman.errors import ElmanError
from elman.tasks import training_run
from elman.tasks.task import resume, train
from elman.training import loop
from elman.training.loop import Stopped
from elman.training.machine import Machine
from elman.training.processes import joined
from elman.training.trainer import Trainer

step = Trainer.step
todo: dict[str, Any] = {}


def eventful_step(self: Trainer) -> Any:
    here = self.counters.step + 1
    if self.processes.rank == 1:
        if todo.get("stop") == here:
            signal.raise_signal(signal.SIGTERM)
        if todo.get("kill") == here:
            os.kill(os.getpid(), signal.SIGKILL)
        if todo.get("spoil") == here:
            del todo["spoil"]
            return spoiled_step(self)
    return step(self)


def spoiled_step(trainer: Trainer) -> Any:
    average = trainer.processes.average

    def spoiled(parameters: Any, weight: int, nats: torch.Tensor, tokens: int) -> Any:
        return average(parameters, weight, nats * math.nan, tokens)

    trainer.processes.average = spoiled  # type: ignore[method-assign]
    try:
        return step(trainer)
    finally:
        trainer.processes.average = average  # type: ignore[method-assign]


def work(todos: list[dict[str, Any]]) -> None:
    global todo
    with joined() as processes:
        loop._SAVING_SHARE = 1e9 if processes.rank else 0  # type: ignore[assignment]
        for todo in todos:
            machine = Machine(processes=processes)
            try:
                if "options" in todo:
                    train(out=todo["out"], seed=3, machine=machine, **todo["options"])
                else:
                    resume(Path(todo["out"]), machine=machine)
            except Stopped as stopped:
                print(stopped, flush=True)


def live(rank: int, command: dict[str, Any]) -> None:
    for number, name in (1, "out"), (2, "errors"):
        os.dup2(os.open(f"{command['said']}.{rank}.{name}", os.O_WRONLY | os.O_CREAT), number)
    os.environ |= {"RANK": str(rank), **command["place"]}
    code = 0
    try:
        work(command["todos"])
    except ElmanError as error:
        code = error.exit_code
        print(f"elman: {error}", file=sys.stderr, flush=True)
    except BaseException:
        code = 99
        traceback.print_exc()
    finally:
        os._exit(code)


torch.set_num_threads(1)
torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]).step()  # imports for seconds, once
training_run.draw_curves = lambda records, path: None
loop._HISTORY_STEPS = 1
Trainer.step = eventful_step  # type: ignore[method-assign]
for line in sys.stdin:
    command = json.loads(line)
    children = []
    for rank in range(2):
        children.append(os.fork())
        if children[-1] == 0:
            live(rank, command)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(json.dumps(codes), flush=True)
