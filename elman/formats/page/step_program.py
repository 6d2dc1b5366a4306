"""Trace one step of a neural model into a list of array operations that other runtimes can run.

Takes any neural language model, gives a `Program`: what happens to one id and a state, and how the
next distribution follows. torch records the operations while the model computes them, so every cell
and every output is covered by its own equations. Whatever depends on weights only is computed here
and stored as a constant. The runtime in `program.js` has one small function for each operation in
`OPERATIONS`.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import functionalize
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.utils.stateless import _reparametrize_module
from torch.utils import _pytree as pytree

from elman.errors import InputError
from elman.models.neural import NeuralModel
from elman.models.weights import pack

# Operations of torch, with the name of the function in the runtime.
OPERATIONS = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "rsub": "rsub", "neg": "neg",
    "sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu", "exp": "exp", "log": "log",
    "softplus": "softplus", "clamp": "clamp", "lerp": "lerp", "addcmul": "addcmul",
    "reciprocal": "reciprocal", "logaddexp": "logaddexp", "log_sigmoid_forward": "logSigmoid",
    "mm": "mm", "addmm": "addmm", "view": "view", "_unsafe_view": "view", "reshape": "view",
    "unsqueeze": "unsqueeze", "squeeze": "squeeze", "expand": "expand", "transpose": "transpose",
    "t": "transpose2", "permute": "permute", "detach": "same", "clone": "same", "alias": "same",
    "_to_copy": "same", "lift_fresh_copy": "same", "split": "split",
    "split_with_sizes": "splitSizes", "unbind": "unbind", "getitem": "item", "slice": "slice",
    "select": "select", "cat": "cat", "stack": "stack", "_log_softmax": "logSoftmax",
    "_softmax": "softmax", "logsumexp": "logSumExp", "embedding": "embedding", "sum": "sum",
    "mean": "mean", "native_layer_norm": "layerNorm", "new_zeros": "zeros", "new_empty": "zeros",
    "zeros_like": "zeros", "slice_scatter": "sliceScatter", "copy": "copy", "index": "index",
    "index_put": "indexPut", "unfold": "unfold", "bmm": "bmm",
}  # fmt: skip
_WITHOUT_EFFECT = {"dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking"}
_STEPS = 12  # ids on which a traced program is compared with its model
_CLOSE = 1e-4


@dataclass
class Program:
    """Operations on numbered values; a value is the result of an operation or an input."""

    steps: list[list[Any]]  # name, number of the result, arguments
    inputs: int  # values 0 … inputs - 1
    outputs: list[Any]  # arguments, as in the steps


@dataclass
class TracedModel:
    """A model as two programs and their constants."""

    read: Program  # id, state to evidence, state
    predict: Program  # evidence to log probabilities
    begin: list[np.ndarray]  # the state before the first id
    evidence: int  # how many outputs of `read` are evidence
    constants: list[np.ndarray] = field(default_factory=list)


def trace_model(model: NeuralModel) -> TracedModel:
    """Trace a model with its weights rounded to eight bits."""
    model = _rounded(model)
    weights = {name: value.detach() for name, value in model.state_dict(keep_vars=True).items()}
    with torch.no_grad():
        leaves, spec = pytree.tree_flatten(model.begin(1))

        def read(
            given: dict[str, torch.Tensor], ids: torch.Tensor, *state: Any
        ) -> tuple[list[torch.Tensor], list[Any]]:
            with _reparametrize_module(model, given):
                evidence, carried, _ = model.gather(ids, pytree.tree_unflatten([*state], spec))
            return [part[:, -1] for part in evidence], pytree.tree_flatten(carried)[0]

        def predict(given: dict[str, torch.Tensor], *evidence: torch.Tensor) -> torch.Tensor:
            with _reparametrize_module(model, given):
                return model.predict_from(evidence)

        first = torch.full((1, 1), model.eos_id)
        evidence, _ = read(weights, first, *leaves)
        graphs = _recorded(read, weights, first, *leaves), _recorded(predict, weights, *evidence)
        _compare(model, *graphs, weights, leaves)
        constants = _Constants()
        flat = [weights[name] for name in weights]
        first_program, second = (_Translation(graph, flat, constants).program() for graph in graphs)
    begin = [leaf.numpy() for leaf in leaves]
    return TracedModel(first_program, second, begin, len(evidence), constants.arrays)


def _rounded(model: NeuralModel) -> NeuralModel:
    """A copy with the weights of `elman quantise`, and word vectors as a table."""
    model = copy.deepcopy(model).float().eval()
    model.load_arrays(pack(model.arrays()))
    if model.input.table is None:
        with torch.no_grad():
            model.input = _Table(model.input(torch.arange(model.vocabulary_size)[None])[0])
    return model


class _Table(nn.Module):
    """Vectors of all words, computed beforehand."""

    def __init__(self, vectors: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors)
        self.table = None

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return nn.functional.embedding(ids, self.get_buffer("vectors"))


def _recorded(function: Callable[..., Any], *given: Any) -> GraphModule:
    try:
        graph = make_fx(functionalize(function))(*given)
    except Exception as error:  # torch has many names for "depends on the data"
        raise InputError(f"a step of this model cannot be recorded ({error})") from None
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return graph


def _compare(
    model: NeuralModel,
    read: GraphModule,
    predict: GraphModule,
    weights: dict[str, torch.Tensor],
    state: Sequence[Any],
) -> None:
    """Check that the recorded steps do not depend on the id with which they were recorded."""
    ids = torch.linspace(0, model.vocabulary_size - 1, _STEPS).long()
    expected = model.begin(1)
    for number in ids.tolist():
        evidence, state = read(weights, torch.tensor([[number]]), *state)
        right, expected, _ = model.gather(torch.tensor([[number]]), expected)
        own = predict(weights, *evidence)
        true = model.predict_from(tuple(part[:, -1] for part in right))
        if not torch.allclose(own, true, atol=_CLOSE):
            raise InputError("a step of this model depends on its input in a way that a page lacks")


class _Constants:
    """Arrays that depend on weights only, each stored once."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._known: dict[tuple[tuple[int, ...], bytes], int] = {}

    def add(self, value: torch.Tensor) -> int:
        array = np.ascontiguousarray(value.numpy())
        key = array.shape, array.tobytes()
        if key not in self._known:
            self._known[key] = len(self.arrays)
            self.arrays.append(array)
        return self._known[key]


