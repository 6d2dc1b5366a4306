"""Write a language model as ONNX graphs, for onnxruntime and for speech recognisers.

    step.onnx        ids (N,), state… → log_probs (N, V), new state…           one step, any batch
    nll.onnx         x (N, L), x_lens (N,) → nll (N,)         the score of whole lines, in nats
    labels.onnx      ids (N, L), lengths (N,) → log_probs     of a classifier (N, K), of several
                                                              labels or a tagger (N, L, K)
    *.int8.onnx      the same with 8-bit weights
    tokens.json      the tokens of the vocabulary, in the order of their ids

`nll.onnx` has the interface that sherpa-onnx and icefall use to rescore: `x` has neither `<eos>` at
the start nor at the end, both are added, and the metadata has `sos_id`, `eos_id` and `vocab_size`.
It runs the graph of one step in an ONNX `Scan`, so it takes any length.

The metadata `state` of `step.onnx` describes the first state: name, size and value of each tensor.
Read `<eos>` from it, then predict.
"""

from __future__ import annotations

import json
import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import TensorProto, helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import nn

from elman.atomic import replacing
from elman.errors import InputError
from elman.formats import Exported
from elman.formats.portable_sentences import Sentences
from elman.formats.portable_settings import to_portable

_EXAMPLE_ROWS = 2  # with one row, the exporter would freeze the size of the batch


class OneStep(nn.Module):
    """A portable model for one token per row."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: torch.Tensor, state: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        hidden, after = self.network.read(ids[:, None], state)
        return (self.network.scores(hidden)[:, 0].log_softmax(-1), *after)


def write(run: Any, path: Path) -> Exported:
    """Write the graphs of a language model into a folder (`elman export RUN --to onnx FOLDER`)."""
    if hasattr(run.model, "tables"):
        raise InputError(
            f"{run.name}: an n-gram model is a table without arithmetic for ONNX; recognisers read "
            "it as ARPA: elman export RUN --to arpa FILE"
        )
    network = to_portable(run.model)
    if isinstance(network, Sentences):
        network.temperature = run.temperature
        graphs = _graphs_of_sentences(network)
        tokens = run.task.words.words
        metadata = {"labels": json.dumps(getattr(run.task, "tags", None) or run.task.labels)}
    else:
        graphs = _graphs_of_language(network)
        tokens = run.tokenizer.tokens
        metadata = _first_state(network)
    metadata["vocab_size"] = str(network.vocabulary_size)
    for name, graph in graphs.items():
        _save(graph, metadata, path / f"{name}.onnx")
    _write_tokens(path / "tokens.json", tokens)
    names = sorted(f"{name}.onnx" for name in graphs)
    return Exported(", ".join(names), {"files": names})


def _graphs_of_language(network: Any) -> dict[str, Any]:
    step = trace_step(network)
    graphs = {"step": step, "step.int8": quantise(step)}
    return graphs | {
        name.replace("step", "nll"): over_time(graph, network) for name, graph in graphs.items()
    }


def _graphs_of_sentences(network: Any) -> dict[str, Any]:
    labels = trace_labels(network)
    return {"labels": labels, "labels.int8": quantise(labels)}


class OfLengths(nn.Module):
    """A portable classifier or tagger that takes the lengths of texts."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        real = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        return self.network.log_probs(ids, real)


def trace_labels(network: Any) -> Any:
    """The graph of a classifier or tagger, as an ONNX model."""
    rows, length = torch.export.Dim("N"), torch.export.Dim("L")
    example = (torch.zeros(_EXAMPLE_ROWS, 5, dtype=torch.long), torch.tensor([5, 3]))
    return _trace(
        OfLengths(network),
        example,
        ({0: rows, 1: length}, {0: rows}),
        ["ids", "lengths"],
        ["log_probs"],
    )


def trace_step(network: Any) -> Any:
    """The graph of one step, as an ONNX model."""
    state = network.begin(_EXAMPLE_ROWS)
    names = state_names(network)
    rows = torch.export.Dim("N")
    return _trace(
        OneStep(network),
        (torch.zeros(_EXAMPLE_ROWS, dtype=torch.long), state),
        ({0: rows}, [{0: rows} for _ in state]),
        ["ids", *names],
        ["log_probs", *(f"new_{name}" for name in names)],
    )


def _trace(model: nn.Module, example: Any, sizes: Any, given: list[str], found: list[str]) -> Any:
    """A module as an ONNX model; `sizes` names the dimensions that may change."""
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            model.eval(),
            example,
            dynamo=True,
            input_names=given,
            output_names=found,
            dynamic_shapes=sizes,
            verbose=False,
        )
    assert program is not None
    return onnx.load_from_string(program.model_proto.SerializeToString())


def state_names(network: Any) -> list[str]:
    """The names of the state's tensors in a graph."""
    return [f"state{number}" for number in range(len(network.begin(1)))]


def quantise(model: Any) -> Any:
    """The model with 8-bit weights; its sums are computed as in float32.

    The weights use 7 of the 8 bits: processors with AVX2 but without VNNI add two products in 16
    bits, and larger ones saturate.
    """
    with _quiet(), tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "float.onnx"), Path(folder, "int8.onnx")
        onnx.save(model, before)
        quantize_dynamic(
            before, after, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
        )
        return onnx.load(after)


