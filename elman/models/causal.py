"""A pretrained causal transformer (GPT-2, OPT, Llama …) with the contract of language models.

Takes a module of the transformers library, which computes logits from ids and cached keys and
values. The module keeps no state; the state here is everything that it needs to read on:

    log_probs   (B, V)              of the next token
    ids, mask   (B, P)              the tokens in the window; rows are padded on the left
    keys, values of every layer     (B, P, heads, size)

Time is the second dimension of every tensor, so rows of different lengths can be joined and
replaced (`state.py` pads on the left). A text begins with a token that is read but not scored. A
row that has filled all positions of the model continues with the second half of its window.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch

from elman.extras import import_extra
from elman.models.contract import LanguageModel
from elman.state import State, join, map_state, select

_NUMBERS = 1 << 25  # of logits in memory at a time


class CausalModel(LanguageModel):
    """A transformer that predicts the next token from those before it."""

    def __init__(self, module: Any, first_id: int, positions: int | None, first: str = "") -> None:
        """first_id: the token that every text begins with; positions: the size of the window."""
        self.module = module.eval().requires_grad_(False)
        self.vocabulary_size = int(module.config.vocab_size)
        self.first_id = first_id
        self.positions = positions
        library = import_extra("transformers", "Hugging Face models need transformers")
        self._cache = library.DynamicCache
        self._takes_positions = "position_ids" in inspect.signature(module.forward).parameters
        window = "" if positions is None else f", at most {positions:,} tokens at a time"
        self.reads = f"reads {first or first_id} first{window}"

    def parameters(self) -> Any:
        """The weights."""
        return self.module.parameters()

    def start(self, batch_size: int, source: Any = None) -> State:
        first = torch.full((batch_size, 1), self.first_id)
        return self._forward(first, self._nothing(batch_size))[1]

    def predict(self, state: State) -> torch.Tensor:
        return state[0]  # type: ignore[return-value]

    def read(self, ids: torch.Tensor, state: State) -> State:
        for piece in self._pieces(ids, state):
            state = self._forward(piece, self._make_room(state), last_only=True)[1]
        return state

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        scores = [self.predict(state)[:, :0]]
        for piece in self._pieces(ids, state):
            log_probs, state = self._before_each(piece, state)
            scores.append(log_probs.gather(2, piece[:, :, None])[:, :, 0])
        return torch.cat(scores, dim=1), state

    def predict_all(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        everything = [self.predict(state)[:, None][:, :0]]
        for piece in self._pieces(ids, state):
            log_probs, state = self._before_each(piece, state)
            everything.append(log_probs)
        return torch.cat(everything, dim=1), state

    def describe(self) -> dict[str, Any]:
        return {
            "model": "causal transformer",
            "architecture": type(self.module).__name__,
            "vocabulary_size": self.vocabulary_size,
            "parameters": sum(weights.numel() for weights in self.parameters()),
            "positions": self.positions,
            "reads": self.reads,
        }

    # Windows --------------------------------------------------------------------------------------

    def _pieces(self, ids: torch.Tensor, state: State) -> list[torch.Tensor]:
        """The ids in pieces that fit into the window and into memory.

        A piece ends where the longest row is full: there it is read again from its second half, at
        a place that depends on the number of its tokens only.
        """
        at_once = max(1, _NUMBERS // (max(len(ids), 1) * self.vocabulary_size))
        lengths = _lengths(state).tolist()
        pieces, done = [], 0
        while done < ids.shape[1]:
            count = min(ids.shape[1] - done, at_once)
            if self.positions is not None and lengths:
                half = self.positions // 2
                lengths = [half if length >= self.positions else length for length in lengths]
                count = min(count, self.positions - max(lengths))
            pieces.append(ids[:, done : done + count])
            done += count
            lengths = [length + count for length in lengths]
        return pieces

    def _make_room(self, state: State) -> State:
        """The state, with only the second half of the window in rows that are full."""
        lengths = _lengths(state)
        if self.positions is None or not bool((lengths >= self.positions).any()):
            return state
        full = lengths >= self.positions
        rows, others = full.nonzero()[:, 0], (~full).nonzero()[:, 0]
        again: Any = select(state, rows)
        ids = again[1][:, -(self.positions // 2) :]
        _, read = self._forward(ids, self._nothing(len(rows)), last_only=True)
        fresh: State = (again[0], *read[1:])  # the prediction still saw the whole window
        joined = join([select(state, others), fresh]) if len(others) else fresh
        return _trimmed(select(joined, torch.cat([others, rows]).argsort()))

    # The module -----------------------------------------------------------------------------------

    def _nothing(self, batch_size: int) -> State:
        """The state before the first token."""
        empty = torch.zeros((batch_size, 0), dtype=torch.int64)
        return torch.zeros((batch_size, 0)), empty, empty.bool(), ()

    def _before_each(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """The log probabilities before each id, (B, T, V), and the state after them."""
        first = self.predict(state)[:, None]
        log_probs, state = self._forward(ids, self._make_room(state))
        return torch.cat([first, log_probs[:, :-1]], dim=1), state

    @torch.no_grad()
    def _forward(
        self, ids: torch.Tensor, state: State, *, last_only: bool = False
    ) -> tuple[torch.Tensor, State]:
        """The log probabilities after each id, (B, T, V), and the state after them."""
        parts: Any = state
        _, before, mask, layers = parts
        cached = [tensor.transpose(1, 2) for tensor in layers]
        whole = torch.cat([mask, torch.ones_like(ids, dtype=torch.bool)], dim=1)
        options: dict[str, Any] = {}
        if self._takes_positions:
            options["position_ids"] = _lengths(state)[:, None] + torch.arange(ids.shape[1])
        found = self.module(
            input_ids=ids,
            attention_mask=whole.long(),
            past_key_values=self._cache([*zip(cached[::2], cached[1::2], strict=True)]),
            use_cache=True,
            **options,
        )
        logits = found.logits[:, -1:] if last_only else found.logits
        log_probs = logits.log_softmax(-1)
        kept = tuple(
            tensor.transpose(1, 2)
            for layer in found.past_key_values.layers
            for tensor in (layer.keys, layer.values)
        )
        ids = torch.cat([before, ids], dim=1)
        return log_probs, (log_probs[:, -1], ids, whole, kept)


def _lengths(state: State) -> torch.Tensor:
    """How many tokens each row has read, (B,)."""
    mask: Any = state[2]
    return mask.sum(1)


def _trimmed(state: State) -> State:
    """The state without columns that are padding in all rows."""
    parts: Any = state
    log_probs, ids, mask, layers = parts
    first = int(mask.any(0).long().argmax())
    rest = map_state(lambda tensor: tensor[:, first:], (ids, mask, layers))
    return (log_probs, *rest)
