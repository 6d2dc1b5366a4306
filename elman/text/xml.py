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
from functools import partial

from elman.text.drawn_lines import DrawnConfig, Line, at_least, draw_text

_SHORTEST_NAME = 2
CLOSING_MARK = "/"  # what follows it, up to `>`, is determined
CLOSING_END = ">"


@dataclass(kw_only=True)
class XmlConfig(DrawnConfig):
    """How large the documents are."""

    longest_name: int = 10
    steps: int = 50  # after which tags are only closed

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, "longest_name", _SHORTEST_NAME)
        at_least(self, "steps", 1)


def xml_text(split: str, config: XmlConfig | None = None) -> str:
    """The text of a split (train, valid or test): one document per line."""
    config = config or XmlConfig()
    return draw_text(partial(draw_document, config), split, config)


def draw_document(config: XmlConfig, chance: random.Random) -> Line:
    """One document; it is its own identity."""
    name = _draw_name(config.longest_name, chance)
    open_tags, pieces = [name], [f"<{name}>"]
    for step in range(1, 2 * config.steps + 1):  # at most `steps` are opened, and each is closed
        if step >= config.steps or chance.random() < 0.5:
            if not open_tags:
                break
            pieces.append(f"</{open_tags.pop()}>")
        else:
            name = _draw_name(config.longest_name, chance)
            open_tags.append(name)
            pieces.append(f"<{name}>")
    document = "".join(pieces)
    return Line(document, document)


def _draw_name(longest: int, chance: random.Random) -> str:
    return "".join(
        chance.choices(string.ascii_lowercase, k=chance.randint(_SHORTEST_NAME, longest))
    )


def about(config: XmlConfig | None = None) -> str:
    """One line: what the documents are."""
    config = config or XmlConfig()
    return (
        f"nested tags with names of {_SHORTEST_NAME} to {config.longest_name} random letters; no "
        f"document is in two splits; names in closing tags are determined: elman evaluate "
        f"--accuracy --after {CLOSING_MARK} --until {CLOSING_END!r}"
    )
