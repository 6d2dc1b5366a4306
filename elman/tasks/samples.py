"""A few examples of a run's own validation data, for the forms of the studio.

Takes validation examples, returns requests: the fields of a question and their texts, such as
`{"texts": "a fine film"}`. They are saved in `facts.json` as `samples`, so the form of a question
classifier suggests a question and not a film review.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

SAMPLES = 3
LONGEST = 300  # characters of a text; longer ones are not chosen
_TRIED = 50  # examples from each part of the data


def choose_samples(
    examples: Sequence[Any], request_of: Callable[[Any], dict[str, str]]
) -> list[dict[str, str]]:
    """Requests from the beginning, the middle and the last third of the examples."""
    found: list[dict[str, str]] = []
    for part in range(SAMPLES):
        start = part * len(examples) // SAMPLES
        for example in examples[start : start + _TRIED]:
            request = request_of(example)
            if request and request not in found and all(map(_is_short, request.values())):
                found.append(request)
                break
    return found


def _is_short(text: str) -> bool:
    return bool(text.strip()) and len(text) <= LONGEST
