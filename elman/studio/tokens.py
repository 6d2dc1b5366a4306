"""`/tokenize`, `/detokenize` and `/tokenizer_info`, in the format of vLLM.

With these, a client such as lm-eval needs no tokenizer of its own. A text starts at the beginning
of a line, and a line end is the token `<eos>`; as text, both are a newline.
"""

from typing import Any

from pydantic import Field

from elman.errors import InputError
from elman.studio.completion_request import Id, Strict
from elman.studio.limits import Limits, refuse_above
from elman.studio.served import ServedModel
from elman.text.tokenizer import EOS, UNKNOWN


class TokenizeRequest(Strict):
    """A text to convert to ids."""

    prompt: str
    add_special_tokens: bool = Field(
        False, description="Accepted and ignored: elman adds no special tokens."
    )
    return_token_strs: bool | None = Field(False, description="Also return the tokens as text.")


class DetokenizeRequest(Strict):
    """Ids to convert to text."""

    tokens: list[Id]


def tokenize(model: ServedModel, asked: TokenizeRequest, limits: Limits) -> dict[str, Any]:
    """Convert a text to token ids."""
    refuse_above("the prompt's number of characters", len(asked.prompt), limits.text_characters)
    tokenizer = model.trained.tokenizer
    ids = tokenizer.encode_typed(asked.prompt).tolist()
    names = [tokenizer.tokens[number] for number in ids] if asked.return_token_strs else None
    return {
        "count": len(ids),
        "max_model_len": limits.prompt_tokens + limits.max_tokens,
        "tokens": ids,
        "token_strs": names,
    }


def detokenize(model: ServedModel, asked: DetokenizeRequest, limits: Limits) -> dict[str, Any]:
    """Convert token ids to text."""
    refuse_above("the number of tokens", len(asked.tokens), limits.text_characters)
    tokenizer = model.trained.tokenizer
    for number in asked.tokens:
        if number >= len(tokenizer):
            raise InputError(
                f"tokens: id {number} is too large; the vocabulary has {len(tokenizer)} tokens"
            )
    return {"prompt": tokenizer.write(asked.tokens)}


def tokenizer_info(model: ServedModel, limits: Limits) -> dict[str, Any]:
    """Describe the tokenizer of a model."""
    tokenizer = model.trained.tokenizer
    return {
        "tokenizer_class": tokenizer.name,
        "model": model.id,
        "eos_token": tokenizer.decode([tokenizer.eos_id]),
        "bos_token": tokenizer.decode([tokenizer.eos_id]),
        "pad_token": None,
        "unk_token": None if tokenizer.unknown_id is None else UNKNOWN,
        "eos_token_id": tokenizer.eos_id,
        "eos_name": EOS,
        "vocab_size": len(tokenizer),
        "model_max_length": limits.prompt_tokens + limits.max_tokens,
        "chat_template": None,
        "loses": tokenizer.loses,
    }