class _Translation:
    """One recorded graph as a program."""

    def __init__(
        self, graph: GraphModule, weights: list[torch.Tensor], constants: _Constants
    ) -> None:
        self._graph = graph
        self._constants = constants
        self._known: dict[Node, Any] = {}  # values that depend on weights only
        self._numbers: dict[Node, int] = {}  # values that are computed at each step
        self._steps: list[list[Any]] = []
        self._weights = weights

    def program(self) -> Program:
        places = [node for node in self._graph.graph.nodes if node.op == "placeholder"]
        for node, weight in zip(places, self._weights, strict=False):
            self._known[node] = weight
        inputs = places[len(self._weights) :]
        self._numbers = {node: number for number, node in enumerate(inputs)}
        outputs: list[Any] = []
        for node in self._graph.graph.nodes:
            if node.op == "get_attr":
                self._known[node] = getattr(self._graph, node.target)
            elif node.op == "call_function":
                self._add(node)
            elif node.op == "output":
                outputs = [self._argument(part) for part in pytree.tree_leaves(node.args[0])]
        return Program(self._steps, len(inputs), outputs)

    def _add(self, node: Node) -> None:
        if all(part in self._known for part in node.all_input_nodes):
            arguments = pytree.tree_map(self._value, (node.args, node.kwargs))
            self._known[node] = node.target(*arguments[0], **arguments[1])  # type: ignore[operator]
            return
        name = "getitem" if node.target is operator.getitem else _plain_name(node)
        if name not in OPERATIONS or not _WITHOUT_EFFECT.issuperset(node.kwargs):
            raise InputError(f"the runtime of a page has no operation {name!r}, which this needs")
        if name in ("index", "index_put") and not self._along_one_axis(node.args[1]):
            raise InputError(f"the runtime of a page has {name!r} along one axis only")
        *others, last = node.args
        take_last = self._matrix if name in ("mm", "addmm") else self._argument
        arguments = [*map(self._argument, others), take_last(last)]
        self._numbers[node] = len(self._numbers)
        self._steps.append([OPERATIONS[name], self._numbers[node], arguments])

    def _along_one_axis(self, lists: Any) -> bool:
        """Whether an index is [None, …, numbers], and not a mask."""
        *before, last = lists
        numbers = isinstance(last, Node) and last.meta["val"].dtype != torch.bool
        return numbers and all(part is None for part in before)

    def _matrix(self, part: Any) -> Any:
        """The matrix of a product; a constant one is stored with a row for each result."""
        if part in self._known:
            return {"c": self._constants.add(self._known[part].t())}
        return self._argument(part)

    def _value(self, part: Any) -> Any:
        return self._known[part] if isinstance(part, Node) else part

    def _argument(self, part: Any) -> Any:
        """A value as {"v": number}, a constant as {"c": number}, or a plain number or list."""
        if isinstance(part, list | tuple):
            return [self._argument(each) for each in part]
        if not isinstance(part, Node):
            return part if isinstance(part, int | float | bool | None) else None
        if part in self._numbers:
            return {"v": self._numbers[part]}
        known = self._known[part]
        return {"c": self._constants.add(known)} if isinstance(known, torch.Tensor) else known


def _plain_name(node: Node) -> str:
    """The name of an operation: addmm of torch.ops.aten.addmm.default."""
    return str(node.target).split(".")[1]
