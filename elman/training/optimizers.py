"""Rules of descent, by name: each makes a torch optimizer from the settings.

With gradient g, rate ε and settings of the same names,

    sgd        v ← μ v + (1 - τ) (g + λ w);  w ← w - ε v        (Nesterov: w ← w - ε (g + μ v))
    adam       steps of size ε along a running mean of g over that of |g|    (Kingma and Ba 2015)
    adamw      adam, with weight decay beside the gradient       (Loshchilov and Hutter 2019)
    rmsprop    w ← w - ε g / √(running mean of g²)               (Hinton 2012)
    adagrad    w ← w - ε g / √(sum of all g²)                    (Duchi et al. 2011)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from elman.training.settings import TrainingConfig

Parameters = Iterable[torch.nn.Parameter]


def _sgd(parameters: Parameters, config: TrainingConfig) -> torch.optim.Optimizer:
    """gradient descent, with momentum, dampening, Nesterov, weight decay"""
    return torch.optim.SGD(
        parameters,
        lr=config.learning_rate,
        momentum=config.momentum,
        dampening=config.dampening,
        nesterov=config.nesterov,
        weight_decay=config.weight_decay,
    )


def _adam(parameters: Parameters, config: TrainingConfig) -> torch.optim.Optimizer:
    """running means of the gradient and of its square (Kingma and Ba 2015)"""
    return torch.optim.Adam(
        parameters,
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        weight_decay=config.weight_decay,
    )


def _adamw(parameters: Parameters, config: TrainingConfig) -> torch.optim.Optimizer:
    """adam, with weight decay beside the gradient (Loshchilov and Hutter 2019)"""
    return torch.optim.AdamW(
        parameters,
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        weight_decay=config.weight_decay,
    )


def _rmsprop(parameters: Parameters, config: TrainingConfig) -> torch.optim.Optimizer:
    """gradient over a running mean of its size (Hinton 2012)"""
    return torch.optim.RMSprop(
        parameters,
        lr=config.learning_rate,
        alpha=config.beta2,
        momentum=config.momentum,
        eps=config.epsilon,
        weight_decay=config.weight_decay,
    )


def _adagrad(parameters: Parameters, config: TrainingConfig) -> torch.optim.Optimizer:
    """gradient over the sum of all its sizes so far (Duchi et al. 2011)"""
    return torch.optim.Adagrad(
        parameters,
        lr=config.learning_rate,
        eps=config.epsilon,
        weight_decay=config.weight_decay,
        initial_accumulator_value=config.accumulator,
    )


OPTIMIZERS: dict[str, Callable[[Parameters, TrainingConfig], torch.optim.Optimizer]] = {
    "sgd": _sgd,
    "adam": _adam,
    "adamw": _adamw,
    "rmsprop": _rmsprop,
    "adagrad": _adagrad,
}


def optimizer_tensors(
    optimizer: torch.optim.Optimizer, names: dict[torch.nn.Parameter, str]
) -> dict[str, torch.Tensor]:
    """What an optimizer remembers, as `parameter/what` to tensor."""
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
    """Give an optimizer back what it remembered."""
    optimizer.state.clear()
    parameters = {name: parameter for parameter, name in names.items()}
    for key, value in remembered.items():
        name, _, what = key.rpartition("/")
        optimizer.state[parameters[name]][what] = value.clone()
