"""Corpora that test the memory of a cell: random lines, each with a known answer."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass

from elman.text.corpora import DrawnLines, Line

TICKET_SENTENCE = (
    "When she tried to print her tickets, she found that the printer was out of toner. "
    "She went to the stationery store to buy more toner. It was very overpriced. "
    "After installing the toner into the printer, she finally printed her tickets."
)
_BEGINNING = "When {who} tried to print {whose} {thing}, "
_MIDDLES = (  # the middle of a story, from nothing to the full story of the lectures
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
    """The sentence that lectures use to explain vanishing gradients, and thousands like it.

        When she tried to print her tickets, she found that the printer was out of toner. …
        After installing the toner into the printer, she finally printed her tickets.

    The last word occurred at the beginning, and nothing in between reveals it: a model that
    predicts it has remembered it. Stories differ in length, so the word must be remembered for 6,
    13, 21, 28 or 40 tokens; the longest are like the one above. Other words vary too, so that the
    beginning of a line does not determine it. No line is in two splits.
    """

    about = "stories whose last word was named 6 to 40 tokens earlier: tickets:lines=1000"

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
            f"stories about a printer; the last word, one of {len(THINGS)}, repeats a word that "
            "occurred 6 to 40 words before"
        )


LETTERS = "abcdefghijk"  # as in the example of the paper
_ANSWER_MARK = "="  # the characters after it are determined


@dataclass(kw_only=True)
class Arithmetic(DrawnLines):
    """Sums and differences among distractors: a cell must remember digits and ignore letters.

        3e36d9-h1h39f94eeh43keg3c=-13991064        3369 - 13994433

    The letters between the characters of the problem mean nothing; after `=` comes the result. The
    problem determines every character after `=`, and the end of the line.
    The second number is added or subtracted; both numbers have one to `digits` digits.
    Józefowicz, Zaremba and Sutskever (2015): An empirical exploration of recurrent network
    architectures.
    """

    about = "sums and differences among distractors: arithmetic:digits=3,lines=5000"

    digits: int = 8  # largest number of digits
    distractors: int = 3  # largest number of letters after a character of the problem; 0: none

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least("digits", 1)
        self.at_least("distractors", 0)

    def draw(self, chance: random.Random) -> Line:
        """One problem with its result; its identity is the problem without letters."""
        first, second = (_draw_number(self.digits, chance) for _ in range(2))
        sign = chance.choice("+-")
        problem = f"{first}{sign}{second}"
        result = first + second if sign == "+" else first - second
        spread = "".join(character + _letters(self.distractors, chance) for character in problem)
        return Line(f"{spread}{_ANSWER_MARK}{result}", problem)

    def details(self) -> str:
        return (
            f"sums and differences of two numbers with up to {self.digits} digits, and up to "
            f"{self.distractors} letters after each character of the problem; no problem is in two "
            f"splits. To score the answers after {_ANSWER_MARK!r}: elman evaluate --accuracy "
            f"--after {_ANSWER_MARK}"
        )


def _draw_number(digits: int, chance: random.Random) -> int:
    """Draw a length, then a number, so that short numbers are as frequent as long ones."""
    length = chance.randint(1, digits)
    return chance.randrange(10 ** (length - 1) if length > 1 else 0, 10**length)


def _letters(most: int, chance: random.Random) -> str:
    return "".join(chance.choices(LETTERS, k=chance.randint(0, most)))


_SHORTEST_NAME = 2
_CLOSING_MARK = "/"  # the characters after it, up to `>`, are determined
_CLOSING_END = ">"


@dataclass(kw_only=True)
class Xml(DrawnLines):
    """Nested tags: every opened tag must be closed by name, in the right order.

        <etdomp><pegshmnaj><zbhbmg></zbhbmg></pegshmnaj></etdomp>

    A document opens a tag. Then, in each step, with probability 1/2 or after `steps` steps it
    closes the tag that was opened last, and ends if none is open; otherwise it opens a new one.
    Names are 2 to `longest_name` random letters. The name in a closing tag after `</` is
    determined; names of new tags are not. Józefowicz, Zaremba and Sutskever (2015).
    """

    about = "nested tags with random names: xml:longest_name=4,steps=10"

    longest_name: int = 10
    steps: int = 50  # after so many steps, tags are only closed

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least("longest_name", _SHORTEST_NAME)
        self.at_least("steps", 1)

    def draw(self, chance: random.Random) -> Line:
        """One document; it is its own identity."""
        name = self._draw_name(chance)
        open_tags, pieces = [name], [f"<{name}>"]
        for step in range(1, 2 * self.steps + 1):  # at most `steps` tags open, and each closes
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
            f"document is in two splits. To score the names in closing tags: elman evaluate "
            f"--accuracy --after {_CLOSING_MARK} --until {_CLOSING_END!r}"
        )
