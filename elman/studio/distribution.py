"""`/v1/distribution`: what the next token is drawn from, before and after the transforms.

Takes a prompt and the options of `/v1/completions` that shape a distribution; gives the likeliest
tokens with both probabilities, both entropies in bits, and how many tokens are possible.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from pydantic import Field

from elman.decoding.distribution import next_distribution
from elman.decoding.options import DecodingOptions
from elman.studio.completion_request import Id, Shaping
from elman.studio.limits import refuse_above
from elman.tasks.language_modelling.continuation import Continuation
from elman.tasks.language_modelling.generation import read_prompt

if TYPE_CHECKING:
    from elman.studio.tasks import Question


class DistributionRequest(Shaping):
    """A prompt and how to shape what comes next."""

    prompt: str | list[Id] = Field("", description="A text, or ids.")
    top: int = Field(20, ge=1, description="How many of the likeliest tokens.")


def distribution(question: Question, asked: DistributionRequest) -> dict[str, Any]:
    """Both distributions of the next token."""
    trained = question.model.trained
    refuse_above("top", asked.top, question.limits.top)
    question.check_prompt(asked.prompt)
    ids = Continuation(trained.tokenizer, asked.prompt).prompt_ids
    options = DecodingOptions(**asked.shaping(trained))
    own = trained.model.predict(read_prompt(trained, ids)).cpu().double()  # (1, V)
    shaped = next_distribution(own, options, [[]])
    before, after = own[0].exp(), shaped[0].exp()
    likeliest = own[0].topk(min(asked.top, len(before))).indices.tolist()
    return {
        "tokens": [
            {
                "id": number,
                "token": trained.tokenizer.tokens[number],
                "before": float(before[number]),
                "after": float(after[number]),
            }
            for number in likeliest
        ],
        "before": _summary(before),
        "after": _summary(after),
    }


def _summary(probabilities: torch.Tensor) -> dict[str, Any]:
    return {
        "entropy": float(torch.special.entr(probabilities).sum()) / math.log(2),
        "possible": int((probabilities > 0).sum()),
    }
