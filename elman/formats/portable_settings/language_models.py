"""The settings and weights of language models."""

from __future__ import annotations

from typing import Any

import torch

from elman.errors import InputError
from elman.formats.portable_settings.describing import Weights, describe, stack_settings
from elman.layers.inputs import WordVectors
from elman.layers.outputs import OUTPUTS
from elman.layers.outputs.factored import AdaptiveSoftmax, ClassSoftmax
from elman.layers.outputs.full import MixtureOfSoftmaxes
from elman.layers.outputs.maxent import JointMaxent
from elman.layers.outputs.ngram import NgramOutput
from elman.layers.outputs.output import Output, SoftmaxOutput
from elman.layers.outputs.pointer import Copying, PointerSentinel
from elman.models.neural import NeuralModel
from elman.models.ngram import NGram
from elman.models.recurrent import RecurrentModel
from elman.models.window import FeedForward, LogBilinear, WindowModel


@describe.register
def _(model: RecurrentModel) -> tuple[dict[str, Any], Weights]:
    if model.topics is not None:
        raise InputError(
            "a model with topics (model.topics) cannot be written in this format: it infers the "
            "topics of the recent words before every step"
        )
    if model.config.sum_layers:
        raise InputError(
            "a model with model.sum_layers cannot be written in this format: its output layer "
            "reads all layers"
        )
    settings = _common(model) | {
        "family": "recurrent",
        "layers": stack_settings(model.stack, model.config.cell, model.config.connection),
    }
    return settings, model_weights(model)


@describe.register
def _(model: FeedForward) -> tuple[dict[str, Any], Weights]:
    config = model.config
    settings = _window(model) | {"hidden": config.hidden_size, "direct": config.direct}
    return settings | {"diagonal": False}, model_weights(model)


@describe.register
def _(model: LogBilinear) -> tuple[dict[str, Any], Weights]:
    settings = _window(model) | {"hidden": 0, "direct": False, "places": list(model.places.shape)}
    return settings | {"diagonal": model.config.diagonal}, model_weights(model)


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


def _common(model: NeuralModel) -> dict[str, Any]:
    return {
        "vocabulary_size": model.vocabulary_size,
        "eos_id": model.eos_id,
        "resets_at_lines": model.resets_at_lines,
        "input_size": model.input.size,
        "output": output_settings(model.output),
    }


def _window(model: WindowModel) -> dict[str, Any]:
    return _common(model) | {"family": "window", "seen": model.seen}


def output_settings(output: Output) -> dict[str, Any]:
    """The settings of an output layer, or the reason why it is missing."""
    if isinstance(output, PointerSentinel | JointMaxent | NgramOutput):
        raise InputError(
            f"the output {_name(output)!r} cannot be written in this format: it looks back "
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
            f"the output {_name(output)!r} cannot be written in this format: it has no "
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
    if isinstance(output, Copying):
        settings |= {"kind": "copying", "further": output.further}
    if isinstance(output, ClassSoftmax):
        sizes = torch.bincount(output.class_of, minlength=output.classes).tolist()
        settings |= {"kind": "classes", "class_sizes": sizes}
    return settings


def _name(output: Output) -> str:
    """The name of an output in settings."""
    names = (name for name, kind in OUTPUTS.items() if kind is type(output))
    return next(names, type(output).__name__)


def model_weights(model: NeuralModel) -> Weights:
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
