"""Encoder–decoders: encode a source once, then write its target step by step.

    memory, state            = model.encode(source, lengths)
    log_probs, state, weights = model.step(ids, state, memory, real)

`source`: ids (B, S), or vectors (B, S, F). Memory and state are dicts of tensors, batch first.
Read `<eos>` first; a target ends with `<eos>`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from elman.formats.portable.layers import Stack
from elman.formats.portable.outputs import OUTPUTS, Copying

Tensors = dict[str, torch.Tensor]


class Attention(nn.Module):
    """Weights (B, S) of the positions of a source."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.kind, self.scale = settings["kind"], settings["scale"]
        query, key, size = settings["query"], settings["key"], settings["size"]
        self.cover = nn.Linear(1, size, bias=False) if settings["coverage"] else None
        if self.kind == "bilinear":
            self.key = nn.Linear(key, query, bias=False)
        elif self.kind == "additive":
            self.query = nn.Linear(query, size, bias=False)
            self.key = nn.Linear(key, size)
            self.score = nn.Linear(size, 1, bias=False)
        elif self.kind == "location":
            self.places = nn.Linear(query, settings["longest"])

    def prepare(self, values: torch.Tensor) -> torch.Tensor:
        return self.key(values) if self.kind in ("bilinear", "additive") else values

    def forward(
        self,
        query: torch.Tensor,
        keys: torch.Tensor,
        real: torch.Tensor,
        covered: torch.Tensor | None,
    ) -> torch.Tensor:
        scores = self._scores(query, keys, covered)
        return scores.masked_fill(~real, -torch.inf).softmax(1)

    def _scores(
        self, query: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None
    ) -> torch.Tensor:
        if self.kind == "additive":
            sums = self.query(query).unsqueeze(1) + keys
            if self.cover is not None:
                sums = sums + self.cover(covered.unsqueeze(2))
            return self.score(torch.tanh(sums)).squeeze(2)
        if self.kind == "location":
            found = self.places(query)
            beyond = torch.full_like(keys[:, :, 0], -torch.inf)
            return torch.cat([found, beyond], dim=1)[:, : keys.shape[1]]
        scores = torch.bmm(keys, query.unsqueeze(2)).squeeze(2)
        if self.cover is not None:
            scores = scores + (query @ self.cover.weight) * covered
        return scores / self.scale


class SourceEncoder(nn.Module):
    """Layers over the words of a source, or a linear map of given vectors."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.backward_size = settings["backward_size"]
        self.map = self.stack = None
        if settings["features"]:
            self.map = nn.Linear(settings["features"], settings["size"])
        else:
            self.stack = Stack(settings["layers"])

    def forward(
        self, vectors: torch.Tensor, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Values (B, S, size) and their summary (B, size)."""
        real = torch.arange(vectors.shape[1], device=vectors.device) < lengths[:, None]
        if self.map is not None:
            values = torch.tanh(self.map(vectors)) * real.unsqueeze(2)
            return values, values.sum(1) / lengths.unsqueeze(1)
        values, _ = self.stack(vectors, self.stack.begin(vectors.shape[0]), real)
        place = (lengths - 1)[:, None, None].expand(-1, 1, values.shape[2])
        last = values.gather(1, place).squeeze(1)
        if not self.backward_size:
            return values, last
        onward = values.shape[2] - self.backward_size
        return values, torch.cat([last[:, :onward], values[:, 0, onward:]], dim=1)


