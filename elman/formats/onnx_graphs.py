"""Trace portable models as ONNX graphs, make them smaller, and save them.

Takes a module of torch with an example of its inputs, gives an ONNX model; called by the files that
know the inputs of each kind of model.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import nn

from elman.atomic import replacing
from elman.errors import InputError

ROWS = 2  # of an example: with one row, the exporter would freeze the size of the batch


def trace(model: nn.Module, example: Any, sizes: Any, given: list[str], found: list[str]) -> Any:
    """A module as an ONNX model; `sizes` names the dimensions that may change."""
    with quiet(), torch.no_grad():
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
    graph = onnx.load_from_string(program.model_proto.SerializeToString())
    _tidy(graph.graph)
    return graph


def _tidy(graph: Any) -> None:
    """Leave out shapes, as loops may use one name for values of two shapes, and unused numbers."""
    del graph.value_info[:]
    for inner in _inner_graphs(graph):
        _tidy(inner)
    used = _used(graph)
    kept = [number for number in graph.initializer if number.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)


def _inner_graphs(graph: Any) -> list[Any]:
    """The bodies of the loops of a graph."""
    attributes = [attribute for node in graph.node for attribute in node.attribute]
    return [attribute.g for attribute in attributes if attribute.HasField("g")]


def _used(graph: Any) -> set[str]:
    """The names that a graph and those inside it read."""
    names = {name for node in graph.node for name in node.input}
    names |= {value.name for value in graph.output}
    return names.union(*map(_used, _inner_graphs(graph)))


def quantise(model: Any) -> Any:
    """The model with 8-bit weights; its sums are computed as in float32.

    The weights use 7 of the 8 bits: processors with AVX2 but without VNNI add two products in 16
    bits, and larger ones saturate.
    """
    with quiet(), tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "float.onnx"), Path(folder, "int8.onnx")
        onnx.save(model, before)
        quantize_dynamic(
            before, after, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
        )
        return onnx.load(after)


def save(model: Any, metadata: Mapping[str, str], path: Path) -> None:
    """Check a graph and write it with its metadata."""
    helper.set_model_props(model, dict(metadata))
    onnx.checker.check_model(model)
    try:
        path.parent.mkdir(exist_ok=True)
        with replacing(path) as temporary:
            onnx.save(model, temporary)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the advice of exporter and quantiser, which is not for users of elman."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
