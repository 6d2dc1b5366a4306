"""The sentence with which lectures explain vanishing gradients, and hundreds like it.

    When she tried to print her tickets, she found that the printer was out of toner. …
    After installing the toner into the printer, she finally printed her tickets.

What is printed in the end was named forty words before, and nothing in between says what it was: a
model that knows the last word has kept it. Other words vary too, so that a line cannot be known by
its beginning. No combination of them is in two splits.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from elman.text.drawn_lines import DrawnLines, Line

TICKET_SENTENCE = (
    "When she tried to print her tickets, she found that the printer was out of toner. "
    "She went to the stationery store to buy more toner. It was very overpriced. "
    "After installing the toner into the printer, she finally printed her tickets."
)
_PATTERN = (
    "When {who} tried to print {whose} {thing}, {who} found that the printer was out of {ink}. "
    "{Who} went to the {shop} store to buy more {ink}. It was very {price}. "
    "After installing the {ink} into the printer, {who} finally printed {whose} {thing}."
)
_PEOPLE = (("she", "her"), ("he", "his"), ("they", "their"), ("we", "our"))
_THINGS = ("tickets", "photos", "letters", "maps", "essays", "recipes", "posters", "invoices")
_INKS = ("toner", "ink", "paper", "film")
_SHOPS = ("stationery", "office", "department", "corner", "university")
_PRICES = ("overpriced", "cheap", "expensive", "busy", "late")


@dataclass(kw_only=True)
class Tickets(DrawnLines):
    """One story of a printer per line."""

    about = "she printed her tickets: a word to be remembered for forty: tickets:lines=1000"

    lines: int = 1_000

    def draw(self, chance: random.Random) -> Line:
        """One story; its identity is the choice of words."""
        who, whose = chance.choice(_PEOPLE)
        chosen = {
            "who": who,
            "Who": who.capitalize(),
            "whose": whose,
            "thing": chance.choice(_THINGS),
            "ink": chance.choice(_INKS),
            "shop": chance.choice(_SHOPS),
            "price": chance.choice(_PRICES),
        }
        return Line(_PATTERN.format(**chosen), " ".join(chosen.values()))

    def details(self) -> str:
        return (
            "stories of a printer; the last word is one that was named some forty words before, "
            f"out of {len(_THINGS)}"
        )
