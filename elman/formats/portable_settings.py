"""The settings and weights of a run for `portable.py`.

Takes a trained language model, gives plain settings and tensors by name. A part that the portable
model does not have is refused with the reason.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import torch

from elman.errors import InputError
from elman.formats import portable
from elman.formats.portable_sentences import SENTENCE_FAMILIES
from elman.layers.encoders import SentenceEncoder
from elman.layers.inputs import WordVectors
from elman.layers.outputs.factored import AdaptiveSoftmax, ClassSoftmax
from elman.layers.outputs.full import MixtureOfSoftmaxes
from elman.layers.outputs.maxent import JointMaxent
from elman.layers.outputs.ngram import NgramOutput
from elman.layers.outputs.output import Output, SoftmaxOutput
from elman.layers.outputs.pointer import PointerSentinel
from elman.layers.recurrent import Recurrent
from elman.layers.stack import Stack
from elman.layers.tag_outputs import ConditionalField
from elman.models.classifier import Classifier
from elman.models.neural import NeuralModel
from elman.models.ngram import NGram
from elman.models.recurrent import RecurrentModel
from elman.models.tagger import Tagger
from elman.models.window import FeedForward, LogBilinear, WindowModel

Weights = dict[str, torch.Tensor]
_SPELLED = (
    "a model that reads the characters of words ({}) cannot be written in this format: a tokenizer "
    "gives the ids of words only; train with --set {}"
)
_ALIKE = {"lstm-f": "lstm", "lstm-i": "lstm", "lstm-o": "lstm", "lstm-b": "lstm"}


def to_portable(model: Any) -> Any:
    """A portable model with the weights of a trained one, in evaluation mode."""
    settings, weights = describe(model)
    families = portable.FAMILIES | SENTENCE_FAMILIES
    network = families[settings["family"]](settings)
    network.load_state_dict(weights)
    return network.eval()


@singledispatch
def describe(model: Any) -> tuple[dict[str, Any], Weights]:
    """The settings of a model for `portable.build`, and its weights."""
    raise InputError(
        f"the model {type(model).__name__} cannot be written in this format: it is not a "
        "recurrent, feed-forward, log-bilinear or n-gram language model, a classifier or a tagger"
    )


@describe.register
def _(model: RecurrentModel) -> tuple[dict[str, Any], Weights]:
    if model.topics is not None:
        raise InputError(
            "a model with topics (model.topics) cannot be written in this format: it infers the "
            "topics of the recent words before every step"
        )
    settings = _common(model) | {
        "family": "recurrent",
        "layers": stack_settings(model.stack, model.config.cell, model.config.connection),
    }
    return settings, _weights(model)


@describe.register
def _(model: FeedForward) -> tuple[dict[str, Any], Weights]:
    config = model.config
    settings = _window(model) | {"hidden": config.hidden_size, "direct": config.direct}
    return settings | {"diagonal": False}, _weights(model)


@describe.register
def _(model: LogBilinear) -> tuple[dict[str, Any], Weights]:
    settings = _window(model) | {"hidden": 0, "direct": False, "places": list(model.places.shape)}
    return settings | {"diagonal": model.config.diagonal}, _weights(model)


@describe.register
def _(model: NGram) -> tuple[dict[str, Any], Weights]:
    if not model.always_defined:
        raise InputError(
            f"smoothing={model.config.smoothing!r} gives no distribution after an unseen context; "
            "train with a smoother, such as --set model.smoothing=kneser-ney"
        )
    tables = model.tables
    weights: Weights = {}
    for order, table in enumerate(tables.tables, start=1):
        weights[f"log_probs{order}"] = torch.from_numpy(table.log_probs).float()
        if order < tables.order:
            weights[f"log_backoffs{order}"] = torch.from_numpy(table.log_backoffs).float()
            above = torch.from_numpy(tables.tables[order].prefixes).long()
            places = torch.arange(len(table) + 1)
            weights[f"children{order}"] = torch.searchsorted(above.contiguous(), places)
        if order > 1:
            weights[f"words{order}"] = torch.from_numpy(table.words).long()
    settings = {
        "family": "ngram",
        "vocabulary_size": model.vocabulary_size,
        "eos_id": tables.eos_id,
        "ngrams": [len(table) for table in tables.tables],
    }
    return settings, weights


@describe.register
def _(model: Classifier) -> tuple[dict[str, Any], Weights]:
    if len(model.ngrams):
        raise InputError(_SPELLED.format("model.ngrams", "model.ngrams=0"))
    settings, weights = _sentences(model.encoder)
    if model.scores.in_features != model.pooling.output_size:
        raise InputError(
            "a classifier of pairs cannot be written in this format: it takes one text"
        )
    settings |= {
        "family": "classifier",
        "labels": model.scores.out_features,
        "pooling": model.config.pooling,
        "several": model.several,
        "directions": model.pooling.directions,
    }
    names = {"scores.": "scores.", "pooling.key.": "key.", "pooling.query": "query"}
    return settings, weights | _renamed(model, names)


@describe.register
def _(model: Tagger) -> tuple[dict[str, Any], Weights]:
    if model.linear is not None:
        raise InputError(_SPELLED.format("model.linear", "model.linear=0"))
    settings, weights = _sentences(model.encoder)
    crf = isinstance(model.output, ConditionalField)
    settings |= {"family": "tagger", "labels": model.scores.out_features, "crf": crf}
    return settings, weights | _renamed(model, {"scores.": "scores.", "output.": ""})


def _sentences(encoder: SentenceEncoder) -> tuple[dict[str, Any], Weights]:
    """The settings of an encoder of words, and its weights."""
    features, config = encoder.features, encoder.config
    if features.spelling.size:
        raise InputError(_SPELLED.format("model.characters", "model.characters=none"))
    if encoder.contextual is not None or features.columns is not None:
        raise InputError(
            "a model with further inputs (model.elmo, text.features) cannot be written in this "
            "format: a tokenizer gives the ids of words only"
        )
    tables = [features.vectors.weight, *([] if features.unseen is None else [features.unseen])]
    table = torch.cat([part.detach() for part in tables])
    stack = encoder.stack
    settings = {
        "vocabulary_size": len(table),
        "input_size": table.shape[1],
        "hidden_size": encoder.size,
        "temperature": 1.0,
        "window": config.window if stack is None else None,
        "layers": [] if stack is None else stack_settings(stack, config.cell, config.connection),
    }
    names = {"window.": "window.", "stack.": "stack."}
    return settings, {"input.weight": table, **_renamed(encoder, names)}


def _renamed(module: torch.nn.Module, names: dict[str, str]) -> Weights:
    """The weights whose names begin so, with that beginning replaced."""
    return {
        name.replace(old, new, 1): weight.detach().clone()
        for name, weight in module.state_dict().items()
        for old, new in names.items()
        if name.startswith(old)
    }


def stack_settings(stack: Stack, cell: str, connection: str) -> list[dict[str, Any]]:
    """The settings of the layers of a stack."""
    cell = _ALIKE.get(cell, cell)
    if cell not in portable.CELLS:
        raise InputError(
            f"the cell {cell!r} cannot be written in this format: its equations are not in the "
            f"portable model, which has {', '.join(portable.CELLS)}"
        )
    return [
        {
            "input_size": layer.directions[0].cell.input_size,
            "connection": connection,
            "layer_norm": layer.normalise is not None,
            "directions": [direction_settings(each, cell) for each in layer.directions],
        }
        for layer in stack.layers
    ]


def direction_settings(direction: Recurrent, cell: str) -> dict[str, Any]:
    """The settings of one cell."""
    names = ("activation", "gates", "cell_clip", "projection_clip", "rounds", "depth")
    found = {name: getattr(direction.cell, name, None) for name in names}
    return {
        "cell": cell,
        "options": {name: value for name, value in found.items() if value is not None},
        "state_sizes": list(direction.cell.state_sizes),
        "zoneout": list(direction.zoneout),
        "weights": {name: list(weight.shape) for name, weight in direction.weights.items()},
    }


def _common(model: NeuralModel) -> dict[str, Any]:
    return {
        "vocabulary_size": model.vocabulary_size,
        "eos_id": model.eos_id,
        "resets_at_lines": model.resets_at_lines,
        "input_size": model.input.size,
        "output": _output(model.output),
    }


def _window(model: WindowModel) -> dict[str, Any]:
    return _common(model) | {"family": "window", "seen": model.seen}


def _output(output: Output) -> dict[str, Any]:
    """The settings of an output layer, or the reason why it is missing."""
    if isinstance(output, PointerSentinel | JointMaxent | NgramOutput):
        raise InputError(
            f"the output {type(output).__name__} cannot be written in this format: it looks back "
            "at recent words besides the hidden vector; train with --set model.output=full"
        )
    if isinstance(output, AdaptiveSoftmax):
        softmax = output.softmax
        return {
            "kind": "adaptive",
            "hidden_size": softmax.in_features,
            "cutoffs": list(softmax.cutoffs[:-1]),
            "shrink": softmax.div_value,
        }
    if not isinstance(output, SoftmaxOutput):
        raise InputError(
            f"the output {type(output).__name__} cannot be written in this format: it has no "
            "matrix with a row per word; train with --set model.output=full"
        )
    mixes = isinstance(output, MixtureOfSoftmaxes)
    project = output.project
    size = output.latent.in_features if isinstance(output, MixtureOfSoftmaxes) else output.size
    settings = {
        "kind": "softmax",
        "size": output.size,
        "hidden_size": size if project is None else project.in_features,
        "projects": project is not None,
        "tied": output.weight is None,
    }
    if mixes:
        settings |= {"kind": "mixture", "experts": output.experts}
    if isinstance(output, ClassSoftmax):
        sizes = torch.bincount(output.class_of, minlength=output.classes).tolist()
        settings |= {"kind": "classes", "class_sizes": sizes}
    return settings


def _weights(model: NeuralModel) -> Weights:
    """The weights under the names of the portable model, which are those of elman."""
    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
    del weights["counts"]
    if not isinstance(model.input, WordVectors):  # vectors of words are computed once
        weights = {name: w for name, w in weights.items() if not name.startswith("input.")}
        with torch.no_grad():
            weights["input.weight"] = model.eval().input(torch.arange(model.vocabulary_size))
    if isinstance(model.output, AdaptiveSoftmax):
        weights["output.rank"] = model.output.rank.clone()
    if isinstance(model.output, ClassSoftmax):
        weights["output.members"] = model.output.members.clone()
        weights["output.places"] = torch.argsort(model.output.members)
    return weights
