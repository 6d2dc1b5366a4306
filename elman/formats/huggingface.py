"""Write a run as a folder of Hugging Face: transformers loads it without elman.

    config.json               the settings of the network, and `auto_map`
    model.safetensors         the weights
    modeling_elman.py         `portable.py` and `huggingface_model.py` as one file
    tokenizer.json            the tokenizer; tokenizer_config.json names its special tokens
    generation_config.json    when `generate` stops
    README.md                 the model card: data, measures, how to load it

Called by `elman export RUN --to huggingface FOLDER`. Files are replaced one by one, `config.json`
last; other files in the folder stay.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from elman.atomic import replacing
from elman.errors import InputError
from elman.formats import Exported
from elman.formats.huggingface_tokenizer import BOUNDARY, to_library
from elman.formats.model_card import model_card
from elman.formats.portable_settings import describe
from elman.version import __version__

_IMPORT = "from elman.formats import portable\n"
_MODULE = "modeling_elman"


def write(run: Any, path: Path) -> Exported:
    """Write a language model (`elman export RUN --to huggingface FOLDER`)."""
    settings, weights = describe(run.model)
    tokenizer, boundary = run.tokenizer, settings["vocabulary_size"]
    # A model of lines ends with its line; a model of running text goes on.
    ends = {"eos_token_id": settings["eos_id"]} if run.model.resets_at_lines else {}
    config = {
        "model_type": "elman",
        "architectures": ["ElmanForCausalLM"],
        "auto_map": {
            "AutoConfig": f"{_MODULE}.ElmanConfig",
            "AutoModelForCausalLM": f"{_MODULE}.ElmanForCausalLM",
        },
        "network": settings,
        "vocab_size": boundary + 1,
        "hidden_size": _hidden_size(settings),
        "num_hidden_layers": len(settings.get("layers", [0])),
        "bos_token_id": boundary,
        "eos_token_id": settings["eos_id"] if ends else None,
        "pad_token_id": boundary,
        "tie_word_embeddings": False,
        "is_decoder": True,
        "dtype": "float32",
        "elman_version": __version__,
    }
    start = {"bos_token_id": boundary, "pad_token_id": boundary}
    texts = {
        f"{_MODULE}.py": modelling_file(),
        "tokenizer.json": to_library(tokenizer).to_str(pretty=True),
        "tokenizer_config.json": _json(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "clean_up_tokenization_spaces": False,
                "model_max_length": 10**9,  # a state has no longest text
                **dict.fromkeys(("bos_token", "eos_token", "pad_token"), BOUNDARY),
            }
        ),
        "generation_config.json": _json({**start, **ends}),
        "README.md": model_card(run),
        "config.json": _json(config),
    }
    write_folder(path, {f"network.{name}": weight for name, weight in weights.items()}, texts)
    parameters = sum(weight.numel() for weight in weights.values())
    about = f"{parameters:,} numbers, {settings['vocabulary_size']:,} tokens"
    return Exported(about, {"numbers": parameters, "tokens": settings["vocabulary_size"]})


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
    """The classes for transformers and the network below them, as one file without elman."""
    network, model = (
        files("elman.formats").joinpath(name).read_text(encoding="utf-8")
        for name in ("portable.py", "huggingface_model.py")
    )
    if _IMPORT not in model:
        raise RuntimeError(f"huggingface_model.py lacks the line {_IMPORT!r}")
    future = "from __future__ import annotations\n"
    own = model.partition(future)[2].replace(_IMPORT, "").replace("portable.", "")
    heading = '"""A model trained with elman, for transformers: needs torch, not elman."""\n\n'
    return heading + future + network.partition(future)[2] + "\n" + own


def _hidden_size(settings: dict[str, Any]) -> int:
    """The size of the vectors that predict, which some programs ask for."""
    output = settings.get("output", {})
    return int(output.get("hidden_size", len(settings.get("ngrams", [1]))))


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
