"""Neural language models: a network with the contract of language models; saving and loading.

The network (`network.py`) gives the evidence after each id. The state is the last evidence, which
predicts the next id, and the states of encoder and output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, cast

import numpy as np
import torch

from elman.cells.stepping import Way
from elman.layers.inputs import Material
from elman.layers.outputs.output import Evidence
from elman.models.contract import LanguageModel
from elman.models.network import Network, NeuralConfig, rows
from elman.models.weights import NotFinite, check_counts, is_packed, prepare_steps
from elman.state import State, replace_rows, select
from elman.text.tokenizer import count_ids

_TRIED = (1, 2, 3, 5, 8, 16, 33, 64)  # batch sizes


class NeuralModel(Network, LanguageModel):
    """A language model that is trained by gradients."""

    about: ClassVar[str]
    task: ClassVar[str] = "language-modelling"
    config_class: ClassVar[type]
    has_vectors = True
    rows_at_once = 128

    def __init__(self, config: NeuralConfig, material: Material) -> None:
        super().__init__(config, material)
        self.vocabulary_size = material.vocabulary_size
        self.eos_id = material.eos_id
        self.resets_at_lines = config.context == "line"
        self._way: Way | None = None  # of all single steps; None: the number of rows decides

    def start(self, batch_size: int, source: Any = None) -> State:
        nothing = torch.full((batch_size, 1), self.eos_id)
        return self.advance(nothing, self.begin(batch_size, source))[1]

    def predict(self, state: State) -> torch.Tensor:
        return self.predict_from(cast("Evidence", state[0]))

    def scores(self, state: State) -> torch.Tensor:
        return self.output.scores(cast("Evidence", state[0]), self.shared_table())

    def prepare_steps(self, rows: int) -> None:
        if self.counts.device.type == "cpu":
            way = self._way or ("one" if rows == 1 else "several")
            prepare_steps(self, self.shared_table(), way)

    def step_alike(self) -> bool:
        if self._way is None and self.steps_alike:
            self._way = "alike"
            self.prepare_steps(1)
            if not self._rows_agree():
                self._way = None
                self.prepare_steps(1)
        return self._way == "alike"

    def _rows_agree(self) -> bool:
        """Whether rows have the same bits in batches of several sizes, tried on this processor."""
        ids = torch.arange(_TRIED[-1])[:, None] % self.vocabulary_size
        with torch.inference_mode():
            state = self.read(ids, self.start(len(ids)))
            expected = self.scores(self.read(ids, state))
            for rows in map(torch.arange, _TRIED):
                some = self.read(ids[rows], select(state, rows))
                if not torch.equal(self.scores(some), expected[rows]):
                    return False
        return True

    @property
    def steps_alike(self) -> bool:
        """Whether a row of a step, prepared as `alike`, has the same bits in every batch."""
        return False

    def read(self, ids: torch.Tensor, state: State) -> State:
        if ids.shape[1] == 0:
            return state
        return self.advance(ids, state[1])[1]

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        before, state = self._before_each(ids, state)
        return self.score_from(before, ids), state

    def score_and_mass(
        self, ids: torch.Tensor, state: State, members: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        before, state = self._before_each(ids, state)
        return *self.score_and_mass_from(before, ids, members), state

    def predict_all(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        before, state = self._before_each(ids, state)
        log_probs = self.predict_from(rows(before))
        return log_probs.view(*ids.shape, self.vocabulary_size), state

    def vector(self, state: State) -> torch.Tensor:
        return cast("Evidence", state[0])[0].flatten(1)

    def score_and_vectors(
        self, ids: torch.Tensor, state: State
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        before, state = self._before_each(ids, state)
        return self.score_from(before, ids), before[0].flatten(2), state

    def advance(self, ids: torch.Tensor, carried: State) -> tuple[Evidence, State]:
        """The evidence after each id, (B, T, …), and the state after them."""
        parts = []
        for piece, fresh in self._pieces(ids.to(self.counts.device)):
            if fresh is not None:
                carried = self.renew(fresh, carried)
            evidence, carried, _ = self.gather(piece, carried)
            parts.append(evidence)
        evidence = parts[0] if len(parts) == 1 else _along_time(*parts)
        return evidence, (tuple(part[:, -1] for part in evidence), carried)

    def renew(self, ended: torch.Tensor, carried: State) -> State:
        """The state, reset in the rows (B,) where a line ended."""
        return replace_rows(ended, self.begin(len(ended)), carried)

    def _pieces(self, ids: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor | None]]:
        """The ids in one piece; or, if the state is reset at lines, a new piece at every line end,
        with the rows (B,) in which a line ends: these are reset.
        """
        if not self.resets_at_lines:
            yield ids, None
            return
        ends = ids == self.eos_id
        cuts = [0, *[t for t in ends.any(0).nonzero().flatten().tolist() if t], ids.shape[1]]
        for begin, end in pairwise(cuts):
            yield ids[:, begin:end], ends[:, begin]

    def _before_each(self, ids: torch.Tensor, state: State) -> tuple[Evidence, State]:
        """The evidence before each id, (B, T, …), and the state after them all."""
        last = tuple(part.unsqueeze(1) for part in cast("Evidence", state[0]))
        if ids.shape[1] == 0:
            return tuple(part[:, :0] for part in last), state
        evidence, after = self.advance(ids, state[1])
        return _along_time(last, tuple(part[:, :-1] for part in evidence)), after

    # Saving and loading ---------------------------------------------------------------------------

    @classmethod
    def build(cls, config: Any, ids: np.ndarray, tokens: Sequence[str], eos_id: int) -> NeuralModel:
        """A new model for a vocabulary, from the ids of the training text."""
        counts = torch.from_numpy(count_ids(ids, len(tokens)))
        model = cls(config, Material(counts, eos_id, tokens, ids))
        model.output.count_text(ids, eos_id)
        return model

    def facts(self) -> dict[str, Any]:
        """Everything except the arrays that a run folder needs, as plain data."""
        return {
            "vocabulary_size": self.vocabulary_size,
            "eos_id": self.eos_id,
            "parameters": self.count_parameters(),
        }

    @classmethod
    def restore(
        cls, config: Any, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]
    ) -> NeuralModel:
        """Restore the model from its arrays and facts."""
        if "counts" not in arrays:
            raise ValueError("the token counts are missing")
        counts = check_counts(torch.from_numpy(arrays["counts"]).clone())
        if not 0 <= facts["eos_id"] < len(counts):
            raise ValueError(f"the end-of-line token {facts['eos_id']} is not in the vocabulary")
        material = Material(counts, facts["eos_id"])
        with torch.random.fork_rng(devices=[]):  # initial weights are replaced at once
            model = cls(config, material)
        model.make_room({name: array.shape for name, array in arrays.items()})
        model.load_arrays(arrays)
        if is_packed(arrays):
            model._way = "int8"
            model.prepare_steps(1)
        model.eval().check_prediction()
        return model

    def check_prediction(self) -> None:
        """Raise NotFinite if the first prediction is NaN; large finite weights can cause that."""
        with torch.inference_mode():
            if torch.isnan(self.predict(self.start(1))).any():
                raise NotFinite("the predictions of the model are")

    def describe(self) -> dict[str, Any]:
        return self.facts()


def _along_time(*parts: Evidence) -> Evidence:
    return tuple(torch.cat(pieces, dim=1) for pieces in zip(*parts, strict=True))
