"""The probability of a text: the questions `surprisal` (of words) and `score` (of a text).

Surprisal added to a table of stimuli is in `stimuli.py`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal

from elman.evaluation.measurement import Measurement
from elman.evaluation.measures import BEAM, Progress, Reading
from elman.evaluation.surprisal import SurprisalTable, WordSurprisal
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.question import NAME, TEXT, Answer, Question, aligned_lines, asked
from elman.text.reader import Document
from elman.text.tokenizer import EOS

_RESETS = ("line", "stream")
_RESET = "Reset the state at every line (line), or carry it through the text (stream)."
_MANY_UNKNOWN = 0.05  # of the words
_UNDEFINED = ("surprisal", "surprisal_uncorrected", "entropy")
_OF_ENTROPY = ("entropy", "rank")
_OF_NEXT_WORD = ("next_word_entropy", "remaining_mass", "entropy_reduction", "word_rank")


# Surprisal ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Surprisal:
    """Compute the surprisal, entropy and rank of every word in a text."""

    text: str = asked("The text, one sentence per line.", kind=TEXT, limit="prompt_tokens")
    base: float | Literal["e"] = asked(
        "The base of the logarithm: 2 (bits), e (nats) or 10.", default=2.0
    )
    reset: str = asked(_RESET, default="line", choices=_RESETS)
    entropy: bool = asked(
        "Also compute entropy and rank, which takes longer.",
        default=True,
    )
    next_word: bool = asked(
        "Also compute the entropy over the next word as a whole, the entropy reduction and the "
        "rank of the word. Slow unless every token is a word.",
        default=False,
        terminal=True,
    )
    beam: int = asked(
        "With --next-word, the beam size: how many partial words are extended at a time.",
        default=BEAM,
        at_least=1,
        terminal=True,
    )


@dataclass(frozen=True)
class WordSurprisals(Answer):
    """One row per word."""

    base: float
    reset: str
    words: list[WordSurprisal]
    knows_all: bool  # the model has no <unk>
    left_out: tuple[str, ...] = ()  # columns that were not requested

    def _repr_html_(self) -> str:
        return SurprisalTable(self.words)._repr_html_()

    def to_data(self) -> dict[str, Any]:
        words = [
            {name: value for name, value in vars(word).items() if name not in self.left_out}
            for word in self.words
        ]
        return {"base": self.base, "reset": self.reset, "words": words}

    def lines(self) -> Iterable[str]:
        """Tab-separated columns; words contain no white space, so no tabs."""
        hidden = ("undefined", *self.left_out)
        names = [field.name for field in fields(WordSurprisal) if field.name not in hidden]
        yield "\t".join(names)
        for word in self.words:
            cells = {name: _tab_cell(getattr(word, name)) for name in names}
            if word.undefined:
                cells |= {n: "undefined" for n in _UNDEFINED if n in cells}
            yield "\t".join(cells.values())

    def notes(self) -> list[str]:
        found = []
        if not self.knows_all:
            unknown = sum(word.unknown for word in self.words)
            found.append(unknown_note(unknown, sum(word.word != EOS for word in self.words)))
        if undefined := sum(word.undefined for word in self.words):
            found.append(
                f"{undefined} of {len(self.words)} words have no defined probability, because "
                "their context was never seen (0 / 0); train with smoothing for finite numbers"
            )
        return found


def _tab_cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6f}" if isinstance(value, float) else "" if value is None else str(value)


def unknown_note(unknown: int, words: int, run: str = "") -> str:
    """The share of out-of-vocabulary words, with a warning if it is large."""
    of_run = f" for {run}" if run else ""
    share = f"{unknown:,} of {words:,} words ({unknown / max(words, 1):.1%}) are out of vocabulary"
    if unknown > _MANY_UNKNOWN * words:
        return (
            f"WARNING: {share}{of_run}: their surprisal is that of <unk>, not of the word. Do not "
            "analyse them; train on more text, or with --set text.tokenizer=raw-words"
        )
    return f"{share}{of_run}" + (": their surprisal is that of <unk>" if unknown else "")


def surprisal(trained: TrainedModel, request: Surprisal, progress: Progress) -> WordSurprisals:
    """Compute the surprisal, entropy and rank of every word."""
    base = math.e if request.base == "e" else float(request.base)
    words = trained.surprisal(
        request.text,
        base=base,
        reset=request.reset,
        entropy=request.entropy,
        next_word=request.next_word,
        beam=request.beam,
        progress=progress,
    )
    left_out = [] if request.entropy else [*_OF_ENTROPY]
    left_out += [] if request.next_word else [*_OF_NEXT_WORD]
    knows_all = trained.tokenizer.unknown_id is None
    return WordSurprisals(base, request.reset, words, knows_all, tuple(left_out))


SURPRISAL = Question(Surprisal, surprisal, unit="tokens")


# Score --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Score:
    """Score a text: perplexity, bits per character and bits per byte.

    For example:
      elman score runs/ptb --text "the price of gold rose"
      elman score runs/ptb notes.txt --reset line --json
    """

    text: str = asked("The text.", kind=TEXT, limit="prompt_tokens")
    reset: str = asked(_RESET, default="stream", choices=_RESETS)
    name: str = asked("The name of the text in messages.", default="text", kind=NAME)


@dataclass(frozen=True)
class TextScore(Answer):
    """The measures of a text, with the protocol."""

    measured: Measurement

    def to_data(self) -> dict[str, Any]:
        return self.measured.to_data()

    def lines(self) -> Iterable[str]:
        data = self.to_data()
        rows = [[name.replace("_", " "), data[name]] for name in data if name != "protocol"]
        return [*aligned_lines(["measure", "value"], rows), str(self.measured.protocol)]


def score(trained: TrainedModel, request: Score, progress: Progress) -> TextScore:
    """Score a text."""
    document = Document(request.name, request.text)
    return TextScore(trained.measure(document, Reading(request.reset), progress))


SCORE = Question(Score, score, unit="tokens")
