"""Completions in the format of OpenAI: choices, their log probabilities and the envelope.

`completions.py` passes events to a choice; the choice returns JSON, whole or piece by piece.
"""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from elman.studio.completion_request import CompletionRequest
from elman.studio.rows import Drawn
from elman.tasks.language_modelling.continuation import Continuation, GrowingText
from elman.text.tokenizer import Tokenizer

IMPOSSIBLE = -9999.0  # the log probability of an impossible token; JSON has no infinity


@dataclass
class Envelope:
    """The part that all responses to a request share."""

    model: str
    seed: int
    prompt_tokens: int = 0
    completion_tokens: int = 0
    id: str = field(default_factory=lambda: f"cmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def data(self, choices: list[dict[str, Any]], usage: bool = False) -> dict[str, Any]:
        """The response with the given choices."""
        found: dict[str, Any] = {
            "id": self.id,
            "object": "text_completion",
            "created": self.created,
            "model": self.model,
            "seed": self.seed,
            "choices": choices,
        }
        if usage:
            found["usage"] = {
                "prompt_tokens": self.prompt_tokens,
                "completion_tokens": self.completion_tokens,
                "total_tokens": self.prompt_tokens + self.completion_tokens,
            }
        return found


class Choice:
    """One continuation, as a client sees it."""

    def __init__(
        self,
        number: int,
        tokenizer: Tokenizer,
        continuation: Continuation,
        asked: CompletionRequest,
    ) -> None:
        self._number = number
        self._tokenizer = tokenizer
        self._continuation = continuation
        self._growing = GrowingText(continuation) if asked.stream else None
        self._ids: list[int] = []  # if the text is wanted as a whole
        self._tells = asked.logprobs is not None
        self._offsets = _Offsets(tokenizer, continuation, bool(asked.echo))
        self._text = ""  # all text so far
        self._sent = 0  # characters already sent, in a stream
        self._tokens: list[dict[str, Any]] = []
        self._tokens_sent = 0
        self._reason: str | None = None
        self._ended = False
        self.drawn = 0  # tokens
        self._log_prob = 0.0  # the sum over these tokens, if known

    @property
    def mean_log_prob(self) -> float:
        """The mean log probability per token."""
        return self._log_prob / max(self.drawn, 1)

    def echo(self) -> None:
        self._text += self._continuation.prompt

    def score(self, tokens: Sequence[Drawn]) -> None:
        """Add the log probabilities of the prompt."""
        self._tokens += [self._token(drawn) for drawn in tokens]

    def add(self, drawn: Drawn) -> None:
        self.drawn += 1
        self._log_prob += drawn.log_prob or 0.0
        if self._growing is None:
            self._ids.append(drawn.id)
        else:
            self._text += self._growing.add(drawn.id)
        if self._tells:
            self._tokens.append(self._token(drawn))

    def end(self, reason: str) -> None:
        if self._growing is None:
            self._text += self._continuation.cut(self._continuation.text(self._ids))
        else:
            self._text += self._growing.end()
        self._reason = reason

    def whole(self) -> dict[str, Any]:
        return self._data(self._text, self._tokens)

    def take_piece(self) -> dict[str, Any] | None:
        """The new part since the last piece; None if there is none."""
        text, tokens = self._text[self._sent :], self._tokens[self._tokens_sent :]
        if self._ended or not (text or self._reason):
            return None  # tokens wait for the text that they are part of
        self._sent, self._tokens_sent = len(self._text), len(self._tokens)
        self._ended = self._reason is not None
        return self._data(text, tokens)

    def _data(self, text: str, tokens: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "index": self._number,
            "text": text,
            "logprobs": _logprobs(tokens) if self._tells else None,
            "finish_reason": self._reason,
        }

    def _token(self, drawn: Drawn) -> dict[str, Any]:
        names = self._tokenizer.tokens
        assert drawn.log_prob is not None
        return {
            "token": names[drawn.id],
            "log_prob": _finite(drawn.log_prob),
            "top": {names[number]: _finite(value) for number, value in drawn.top},
            "offset": self._offsets.add(drawn.id),
        }


def _logprobs(tokens: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "tokens": [token["token"] for token in tokens],
        "token_logprobs": [token["log_prob"] for token in tokens],
        "top_logprobs": [token["top"] for token in tokens],
        "text_offset": [token["offset"] for token in tokens],
    }


class _Offsets:
    """Where each token begins in the text; an echoed prompt comes first."""

    def __init__(self, tokenizer: Tokenizer, continuation: Continuation, echo: bool) -> None:
        self._tokenizer = tokenizer
        self._echoed = continuation.prompt_places() if echo else []
        self._before = tokenizer.context(continuation.prompt_ids.tolist())
        self._place = len(continuation.prompt) if echo else 0
        self._given = 0

    def add(self, number: int) -> int:
        """The place of the next token."""
        self._given += 1
        if self._given <= len(self._echoed):
            return self._echoed[self._given - 1]
        place = self._place
        self._place += len(self._tokenizer.write([number], self._before))
        self._before = self._tokenizer.context([*self._before, number])
        return place


def _finite(value: float) -> float:
    return max(value, IMPOSSIBLE)
