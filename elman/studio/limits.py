"""How much a request may ask for, and how much may wait: every number of the server once.

Made by `elman serve`, read by everything that does work for a request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from elman.config import apply_overrides, build
from elman.errors import InputError


@dataclass(kw_only=True, frozen=True)
class Limits:
    """What is more than this is refused: 400 for a request that is too large, 429 for too many."""

    prompt_tokens: int = 4096  # of one prompt, or of one text
    text_characters: int = 40_000  # of all texts of a request
    max_tokens: int = 1024  # of a continuation
    samples: int = 16  # of a prompt
    choices: int = 64  # prompts times samples
    stop_sequences: int = 4
    stop_characters: int = 100  # of one stop sequence
    likeliest: int = 20  # likeliest tokens beside each token
    top: int = 1000  # suggestions, or tokens of a distribution
    texts: int = 256  # sentences, lines or texts of one request
    rows: int = 64  # continuations of a model that are written side by side
    waiting: int = 128  # continuations of a model that wait for room
    jobs: int = 2  # other work that is done at once
    jobs_waiting: int = 64
    deadline: float = 120.0  # seconds, from the request to the last of its answer
    body_bytes: int = 1_000_000
    connections: int = 512  # requests that are being answered at once, however little they ask for
    retry_after: int = 1  # seconds, said with a 429
    header_seconds: float = 10.0  # until all headers of a request are there
    idle_seconds: float = 5.0  # until a connection without a request is closed
    biases: int = 300  # tokens in logit_bias

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise InputError(f"{field.name} is {value}; give a number above 0")
        if self.samples > self.rows:
            raise InputError(
                f"samples is {self.samples} but only {self.rows} rows are written side by side; "
                "lower samples or raise rows"
            )


def parse_limits(written: Sequence[str]) -> Limits:
    """Limits from words like `max_tokens=4096`, as `--limit` has them."""
    return build(Limits, apply_overrides({}, written), "limit")


def refuse_above(name: str, value: int, most: int) -> None:
    """An error if more is asked for than may be."""
    if value > most:
        raise InputError(f"{name} is {value:,}; at most {most:,} may be asked for")
