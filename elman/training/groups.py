"""Groups of weights, from the top of a model down: which learn already, and how fast.

    rate of group k = rate / rate_decay^k          k = 0: the top         (Howard and Ruder 2018)
    group k learns from epoch k · unfreeze on                              gradual unfreezing

A model says its groups (`groups()`, lists of parameters, the top first); one that does not is one
group. Called by the trainer; nothing is remembered, so that there is nothing to save: what learns
follows from how far the training is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from elman.training.settings import TrainingConfig


class Groups:
    """The weights of a model in groups."""

    def __init__(self, model: Any, config: TrainingConfig) -> None:
        self._config = config
        alike = config.rate_decay == 1 and config.unfreeze == 0
        whole = [[*model.parameters()]]
        groups = whole if alike or not hasattr(model, "groups") else model.groups()
        self._groups: list[list[torch.nn.Parameter]] = [group for group in groups if group]
        # What never learns, like a frozen model inside, stays as it is.
        self._learning = [[p for p in group if p.requires_grad] for group in self._groups]

    def for_optimizer(self) -> list[dict[str, Any]]:
        """As torch's optimizers take them."""
        return [{"params": group} for group in self._groups]

    def thaw(self, epochs_done: float) -> None:
        """Let those learn whose time has come, and no others."""
        if not self._config.unfreeze:
            return
        for number, group in enumerate(self._learning):
            learns = epochs_done >= number * self._config.unfreeze
            for parameter in group:
                parameter.requires_grad_(learns)

    def set_rates(self, optimizer: torch.optim.Optimizer, rate: float) -> None:
        """The rate of the top, and what follows for the others."""
        for number, group in enumerate(optimizer.param_groups):
            group["lr"] = rate / self._config.rate_decay**number
