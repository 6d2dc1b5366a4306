"""The sentence with which lectures explain vanishing gradients, and thousands like it.

    When she tried to print her tickets, she found that the printer was out of toner. …
    After installing the toner into the printer, she finally printed her tickets.

The last word was named before, and nothing in between says what it was: a model that knows it has
remembered it. Stories are short or long, so that the word has to be remembered for 6, 13, 21, 28
or 40 tokens; the longest are like the one above. Other words vary too, so that a line cannot be
known by its beginning. No line is in two splits.
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
_BEGINNING = "When {who} tried to print {whose} {thing}, "
_MIDDLES = (  # what happens in between, from nothing to the story of the lectures
    "",
    "{who} waited for a moment. Then ",
    "{who} found that the printer was out of {ink}. After installing more {ink}, ",
    "{who} found that the printer was out of {ink}. {Who} went to the {shop} store to buy more "
    "{ink}. Then ",
    "{who} found that the printer was out of {ink}. {Who} went to the {shop} store to buy more "
    "{ink}. It was very {price}. After installing the {ink} into the printer, ",
)
_END = "{who} {how} printed {whose} {thing}."
_PEOPLE = (("she", "her"), ("he", "his"), ("they", "their"), ("we", "our"))
THINGS = ("tickets", "photos", "letters", "maps", "essays", "recipes", "posters", "invoices")
_INKS = ("toner", "ink", "paper", "film")
_SHOPS = ("stationery", "office", "department", "corner", "university")
_PRICES = ("overpriced", "cheap", "expensive", "busy", "late")
_HOW = ("finally", "quickly", "slowly", "happily", "proudly")


@dataclass(kw_only=True)
class Tickets(DrawnLines):
    """One story of a printer per line."""

    about = "she printed her tickets: a word to be remembered for 6 to 40 more: tickets:lines=1000"

    lines: int = 1_000

    def draw(self, chance: random.Random) -> Line:
        """One story; its identity is the whole line."""
        who, whose = chance.choice(_PEOPLE)
        chosen = {
            "who": who,
            "Who": who.capitalize(),
            "whose": whose,
            "thing": chance.choice(THINGS),
            "ink": chance.choice(_INKS),
            "shop": chance.choice(_SHOPS),
            "price": chance.choice(_PRICES),
            "how": chance.choice(_HOW),
        }
        text = (_BEGINNING + chance.choice(_MIDDLES) + _END).format(**chosen)
        return Line(text, text)

    def details(self) -> str:
        return (
            "stories of a printer; the last word is one that was named 6 to 40 words before, "
            f"out of {len(THINGS)}"
        )
