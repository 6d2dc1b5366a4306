"""The next-token distribution after a prompt, before and after the decoding options.

The question `distribution`, and the common parts of all requests with a prompt: the decoding
fields, made from `DecodingOptions`, and the state of the model after the prompt.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, make_dataclass
from typing import Any, get_type_hints

import numpy as np
import torch

from elman.decoding.distribution import next_distribution
from elman.decoding.options import DecodingOptions
from elman.decoding.transforms import TRANSFORMS
from elman.errors import InputError
from elman.evaluation.measures import Progress
from elman.state import State
from elman.tasks.language_modelling.continuation import Continuation
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.question import STDIN, Answer, Question, aligned_lines, asked

_PENALTIES = ("frequency_penalty", "presence_penalty", "repetition_penalty")
SHAPING = {*(transform.option for transform in TRANSFORMS.values()), *_PENALTIES}
_LIMITS = {"max_tokens": "max_tokens", "samples": "samples", "beam": "samples"}


@dataclass(frozen=True, kw_only=True)
class Prompted:
    """The common fields of requests with a prompt."""

    prompt: str | list[int] = asked(
        "The text to continue, or its token ids. Default: the start of a line.",
        default="",
        kind=STDIN,
        limit="prompt_tokens",
    )
    allow_unknown: bool = asked("Allow <unk> in the output.", default=False)


def decoding_fields(name: str, wanted: set[str] | None = None) -> type:
    """Make a dataclass with all or the wanted decoding options, so that a new transform appears
    automatically.
    """
    hints = get_type_hints(DecodingOptions)
    made = [
        (
            knob.name,
            hints[knob.name],
            asked(
                f"{knob.metadata['about'][0].upper()}{knob.metadata['about'][1:]}.",
                default=knob.default,
                limit=_LIMITS.get(knob.name, ""),
            ),
        )
        for knob in fields(DecodingOptions)
        if knob.metadata and (wanted is None or knob.name in wanted)
    ]
    module = {"__module__": __name__}
    return make_dataclass(
        name, made, bases=(Prompted,), namespace=module, frozen=True, kw_only=True
    )


def read_prompt(trained: TrainedModel, ids: np.ndarray) -> State:
    """The state, one row, after reading ids from the start."""
    with torch.inference_mode():
        state = trained.model.start(1)
        return trained.model.read(torch.from_numpy(ids)[None], state) if len(ids) else state


def check_ids(trained: TrainedModel, prompt: str | list[int]) -> None:
    """Refuse ids that the model does not have."""
    for number in prompt if not isinstance(prompt, str) else ():
        if not 0 <= number < len(trained.tokenizer):
            raise InputError(
                f"prompt: id {number} is not among the model's {len(trained.tokenizer)} tokens"
            )


@dataclass(frozen=True, kw_only=True)
class Distribution(decoding_fields("_Shaped", SHAPING)):  # type: ignore[misc]  # fields known at run time
    """Show the next-token distribution, before and after the decoding options.

    For example:
      elman distribution runs/ptb --prompt "the price of" --top-p 0.9
      elman distribution runs/ptb --prompt "the price of" --temperature 0.5 --top 5 --json
    """

    top: int = asked(
        "The number of most probable tokens to show.", default=20, at_least=1, limit="top"
    )


@dataclass(frozen=True)
class NextTokens(Answer):
    """The most probable tokens with both probabilities, entropies in bits, and possible tokens."""

    tokens: list[dict[str, Any]]
    before: dict[str, Any]
    after: dict[str, Any]

    def to_data(self) -> dict[str, Any]:
        return dict(vars(self))

    def lines(self) -> Iterable[str]:
        names = ["id", "token", "before", "after"]
        yield from aligned_lines(names, [[token[name] for name in names] for token in self.tokens])
        for name, side in (("before", self.before), ("after", self.after)):
            yield f"{name}: {side['entropy']:.4f} bits, {side['possible']:,} possible tokens"


@torch.inference_mode()
def distribution(trained: TrainedModel, request: Any, progress: Progress) -> NextTokens:
    """Compute the next-token distribution before and after the options."""
    check_ids(trained, request.prompt)
    unknown = trained.tokenizer.unknown_id
    banned = () if request.allow_unknown or unknown is None else (unknown,)
    shaping = {name: getattr(request, name) for name in SHAPING}
    if shaping["top_k"] in (-1, 0):  # all tokens, as vLLM and llama.cpp write it
        shaping["top_k"] = None
    ids = Continuation(trained.tokenizer, request.prompt).prompt_ids
    own = trained.model.predict(read_prompt(trained, ids)).cpu().double()  # (1, V)
    shaped = next_distribution(own, DecodingOptions(**shaping, banned=banned), [[]])
    before, after = own[0].exp(), shaped[0].exp()
    tokens = [
        {
            "id": number,
            "token": trained.tokenizer.tokens[number],
            "before": float(before[number]),
            "after": float(after[number]),
        }
        for number in own[0].topk(min(request.top, len(before))).indices.tolist()
    ]
    return NextTokens(tokens, _summary(before), _summary(after))


def _summary(probabilities: torch.Tensor) -> dict[str, Any]:
    return {
        "entropy": float(torch.special.entr(probabilities).sum()) / math.log(2),
        "possible": int((probabilities > 0).sum()),
    }


DISTRIBUTION = Question(Distribution, distribution, unit="tokens")