class TargetDecoder(nn.Module):
    """Layers, an attention and a readout, one step at a time."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.before, self.told = settings["before"], settings["told"]
        self.fed = settings["fed"]  # the size of the readout, if it enters the next step
        self.stack = Stack(settings["layers"])
        self.upper = Stack(settings["upper"]) if settings["upper"] else None
        attention = settings["attention"]
        self.attention = Attention(attention) if attention else None
        self.state_sizes = settings["state_sizes"]
        self.bridge = nn.Linear(settings["source_size"], sum(self.state_sizes))
        self.readout = nn.Linear(settings["readout_input"], settings["readout_size"])

    def begin(self, values: torch.Tensor, summary: torch.Tensor) -> tuple[Tensors, Tensors]:
        """What every step reads, and the first state."""
        memory = {}
        if self.attention is not None:
            memory = {"values": values, "keys": self.attention.prepare(values)}
        elif self.told:
            memory = {"summary": summary}
        parts = torch.tanh(self.bridge(summary)).split(self.state_sizes, dim=1)
        state = {f"layer{number}": part for number, part in enumerate(parts)}
        if self.fed:
            state["fed"] = summary.new_zeros(summary.shape[0], self.fed)
        if self.covers:
            state["covered"] = torch.zeros_like(values[:, :, 0])
        return memory, state

    @property
    def covers(self) -> bool:
        """Whether the attention reads its weights of earlier steps."""
        return self.attention is not None and self.attention.cover is not None

    def forward(
        self, word: torch.Tensor, state: Tensors, memory: Tensors, real: torch.Tensor | None
    ) -> tuple[torch.Tensor, Tensors, torch.Tensor | None]:
        """The readout (B, size) after a word (B, size), the new state, the weights (B, S)."""
        layers = [part for name, part in state.items() if name.startswith("layer")]
        weights = context = None
        entering = [word]
        if self.before:
            weights, context = self._look(layers[0], state, memory, real)
            entering.append(context)
        elif self.attention is None and self.told:
            context = memory["summary"]
            entering.append(context)
        elif self.fed:
            entering.append(state["fed"])
        hidden, layers = self._layers(torch.cat(entering, dim=1), layers)
        if self.attention is not None and not self.before:
            weights, context = self._look(hidden, state, memory, real)
        parts = [word, hidden] if context is None else [word, hidden, context]
        readout = torch.tanh(self.readout(torch.cat(parts, dim=1)))
        after = {f"layer{number}": part for number, part in enumerate(layers)}
        if self.fed:
            after["fed"] = readout
        if self.covers:
            after["covered"] = state["covered"] + weights
        return readout, after, weights

    def _look(
        self, query: torch.Tensor, state: Tensors, memory: Tensors, real: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        weights = self.attention(query, memory["keys"], real, state.get("covered"))
        return weights, torch.bmm(weights.unsqueeze(1), memory["values"]).squeeze(1)

    def _layers(
        self, entering: torch.Tensor, state: list[torch.Tensor]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        values, after = entering.unsqueeze(1), []
        for stack in (self.stack, self.upper):
            if stack is not None:
                count = len(stack.begin(1))
                values, new = stack(values, state[:count])
                state = state[count:]
                after += new
        return values.squeeze(1), after


class Translating(nn.Module):
    """An encoder, a decoder and an output."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.vocabulary_size, self.eos_id = settings["vocabulary_size"], settings["eos_id"]
        self.unknown_id, self.features = settings["unknown_id"], settings["encoder"]["features"]
        self.input = nn.Embedding(settings["words"], settings["input_size"])
        sources = settings["source_words"]
        self.source_input = nn.Embedding(sources, settings["input_size"]) if sources else None
        self.encoder = SourceEncoder(settings["encoder"])
        self.decoder = TargetDecoder(settings["decoder"])
        output = settings["output"]
        self.output = OUTPUTS[output["kind"]](output, settings["words"])
        self.copies = isinstance(self.output, Copying)

    def encode(self, source: torch.Tensor, lengths: torch.Tensor) -> tuple[Tensors, Tensors]:
        """Memory and first state of sources: ids (B, S), or vectors (B, S, F)."""
        embed = self.input if self.source_input is None else self.source_input
        vectors = source if self.features else embed(source)
        return self.decoder.begin(*self.encoder(vectors, lengths))

    def step(
        self,
        ids: torch.Tensor,
        state: Tensors,
        memory: Tensors,
        real: torch.Tensor | None = None,
        places: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, Tensors, torch.Tensor | None]:
        """Log probabilities (B, V) of the word after `ids` (B,), the new state, the attention.

        `real` (B, S): positions of the source that are no padding. `places` (B, S): for models that
        copy, the id of each source word in the target vocabulary.
        """
        if self.copies:
            ids = torch.where(ids < self.input.num_embeddings, ids, self.unknown_id)
        readout, after, weights = self.decoder(self.input(ids), state, memory, real)
        table = self.input.weight
        if self.copies:
            return self.output.mix(readout, table, weights, places), after, weights
        return self.output(readout, table).log_softmax(-1), after, weights
