"""Next-token accuracy: how often the most probable token is the correct one.

Takes a model, ids and which of them count, gives an `Accuracy`. It is useful for texts with tokens
that follow from the context (a result, a closing tag); perplexity mostly measures tokens that
cannot be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elman.errors import InputError
from elman.evaluation.measures import STREAM, Progress, Reading, silent
from elman.evaluation.scoring import cut_lines, each_distribution
from elman.models.contract import LanguageModel
from elman.text.tokenizer import Tokenizer, after_mark


@dataclass(frozen=True)
class Accuracy:
    """How many tokens were predicted correctly."""

    right: int
    counted: int
    lines_right: int  # lines whose counted tokens are all correct
    lines: int  # lines with at least one counted token
    what: str  # which tokens count

    @property
    def accuracy(self) -> float:
        return self.right / self.counted

    @property
    def line_accuracy(self) -> float:
        return self.lines_right / self.lines

    def to_data(self) -> dict[str, Any]:
        return {"accuracy": self.accuracy, "line_accuracy": self.line_accuracy, **vars(self)}


@dataclass(frozen=True)
class Counted:
    """Which tokens count: all, or those after a mark in a line, up to another mark."""

    after: str | None = None
    until: str | None = None

    def __post_init__(self) -> None:
        if self.until is not None and self.after is None:
            raise InputError("--until needs --after, which marks where counting begins; give both")

    def choose(self, ids: np.ndarray, tokenizer: Tokenizer) -> np.ndarray:
        """Which ids of a text count; bool, same length."""
        if self.after is None:
            return np.ones(len(ids), dtype=bool)
        until = None if self.until is None else tokenizer.single_id(self.until)
        return after_mark(ids, tokenizer.single_id(self.after), tokenizer.eos_id, until)

    def __str__(self) -> str:
        if self.after is None:
            return "every token, including line ends"
        if self.until is None:
            return f"tokens after {self.after!r} in a line, including the line end"
        return f"tokens after {self.after!r}, up to and including {self.until!r}"


def measure_accuracy(
    model: LanguageModel,
    tokenizer: Tokenizer,
    text: str,
    counted: Counted,
    reading: Reading = STREAM,
    progress: Progress = silent,
) -> Accuracy:
    """The next-token accuracy of a model on a text."""
    ids = tokenizer.encode(text)
    counts = counted.choose(ids, tokenizer)
    if not counts.any():
        raise InputError(f"no tokens to count: the text has no {counted}")
    right = likeliest(model, ids, tokenizer.eos_id, reading, progress) == ids
    lines = cut_lines(ids, tokenizer.eos_id)
    starts = [line.first for line in lines]
    wrong_in_line = np.add.reduceat(counts & ~right, starts)
    counted_in_line = np.add.reduceat(counts, starts) > 0
    return Accuracy(
        right=int(np.count_nonzero(right & counts)),
        counted=int(np.count_nonzero(counts)),
        lines_right=int(np.count_nonzero(counted_in_line & (wrong_in_line == 0))),
        lines=int(np.count_nonzero(counted_in_line)),
        what=str(counted),
    )


def likeliest(
    model: LanguageModel,
    ids: np.ndarray,
    eos_id: int,
    reading: Reading = STREAM,
    progress: Progress = silent,
) -> np.ndarray:
    """The most probable id at each position, same length."""
    found = each_distribution(
        model, ids, lambda _, log_probs: log_probs.argmax(2), eos_id, reading, progress
    )
    return found.astype(np.int64)
