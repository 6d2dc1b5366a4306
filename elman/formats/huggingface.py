"""Write a run as a folder of Hugging Face: transformers loads it without elman.

    config.json               the settings of the network, and `auto_map`
    model.safetensors         the weights
    modeling_elman.py         `portable.py`, `portable_sentences.py` and `huggingface_model.py`
    tokenizer.json            the tokenizer; tokenizer_config.json names its special tokens
    generation_config.json    when `generate` stops
    README.md                 the model card: data, measures, how to load it

Called by `elman export RUN --to huggingface FOLDER`. Files are replaced one by one, `config.json`
last; other files in the folder stay.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import singledispatch
from importlib.resources import files
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
from elman.formats.portable_settings import describe
from elman.models.classifier import Classifier
from elman.models.tagger import Tagger
from elman.version import __version__

_MODULE = "modeling_elman"
_PARTS = ("portable", "portable_sentences", "huggingface_model")


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
    special = dict.fromkeys(("bos_token", "eos_token", "pad_token"), BOUNDARY)
    texts = {
        f"{_MODULE}.py": modelling_file(),
        "tokenizer.json": folder.tokenizer.to_str(pretty=True),
        "tokenizer_config.json": _json(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "clean_up_tokenization_spaces": False,
                "model_max_length": 10**9,  # a state has no longest text
                **special,
            }
        ),
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
    config = {**_labels(run.task.labels), "problem_type": f"{kind}_classification"}
    return _sentences(run, "AutoModelForSequenceClassification", config)


@_folder.register
def _(model: Tagger, run: Any) -> Folder:
    return _sentences(run, "AutoModelForTokenClassification", _labels(run.task.tags))


def _sentences(run: Any, automatic: str, config: dict[str, Any]) -> Folder:
    settings, weights = describe(run.model)
    settings["temperature"] = run.temperature
    name = automatic.replace("AutoModel", "Elman")
    tokenizer = words_to_library(run.task.words)
    return Folder(settings, weights, tokenizer, automatic, name, config)


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
    future = "from __future__ import annotations\n"
    parts = [
        '"""A model trained with elman, for transformers: needs torch, not elman."""\n\n',
        future,
    ]
    for name in _PARTS:
        text = files("elman.formats").joinpath(f"{name}.py").read_text(encoding="utf-8")
        lines = text.partition(future)[2].splitlines(keepends=True)
        own = "".join(line for line in lines if not line.startswith("from elman"))
        for other in _PARTS:
            own = own.replace(f"{other}.", "")
        parts.append(own)
    return "".join(parts)


def _hidden_size(settings: dict[str, Any]) -> int:
    """The size of the vectors that predict, which some programs ask for."""
    output = settings.get("output", settings)
    return int(output.get("hidden_size", len(settings.get("ngrams", [1]))))


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