def over_time(step: Any, network: Any) -> Any:
    """The graph of whole lines: the step in an ONNX `Scan`; x, x_lens → nll."""
    names = state_names(network)
    body = helper.make_graph(
        [
            *step.graph.node,
            helper.make_node("Unsqueeze", ["next_t", "one"], ["next_column"]),
            helper.make_node("GatherElements", ["log_probs", "next_column"], ["found"], axis=1),
            helper.make_node("Squeeze", ["found", "one"], ["log_prob"]),
            helper.make_node("Where", ["counts_t", "log_prob", "zero"], ["counted"]),
            helper.make_node("Sub", ["nll_before", "counted"], ["nll_after"]),
        ],
        "step",
        [
            *(value for value in step.graph.input if value.name in names),
            helper.make_tensor_value_info("nll_before", TensorProto.FLOAT, ["N"]),
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["N"]),
            helper.make_tensor_value_info("next_t", TensorProto.INT64, ["N"]),
            helper.make_tensor_value_info("counts_t", TensorProto.BOOL, ["N"]),
        ],
        [
            *(value for value in step.graph.output if value.name != "log_probs"),
            helper.make_tensor_value_info("nll_after", TensorProto.FLOAT, ["N"]),
        ],
    )
    starts, first = _first_states(network, names)
    count = len(names)
    nodes = [
        *_lines(network.eos_id),
        *starts,
        helper.make_node(
            "Scan",
            [*first, "nll_zero", "read", "next", "counts"],
            [*(f"last_{name}" for name in names), "nll"],
            num_scan_inputs=3,
            scan_input_axes=[1, 1, 1],
            body=body,
            name=f"over_time_{count}",
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "lines",
        [
            helper.make_tensor_value_info("x", TensorProto.INT64, ["N", "L"]),
            helper.make_tensor_value_info("x_lens", TensorProto.INT64, ["N"]),
        ],
        [helper.make_tensor_value_info("nll", TensorProto.FLOAT, ["N"])],
        [*step.graph.initializer, *_constants()],
    )
    model = helper.make_model(graph, opset_imports=step.opset_import, functions=step.functions)
    model.ir_version = step.ir_version
    return model


def _lines(eos_id: int) -> list[Any]:
    """Nodes: x and x_lens to what is read, what comes next, and where it counts, (N, L + 1)."""
    make = helper.make_node
    return [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "zero_id"], ["length"]),
        make("Gather", ["shape", "zero_id_list"], ["rows"], axis=0),
        make("Gather", ["shape", "one_id"], ["longest"]),
        make("Concat", ["rows", "one"], ["column"], axis=0),
        make("ConstantOfShape", ["column"], ["ends"], value=_value(eos_id, TensorProto.INT64)),
        make("Concat", ["ends", "x"], ["read"], axis=1),
        make("Concat", ["x", "ends"], ["shifted"], axis=1),
        make("Add", ["longest", "one_id"], ["steps"]),
        make("Range", ["zero_id", "steps", "one_id"], ["places"]),
        make("Unsqueeze", ["x_lens", "one"], ["lens"]),
        make("GreaterOrEqual", ["places", "lens"], ["over"]),
        make("Where", ["over", "ends", "shifted"], ["next"]),
        make("LessOrEqual", ["places", "lens"], ["counts"]),
        make("ConstantOfShape", ["rows"], ["nll_zero"], value=_value(0.0, TensorProto.FLOAT)),
    ]


def _first_states(network: Any, names: list[str]) -> tuple[list[Any], list[str]]:
    """Nodes that make the first state, and the names of their results."""
    nodes, first = [], []
    for name, tensor in zip(names, network.begin(1), strict=True):
        kind = TensorProto.FLOAT if tensor.is_floating_point() else TensorProto.INT64
        size, shape, start = f"{name}_size", f"{name}_shape", f"{name}_start"
        sized = helper.make_tensor(size, TensorProto.INT64, [1], [tensor.shape[1]])
        nodes += [
            helper.make_node("Constant", [], [size], value=sized),
            helper.make_node("Concat", ["rows", size], [shape], axis=0),
            helper.make_node(
                "ConstantOfShape", [shape], [start], value=_value(tensor.flatten()[0].item(), kind)
            ),
        ]
        first.append(start)
    return nodes, first


def _constants() -> list[Any]:
    whole = TensorProto.INT64
    return [
        helper.make_tensor("one", whole, [1], [1]),
        helper.make_tensor("zero", TensorProto.FLOAT, [], [0.0]),
        helper.make_tensor("zero_id", whole, [], [0]),
        helper.make_tensor("zero_id_list", whole, [1], [0]),
        helper.make_tensor("one_id", whole, [], [1]),
    ]


def _value(value: float, kind: Any) -> Any:
    return helper.make_tensor("value", kind, [1], [value])


def _first_state(network: Any) -> dict[str, str]:
    """The metadata that recognisers read, and the first state."""
    state = [
        {"name": name, "size": tensor.shape[1], "value": tensor.flatten()[0].item()}
        for name, tensor in zip(state_names(network), network.begin(1), strict=True)
    ]
    ids = {"sos_id": str(network.eos_id), "eos_id": str(network.eos_id)}
    return {**ids, "state": json.dumps(state)}


def _write_tokens(path: Path, tokens: list[str]) -> None:
    with replacing(path) as temporary:
        text = json.dumps(list(tokens), ensure_ascii=False, indent=0)
        temporary.write_text(text, encoding="utf-8")


def _save(model: Any, metadata: dict[str, str], path: Path) -> None:
    helper.set_model_props(model, metadata)
    onnx.checker.check_model(model)
    try:
        path.parent.mkdir(exist_ok=True)
        with replacing(path) as temporary:
            onnx.save(model, temporary)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the advice of exporter and quantiser, which is not for users of elman."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
