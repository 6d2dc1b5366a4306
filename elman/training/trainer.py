"""The trainer: takes training steps and validates; its state fits in a snapshot.

A trainer holds everything that changes while a model is trained: weights, optimizer, averages,
schedule, regime, position in the data, carried state, the state of every random generator, and the
best weights so far. `snapshot` copies all of it, `restore` sets it; a restored run continues bit
for bit.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import torch

from elman.batches import Batch, Batches
from elman.data_checks import like
from elman.state import State, from_named, map_state, named_tensors
from elman.training.averaging import AVERAGES, Averages
from elman.training.counters import LATER, Counters, Step
from elman.training.divergence import Diverged, not_finite
from elman.training.optimizers import (
    OPTIMIZERS,
    Groups,
    optimizer_tensors,
    restore_optimizer,
    takes_sparse,
)
from elman.training.processes import Processes
from elman.training.regimes import make_regime
from elman.training.schedules import SCHEDULES, Schedule
from elman.training.settings import TrainingConfig
from elman.training.snapshot import (
    Snapshot,
    Tensors,
    copied,
    put_under,
    random_states,
    restore_random_states,
    take_from,
)


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
        self.groups = Groups(model, config)
        self.optimizer: torch.optim.Optimizer = OPTIMIZERS[config.optimizer](
            self.groups.for_optimizer(), config
        )
        self.schedule: Schedule = SCHEDULES[config.schedule](config)
        self.averages: Averages = AVERAGES[config.average](config, dict(model.named_parameters()))
        self.regime = make_regime(config.regime, config.regime_options, model)
        self.processes.check_regime(config.regime, bool(self.regime.tensors()))
        self._twin: Any = None  # a second model for validating the averages
        self.carried: State | None = None
        self.counters = Counters(operations=getattr(model, "preparing_operations", 0.0))
        self._follow = getattr(model, "follow", None)  # of a model that changes in a training
        self._costs: dict[tuple[int, bool], float] = {}  # operations per token, by size of a step
        self._best: Tensors | None = None
        self._last_batch: Batch | None = None  # of this process; `problem` predicts it again

    # One step -------------------------------------------------------------------------------------

    @property
    def epochs_done(self) -> float:
        """The number of epochs done, including the fraction of the current one."""
        counters = self.counters
        return counters.epoch + counters.tokens_in_epoch / self.batches.tokens_per_epoch

    @property
    def progress(self) -> float:
        """The share of the training that is done, from 0 to 1."""
        return min(1.0, self.epochs_done / self.config.epochs)

    def operations(self, tokens: int, *, learning: bool = True) -> float:
        """Operations of the matrix products of a step with so many tokens, or of a validation:
        a multiplication and an addition for every weight that a token uses; in training, once
        forward and twice backward.
        """
        share = round(tokens / self.processes.count), learning
        if share not in self._costs:
            count = getattr(self.model, "multiplications", None)
            given = {} if learning else {"learning": False}
            each = 0.0 if count is None else count(share[0], **given)
            self._costs[share] = (6.0 if learning else 2.0) * each
        return tokens * self._costs[share]

    def forget_costs(self) -> None:
        """Count the operations per token again: the model has changed its way to train."""
        self._costs.clear()

    @property
    def finished(self) -> bool:
        """Whether the training is finished."""
        return self.epochs_done >= self.config.epochs or self.ended_early

    @property
    def ended_early(self) -> bool:
        """Whether early stopping or the schedule ended the training."""
        patience = self.config.patience
        tired = patience > 0 and self.counters.waited >= patience
        return tired or self.schedule.finished

    def set_epochs(self, epochs: float) -> None:
        """Lengthen or shorten the training; the schedule follows."""
        self.config = self.schedule.config = replace(self.config, epochs=epochs)

    def step(self) -> Step:
        """Train on the next batch."""
        self.batches.progress = self.progress
        batch = self._next_batch()
        counters = self.counters
        if self._follow is not None and self._follow(self.progress):
            self.forget_costs()
        rate = self.config.learning_rate * self.schedule.warmed_factor(self.epochs_done)
        rate *= batch.rate_factor * counters.rate_factor
        self.groups.thaw(self.epochs_done)
        carried, nats, tokens = self._backward(batch)
        norm = self._clip()
        if not (math.isfinite(nats) and math.isfinite(norm)):
            raise Diverged(f"loss {nats:g}, gradient norm {norm:g}")
        self.groups.set_rates(self.optimizer, rate)
        self.groups.set_decay(self.optimizer, self.progress)
        self.optimizer.step()
        self.averages.update(dict(self.model.named_parameters()))
        self.carried = carried if self.batches.carries_state else None
        counters.step += 1
        counters.tokens_in_epoch += batch.tokens
        counters.operations += self.operations(batch.tokens)
        step = Step(nats, tokens, batch.tokens, norm, 0 < self.config.clip < norm, rate)
        counters.meter.add(step)
        return step

    def _next_batch(self) -> Batch:
        """The next batch, from the next epoch if this one has ended."""
        counters = self.counters
        while (batch := self.batches.next()) is None:
            counters.epoch, counters.tokens_in_epoch, self.carried = counters.epoch + 1, 0, None
        return batch

    def _backward(self, batch: Batch) -> tuple[State, float, int]:
        """Gradients of the loss of a batch; the state after it, and nats and tokens of the loss."""
        self.model.train()
        own, counts = self.processes.share(batch)
        self._last_batch = own
        given = own.to(self.device), self.carried, self.progress
        loss, carried = self.regime.loss(self.model, *given)
        # A batch without tokens to train on has no nats either.
        objective, weight = loss.nats / max(loss.tokens, 1) + loss.penalty, loss.tokens
        if self.config.loss_per == "row":
            weight = len(own)
            objective = objective * (loss.tokens / weight)
        self.optimizer.zero_grad(set_to_none=True)
        objective.backward()  # type: ignore[no-untyped-call]
        nats, tokens = self.processes.average(
            self.model.parameters(), weight * counts, loss.nats.detach(), loss.tokens
        )
        return carried, nats, tokens

    def _clip(self) -> float:
        """Shrink the gradient to the norm `clip` if it is longer: g ← g · min(1, clip / ‖g‖)."""
        gradients = self._gradients()
        norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))))
        if 0 < self.config.clip < norm < math.inf:
            torch._foreach_mul_(gradients, self.config.clip / norm)
        return norm

    def _gradients(self) -> list[torch.Tensor]:
        """The gradients; of a sparse one, its values."""
        gradients = []
        for parameter in self.model.parameters():
            if parameter.grad is not None and parameter.grad.is_sparse:
                sparse = parameter.grad.coalesce()
                parameter.grad = sparse if takes_sparse(self.config) else sparse.to_dense()
            if parameter.grad is not None:
                found = parameter.grad
                gradients.append(found.values() if found.is_sparse else found)
        return gradients

    # Validation -----------------------------------------------------------------------------------

    @property
    def best(self) -> Tensors:
        """The weights with the best validation; the current ones before any validation."""
        return self.weights_to_validate() if self._best is None else self._best

    @property
    def best_step(self) -> int:
        """The step of the best weights."""
        return self.counters.step if self._best is None else self.counters.best_step

    def validate(self, pause: Callable[[], None] = lambda: None) -> float | None:
        """Validate: return the criterion (lower is better), and update the best and the schedule.

        The criterion is nats per token or, for a model with a `judge`, its count, like errors.
        `pause` is called between batches; if it raises, the state is as before the validation.
        """
        counters, model = self.counters, None
        if self.validation is not None:
            model = self._validated_model()
            judged = self.judge(model, self.validation, pause)
            seen = self.validation.tokens_per_epoch
            counters.validating_operations += self.operations(seen, learning=False)
        counters.validations += 1
        counters.validated_step = counters.step
        if model is None:
            return None
        mean = self.processes.first(judged)
        if not math.isfinite(mean):
            raise Diverged(f"validation {mean:g}")
        if mean < counters.best_nats:
            counters.best_nats, counters.best_step, counters.waited = mean, counters.step, 0
            self._best = copied(model.state_dict())
        else:
            counters.waited += 1
        self.schedule.observe(mean)
        self.averages.observe(mean, dict(self.model.named_parameters()))
        return mean

    def judge(
        self, model: Any, validation: Batches, pause: Callable[[], None] = lambda: None
    ) -> float:
        """The criterion of a model on the validation data: see `validate`."""
        judge = getattr(model, "judge", model.loss)
        device = next(model.parameters()).device
        validation.go_to(self._validation_start)  # the same sum in the same order every time
        nats, tokens, carried = 0.0, 0, None
        with undisturbed(), torch.no_grad():
            model.eval()
            while (batch := validation.next()) is not None:
                loss, after = judge(batch.to(device), carried)
                carried = after if validation.carries_state else None
                nats, tokens = nats + float(loss.nats), tokens + loss.tokens
                pause()
        return nats / max(tokens, 1)  # spans can be counted where there are none

    def _validated_model(self) -> Any:
        if self.averages.weights is None:
            return self.model
        if self._twin is None:
            self._twin = copy.deepcopy(self.model)
        self._twin.load_state_dict(self.model.state_dict() | self.averages.weights)
        return self._twin

    def weights_to_validate(self) -> Tensors:
        """A copy of the averaged weights, or of the weights themselves."""
        return copied(self.model.state_dict() | (self.averages.weights or {}))

    def problem(self, snapshot: Snapshot) -> str | None:
        """Why the current state must not be saved, in any process; None if it is sound."""
        found = not_finite(snapshot.weights) or not_finite(snapshot.memory)
        reason = f"{found} is NaN or infinite" if found else self._prediction_problem()
        (bad,) = self.processes.largest(int(reason is not None))
        return (reason or "NaN or infinity in another process") if bad else None

    def _prediction_problem(self) -> str | None:
        """Predict the last batch again: finite weights can still be too large to compute with."""
        if self._last_batch is None:
            return None
        with undisturbed(), torch.no_grad():
            self.model.eval()
            loss, _ = self.model.loss(self._last_batch.to(self.device), self.carried)
        nats = float(loss.nats)
        return None if math.isfinite(nats) else f"loss {nats:g} when rereading the last batch"

    # Saving ---------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Copy the complete state."""
        weights, memory = copied(self.model.state_dict()), copied(self.memory())
        return Snapshot(weights, self.best, memory, self._data())

    def memory(self) -> Tensors:
        """The state besides the weights."""
        return {
            **put_under("optimizer", optimizer_tensors(self.optimizer, self._names)),
            **put_under("average", self.averages.weights or {}),
            **put_under("regime", self.regime.tensors()),
            **({} if self.carried is None else named_tensors(self.carried, "carried")),
            **put_under("random", random_states(self.device)),
        }

    def _data(self) -> dict[str, Any]:
        return {
            **asdict(replace(self.counters, best_step=self.best_step)),
            "position": copy.deepcopy(self.batches.position()),
            "schedule": self.schedule.to_data(),
            "averages": copy.deepcopy(self.averages.to_data()),
        }

    def check(self, snapshot: Snapshot) -> None:
        """Raise a ValueError if a snapshot from a file does not belong to this training."""
        like(LATER | snapshot.data, self._data(), "training.json")
        own = {name: value.shape for name, value in self.model.state_dict().items()}
        for tensors in (snapshot.weights, snapshot.best):
            if {name: value.shape for name, value in tensors.items()} != own:
                raise ValueError("the weights are not those of this model")

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot as if never interrupted."""
        data, memory = snapshot.data, snapshot.memory
        self.model.load_state_dict(snapshot.weights)
        restore_optimizer(self.optimizer, self._names, self._taken("optimizer", memory))
        self.schedule.restore(data["schedule"])
        self.averages.restore(data["averages"], self._taken("average", memory))
        self.regime.restore(self._taken("regime", memory))
        self.batches.go_to(data["position"])
        self.carried = from_named(memory, "carried")
        if self.carried is not None:
            self.carried = map_state(lambda tensor: tensor.to(self.device, copy=True), self.carried)
        restore_random_states(take_from("random", memory), self.device)
        self.counters = Counters.from_data(data)
        self._best = dict(snapshot.best) if math.isfinite(self.counters.best_nats) else None

    def _taken(self, prefix: str, memory: Tensors) -> Tensors:
        """A part of the memory, on the device; scalars stay where torch keeps them."""
        return {
            name: tensor.to(self.device) if tensor.dim() else tensor
            for name, tensor in take_from(prefix, memory).items()
        }


@contextmanager
def undisturbed() -> Iterator[None]:
    """Random draws inside this context do not affect the random numbers after it."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        yield
