"""Write a run as a folder of Hugging Face: transformers loads it without elman.

    config.json               the settings of the network, and `auto_map`
    model.safetensors         the weights
    modeling_elman.py         the portable models and `huggingface_model.py`
    tokenization_elman.py     of models over words: `portable/words.py` and `huggingface_words.py`
    tokenizer.json            the tokenizer; tokenizer_config.json names its special tokens
    generation_config.json    when `generate` stops
    README.md                 the model card: data, measures, how to load it

Called by `elman export RUN --to huggingface FOLDER`. Files are replaced one by one, `config.json`
last; other files in the folder stay.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer as Library

from elman.atomic import replacing
from elman.errors import InputError
from elman.formats import Exported
from elman.formats.huggingface_tokenizer import BOUNDARY, to_library, words_to_library
from elman.formats.model_card import model_card
from elman.formats.portable.joining import READING, join_modules
from elman.formats.portable_settings import describe
from elman.formats.portable_settings.words import describe_labelled, word_settings
from elman.models.answerer import Answerer
from elman.models.bidirectional import BidirectionalModel
from elman.models.classifier import Classifier
from elman.models.encoder_decoder import EncoderDecoder
from elman.models.tagger import Tagger
from elman.text.tokenizer import UNKNOWN
from elman.version import __version__

_MODULE = "modeling_elman"
_MODELLING = (
    "elman.text.spelling",
    "elman.layers.hashing",
    *(
        f"elman.formats.portable.{name}"
        for name in (
            "cells",
            "layers",
            "outputs",
            "language_models",
            "ngram_model",
            "spelling",
            "hashed_scores",
            "bidirectional",
            "sentences",
            "answering",
            "encoder_decoder",
            "families",
        )
    ),
    "elman.formats.huggingface_model",
)
_TOKENIZATION = "tokenization_elman"


@dataclass(frozen=True)
class Folder:
    """What a folder contains, apart from the files that all have."""

    settings: dict[str, Any]
    weights: dict[str, torch.Tensor]
    tokenizer: Library
    automatic: str  # the class of transformers that loads it
    name: str  # the class of the modelling file
    config: dict[str, Any]  # further entries of config.json
    generation: dict[str, Any] | None = None
    words: dict[str, Any] = field(default_factory=dict)  # of models over words: how they read text


def write(run: Any, path: Path) -> Exported:
    """Write a run (`elman export RUN --to huggingface FOLDER`)."""
    folder = _folder(run.model, run)
    boundary = folder.settings["vocabulary_size"]  # the id after the vocabulary
    config = {
        "model_type": "elman",
        "architectures": [folder.name],
        "auto_map": {
            "AutoConfig": f"{_MODULE}.ElmanConfig",
            folder.automatic: f"{_MODULE}.{folder.name}",
        },
        "network": folder.settings,
        "vocab_size": boundary + 1,
        "hidden_size": _hidden_size(folder.settings),
        "num_hidden_layers": len(folder.settings.get("layers", [0])),
        "bos_token_id": boundary,
        "pad_token_id": boundary,
        "tie_word_embeddings": False,
        "dtype": "float32",
        "elman_version": __version__,
        **folder.config,
    }
    texts = {
        f"{_MODULE}.py": modelling_file(),
        "tokenizer.json": folder.tokenizer.to_str(pretty=True),
        **_tokenizer_files(folder),
        "README.md": model_card(run, folder.automatic),
        "config.json": _json(config),
    }
    if folder.generation is not None:
        start = {"bos_token_id": boundary, "pad_token_id": boundary}
        texts = {"generation_config.json": _json({**start, **folder.generation}), **texts}
    weights = {f"network.{name}": weight for name, weight in folder.weights.items()}
    write_folder(path, weights, texts)
    numbers = sum(weight.numel() for weight in weights.values())
    return Exported(
        f"{numbers:,} numbers, {boundary:,} tokens", {"numbers": numbers, "tokens": boundary}
    )


def check(run: Any) -> None:
    """Refuse a run that transformers cannot have."""
    _folder(run.model, run)


@singledispatch
def _folder(model: Any, run: Any) -> Folder:
    """A language model."""
    settings, weights = describe(model)
    # A model of lines ends with its line; a model of running text goes on.
    ends = {"eos_token_id": settings["eos_id"]} if model.resets_at_lines else {}
    return Folder(
        settings,
        weights,
        to_library(run.tokenizer),
        "AutoModelForCausalLM",
        "ElmanForCausalLM",
        {"is_decoder": True, "eos_token_id": ends.get("eos_token_id")},
        ends,
    )


@_folder.register
def _(model: Classifier, run: Any) -> Folder:
    kind = "multi_label" if model.several else "single_label"
    further = {"problem_type": f"{kind}_classification"}
    return _labelled(run, "AutoModelForSequenceClassification", further)


@_folder.register
def _(model: Tagger, run: Any) -> Folder:
    return _labelled(run, "AutoModelForTokenClassification", {})


def _labelled(run: Any, automatic: str, further: dict[str, Any]) -> Folder:
    settings, weights, labels = describe_labelled(run)
    return _over_words(run, settings, weights, automatic, {**_labels(labels), **further})


@_folder.register
def _(model: BidirectionalModel, run: Any) -> Folder:
    settings, weights = describe(model)
    settings["vocabulary_size"] = len(run.task.words)
    return _over_words(run, settings, weights, "AutoModel", {"output_hidden_states": True})


def _over_words(
    run: Any,
    settings: dict[str, Any],
    weights: dict[str, torch.Tensor],
    automatic: str,
    config: dict[str, Any],
) -> Folder:
    """A model over words, with a tokenizer of its own."""
    name = automatic.replace("AutoModel", "ElmanModel" if automatic == "AutoModel" else "Elman")
    tokenizer = words_to_library(run.task.words)
    words = word_settings(run.task)
    return Folder(settings, weights, tokenizer, automatic, name, config, words=words)


@_folder.register
def _(model: EncoderDecoder, run: Any) -> Folder:
    raise InputError(
        f"{run.name}: an encoder–decoder cannot be written for transformers: a folder has one "
        "tokenizer, and this model reads two texts; use: elman export RUN --to onnx FOLDER"
    )


@_folder.register
def _(model: Answerer, run: Any) -> Folder:
    raise InputError(
        f"{run.name}: a model that answers questions cannot be written for transformers: it marks "
        "words of the passage that the question has; use: elman export RUN --to onnx FOLDER"
    )


def _tokenizer_files(folder: Folder) -> dict[str, str]:
    """tokenizer_config.json; of models over words also the code of the tokenizer."""
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": 10**9,  # a state has no longest text
        **dict.fromkeys(("bos_token", "eos_token", "pad_token"), BOUNDARY),
    }
    if not folder.words:
        return {"tokenizer_config.json": _json(settings)}
    names = ["input_ids", "attention_mask"]
    names += ["characters"] if folder.settings["reads_characters"] else []
    names += ["token_type_ids"] if folder.settings.get("texts") == 2 else []
    settings |= {
        "tokenizer_class": "ElmanTokenizer",
        "auto_map": {"AutoTokenizer": [None, f"{_TOKENIZATION}.ElmanTokenizer"]},
        "model_input_names": names,
        "unk_token": UNKNOWN,
        "elman_words": folder.words,
    }
    return {
        f"{_TOKENIZATION}.py": tokenization_file(),
        "tokenizer_config.json": _json(settings),
    }


def _labels(names: list[str]) -> dict[str, Any]:
    return {
        "id2label": {str(number): name for number, name in enumerate(names)},
        "label2id": {name: number for number, name in enumerate(names)},
    }


def write_folder(path: Path, weights: dict[str, torch.Tensor], texts: dict[str, str]) -> None:
    """Write the weights, then the other files in their order, each atomically."""
    try:
        path.mkdir(exist_ok=True)
        with replacing(path / "model.safetensors") as temporary:
            tensors = {name: weight.contiguous() for name, weight in weights.items()}
            save_file(tensors, temporary, metadata={"format": "pt"})
        for name, text in texts.items():
            with replacing(path / name) as temporary:
                temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def modelling_file() -> str:
    """The classes for transformers and the networks below them, as one file without elman."""
    about = "A model trained with elman, for transformers: needs torch, not elman."
    return join_modules(about, _MODELLING)


def tokenization_file() -> str:
    """The tokenizer of models over words, as one file without elman."""
    about = "The tokenizer of a model trained with elman, for transformers: needs no elman."
    modules = [*READING, "elman.formats.huggingface_words"]
    return join_modules(about, modules, {"UNKNOWN": UNKNOWN})


def _hidden_size(settings: dict[str, Any]) -> int:
    """The size of the vectors that predict, which some programs ask for."""
    output = settings.get("output", settings)
    return int(output.get("hidden_size", len(settings.get("ngrams", [1]))))


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
