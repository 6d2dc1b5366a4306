"""Tiny causal transformers with random weights, and folders as transformers writes them."""

import json
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from elman.models.causal import CausalModel

INSTALLED = find_spec("transformers") is not None
ARCHITECTURES = ["gpt2", "llama", "opt"]
TEXT = "the cats sleep .\nthe cat sleeps .\na dog sees the cats near the old house .\n"
EOS = "<|endoftext|>"


def make_module(architecture: str, size: int, positions: int, eos_id: int = 0) -> Any:
    """A module of an architecture, in evaluation mode."""
    import transformers

    common = {"vocab_size": size, "bos_token_id": eos_id, "eos_token_id": eos_id}
    common |= {"pad_token_id": eos_id}
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16}
    limits = {"max_position_embeddings": positions}
    torch.manual_seed(4)
    if architecture == "gpt2":
        sizes = {"n_positions": positions, "n_embd": 16, "n_layer": 2, "n_head": 2}
        config = transformers.GPT2Config(**common, **sizes, initializer_range=0.5)
        module: Any = transformers.GPT2LMHeadModel(config)
    elif architecture == "llama":
        sizes = {**layers, **limits, "intermediate_size": 24, "num_key_value_heads": 1}
        config = transformers.LlamaConfig(**common, **sizes, initializer_range=0.5)
        module = transformers.LlamaForCausalLM(config)
    else:
        sizes = {**layers, **limits, "ffn_dim": 24, "word_embed_proj_dim": 16}
        config = transformers.OPTConfig(**common, **sizes, init_std=0.5)
        module = transformers.OPTForCausalLM(config)
    return module.eval()


def make_causal(architecture: str, size: int, positions: int) -> CausalModel:
    """A model in double precision, whose texts begin with id 0."""
    return CausalModel(make_module(architecture, size, positions).double(), 0, positions)


def make_tokenizer(size: int = 320) -> Tokenizer:
    """A byte-level BPE tokenizer like that of GPT-2; its first token ends a text."""
    library = Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    library.train_from_iterator([TEXT] * 20, trainer)
    return library


def make_folder(folder: Path, architecture: str = "gpt2", positions: int = 64) -> Path:
    """A folder with a model and its tokenizer; the model has some rows without a token."""
    library = make_tokenizer()
    size = library.get_vocab_size() + 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make_module(architecture, size, positions).save_pretrained(folder)
    library.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": EOS, "bos_token": EOS}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder
