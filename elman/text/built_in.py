"""What a built-in corpus is: text by split, without a file.

A corpus is a dataclass in a file of its own and a line in `CORPORA` (`corpora.py`); its settings,
as in `arithmetic:digits=3`, are its fields.
"""

from abc import ABC, abstractmethod
from typing import ClassVar


class BuiltInCorpus(ABC):
    """A corpus in one of its forms."""

    about: ClassVar[str]  # one line for lists

    @abstractmethod
    def text(self, split: str) -> str:
        """The text of a split: train, valid or test."""

    @abstractmethod
    def details(self) -> str:
        """One line: what someone who uses it should know, the settings among it."""
