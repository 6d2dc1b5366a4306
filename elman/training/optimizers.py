"""Optimizers by name: each makes a torch optimizer from the settings.

With gradient g and learning rate ε:

    sgd        v ← μ v + (1 - τ) (g + λ w);  w ← w - ε v        (Nesterov: w ← w - ε (g + μ v))
    adam       steps of size ε along a running mean of g over that of |g|    (Kingma and Ba 2015)
    adamw      adam with decoupled weight decay                  (Loshchilov and Hutter 2019)
    rmsprop    w ← w - ε g / √(running mean of g²)               (Hinton 2012)
    adagrad    w ← w - ε g / √(sum of all g²)                    (Duchi et al. 2011)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import torch

from elman.registry import Registry
from elman.training.adam import Adam

if TYPE_CHECKING:
    from elman.training.settings import TrainingConfig


@dataclass(frozen=True)
class Rule:
    """A torch optimizer, and the mapping from settings to its arguments.

    All of them have the learning rate and the weight decay.
    """

    about: str
    optimizer: Callable[..., torch.optim.Optimizer]
    arguments: Mapping[str, Callable[[TrainingConfig], Any]]

    def __call__(self, parameters: Iterable[Any], config: TrainingConfig) -> torch.optim.Optimizer:
        """`parameters`: all parameters, or parameter groups in the format of torch."""
        own = {name: setting(config) for name, setting in self.arguments.items()}
        rate, decay = config.learning_rate, config.weight_decay
        return self.optimizer(parameters, lr=rate, weight_decay=decay, **own)


_MOMENTUM = {"momentum": attrgetter("momentum")}
_EPSILON = {"eps": attrgetter("epsilon")}
_ADAM = {"betas": attrgetter("beta1", "beta2"), **_EPSILON}

OPTIMIZERS = Registry(
    "optimizer",
    {
        "sgd": Rule(
            "stochastic gradient descent, with momentum, dampening, Nesterov and weight decay",
            torch.optim.SGD,
            {
                **_MOMENTUM,
                "dampening": attrgetter("dampening"),
                "nesterov": attrgetter("nesterov"),
            },
        ),
        "adam": Rule(
            "Adam: steps from running means of the gradient and its square (Kingma and Ba 2015)",
            Adam,
            _ADAM,
        ),
        "adamw": Rule(
            "Adam with decoupled weight decay (Loshchilov and Hutter 2019)",
            torch.optim.AdamW,
            _ADAM,
        ),
        "rmsprop": Rule(
            "RMSProp: the gradient divided by a running mean of its size (Hinton 2012)",
            torch.optim.RMSprop,
            {"alpha": attrgetter("beta2"), **_MOMENTUM, **_EPSILON},
        ),
        "adagrad": Rule(
            "AdaGrad: the gradient over the root of the sum of its squares (Duchi et al. 2011)",
            torch.optim.Adagrad,
            {**_EPSILON, "initial_accumulator_value": attrgetter("accumulator")},
        ),
    },
    group="optimizers",
)


def takes_sparse(config: TrainingConfig) -> bool:
    """Whether the optimizer takes sparse gradients, which change only some rows of a table."""
    alike = config.optimizer == "adagrad" or (config.optimizer == "sgd" and config.momentum == 0)
    return alike and config.weight_decay == 0 and not config.weight_decay_end


def optimizer_tensors(
    optimizer: torch.optim.Optimizer, names: dict[torch.nn.Parameter, str]
) -> dict[str, torch.Tensor]:
    """The state of an optimizer, as `parameter/name` to tensor."""
    found = {}
    for parameter, name in names.items():
        for what, value in optimizer.state.get(parameter, {}).items():
            if value is not None:
                found[f"{name}/{what}"] = torch.as_tensor(value)
    return found


def restore_optimizer(
    optimizer: torch.optim.Optimizer,
    names: dict[torch.nn.Parameter, str],
    remembered: dict[str, torch.Tensor],
) -> None:
    """Restore the state of an optimizer."""
    optimizer.state.clear()
    parameters = {name: parameter for parameter, name in names.items()}
    for key, value in remembered.items():
        name, _, what = key.rpartition("/")
        if value.dim() and value.shape != parameters[name].shape:
            raise ValueError(f"{key} is {tuple(value.shape)}, not {tuple(parameters[name].shape)}")
        optimizer.state[parameters[name]][what] = value.clone()


class Groups:
    """Parameter groups from the top of a model down: which are trained already, and how fast.

        rate of group k = rate / rate_decay^k          k = 0: the top     (Howard and Ruder 2018)
        group k is trained from epoch k · unfreeze on                      gradual unfreezing

    A model defines its groups (`groups()`, lists of parameters, the top first); a model without it
    is one group. Called by the trainer. There is no state to save: the progress of the training
    decides which groups are trained.
    """

    def __init__(self, model: Any, config: TrainingConfig) -> None:
        self._config = config
        alike = config.rate_decay == 1 and config.unfreeze == 0
        whole = [[*model.parameters()]]
        groups = whole if alike or not hasattr(model, "groups") else model.groups()
        self._groups: list[list[torch.nn.Parameter]] = [group for group in groups if group]
        # Parameters that are never trained, like those of a frozen model, stay frozen.
        self._learning = [[p for p in group if p.requires_grad] for group in self._groups]

    def for_optimizer(self) -> list[dict[str, Any]]:
        """The groups in the format of torch's optimizers."""
        return [{"params": group} for group in self._groups]

    def thaw(self, epochs_done: float) -> None:
        """Unfreeze the groups whose time has come, and freeze the others."""
        if not self._config.unfreeze:
            return
        for number, group in enumerate(self._learning):
            learns = epochs_done >= number * self._config.unfreeze
            for parameter in group:
                parameter.requires_grad_(learns)

    def set_rates(self, optimizer: torch.optim.Optimizer, rate: float) -> None:
        """Set the learning rate of the top group, and from it those of the others."""
        for number, group in enumerate(optimizer.param_groups):
            group["lr"] = rate / self._config.rate_decay**number

    def set_decay(self, optimizer: torch.optim.Optimizer, progress: float) -> None:
        """Set the weight decay: λ = λ_start + progress · (λ_end - λ_start)."""
        start, end = self._config.weight_decay, self._config.weight_decay_end
        if end is None:
            return
        for group in optimizer.param_groups:
            group["weight_decay"] = start + progress * (end - start)
