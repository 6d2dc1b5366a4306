"""Suggest the next word, like a phone keyboard, for models with any kind of token.

If tokens are words, the suggestions are the most probable tokens. For sub-words, characters or
bytes, a beam search spells words; a word ends where the next token would start another one.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from elman.decoding.transforms import refuse_impossible
from elman.errors import InputError
from elman.evaluation.measures import Progress
from elman.state import State, select
from elman.tasks.language_modelling.continuation import HALF_CHARACTER
from elman.tasks.language_modelling.distribution import read_prompt
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.question import ARGUMENT, Answer, Question, aligned_lines, asked
from elman.text.tokenizer import lower

_BEAM = 48  # words spelled in parallel
_LONGEST = 24  # tokens of a spelled word


@dataclass(frozen=True)
class Suggestion:
    """A word and the probability that it comes next."""

    token: str
    probability: float


@torch.inference_mode()
def suggest(trained: TrainedModel, text: str, *, top: int, complete: bool) -> list[Suggestion]:
    """The most probable next words after a text, best first."""
    if top < 1:
        raise InputError(f"top={top}: give at least 1")
    text, begun = _take_last_word(text) if complete else (text, "")
    text = text.rstrip(" ")
    begun = lower(begun) if trained.tokenizer.lowercase else begun
    if trained.tokenizer.whole_words:
        return _whole_words(trained, text, begun, top)
    return _spelled_words(trained, text, begun, top)


def _take_last_word(text: str) -> tuple[str, str]:
    match = re.fullmatch(r"(?s)(.*?)(\S*)", text)
    assert match is not None
    return match.group(1), match.group(2)


def _whole_words(trained: TrainedModel, text: str, begun: str, top: int) -> list[Suggestion]:
    tokenizer = trained.tokenizer
    state = read_prompt(trained, tokenizer.encode_typed(text))
    log_probs = trained.model.predict(state)
    refuse_impossible(log_probs)
    probabilities = log_probs[0].exp()
    found: dict[str, float] = {}
    for number, probability in enumerate(probabilities.tolist()):
        word = _word_of(
            trained, number
        )  # the same punctuation mark with and without a space is one word
        if word.startswith(begun) and word != begun:
            found[word] = found.get(word, 0.0) + probability
    return _likeliest(found, top)


def _likeliest(found: dict[str, float], top: int) -> list[Suggestion]:
    ranked = sorted(found.items(), key=lambda item: -item[1])
    return [Suggestion(word, probability) for word, probability in ranked[:top]]


def _word_of(trained: TrainedModel, number: int) -> str:
    """The word of a token, as it is typed; "" for tokens that are not a whole word."""
    tokenizer = trained.tokenizer
    token = tokenizer.tokens[number]
    if number in (tokenizer.eos_id, tokenizer.unknown_id) or re.fullmatch(r"<0x..>", token):
        return ""
    if not tokenizer.space_before_words or token.startswith(" "):
        return token.strip()
    return "" if token[0].isalnum() else token  # without a space it would continue the last word


@dataclass
class _Spelling:
    """Words being spelled, one per row."""

    ids: list[tuple[int, ...]]
    texts: list[str]
    log_probs: torch.Tensor  # (rows,)
    state: State


def _spelled_words(trained: TrainedModel, text: str, begun: str, top: int) -> list[Suggestion]:
    tokens = _Tokens(trained)
    # Within a line, the spelling of a word starts with the space before it.
    wanted = (" " if text and not text.endswith("\n") else "") + begun
    state = read_prompt(trained, trained.tokenizer.encode_typed(text))
    live = _Spelling([()], [""], torch.zeros(1, dtype=torch.float64), state)
    found: dict[str, float] = {}
    for _ in range(_LONGEST):
        log_probs = trained.model.predict(live.state).double()  # (rows, V)
        ends = log_probs[:, tokens.starts_word].logsumexp(1) + live.log_probs
        for spelled, probability in zip(live.texts, ends.exp().tolist(), strict=True):
            is_word = spelled.startswith(wanted) and spelled != wanted
            if is_word and HALF_CHARACTER not in spelled:
                found[spelled.strip()] = found.get(spelled.strip(), 0.0) + probability
        allowed = torch.stack([tokens.allowed(wanted[len(_certain(t)) :]) for t in live.texts])
        live = _extend(trained, live, torch.where(allowed, log_probs, -torch.inf), wanted)
        best = sorted(found.values(), reverse=True)[:top]
        # A longer spelling is never more probable.
        if not live.ids or (len(best) == top and float(live.log_probs.max().exp()) < best[-1]):
            break
    return _likeliest(found, top)


def _certain(spelled: str) -> str:
    """Remove the half character at the end, which could still become any character."""
    return spelled.rstrip(HALF_CHARACTER)


class _Tokens:
    """Which tokens may come next in a word."""

    def __init__(self, trained: TrainedModel) -> None:
        tokenizer = trained.tokenizer
        self.texts = tokenizer.token_texts()
        begins = tokenizer.begins_word
        assert begins is not None  # words are not spelled
        self.starts_word = torch.from_numpy(begins)
        never = (tokenizer.eos_id, tokenizer.unknown_id)
        self.usable = torch.tensor([number not in never for number in range(len(tokenizer))])
        self.by_rest: dict[str, torch.Tensor] = {}

    def allowed(self, rest: str) -> torch.Tensor:
        """Tokens that continue the typed beginning; after it, all tokens within a word."""
        if not rest:
            return self.usable & ~self.starts_word
        if rest not in self.by_rest:
            fits = [self._may_begin(text, rest) for text in self.texts]
            self.by_rest[rest] = torch.tensor(fits) & self.usable
        return self.by_rest[rest]

    @staticmethod
    def _may_begin(text: str, rest: str) -> bool:
        whole, _, _ = text.partition(
            HALF_CHARACTER
        )  # a half character is checked when its other half comes
        return text.startswith(rest) or (bool(text) and rest.startswith(whole))


def _extend(
    trained: TrainedModel, live: _Spelling, log_probs: torch.Tensor, wanted: str
) -> _Spelling:
    """Extend the most probable spellings by one token, if they fit the typed beginning."""
    scores = log_probs + live.log_probs[:, None]
    best, places = scores.view(-1).topk(min(_BEAM, scores.numel()))
    best, places = best[best > -torch.inf], places[best > -torch.inf]
    rows, numbers = places // log_probs.shape[1], places % log_probs.shape[1]
    longer = [(*live.ids[row], n) for row, n in zip(rows.tolist(), numbers.tolist(), strict=True)]
    texts = [trained.tokenizer.decode(ids) for ids in longer]
    agree = [i for i, text in enumerate(texts) if _agrees(_certain(text), wanted)]
    best, rows, numbers = best[agree], rows[agree], numbers[agree]
    state = trained.model.read(numbers[:, None], select(live.state, rows)) if agree else live.state
    return _Spelling([longer[i] for i in agree], [texts[i] for i in agree], best, state)


def _agrees(spelled: str, wanted: str) -> bool:
    fits = spelled.startswith(wanted) or wanted.startswith(spelled)
    return fits and HALF_CHARACTER not in spelled


# The question -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Suggest:
    """Suggest the next words, like a phone keyboard.

    For example:
      elman suggest runs/ptb "the price of"
      elman suggest runs/ptb "the pri" --complete --top 3
    """

    text: str = asked("The text typed so far.", default="", kind=ARGUMENT, limit="prompt_tokens")
    top: int = asked("The number of suggestions.", default=5, at_least=1, limit="top")
    complete: bool = asked("Complete the last word instead.", default=False)


@dataclass(frozen=True)
class Suggestions(Answer):
    """The suggested words, most probable first."""

    suggestions: list[Suggestion]

    def to_data(self) -> dict[str, Any]:
        return {"suggestions": [dict(vars(one)) for one in self.suggestions]}

    def lines(self) -> Iterable[str]:
        if not self.suggestions:
            return ["no word of the vocabulary completes the last word"]
        rows = [[one.token, one.probability] for one in self.suggestions]
        return aligned_lines(["token", "probability"], rows)


def suggest_words(trained: TrainedModel, request: Suggest, progress: Progress) -> Suggestions:
    """Suggest the most probable next words."""
    return Suggestions(trained.suggest(request.text, top=request.top, complete=request.complete))


SUGGEST = Question(Suggest, suggest_words, unit="tokens")
