"""Nested tags: what was opened must be closed, by its own name and in the right order.

    <etdomp><pegshmnaj><zbhbmg></zbhbmg></pegshmnaj></etdomp>

A document opens a tag; then, again and again, with probability 1/2 or after `steps` steps it closes
the tag that was opened last, and ends if none is open; otherwise it opens a new one. Names are 2 to
`longest_name` random letters. What stands in a closing tag after `</` is determined; names of new
tags are not. Józefowicz, Zaremba and Sutskever (2015).
"""

from __future__ import annotations

import random
import string
from dataclasses import dataclass

from elman.text.drawn_lines import DrawnLines, Line

_SHORTEST_NAME = 2
_CLOSING_MARK = "/"  # what follows it, up to `>`, is determined
_CLOSING_END = ">"


@dataclass(kw_only=True)
class Xml(DrawnLines):
    """One document per line."""

    about = "nested tags of random names: xml:longest_name=4,steps=10"

    longest_name: int = 10
    steps: int = 50  # after which tags are only closed

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least("longest_name", _SHORTEST_NAME)
        self.at_least("steps", 1)

    def draw(self, chance: random.Random) -> Line:
        """One document; it is its own identity."""
        name = self._draw_name(chance)
        open_tags, pieces = [name], [f"<{name}>"]
        for step in range(1, 2 * self.steps + 1):  # at most `steps` are opened, and each is closed
            if step >= self.steps or chance.random() < 0.5:
                if not open_tags:
                    break
                pieces.append(f"</{open_tags.pop()}>")
            else:
                name = self._draw_name(chance)
                open_tags.append(name)
                pieces.append(f"<{name}>")
        document = "".join(pieces)
        return Line(document, document)

    def _draw_name(self, chance: random.Random) -> str:
        length = chance.randint(_SHORTEST_NAME, self.longest_name)
        return "".join(chance.choices(string.ascii_lowercase, k=length))

    def details(self) -> str:
        return (
            f"nested tags with names of {_SHORTEST_NAME} to {self.longest_name} random letters; no "
            f"document is in two splits; names in closing tags are determined: elman evaluate "
            f"--accuracy --after {_CLOSING_MARK} --until {_CLOSING_END!r}"
        )
