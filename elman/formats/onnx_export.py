"""Write a run as ONNX graphs, for onnxruntime, mobile apps and speech recognisers.

The graphs of each kind of model are described in `onnx_language.py`, `onnx_words.py` and
`onnx_translation.py`. Beside them:

    *.int8.onnx      the same with 8-bit weights
    tokens.json      the tokens of the vocabulary, in the order of their ids
    tokenizer.json   of models over tokens: the tokenizer, for the library `tokenizers`
    words.py         of models over words: makes the inputs from text, with numpy and words.json
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any

from elman.atomic import replacing
from elman.errors import InputError
from elman.formats import Exported
from elman.formats.huggingface_tokenizer import to_library
from elman.formats.onnx_check import check
from elman.formats.onnx_graphs import save
from elman.formats.onnx_language import first_state, language_graphs
from elman.formats.onnx_translation import translation_graphs, translation_metadata
from elman.formats.onnx_words import answer_graphs, label_graphs, vector_graphs
from elman.formats.portable.families import build
from elman.formats.portable.joining import READING, join_modules
from elman.formats.portable_settings import to_portable
from elman.formats.portable_settings.words import describe_labelled, word_settings
from elman.models.answerer import Answerer
from elman.models.bidirectional import BidirectionalModel
from elman.models.classifier import Classifier
from elman.models.encoder_decoder import EncoderDecoder
from elman.models.tagger import Tagger
from elman.text.tokenizer import UNKNOWN, Tokenizer


@dataclass(frozen=True)
class Graphs:
    """The graphs of a run by name, their metadata, and the texts beside them by file name."""

    graphs: dict[str, Any]
    metadata: dict[str, str]
    texts: dict[str, str] = field(default_factory=dict)


def write(run: Any, path: Path) -> Exported:
    """Write the graphs of a run into a folder (`elman export RUN --to onnx FOLDER`)."""
    check(run)
    made = _graphs(run.model, run)
    for name, graph in made.graphs.items():
        save(graph, made.metadata, path / f"{name}.onnx")
    try:
        for name, text in made.texts.items():
            with replacing(path / name) as temporary:
                temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    names = sorted(f"{name}.onnx" for name in made.graphs)
    return Exported(", ".join(names), {"files": names})


@singledispatch
def _graphs(model: Any, run: Any) -> Graphs:
    """A neural language model."""
    network = to_portable(model)
    metadata = {**first_state(network), "vocab_size": str(network.vocabulary_size)}
    return Graphs(language_graphs(network), metadata, _tokenizer_files(run.tokenizer))


@_graphs.register(Classifier)
@_graphs.register(Tagger)
def _(model: Any, run: Any) -> Graphs:
    settings, weights, labels = describe_labelled(run)
    network = build(settings)
    network.load_state_dict(weights)
    metadata = {"labels": json.dumps(labels), "vocab_size": str(network.vocabulary_size)}
    return Graphs(label_graphs(network.eval()), metadata, _word_files(run.task))


@_graphs.register
def _(model: BidirectionalModel, run: Any) -> Graphs:
    return Graphs(vector_graphs(to_portable(model)), {}, _word_files(run.task))


@_graphs.register
def _(model: Answerer, run: Any) -> Graphs:
    metadata = {"longest": str(model.config.longest)}
    return Graphs(answer_graphs(to_portable(model)), metadata, _word_files(run.task))


@_graphs.register
def _(model: EncoderDecoder, run: Any) -> Graphs:
    network = to_portable(model)
    texts = _tokenizer_files(run.task.target.tokenizer)
    source = run.task.source
    if source is not None:
        texts |= {
            f"source_{name}": text for name, text in _tokenizer_files(source.tokenizer).items()
        }
    metadata = {**translation_metadata(network), "vocab_size": str(network.vocabulary_size)}
    return Graphs(translation_graphs(network), metadata, texts)


def _tokenizer_files(tokenizer: Tokenizer) -> dict[str, str]:
    """The tokens, and the tokenizer if the library `tokenizers` can have it."""
    files = {"tokens.json": _json(list(tokenizer.tokens))}
    try:
        files["tokenizer.json"] = to_library(tokenizer).to_str(pretty=True)
    except InputError:
        return files
    return files


def _word_files(task: Any) -> dict[str, str]:
    """The words, how text is split into them, and the code for it."""
    about = "Inputs of ONNX graphs from text, for a model trained with elman: needs numpy only."
    return {
        "tokens.json": _json(task.words.words),
        "words.json": _json(word_settings(task)),
        "words.py": join_modules(about, READING, {"UNKNOWN": UNKNOWN}),
    }


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=0)
