"""What a transform says of itself: its option, what the option may be, and what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elman.errors import InputError

if TYPE_CHECKING:
    import torch


@dataclass(kw_only=True, frozen=True)
class Transform:
    """Log probabilities (B, V) and one number in, log probabilities (B, V) that sum to one out.

    A token of probability zero (log probability -inf) stays impossible. Files of transforms do not
    import torch, which `elman --help` does without; a tensor brings its methods along.
    """

    option: str  # as Python writes it; the flag has hyphens in place of the underscores
    about: str  # for the list of strategies and, as a sentence, for the help of the flag
    apply: Callable[[torch.Tensor, Any], torch.Tensor]
    allows: Callable[[Any], bool]
    allowed: str  # the same in words
    kind: Any = float  # or int
    least: float | None = None  # the smallest and largest number of a form's field, if any
    most: float | None = None
    off: float | None = None  # the number with which it is left out
    excludes: str | None = None  # the name of another one that does the same work

    @property
    def type(self) -> Any:
        """What the option holds: a number, or None where that means off."""
        return self.kind | None if self.off is None else self.kind

    def to_data(self, name: str) -> dict[str, Any]:
        """What a form needs to offer the option; `off` is the number that leaves it out."""
        return {
            "id": name,
            "option": self.option,
            "type": "integer" if self.kind is int else "number",
            "off": self.off,
            "least": self.least,
            "most": self.most,
            "about": self.about,
            "allowed": self.allowed,
            "excludes": self.excludes,
        }

    def check(self, number: Any) -> None:
        """Refuse a number that means nothing."""
        if number != self.off and not self.allows(number):
            raise InputError(f"{self.option} is {number}; give {self.allowed}")
