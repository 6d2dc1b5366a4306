"""One step of training after another, and all of it in a snapshot.

A trainer holds everything that changes while a model is trained: weights, optimizer, averages,
schedule, regime, position in the data, carried state, the state of every random generator, and the
best weights so far. `snapshot` gives all of it, `restore` takes it back; a run that was restored
goes on bit for bit.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import torch

from elman.batches import Batch, Batches
from elman.state import State, from_named, map_state, named_tensors
from elman.training.averaging import Averages
from elman.training.optimizers import OPTIMIZERS, optimizer_tensors, restore_optimizer
from elman.training.processes import Processes
from elman.training.regimes import make_regime
from elman.training.schedules import SCHEDULES
from elman.training.settings import TrainingConfig

Tensors = dict[str, torch.Tensor]


class Loss(Protocol):
    """Sums and counts of one step."""

    @property
    def nats(self) -> torch.Tensor: ...
    @property
    def tokens(self) -> int: ...
    @property
    def penalty(self) -> torch.Tensor | float: ...


class Trainable(Protocol):
    """All that the loop knows of a model; a torch module besides."""

    def loss(self, batch: Batch, carried: State | None) -> tuple[Loss, State]: ...


class Diverged(Exception):
    """A loss or a gradient was no number; the step was not applied."""


@dataclass(frozen=True)
class Step:
    """What one step of training showed."""

    nats: float
    tokens: int  # that were learned
    read: int  # all tokens of the batch
    gradient_norm: float  # before clipping
    clipped: bool
    learning_rate: float


@dataclass
class Meter:
    """Sums over the steps since the last record of the history."""

    nats: float = 0.0
    tokens: int = 0
    steps: int = 0
    clipped: int = 0
    norms: float = 0.0
    largest_norm: float = 0.0
    learning_rate: float = 0.0  # of the last step

    def add(self, step: Step) -> None:
        """Take in a step."""
        self.nats += step.nats
        self.tokens += step.tokens
        self.steps += 1
        self.clipped += step.clipped
        self.norms += step.gradient_norm
        self.largest_norm = max(self.largest_norm, step.gradient_norm)
        self.learning_rate = step.learning_rate


@dataclass
class Snapshot:
    """Everything that changes, at one moment."""

    weights: Tensors  # as training goes on with them
    best: Tensors  # as they validated best; those of now before any validation
    memory: Tensors  # of optimizer, averages, regime, carried state and random generators
    data: dict[str, Any]  # positions, schedule and numbers; plain data


class Trainer:
    """A model in training."""

    def __init__(
        self,
        model: Any,
        batches: Batches,
        config: TrainingConfig,
        validation: Batches | None = None,
        processes: Processes | None = None,
    ) -> None:
        self.processes = processes or Processes()
        self.model = model
        self.batches = batches
        self.config = config
        self.validation = validation
        self._validation_start = validation.position() if validation else {}
        self.device = next(model.parameters()).device
        self._names = {parameter: name for name, parameter in model.named_parameters()}
        self.optimizer = OPTIMIZERS[config.optimizer](model.parameters(), config)
        self.schedule = SCHEDULES[config.schedule](config)
        self.averages = Averages(config, dict(model.named_parameters()))
        self.regime = make_regime(config.regime, config.regime_options, model)
        self.processes.check_regime(config.regime, bool(self.regime.tensors()))
        self._twin: Any = None  # a second model, which the averages are validated in
        self.carried: State | None = None
        self.step_number = 0
        self.epoch = 0  # whole ones that are done
        self.tokens_in_epoch = 0
        self.rate_factor = 1.0  # lowered after a divergence
        self.meter = Meter()
        self.best_nats = math.inf
        self._best: Tensors | None = None
        self._best_step = 0
        self.waited = 0  # validations since the best
        self.validations = 0
        self.validated_step = -1

    # One step -------------------------------------------------------------------------------------

    @property
    def epochs_done(self) -> float:
        """Whole epochs and the part of the current one."""
        return self.epoch + self.tokens_in_epoch / self.batches.tokens_per_epoch

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        tired = bool(self.config.patience) and self.waited >= self.config.patience
        return self.epochs_done >= self.config.epochs or self.schedule.finished or tired

    def step(self) -> Step:
        """Learn from the next batch."""
        batch = self.batches.next()
        while batch is None:
            self.epoch, self.tokens_in_epoch, self.carried = self.epoch + 1, 0, None
            batch = self.batches.next()
        rate = self.config.learning_rate * self.schedule.warmed_factor(self.epochs_done)
        rate *= batch.rate_factor * self.rate_factor
        self.model.train()
        own, counts = self.processes.share(batch)
        progress = min(1.0, self.epochs_done / self.config.epochs)
        loss, carried = self.regime.loss(self.model, own.to(self.device), self.carried, progress)
        # A batch of which nothing is learned has no nats either.
        objective, weight = loss.nats / max(loss.tokens, 1) + loss.penalty, loss.tokens
        if self.config.loss_per == "row":
            weight = len(own.inputs)
            objective = objective * (loss.tokens / weight)
        self.optimizer.zero_grad(set_to_none=True)
        objective.backward()  # type: ignore[no-untyped-call]
        nats, tokens = self.processes.average(
            self.model.parameters(), weight * counts, loss.nats.detach(), loss.tokens
        )
        norm = self._clip()
        if not (math.isfinite(nats) and math.isfinite(norm)):
            raise Diverged(f"loss {nats:g}, gradient norm {norm:g}")
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.averages.update(dict(self.model.named_parameters()))
        self.carried = carried if self.batches.carries_state else None
        self.step_number += 1
        self.tokens_in_epoch += batch.tokens
        step = Step(nats, tokens, batch.tokens, norm, 0 < self.config.clip < norm, rate)
        self.meter.add(step)
        return step

    def _clip(self) -> float:
        """Shrink the gradient to the norm `clip` if it is longer: g ← g · min(1, clip / ‖g‖)."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))))
        if 0 < self.config.clip < norm < math.inf:
            torch._foreach_mul_(gradients, self.config.clip / norm)
        return norm

    # Looking --------------------------------------------------------------------------------------

    @property
    def best(self) -> Tensors:
        """The weights that validated best; those of now where nothing was validated."""
        return self._weights_to_validate() if self._best is None else self._best

    @property
    def best_step(self) -> int:
        """After how many steps `best` were the weights."""
        return self.step_number if self._best is None else self._best_step

    def validate(self) -> float | None:
        """Nats per token on the validation text, and what follows from it for best and schedule."""
        self.validations += 1
        self.validated_step = self.step_number
        if self.validation is None:
            return None
        self.validation.go_to(self._validation_start)  # the same sum in the same order every time
        model = self._validated_model()
        nats, tokens, carried = 0.0, 0, None
        with undisturbed(), torch.no_grad():
            model.eval()
            while (batch := self.validation.next()) is not None:
                loss, after = model.loss(batch.to(self.device), carried)
                carried = after if self.validation.carries_state else None
                nats, tokens = nats + float(loss.nats), tokens + loss.tokens
        mean = self.processes.first(nats / tokens)
        if not math.isfinite(mean):
            raise Diverged(f"validation {mean:g}")
        if mean < self.best_nats:
            self.best_nats, self.waited = mean, 0
            self._best, self._best_step = _copied(model.state_dict()), self.step_number
        else:
            self.waited += 1
        self.schedule.observe(mean)
        self.averages.observe(mean, dict(self.model.named_parameters()))
        return mean

    def _validated_model(self) -> Any:
        if self.averages.weights is None:
            return self.model
        if self._twin is None:
            self._twin = copy.deepcopy(self.model)
        self._twin.load_state_dict(self.model.state_dict() | self.averages.weights)
        return self._twin

    def _weights_to_validate(self) -> Tensors:
        return _copied(self.model.state_dict() | (self.averages.weights or {}))

    # Saving ---------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Everything that changes, copied."""
        memory = {
            f"optimizer/{name}": tensor
            for name, tensor in optimizer_tensors(self.optimizer, self._names).items()
        }
        for name, tensor in (self.averages.weights or {}).items():
            memory[f"average/{name}"] = tensor
        for name, tensor in self.regime.tensors().items():
            memory[f"regime/{name}"] = tensor
        if self.carried is not None:
            memory |= named_tensors(self.carried, "carried")
        memory["random/cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            memory["random/cuda"] = torch.cuda.get_rng_state(self.device)
        data = {
            "step": self.step_number,
            "epoch": self.epoch,
            "tokens_in_epoch": self.tokens_in_epoch,
            "position": copy.deepcopy(self.batches.position()),
            "schedule": self.schedule.to_data(),
            "averages": copy.deepcopy(self.averages.to_data()),
            "rate_factor": self.rate_factor,
            "best_nats": self.best_nats,
            "best_step": self.best_step,
            "waited": self.waited,
            "validations": self.validations,
            "validated_step": self.validated_step,
            "meter": asdict(self.meter),
        }
        return Snapshot(_copied(self.model.state_dict()), self.best, _copied(memory), data)

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot as if nothing had happened."""
        data, memory = snapshot.data, snapshot.memory
        self.model.load_state_dict(snapshot.weights)
        restore_optimizer(self.optimizer, self._names, self._under(memory, "optimizer/"))
        self.schedule.restore(data["schedule"])
        self.averages.restore(data["averages"], self._under(memory, "average/"))
        self.regime.restore(self._under(memory, "regime/"))
        self.batches.go_to(data["position"])
        carried = from_named(memory, "carried")
        self.carried = (
            None
            if carried is None
            else map_state(lambda tensor: tensor.to(self.device, copy=True), carried)
        )
        # A copy: torch crashes on a view of another tensor here.
        torch.set_rng_state(memory["random/cpu"].cpu().clone())
        if "random/cuda" in memory:
            torch.cuda.set_rng_state(memory["random/cuda"].cpu().clone(), self.device)
        self.step_number, self.epoch = data["step"], data["epoch"]
        self.tokens_in_epoch, self.rate_factor = data["tokens_in_epoch"], data["rate_factor"]
        self.best_nats, self._best_step = data["best_nats"], data["best_step"]
        self._best = dict(snapshot.best) if math.isfinite(self.best_nats) else None
        self.waited, self.validations = data["waited"], data["validations"]
        self.validated_step = data["validated_step"]
        self.meter = Meter(**data["meter"])

    def _under(self, tensors: Tensors, prefix: str) -> Tensors:
        """Those whose name begins so, on the device; single numbers stay where torch keeps them."""
        return {
            name.removeprefix(prefix): tensor.to(self.device) if tensor.dim() else tensor
            for name, tensor in tensors.items()
            if name.startswith(prefix)
        }


@contextmanager
def undisturbed() -> Iterator[None]:
    """Whatever is drawn inside, the random numbers after it are those that would have come."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        yield


def _copied(tensors: Tensors) -> Tensors:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}
