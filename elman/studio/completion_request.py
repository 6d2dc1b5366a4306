"""The request of `/v1/completions`: fields, checks, options.

Takes JSON in the format of OpenAI and returns `DecodingOptions` and prompts. The fields of
transforms and penalties come from `DecodingOptions`, so a new transform needs no line here.
"""

from __future__ import annotations

import secrets
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator

from elman.decoding.options import DecodingOptions
from elman.errors import InputError
from elman.studio.limits import Limits, refuse_above
from elman.tasks.language_modelling.distribution import SHAPING
from elman.tasks.language_modelling.trained import TrainedModel

_LARGEST_SEED = 2**63 - 1
_LARGEST_BIAS = 100.0
_LONGEST_ID = 10  # digits
Id = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Strict(BaseModel):
    """A request that refuses unknown fields, so that a misspelled field is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())

    model: str | None = Field(None, description="The name of a served model. Default: the first.")


def _shaping_fields() -> dict[str, Any]:
    """Transforms and penalties with their defaults and descriptions; null means the default."""
    hints = get_type_hints(DecodingOptions)
    return {
        knob.name: (
            hints[knob.name] | None,
            Field(knob.default, description=knob.metadata["about"]),
        )
        for knob in fields(DecodingOptions)
        if knob.name in SHAPING
    }


if TYPE_CHECKING:

    class _Shaped(Strict):
        pass
else:
    _Shaped = create_model("_Shaped", __base__=Strict, **_shaping_fields())


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool = False
    include_obfuscation: bool = False  # accepted and ignored


class CompletionRequest(_Shaped):
    """The request of OpenAI's API, plus the transforms of elman."""

    allow_unknown: bool = Field(False, description="Allow <unk> in the output.")
    prompt: str | list[str] | list[Id] | list[list[Id]] = Field(
        "", description="A text, a list of texts, token ids, or a list of token id lists."
    )
    max_tokens: int | None = Field(
        16,
        description="Maximum number of tokens. -1: the server's limit. 0 with echo scores the "
        "prompt.",
    )
    n: int | None = Field(1, description="Number of continuations per prompt.")
    stream: bool | None = Field(False, description="Stream the output as server-sent events.")
    stream_options: StreamOptions | None = None
    logprobs: int | None = Field(
        None, description="Return log probabilities, with this many top tokens per position."
    )
    echo: bool | None = Field(False, description="Return the prompt before the continuation.")
    stop: str | list[str] | None = Field(None, description="Stop sequences; stop before them.")
    seed: int | None = Field(
        None, description="Random seed. Sample i of a seed is always the same."
    )
    stop_at_line_end: bool = Field(False, description="Stop at the end of the line.")
    user: str | None = None
    best_of: int | None = Field(
        None, description="Sample this many per prompt; return the n most probable per token."
    )
    suffix: str | None = Field(
        None, description="Not supported: text is generated from left to right."
    )
    logit_bias: dict[str, float] | None = Field(
        None, description="Added to log probabilities, by token id; -100 to 100."
    )

    @field_validator("top_k", mode="before", check_fields=False)
    @classmethod
    def _every_token(cls, value: Any) -> Any:
        """-1 and 0 mean all tokens, as in vLLM and llama.cpp."""
        return None if type(value) is int and value in (-1, 0) else value

    def check(self, limits: Limits) -> None:
        """Refuse unsupported values and values above the limits."""
        if self.suffix:
            raise InputError(
                "suffix is not supported: these models generate from left to right and cannot fill "
                "a gap; leave it out"
            )
        self._check_best_of()
        if self.samples < 1:
            raise InputError(f"n is {self.samples}; give 1 or more")
        if self.logprobs is not None and self.logprobs < 0:
            raise InputError(f"logprobs is {self.logprobs}; give 0 or more")
        if self.seed is not None and not -_LARGEST_SEED <= self.seed <= _LARGEST_SEED:
            raise InputError(f"seed must be a whole number of at most {_LARGEST_SEED}")
        refuse_above("n", self.samples, limits.samples)
        refuse_above("best_of", self.drawn, limits.samples)
        refuse_above("max_tokens", self.max_tokens or 0, limits.max_tokens)
        refuse_above("logprobs", self.logprobs or 0, limits.likeliest)
        refuse_above("prompts times n", len(self.prompts()) * self.drawn, limits.choices)
        refuse_above("the number of tokens in logit_bias", len(self.biases()), limits.biases)
        self._check_stop(limits)

    def _check_best_of(self) -> None:
        if self.best_of is None:
            return
        if self.best_of < self.samples:
            raise InputError(f"best_of is {self.best_of}, below n; give {self.samples} or more")
        if self.stream and self.best_of > self.samples:
            raise InputError("best_of above n cannot be streamed; leave out one of the two")

    def _check_stop(self, limits: Limits) -> None:
        refuse_above("the number of stop sequences", len(self.stops()), limits.stop_sequences)
        for stop in self.stops():
            refuse_above("the length of a stop sequence", len(stop), limits.stop_characters)

    @property
    def samples(self) -> int:
        return 1 if self.n is None else self.n

    @property
    def drawn(self) -> int:
        """How many continuations to sample per prompt; the best `samples` are returned."""
        return self.samples if self.best_of is None else self.best_of

    def tokens(self, limits: Limits) -> int:
        """The maximum number of tokens in a continuation."""
        if self.max_tokens == -1:
            return limits.max_tokens
        return 16 if self.max_tokens is None else self.max_tokens

    def biases(self) -> tuple[tuple[int, float], ...]:
        """Token ids with the bias added to their log probability."""
        found = []
        for key, bias in (self.logit_bias or {}).items():
            if not (key.isascii() and key.isdecimal() and len(key) < _LONGEST_ID):
                raise InputError(f"logit_bias: {key[:40]!r} is not the id of a token")
            if not abs(bias) <= _LARGEST_BIAS:
                raise InputError(f"logit_bias of {key} is {bias}; give a number from -100 to 100")
            found.append((int(key), bias))
        return tuple(found)

    def stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else self.stop or []

    def prompts(self) -> list[str | list[int]]:
        """Every prompt, as a text or as ids."""
        return each_text(self.prompt) or [""]

    def options(self, trained: TrainedModel, limits: Limits) -> DecodingOptions:
        """The options of the decoder, with a random seed if none was given."""
        last = (trained.tokenizer.eos_id,) if self.stop_at_line_end else ()
        unknown = trained.tokenizer.unknown_id
        given = {name: getattr(self, name) for name in SHAPING if getattr(self, name) is not None}
        seed = secrets.randbelow(2**31) if self.seed is None else self.seed
        options = DecodingOptions(
            max_tokens=self.tokens(limits),
            seed=seed if seed >= 0 else 2**64 + seed,  # NumPy takes no negative ones
            stop_ids=last,
            logit_bias=self.biases(),
            banned=() if self.allow_unknown or unknown is None else (unknown,),
            **given,
        )
        options.check_vocabulary(len(trained.tokenizer))
        return options


def each_text(given: Any) -> list[str | list[int]]:
    """One or several texts or id lists, as a list."""
    alone = isinstance(given, str) or (given and isinstance(given[0], int))
    return [given] if alone else [*given]


def check_prompt(prompt: str | list[int], vocabulary_size: int, limits: Limits) -> None:
    """Refuse a prompt that is too long, or ids that the model does not have."""
    if isinstance(prompt, str):
        refuse_above("the prompt's number of characters", len(prompt), limits.text_characters)
        return
    refuse_above("the prompt's number of tokens", len(prompt), limits.prompt_tokens)
    for number in prompt:
        if number >= vocabulary_size:
            raise InputError(
                f"prompt: id {number} is too large; the vocabulary has {vocabulary_size} tokens"
            )
