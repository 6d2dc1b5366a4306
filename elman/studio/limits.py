"""The limits of the server: the size of a request and the length of the queues.

Made by `elman serve` and read by all code that works for a request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from elman.config import apply_overrides, build
from elman.errors import InputError


@dataclass(kw_only=True, frozen=True)
class Limits:
    """The limits: 400 refuses a request that is too large, 429 refuses too many requests."""

    prompt_tokens: int = 4096  # of one prompt, or of one text
    text_characters: int = 40_000  # of all texts of a request
    max_tokens: int = 1024  # of a continuation
    samples: int = 16  # of a prompt
    choices: int = 64  # prompts times samples
    stop_sequences: int = 4
    stop_characters: int = 100  # of one stop sequence
    likeliest: int = 20  # most probable tokens beside each token
    top: int = 1000  # suggestions, or tokens of a distribution
    texts: int = 256  # sentences, lines or texts of one request
    rows: int = 64  # continuations of a model that are generated together
    waiting: int = 128  # continuations of a model that wait in the queue
    jobs: int = 2  # other work that runs at the same time
    jobs_waiting: int = 64
    deadline: float = 120.0  # seconds, from the request to the end of its response
    body_bytes: int = 1_000_000
    connections: int = 512  # open requests, whatever their size
    retry_after: int = 1  # seconds, sent with a 429
    header_seconds: float = 10.0  # until all headers of a request must have arrived
    idle_seconds: float = 5.0  # until a connection without a request is closed
    biases: int = 300  # tokens in logit_bias

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise InputError(f"{field.name} is {value}; give a number above 0")
        if self.samples > self.rows:
            raise InputError(
                f"samples is {self.samples} but only {self.rows} rows are generated together; "
                "lower samples or raise rows"
            )


def parse_limits(written: Sequence[str]) -> Limits:
    """Parse limits from words such as `max_tokens=4096`, as given with `--limit`."""
    return build(Limits, apply_overrides({}, written), "limit")


def refuse_above(name: str, value: int, most: int) -> None:
    """Refuse a value above its limit."""
    if value > most:
        raise InputError(f"{name} is {value:,}; the limit is {most:,}")
