"""Language models in plain torch: every cell by its equations, without the rest of elman.

Built from plain settings (`portable_settings.py` makes them) and loaded with the weights of a run.
This file becomes part of the modelling file of a Hugging Face folder, and ONNX graphs are traced
from it. So it imports nothing but torch, and gradients come from autograd.

    state          = model.begin(batch_size)       a list of tensors, batch first
    hidden, state  = model.read(ids, state)        (B, T) ids, (B, T, size) hidden vectors
    scores         = model.scores(hidden)          (B, T, V) log probabilities, up to a constant
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.functional import logsigmoid

States = tuple[torch.Tensor, ...]


class Step:
    """The products of one step: W x_t + U v + b, any part may be missing."""

    def __init__(self, weights: Any, inputs: torch.Tensor, prepared: dict[str, torch.Tensor]):
        self.weights, self.inputs, self.prepared = weights, inputs, prepared

    def product(self, name: str, state: torch.Tensor | None = None) -> torch.Tensor:
        """(B, rows); W may feed the first rows only."""
        total = self.prepared.get(name)
        if state is not None:
            recurrent = state @ self.weights[f"{name}_state"].t()
            if total is None:
                total = recurrent
            elif total.shape[1] < recurrent.shape[1]:
                fed = total.shape[1]
                total = torch.cat([total + recurrent[:, :fed], recurrent[:, fed:]], dim=1)
            else:
                total = total + recurrent
        assert total is not None
        for bias in (f"{name}_bias", f"{name}_state_bias"):
            if bias in self.weights:
                total = total + self.weights[bias]
        return total


# Cells: (step, state, options) → the new state; its first tensor is the output --------------------

_ACTIVATIONS = {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu}


def _elman(step: Step, state: States, options: dict[str, Any]) -> States:
    return (_ACTIVATIONS[options.get("activation", "tanh")](step.product("hidden", state[0])),)


def _lstm(step: Step, state: States, options: dict[str, Any]) -> States:
    hidden, memory = state
    gates = options["gates"]  # "ifgo"; ablations lack one
    parts = dict(zip(gates, step.product("gates", hidden).chunk(len(gates), dim=1), strict=True))
    opened = {name: torch.sigmoid(part) for name, part in parts.items() if name != "g"}
    written = torch.tanh(parts["g"])
    written = opened["i"] * written if "i" in opened else written
    memory = (opened["f"] * memory if "f" in opened else memory) + written
    if (clip := options.get("cell_clip")) is not None:
        memory = memory.clamp(-clip, clip)
    hidden = torch.tanh(memory)
    hidden = opened["o"] * hidden if "o" in opened else hidden
    if "projection" in step.weights:
        hidden = hidden @ step.weights["projection"].t()
        if (clip := options.get("projection_clip")) is not None:
            hidden = hidden.clamp(-clip, clip)
    return hidden, memory


def _peephole(step: Step, state: States, options: dict[str, Any]) -> States:
    hidden, memory = state
    i, f, g, o = step.product("gates", hidden).chunk(4, dim=1)
    peeped = step.weights["peephole_gates"]
    i, f = torch.sigmoid(i + peeped[0] * memory), torch.sigmoid(f + peeped[1] * memory)
    memory = f * memory + i * torch.tanh(g)
    o = torch.sigmoid(o + step.weights["peephole_output"] * memory)
    return o * torch.tanh(memory), memory


def _mogrifier(step: Step, state: States, options: dict[str, Any]) -> States:
    hidden, memory = state
    inputs = step.inputs

    def look(number: int, other: torch.Tensor) -> torch.Tensor:
        if f"round{number}_state" in step.weights:
            return step.product(f"round{number}", other)
        return step.product(f"round{number}_out", step.product(f"round{number}_in", other))

    for number in range(1, options.get("rounds", 5) + 1):
        if number % 2:
            inputs = 2 * torch.sigmoid(look(number, hidden)) * inputs
        else:
            hidden = 2 * torch.sigmoid(look(number, inputs)) * hidden
    i, f, g, o = step.product("gates", torch.cat([inputs, hidden], dim=1)).chunk(4, dim=1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory


def _gru(step: Step, state: States, options: dict[str, Any]) -> States:
    (hidden,) = state
    update, reset = torch.sigmoid(step.product("gates", hidden)).chunk(2, dim=1)
    candidate = torch.tanh(step.product("candidate", reset * hidden))
    return (hidden + update * (candidate - hidden),)


def _torch_gru(step: Step, state: States, options: dict[str, Any]) -> States:
    (hidden,) = state
    reset, keep, recurrent = step.product("gates", hidden).chunk(3, dim=1)
    candidate = torch.tanh(step.product("candidate") + torch.sigmoid(reset) * recurrent)
    return (candidate + torch.sigmoid(keep) * (hidden - candidate),)


def _mut1(step: Step, state: States, options: dict[str, Any]) -> States:
    (hidden,) = state
    update = torch.sigmoid(step.product("update"))
    reset = torch.sigmoid(step.product("reset", hidden))
    candidate = torch.tanh(step.product("candidate", reset * hidden) + torch.tanh(step.inputs))
    return (hidden + update * (candidate - hidden),)


def _mut2(step: Step, state: States, options: dict[str, Any]) -> States:
    (hidden,) = state
    update, reset = step.product("gates", hidden).chunk(2, dim=1)
    reset = torch.sigmoid(reset + step.inputs)
    candidate = torch.tanh(step.product("candidate", reset * hidden))
    return (hidden + torch.sigmoid(update) * (candidate - hidden),)


def _mut3(step: Step, state: States, options: dict[str, Any]) -> States:
    (hidden,) = state
    update = torch.sigmoid(step.product("update", torch.tanh(hidden)))
    reset = torch.sigmoid(step.product("reset", hidden))
    candidate = torch.tanh(step.product("candidate", reset * hidden))
    return (hidden + update * (candidate - hidden),)


def _highway(step: Step, state: States, options: dict[str, Any]) -> States:
    (hidden,) = state
    for depth in range(1, options.get("depth", 5) + 1):
        candidate, transform = step.product(f"depth{depth}", hidden).chunk(2, dim=1)
        hidden = hidden + torch.sigmoid(transform) * (torch.tanh(candidate) - hidden)
    return (hidden,)


def _nas(step: Step, state: States, options: dict[str, Any]) -> States:
    hidden, memory = state
    first, third, sixth, eighth, fifth, seventh, second, fourth = step.product(
        "gates", hidden
    ).chunk(8, dim=1)
    candidate = torch.tanh(torch.sigmoid(first) * torch.relu(second))
    update = torch.tanh(torch.sigmoid(third) + torch.relu(step.product("factor") * fourth))
    read = torch.tanh(fifth) * torch.sigmoid(sixth)
    read = torch.tanh(torch.tanh(read) + torch.sigmoid(torch.tanh(seventh) + torch.sigmoid(eighth)))
    memory = torch.tanh(candidate + memory) * update
    return torch.tanh(memory * read), memory


def _min_gru(step: Step, state: States, options: dict[str, Any]) -> States:
    update, candidate = step.product("gates").chunk(2, dim=1)
    return (state[0] + torch.sigmoid(update) * (candidate - state[0]),)


def _min_lstm(step: Step, state: States, options: dict[str, Any]) -> States:
    forget, write, candidate = step.product("gates").chunk(3, dim=1)
    keep = torch.sigmoid(logsigmoid(forget) - logsigmoid(write))
    return (candidate + keep * (state[0] - candidate),)


CELLS = {
    "elman": _elman,
    "lstm": _lstm,
    "peephole": _peephole,
    "mogrifier": _mogrifier,
    "gru": _gru,
    "torch-gru": _torch_gru,
    "mut1": _mut1,
    "mut2": _mut2,
    "mut3": _mut3,
    "highway": _highway,
    "nas": _nas,
    "min-gru": _min_gru,
    "min-lstm": _min_lstm,
}


# Layers -------------------------------------------------------------------------------------------


def unroll(step: Any, state: States, values: States, *, reverse: bool = False) -> Any:
    """Run a step over values (B, T, …): the outputs of all steps, (B, T, …), and the last state.

    `torch.export` gets a scan instead of a loop, so that its graph takes any number of steps.
    """
    if reverse:
        values = tuple(part.flip(1) for part in values)
    if getattr(torch.compiler, "is_exporting", lambda: False)() and values[0].shape[1] != 1:
        from torch._higher_order_ops import scan

        def apart(state: States, at: States) -> tuple[States, torch.Tensor]:
            new, output = step(state, at)
            return tuple(part.clone() for part in new), output.clone()

        by_time = tuple(part.transpose(0, 1) for part in values)
        state, stacked = scan(apart, tuple(part.clone() for part in state), by_time, dim=0)
        outputs = stacked.transpose(0, 1)
    else:
        found = []
        for t in range(values[0].shape[1]):
            state, output = step(state, tuple(part[:, t] for part in values))
            found.append(output)
        outputs = torch.stack(found, dim=1)
    return (outputs.flip(1) if reverse else outputs), state


class Recurrent(nn.Module):
    """One cell over time, in one direction."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.cell = CELLS[settings["cell"]]
        self.options, self.state_sizes = settings["options"], settings["state_sizes"]
        self.zoneout = settings["zoneout"]
        self.weights = nn.ParameterDict(
            {name: nn.Parameter(torch.zeros(shape)) for name, shape in settings["weights"].items()}
        )

    def begin(self, batch_size: int) -> States:
        like = next(self.parameters())
        return tuple(like.new_zeros(batch_size, size) for size in self.state_sizes)

    def forward(
        self,
        inputs: torch.Tensor,
        state: States,
        *,
        real: torch.Tensor | None = None,
        fresh: torch.Tensor | None = None,
        reverse: bool = False,
    ) -> tuple[torch.Tensor, States]:
        """Read (B, T, size). `real` (B, T): other steps keep the state and give zeros; `fresh`
        (B, T): steps before which the state is reset.
        """
        fed = {
            name.removesuffix("_input"): inputs @ weight.t()
            for name, weight in self.weights.items()
            if name.endswith("_input")
        }
        everywhere = torch.ones_like(inputs[:, :, 0], dtype=torch.bool)
        masks = (everywhere if real is None else real, ~everywhere if fresh is None else fresh)

        def step(state: States, at: States) -> tuple[States, torch.Tensor]:
            here, again, now, *parts = at
            if fresh is not None:
                state = tuple(part * ~again[:, None] for part in state)
            products = Step(self.weights, now, dict(zip(fed, parts, strict=True)))
            new = self.cell(products, state, self.options)
            new = tuple(
                torch.lerp(after, before, rate) if rate else after
                for before, after, rate in zip(state, new, self.zoneout, strict=True)
            )
            if real is None:
                return new, new[0]
            both = zip(state, new, strict=True)
            new = tuple(torch.where(here[:, None], after, before) for before, after in both)
            return new, new[0] * here[:, None]

        return unroll(step, state, (*masks, inputs, *fed.values()), reverse=reverse)


