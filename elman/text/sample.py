"""A sample of a text for training a tokenizer: parts from its beginning to its end.

Takes a text in blocks of whole lines, of any size, and keeps at most so many characters in memory:
every part at first; when there are too many, every second of them, then every fourth, and so on. So
the parts are spread evenly, and the same text gives the same sample. Called by `subwords.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

DEFAULT = 100_000_000  # characters
_PART = 1 << 16  # characters of a part, and the rest of its last line


@dataclass(frozen=True)
class Sample:
    """How many characters of a text were used, and how many it has."""

    characters: int
    of: int

    def note(self, name: str) -> str:
        """The sentence for the user."""
        return (
            f"the {name} tokenizer was trained on a sample of {self.characters:,} of "
            f"{self.of:,} characters, spread over the text; change it with text.sample (0: all)"
        )


def spread(blocks: Iterable[str], most: int) -> tuple[list[str], Sample | None]:
    """Parts of a text with at most so many characters; no sample if that is all of it."""
    kept: list[str] = []
    size = total = 0
    every = 1
    for number, part in enumerate(parts(blocks, _PART)):
        total += len(part)
        if number % every:
            continue
        kept.append(part)
        size += len(part)
        while size > most and len(kept) > 1:
            kept, every = kept[::2], 2 * every
            size = sum(map(len, kept))
    return kept, None if size == total else Sample(size, total)


def parts(blocks: Iterable[str], size: int) -> Iterator[str]:
    """The same text in parts of whole lines, each of so many characters and the rest of a line."""
    for block in blocks:
        start = 0
        while start < len(block):
            end = block.find("\n", start + size - 1) + 1 or len(block)
            yield block[start:end]
            start = end
