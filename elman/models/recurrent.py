"""The recurrent language model: a stack of any cell over word vectors (Mikolov et al. 2010).

Carries the state of the stack along. With an Elman cell it is the RNNLM, with LSTMs that of
Zaremba et al. (2014), with all of its dropouts and penalties AWD-LSTM (Merity et al. 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from elman.errors import InputError
from elman.layers.penalties import activation_penalty, temporal_penalty
from elman.layers.stack import Stack, StackConfig, StackRun
from elman.models.neural import NeuralConfig, NeuralModel, real_tokens
from elman.state import State


@dataclass(kw_only=True)
class RecurrentConfig(NeuralConfig, StackConfig):
    """A stack of recurrent layers between word vectors and a softmax."""

    activation_penalty: float = 0.0  # α of AR: on the outputs, after dropout
    temporal_penalty: float = 0.0  # β of TAR: on how much they change, before dropout

    def __post_init__(self) -> None:
        NeuralConfig.__post_init__(self)
        StackConfig.__post_init__(self)
        if self.bidirectional:
            raise InputError(
                "model.bidirectional=true: a language model may not see the words it predicts"
            )
        for name in ("activation_penalty", "temporal_penalty"):
            if getattr(self, name) < 0:
                raise InputError(f"model.{name}={getattr(self, name)}: must not be negative")


class RecurrentModel(NeuralModel):
    """Everything read so far, in a state that a recurrence carries along."""

    about = "a stack of recurrent layers over word vectors"
    config_class = RecurrentConfig
    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig, counts: torch.Tensor, eos_id: int) -> None:
        super().__init__(config, counts, eos_id)
        self.stack = Stack(config.embedding_size, config)
        self._finish(self.stack.output_size, counts)

    def begin(self, batch_size: int) -> State:
        return self.stack.start(batch_size)

    def encode(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, State, torch.Tensor | float]:
        # Padding comes last, so without lengths, which would cost the fused kernels, it can reach
        # no real token; what becomes of it is not counted.
        run = self.stack(self.words(ids), carried)
        penalty = self._penalty(run, lengths) if self.training else 0.0
        return run.outputs, run.state, penalty

    def _penalty(self, run: StackRun, lengths: torch.Tensor | None) -> torch.Tensor | float:
        penalty: torch.Tensor | float = 0.0
        real = None if lengths is None else real_tokens(run.outputs, lengths)
        if self.config.activation_penalty:
            penalty = self.config.activation_penalty * activation_penalty(run.outputs, real)
        if self.config.temporal_penalty:
            change = temporal_penalty(run.raw_outputs, real)
            penalty = penalty + self.config.temporal_penalty * change
        return penalty

    def describe(self) -> dict[str, Any]:
        config = self.config
        return {
            "model": "recurrent",
            "cell": config.cell,
            "layers": list(config.sizes()),
            "embedding_size": config.embedding_size,
            "tied": config.tied,
            **super().describe(),
        }
