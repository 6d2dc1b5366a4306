"""Checks of arguments in Python: texts, and lists of texts, sentences and answers in memory.

Takes X, y and weights as users and scikit-learn give them (lists, arrays, columns of a table),
returns lists; refuses anything else with the position of the problem. Called by the estimators and
by the trained models.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from elman.errors import ArgumentError, InputError

_AS_WORDS = "give every sentence as a list of words, like text.split()"
_FEWEST_CHARACTERS = 4  # fewer single characters may be words


def check_list(given: Any, name: str, items: str) -> Any:
    """A list, tuple, array or column; `items`: what it should contain, for messages."""
    if isinstance(given, str | bytes):
        raise ArgumentError(f"{name} is a single text; give a list of {items}")
    if hasattr(given, "columns"):  # a table of pandas or polars: its items are column names
        raise ArgumentError(f"{name} is a whole table; give one of its columns")
    if hasattr(given, "toarray"):
        raise ArgumentError(f"{name} is a sparse matrix; give a list of {items}")
    if hasattr(given, "__array__"):
        given = np.asarray(given)
    if getattr(given, "ndim", 1) == 0 or not isinstance(given, Iterable) or isinstance(given, dict):
        raise ArgumentError(f"{name} is of type {type(given).__name__}; give a list of {items}")
    return given if hasattr(given, "__len__") and hasattr(given, "__getitem__") else list(given)


def check_pairs(given: Any, name: str, parts: tuple[str, str]) -> list[tuple[Any, Any]]:
    """A list of pairs; `parts`: what each contains, for messages."""
    wanted = f"({parts[0]}, {parts[1]})"
    pairs = [*check_list(given, name, f"pairs {wanted}")]
    for number, pair in enumerate(pairs):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ArgumentError(f"{name}[{number}] is not a pair; give a list of pairs {wanted}")
    return [(first, second) for first, second in pairs]


def check_lengths(
    X: Sequence[Any], y: Sequence[Any], inputs: str = "examples", answers: str = "answers"
) -> None:
    """Refuse empty lists, and lists of different lengths; `inputs`, `answers`: what they hold."""
    if len(X) != len(y):
        one, answer = _singular(inputs), _singular(answers)
        raise ArgumentError(
            f"{len(X):,} {one if len(X) == 1 else inputs} and {len(y):,} "
            f"{answer if len(y) == 1 else answers}; give one {answer} for each {one}"
        )
    if not len(X):
        raise ArgumentError("there are no examples; give some")


def _singular(plural: str) -> str:
    """`target` for `targets`, `list of tags` for `lists of tags`."""
    first, *rest = plural.split(" ")
    return " ".join([first.removesuffix("s"), *rest])


def check_validation(given: Any, parts: Sequence[str]) -> tuple[Any, ...]:
    """The parts of `validation`; the last one may be missing if there are three."""
    wanted = " and ".join(parts[:2])
    if not isinstance(given, tuple | list) or len(given) not in (2, len(parts)):
        raise ArgumentError(f"validation must be a pair of {wanted}: validation=(X, y)")
    return tuple(given)


def check_text(given: Any, where: str, what: str = "a text") -> None:
    """Refuse missing values and other types than strings."""
    if isinstance(given, str):
        return
    if is_missing(given):
        value = "NaN" if isinstance(given, float | np.floating) else given
        raise ArgumentError(f"{where} is missing ({value}); leave it out, or give {what}")
    kind = type(given).__name__
    raise ArgumentError(f"{where} is of type {kind}, not {what}; give strings")


def check_one_text(given: Any, name: str) -> None:
    """Refuse a list of texts, missing values and other types in place of one text."""
    if isinstance(given, bytes):
        raise ArgumentError(f"{name} is of type bytes; give a text: {name}.decode()")
    if not isinstance(given, str) and isinstance(given, Iterable):
        kind = type(given).__name__
        raise ArgumentError(
            f'{name}: give one text, not a {kind}; "\\n".join(texts) makes one text of a list'
        )
    if not isinstance(given, str):
        raise ArgumentError(f"{name} is of type {type(given).__name__}; give a text")


def is_missing(given: Any) -> bool:
    """Whether a value is None, NaN or NA."""
    if given is None or type(given).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(given, float | np.floating) and bool(np.isnan(given))


def refuse_characters(words: Iterable[str], name: str, advice: str) -> None:
    """Refuse the characters of a text in place of texts or words.

    Other scripts than ASCII may have words of one character.
    """
    count = 0
    for word in words:
        if len(word) != 1 or not word.isascii():
            return
        count += 1
    if count >= _FEWEST_CHARACTERS:
        raise ArgumentError(f"{name} contains only single characters; {advice}")


def check_sentences(given: Sequence[Any], name: str) -> None:
    """Refuse texts in place of lists of words, missing and empty words, and characters."""
    for number, sentence in enumerate(given):
        if isinstance(sentence, str):
            raise ArgumentError(f"{name}[{number}] is a single text; {_AS_WORDS}")
        for place, word in enumerate(check_list(sentence, f"{name}[{number}]", "words")):
            where = f"{name}[{number}][{place}]"
            for part in word if isinstance(word, tuple) else (word,):
                check_text(part, where, "a word")
            form = word[0] if isinstance(word, tuple) else word
            if form == "":
                raise ArgumentError(f"{where} is an empty word; leave it and its tag out")
    plain = (word for sentence in given for word in sentence if isinstance(word, str))
    refuse_characters(plain, name, _AS_WORDS)


def as_objects(items: Sequence[Any]) -> np.ndarray:
    """A one-dimensional array of any objects, also of lists."""
    found = np.empty(len(items), dtype=object)
    found[:] = [*items]
    return found


def not_fitted(name: str) -> InputError:
    """The error of an estimator that is not trained; scikit-learn recognises it.

    scikit-learn is never imported for that: if it is not loaded, nobody expects its error.
    """
    message = f"this {name} is not trained yet; call fit first"
    known = sys.modules.get("sklearn.exceptions")
    if known is None:
        return ArgumentError(message)
    kind = type("NotFittedError", (ArgumentError, known.NotFittedError), {})
    error: InputError = kind(message)
    return error
