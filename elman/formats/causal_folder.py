"""Open the folder of a Hugging Face causal model: config.json, tokenizer.json, safetensors.

Takes a folder or the name of a model in the user's cache, gives the model with the contract of
language models and its tokenizer. Nothing is downloaded, code in the folder is never run, and only
safetensors are read. The first predictions are checked: a model that looks ahead, or whose weights
are incomplete, is refused.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import torch

from elman.errors import InputError
from elman.extras import import_extra
from elman.models.causal import CausalModel
from elman.text.pretrained import PretrainedTokenizer, find_folder, read_settings


def open_causal(name: str) -> tuple[CausalModel, PretrainedTokenizer, Path]:
    """The model and the tokenizer of a folder, or of a model in the cache; and the folder."""
    folder = find_folder(name)
    settings = read_settings(folder)
    tokenizer = PretrainedTokenizer.open(str(folder))
    module = _load_module(name, folder)
    positions = settings.get("max_position_embeddings") or settings.get("n_positions")
    positions = getattr(module.config, "max_position_embeddings", positions)
    first = tokenizer.tokens[tokenizer.first_id]
    model = CausalModel(module, tokenizer.first_id, positions, first)
    _check_predictions(name, model)
    return model, tokenizer, folder


def _load_module(name: str, folder: Path) -> Any:
    library = import_extra("transformers", f"hf:{name}: Hugging Face models need transformers")
    quiet = logging.getLogger("transformers")
    level = quiet.level
    quiet.setLevel(logging.ERROR)
    library.utils.logging.disable_progress_bar()
    try:
        module, found = library.AutoModelForCausalLM.from_pretrained(
            str(folder),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    except Exception as error:  # the library raises many kinds
        reason = " ".join(str(error).split())
        raise InputError(f"hf:{name}: cannot be opened ({reason[:300]})") from None
    finally:
        quiet.setLevel(level)
    lacking = [*found.get("missing_keys", ()), *found.get("mismatched_keys", ())]
    if lacking:
        raise InputError(f"hf:{name}: its weights lack {len(lacking)} tensors, like {lacking[0]}")
    return module


def _check_predictions(name: str, model: CausalModel) -> None:
    """Refuse a model without keys and values to read on from, and one that looks ahead."""
    ids = torch.tensor([[0, 1, 2, 0], [0, 1, 2, 1]]) % model.vocabulary_size
    try:
        log_probs, _ = model.predict_all(torch.cat([ids, ids], dim=1), model.start(2))
        split = model.predict(model.read(ids[:, 2:], model.read(ids[:, :2], model.start(2))))
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"hf:{name}: {type(model.module).__name__} has no key-value cache to continue from "
            f"({reason[:200]}); elman reads transformers like GPT-2, OPT and Llama"
        ) from None
    if torch.isnan(log_probs).any():
        raise InputError(f"hf:{name}: the predictions of the model are NaN")
    ahead = (log_probs[0, :4] - log_probs[1, :4]).abs().max()
    apart = (log_probs[:, 4] - split).abs().max()
    if ahead > 1e-3 or apart > 1e-3:
        raise InputError(
            f"hf:{name}: {type(model.module).__name__} is not causal: its predictions depend on "
            "later tokens"
        )
