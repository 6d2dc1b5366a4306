"""Tokens of a corpus as people write them: the way back from `corpus_form.py`.

    He didn 't see John 's house , did he ?   →   He didn't see John's house, did he?

Takes tokens one by one, so that a text can be shown while it is generated; gives what each adds to
the line. A space stands between two tokens unless one of them holds on to the other: closing marks
and clitics to the word before them, opening marks to the word after them. Plain quotation marks
open and close in turn. Called by `words.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_TO_THE_LEFT = frozenset(
    [*",.;:!?%)]}…", "”", "’", "»", "''", "...", "-rrb-", "-RRB-", "-rsb-", "-RSB-"]
)
_TO_THE_RIGHT = frozenset(
    [*"([{$£€#¿¡", "“", "‘", "„", "«", "``", "-lrb-", "-LRB-", "-lsb-", "-LSB-"]
)
_IN_TURN = ('"', "'")  # the same mark opens and closes
_PLAIN = {
    "``": '"', "''": '"', "-lrb-": "(", "-LRB-": "(", "-rrb-": ")", "-RRB-": ")",
    "-lsb-": "[", "-LSB-": "[", "-rsb-": "]", "-RSB-": "]",
}  # fmt: skip


class Line:
    """One line while it is written."""

    def __init__(self, tokens: Sequence[str] = ()) -> None:
        self._open = dict.fromkeys(_IN_TURN, False)
        self._last = ""  # the token before
        self._holds_on = True  # whether the next token stands at the last one, without a space
        for token in tokens:
            self.add(token)

    def add(self, token: str) -> str:
        """What one more token adds to the line."""
        if len(token) == 3 and token[0] == token[2] == "@":  # WikiText: well @-@ known
            written, self._holds_on = token[1], True
        elif token in _IN_TURN:
            written = self._quote(token)
        else:
            attached = self._holds_on or token in _TO_THE_LEFT or self._is_clitic(token)
            written = ("" if attached else " ") + _PLAIN.get(token, token)
            self._holds_on = token in _TO_THE_RIGHT or self._is_elided(token)
        self._last = token
        return written

    def _quote(self, mark: str) -> str:
        """A mark that opens if it is closed; an apostrophe after an s is a plural's."""
        closes = self._open[mark]
        plural = mark == "'" and not closes and self._last.endswith("s") and not self._holds_on
        written = mark if closes or plural or self._holds_on else f" {mark}"
        if not plural:
            self._open[mark] = not closes
        self._holds_on = not closes and not plural
        return written

    def _is_clitic(self, token: str) -> bool:
        """Whether a token is the second part of the word before it: 's, n't."""
        if not self._last[-1:].isalnum():
            return False
        return (token[:1] in "'’" and token[1:2].isalpha()) or token.lower() in ("n't", "n’t")

    def _is_elided(self, token: str) -> bool:
        """Whether a token is the first part of the word after it: l', qu'."""
        return len(token) > 1 and token[-1] in "'’" and token[:-1].isalpha() and len(token) < 4


def detokenise(tokens: Iterable[str]) -> str:
    """The text of a line's tokens."""
    line = Line()
    return "".join(line.add(token) for token in tokens)
