"""The text that ids add to a prompt: its text so far, its stop, and the part that is certain.

Takes a tokenizer, a prompt and stop sequences; `generation.py` uses it while ids are sampled. A
step reads only the last few ids, so the cost per token does not grow with the text.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from elman.errors import InputError
from elman.text.tokenizer import Tokenizer

HALF_CHARACTER = "\ufffd"
# A character is at most four tokens, its UTF-8 bytes; this many may be needed to know what the next
# token adds. A space before a word depends on the neighbouring token and takes one.
_TOKENS_OF_A_CHARACTER = 4


class Continuation:
    """The continuation of a prompt."""

    def __init__(
        self, tokenizer: Tokenizer, prompt: str | Sequence[int], stop: Sequence[str] = ()
    ) -> None:
        """`prompt`: a text, or its ids."""
        self.tokenizer = tokenizer
        self.stop = (stop,) if isinstance(stop, str) else tuple(stop)
        if not all(self.stop):
            raise InputError("an empty stop sequence would stop at once; leave it out")
        if isinstance(prompt, str):
            text = (
                prompt.rstrip(" ")
                if tokenizer.space_before_words or tokenizer.whole_words
                else prompt
            )
            self.prompt_ids = tokenizer.encode_typed(text)  # the next word has its own space
            self.prompt = text
        else:
            self.prompt_ids = np.array(prompt, dtype=np.int64)
            self.prompt = tokenizer.write(prompt)
        self._typed = isinstance(prompt, str)
        self._prompt_end = [*tokenizer.context(self.prompt_ids.tolist())]
        self._longest_stop = max(map(len, self.stop), default=0)

    def prompt_places(self) -> list[int]:
        """Where each token begins in the prompt."""
        if self._typed:
            return self.tokenizer.typed_spans(self.prompt).starts.tolist()
        places, place = [], 0
        before: Sequence[int] = []
        for number in self.prompt_ids.tolist():
            places.append(place)
            place += len(self.tokenizer.write([number], before))
            before = self.tokenizer.context([*before, number])
        return places

    def text(self, ids: Sequence[int]) -> str:
        """The text that ids add to the prompt, including a stop sequence and the text after it."""
        return self._added(ids, since=0)

    def cut(self, text: str) -> str:
        """Cut a text before its first stop sequence."""
        places = [place for stop in self.stop if (place := text.find(stop)) >= 0]
        return text[: min(places)] if places else text

    def stops(self, ids: Sequence[int]) -> bool:
        """Whether the last ids contain a stop sequence."""
        if not self.stop:
            return False
        text = self._added(ids, since=len(ids) - _TOKENS_OF_A_CHARACTER * self._longest_stop)
        return any(stop in text for stop in self.stop)

    def pieces(self, numbers: Iterable[int]) -> Iterator[str]:
        """The text up to the first stop sequence, each piece as soon as it is certain."""
        growing = GrowingText(self)
        for number in numbers:
            certain = growing.add(number)
            if certain:
                yield certain
        rest = growing.end()
        if rest:
            yield rest

    def grow(self, text: str, ids: Sequence[int]) -> str:
        """Extend the end of the text by the last id.

        The new token completes a half character at the end, or adds text after it.
        """
        half = text.endswith(HALF_CHARACTER)
        kept = text[:-1] if half else text
        return kept + self._added(ids, since=len(ids) - 1, characters_back=int(half))

    def _added(self, ids: Sequence[int], since: int, characters_back: int = 0) -> str:
        """The text that ids from `since` on add, starting `characters_back` characters earlier."""
        since = max(since, 0)
        before = self.tokenizer.context(ids[:since])
        if len(before) == since:  # the prompt's end still matters
            before = self.tokenizer.context([*self._prompt_end, *before])
        if not characters_back:
            return self.tokenizer.write(ids[since:], before)
        text = self.tokenizer.decode([*before, *ids[since:]])
        return text[len(self.tokenizer.decode(before)) - characters_back :]

    def certain(self, text: str) -> str:
        """The part of a text that later tokens cannot change."""
        cut = self.cut(text)
        if cut != text:
            return cut
        text = text.rstrip(HALF_CHARACTER)
        for length in range(min(self._longest_stop, len(text)), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self.stop):
                return text[:-length]
        return text


class GrowingText:
    """A continuation that grows id by id; returns each piece as soon as it is certain."""

    def __init__(self, continuation: Continuation) -> None:
        self._continuation = continuation
        self._ids: list[int] = []
        self._waiting = ""

    def add(self, number: int) -> str:
        """Add an id and return the newly certain text; often empty."""
        self._ids.append(number)
        self._waiting = self._continuation.grow(self._waiting, self._ids)
        certain = self._continuation.certain(self._waiting)
        self._waiting = self._waiting[len(certain) :]
        return certain

    def end(self) -> str:
        """Return the remaining text, up to a stop sequence."""
        return self._continuation.cut(self._waiting)