class _Connection(nn.Module):
    """A connection around a layer: none, residual, dense or highway."""

    def __init__(self, kind: str, input_size: int, output_size: int) -> None:
        super().__init__()
        self.kind = kind
        if kind == "highway":
            self.gate = nn.Linear(input_size, output_size)

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        if self.kind == "residual":
            return entered + output
        if self.kind == "dense":
            return torch.cat([entered, output], dim=-1)
        if self.kind == "highway":
            return torch.lerp(entered, output, torch.sigmoid(self.gate(entered)))
        return output


class _Layer(nn.Module):
    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.directions = nn.ModuleList(Recurrent(each) for each in settings["directions"])
        size = settings["input_size"]
        output_size = sum(each["state_sizes"][0] for each in settings["directions"])
        self.connection = _Connection(settings["connection"], size, output_size)
        self.normalise = nn.LayerNorm(size) if settings["layer_norm"] else None


class Stack(nn.Module):
    """Recurrent layers, one above the other."""

    def __init__(self, layers: list[dict[str, Any]]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_Layer(settings) for settings in layers)

    def begin(self, batch_size: int) -> list[torch.Tensor]:
        return [
            part
            for layer in self.layers
            for direction in layer.directions
            for part in direction.begin(batch_size)
        ]

    def forward(
        self,
        values: torch.Tensor,
        state: list[torch.Tensor],
        real: torch.Tensor | None = None,
        fresh: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Read (B, T, size); the state is a flat list."""
        remaining, after = list(state), []
        for layer in self.layers:
            inputs = values if layer.normalise is None else layer.normalise(values)
            outputs = []
            for number, direction in enumerate(layer.directions):
                count = len(direction.state_sizes)
                before, remaining = tuple(remaining[:count]), remaining[count:]
                output, new = direction(inputs, before, real=real, fresh=fresh, reverse=number == 1)
                outputs.append(output)
                after += new
            values = layer.connection(values, torch.cat(outputs, dim=-1))
            if real is not None:
                values = values * real.unsqueeze(-1)
        return values, after


# Outputs ------------------------------------------------------------------------------------------


class Softmax(nn.Module):
    """p(w) ∝ exp(W_w · h + b_w); W may be the table of word vectors."""

    def __init__(self, settings: dict[str, Any], vocabulary_size: int) -> None:
        super().__init__()
        size = settings["size"]
        self.project = nn.Linear(settings["hidden_size"], size) if settings["projects"] else None
        tied = settings["tied"]
        self.weight = None if tied else nn.Parameter(torch.zeros(vocabulary_size, size))
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))

    def forward(self, hidden: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        hidden = hidden if self.project is None else self.project(hidden)
        return hidden @ (table if self.weight is None else self.weight).t() + self.bias


class Mixture(Softmax):
    """A mixture of softmaxes, weighted by the context."""

    def __init__(self, settings: dict[str, Any], vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.experts = settings["experts"]
        self.latent = nn.Linear(settings["hidden_size"], self.experts * settings["size"])
        self.prior = nn.Linear(settings["hidden_size"], self.experts, bias=False)

    def forward(self, hidden: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        prior = self.prior(hidden).log_softmax(-1)
        each = torch.tanh(self.latent(hidden)).chunk(self.experts, dim=-1)
        mixed = [
            super(Mixture, self).forward(latent, table).log_softmax(-1) + prior[..., k, None]
            for k, latent in enumerate(each)
        ]
        return torch.stack(mixed).logsumexp(0)


class Adaptive(nn.Module):
    """Frequent words at full size, rare ones in clusters of smaller vectors."""

    def __init__(self, settings: dict[str, Any], vocabulary_size: int) -> None:
        super().__init__()
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(
            settings["hidden_size"], vocabulary_size, settings["cutoffs"], settings["shrink"]
        )
        self.register_buffer("rank", torch.zeros(vocabulary_size, dtype=torch.long))

    def forward(self, hidden: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        scores = self.softmax.log_prob(hidden.flatten(0, -2))[:, self.rank]
        return scores.view(*hidden.shape[:-1], -1)


class Classes(Softmax):
    """First the class of a word, then the word in its class."""

    def __init__(self, settings: dict[str, Any], vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.sizes = settings["class_sizes"]
        self.class_weight = nn.Parameter(torch.zeros(len(self.sizes), settings["size"]))
        self.class_bias = nn.Parameter(torch.zeros(len(self.sizes)))
        self.register_buffer("members", torch.zeros(vocabulary_size, dtype=torch.long))
        self.register_buffer("places", torch.zeros(vocabulary_size, dtype=torch.long))

    def forward(self, hidden: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        words = super().forward(hidden, table)[..., self.members]
        hidden = hidden if self.project is None else self.project(hidden)
        classes = (hidden @ self.class_weight.t() + self.class_bias).log_softmax(-1)
        parts = [
            part.log_softmax(-1) + classes[..., number, None]
            for number, part in enumerate(words.split(self.sizes, dim=-1))
        ]
        return torch.cat(parts, dim=-1)[..., self.places]


OUTPUTS = {"softmax": Softmax, "mixture": Mixture, "adaptive": Adaptive, "classes": Classes}


# Models -------------------------------------------------------------------------------------------


class Recurring(nn.Module):
    """A stack of recurrent layers between word vectors and an output."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.vocabulary_size = size = settings["vocabulary_size"]
        self.eos_id, self.resets = settings["eos_id"], settings["resets_at_lines"]
        self.input = nn.Embedding(size, settings["input_size"])
        self.stack = Stack(settings["layers"])
        self.output = OUTPUTS[settings["output"]["kind"]](settings["output"], size)

    def begin(self, batch_size: int) -> list[torch.Tensor]:
        """The state before any token, `<eos>` included."""
        return self.stack.begin(batch_size)

    def read(
        self, ids: torch.Tensor, state: list[torch.Tensor], real: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """`real` (B, T): tokens that are no padding."""
        fresh = ids == self.eos_id if self.resets else None
        if fresh is not None and real is not None:
            fresh = fresh & real
        hidden, after = self.stack(self.input(ids), state, real, fresh)
        return hidden, after

    def scores(self, hidden: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.output(hidden, self.input.weight)
        return scores


class Window(nn.Module):
    """A fixed window of words: feed-forward or log-bilinear."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.vocabulary_size = size = settings["vocabulary_size"]
        self.seen = settings["seen"]
        self.eos_id, self.resets = settings["eos_id"], settings["resets_at_lines"]
        self.input = nn.Embedding(size, settings["input_size"])
        self.direct, self.diagonal = settings["direct"], settings["diagonal"]
        if settings["hidden"]:
            self.hidden = nn.Linear(self.seen * settings["input_size"], settings["hidden"])
            self.places = None
        else:
            self.places = nn.Parameter(torch.zeros(settings["places"]))
        self.output = OUTPUTS[settings["output"]["kind"]](settings["output"], size)

    def begin(self, batch_size: int) -> list[torch.Tensor]:
        device = self.input.weight.device
        return [torch.full((batch_size, self.seen), self.eos_id, device=device)]

    def read(
        self, ids: torch.Tensor, state: list[torch.Tensor], real: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        if real is not None:  # padding before a text reads as the start of a line
            ids = ids.where(real, self.eos_id)
        known = torch.cat([state[0], ids], dim=1)
        places = torch.arange(ids.shape[1], device=ids.device)[:, None]
        windows = known[:, places + torch.arange(1, self.seen + 1, device=ids.device)]
        if self.resets:  # nothing before the last line end is seen
            ends = (windows == self.eos_id).flip(2).cumsum(2).flip(2) > 0
            windows = windows.masked_fill(ends, self.eos_id)
        vectors = self.input(windows)  # (B, T, n, size)
        return self._features(vectors), [known[:, ids.shape[1] :]]

    def _features(self, vectors: torch.Tensor) -> torch.Tensor:
        words = vectors.flatten(2)
        if self.places is None:
            hidden = torch.tanh(self.hidden(words))
            return torch.cat([hidden, words], dim=-1) if self.direct else hidden
        if self.diagonal:  # one weight per dimension and position
            return (vectors * self.places).sum(2)
        return words @ self.places.t()

    def scores(self, hidden: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.output(hidden, self.input.weight)
        return scores


_NOTHING = -1  # before the first word


class Counted(nn.Module):
    """An n-gram model in back-off form: the hidden vector of a position is its context."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.vocabulary_size, self.eos_id = settings["vocabulary_size"], settings["eos_id"]
        self.order = len(settings["ngrams"])
        self.seen = max(self.order - 1, 1)
        for order, count in enumerate(settings["ngrams"], start=1):
            floats = nn.Parameter(torch.zeros(count), requires_grad=False)
            self.register_parameter(f"log_probs{order}", floats)
            if order < self.order:
                weights = nn.Parameter(torch.zeros(count), requires_grad=False)
                self.register_parameter(f"log_backoffs{order}", weights)
                self.register_buffer(f"children{order}", torch.zeros(count + 1, dtype=torch.long))
            if order > 1:
                self.register_buffer(f"words{order}", torch.zeros(count, dtype=torch.long))

    def begin(self, batch_size: int) -> list[torch.Tensor]:
        device = self.log_probs1.device
        return [torch.full((batch_size, self.seen), _NOTHING, device=device)]

    def read(
        self, ids: torch.Tensor, state: list[torch.Tensor], real: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        if real is not None:  # a text after padding begins with one `<eos>`
            begins = real[:, 1:] & ~real[:, :-1] & (ids[:, 1:] != self.eos_id)
            begins = torch.cat([begins, torch.zeros_like(real[:, :1])], dim=1)
            ids = ids.where(real, _NOTHING).masked_fill(begins, self.eos_id)
        known = torch.cat([state[0], ids], dim=1)
        places = torch.arange(ids.shape[1], device=ids.device)[:, None]
        contexts = known[:, places + torch.arange(1, self.seen + 1, device=ids.device)]
        return contexts, [known[:, ids.shape[1] :]]

    def scores(self, hidden: torch.Tensor) -> torch.Tensor:
        """(B, T, V) log probabilities after contexts (B, T, order - 1)."""
        contexts = hidden.flatten(0, 1)
        scores = self.log_probs1.repeat(len(contexts), 1)
        for order in range(2, self.order + 1):
            numbers = self._find(contexts[:, contexts.shape[1] - order + 1 :])
            known = numbers >= 0
            backoffs = getattr(self, f"log_backoffs{order - 1}")[numbers.clamp(min=0)]
            scores = scores + backoffs.where(known, 0)[:, None]
            rows, entries = self._followers(order, numbers)
            scores[rows, getattr(self, f"words{order}")[entries]] = getattr(
                self, f"log_probs{order}"
            )[entries]
        return scores.view(*hidden.shape[:2], -1)

    def _find(self, words: torch.Tensor) -> torch.Tensor:
        """The numbers of the n-grams (N, k), or -1 where they are not stored."""
        numbers = words[:, 0]
        for order in range(2, words.shape[1] + 1):
            bounds, stored = getattr(self, f"children{order - 1}"), getattr(self, f"words{order}")
            word = words[:, order - 1]
            low, high = bounds[numbers.clamp(min=0)], bounds[numbers.clamp(min=0) + 1]
            end = high
            while bool((low < high).any()):  # a binary search among the followers of each prefix
                middle = (low + high) // 2
                smaller = (low < high) & (stored[middle.clamp(max=len(stored) - 1)] < word)
                low, high = (
                    torch.where(smaller, middle + 1, low),
                    torch.where(smaller, high, middle),
                )
            place = low.clamp(max=max(len(stored) - 1, 0))
            found = (low < end) & (numbers >= 0) & (word >= 0)
            if len(stored):
                found = found & (stored[place] == word)
            numbers = torch.where(found, low, -1)
        return numbers

    def _followers(self, order: int, numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """All n-grams of an order that extend these contexts: their row and their number."""
        bounds = getattr(self, f"children{order - 1}")
        rows = (numbers >= 0).nonzero().squeeze(1)
        starts = bounds[numbers[rows]]
        lengths = bounds[numbers[rows] + 1] - starts
        offsets = torch.arange(int(lengths.sum()), device=rows.device)
        offsets = offsets - (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
        return rows.repeat_interleave(lengths), starts.repeat_interleave(lengths) + offsets


FAMILIES = {"recurrent": Recurring, "window": Window, "ngram": Counted}


def build(settings: dict[str, Any]) -> Any:
    """The model of these settings, with weights still to be loaded."""
    return FAMILIES[settings["family"]](settings)
