"""Minimal pairs: a good sentence beside a bad one, in the format of BLiMP.

    {"sentence_good": "Cats sleep.", "sentence_bad": "Cats sleeps.", "UID": "agreement",
     "field": "morphology", "linguistics_term": "subject_verb_agreement"}

Takes a document of JSON lines, gives a `PairFile`; called by
`tasks/language_modelling/minimal_pairs.py`. A line that is not a pair, or whose two sentences are
identical, is skipped and reported with its number and the reason. The name of the paradigm may be
missing: then it is the name of the file.

BLiMP also names the word that decides a pair, in one of two ways. `critical` is its position:

    one prefix    the same beginning, two words    Cats ▸sleep / Cats ▸sleeps
    two prefixes  two beginnings, the same word    Cats ▸sleep / A cat ▸sleep
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.text.files import bare_name
from elman.text.grammar import (
    NAMES,
    NOUNS,
    NUMBERS,
    VERBS,
    Agreement,
    agreement_points,
    elman_grammar,
)
from elman.text.reader import Document

_FORM = '{"sentence_good": "…", "sentence_bad": "…", "UID": "…"}'
_TABLE = "a .tsv table with a column sentence and both forms in brackets: Cats [sleep|sleeps] ."
_PARADIGMS = ("UID", "uid", "paradigm")
IDENTICAL = "the two sentences are identical"
# The BLiMP keys for the beginning and the critical word of the good and of the bad sentence.
_ONE_PREFIX = (
    ("one_prefix_prefix", "one_prefix_word_good"),
    ("one_prefix_prefix", "one_prefix_word_bad"),
)
_TWO_PREFIXES = (
    ("two_prefix_prefix_good", "two_prefix_word"),
    ("two_prefix_prefix_bad", "two_prefix_word"),
)
Place = tuple[int, int]  # of a word in its sentence: first character, and the one after the last


@dataclass(frozen=True)
class MinimalPair:
    """Two minimally different sentences, and the rule that they test."""

    good: str
    bad: str
    paradigm: str  # the rule that they test
    field: str = ""  # a part of linguistics: syntax, morphology …
    term: str = ""  # the phenomenon, which several paradigms share
    critical: tuple[Place, Place] | None = None  # the critical word in good and bad, if named
    same_beginning: bool = True  # the critical words follow the same words in both
    attractors: int | None = None  # nouns of the other number between subject and verb, if known


@dataclass(frozen=True)
class SkippedLine:
    """A line that was skipped, with the reason."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True)
class PairFile:
    """The pairs of a file and its skipped lines: together all lines with text."""

    name: str
    pairs: tuple[MinimalPair, ...]
    skipped: tuple[SkippedLine, ...]


def read_minimal_pairs(document: Document) -> PairFile:
    """The pairs of a document, in order; an error if there are none."""
    name = Path(bare_name(document.name)).stem
    pairs, skipped, first_error = [], [], ""
    for number, line in enumerate(document.text.removesuffix("\n").split("\n"), 1):
        if not line.strip():
            continue
        try:
            pairs.append(_read_pair(line, name))
        except InputError as error:
            skipped.append(SkippedLine(document.name, number, str(error)))
            first_error = first_error or f"line {number}: {error}"
    if not pairs and first_error:
        raise InputError(f"{document.name}, {first_error}; write {_FORM}, or {_TABLE}")
    if not pairs:
        raise InputError(f"{document.name}: has no pairs; write one per line: {_FORM}, or {_TABLE}")
    return PairFile(document.name, tuple(pairs), tuple(skipped))


def prepare_pair(
    pair: MinimalPair, prepare: Callable[[str], str], *, critical: bool = True
) -> MinimalPair:
    """The pair with both sentences prepared for a tokenizer, and its critical words found again."""
    good, bad = prepare(pair.good), prepare(pair.bad)
    places = None
    if critical and pair.critical is not None:
        first = _find_again(pair.critical[0], pair.good, good)
        second = _find_again(pair.critical[1], pair.bad, bad)
        places = (first, second) if first and second else None
    same = pair.same_beginning or places is None
    return replace(pair, good=good, bad=bad, critical=places, same_beginning=same)


def _read_pair(line: str, file: str) -> MinimalPair:
    entry = _parse(line)
    good, bad = (_sentence(entry, name) for name in ("sentence_good", "sentence_bad"))
    if good == bad:
        raise InputError(IDENTICAL)
    paradigm = next((entry[name] for name in _PARADIGMS if entry.get(name)), file)
    given = (paradigm, entry.get("field") or "", entry.get("linguistics_term") or "")
    paradigm, field, term = (" ".join(str(words).split()) for words in given)
    for fields in (_ONE_PREFIX, _TWO_PREFIXES):
        first = _critical(entry, *fields[0], good)
        second = _critical(entry, *fields[1], bad)
        if first and second:
            same = fields is _ONE_PREFIX
            return MinimalPair(good, bad, paradigm, field, term, (first, second), same)
    return MinimalPair(good, bad, paradigm, field, term)


def _parse(line: str) -> dict[str, Any]:
    try:
        entry: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"is not JSON ({error.msg})") from None
    except RecursionError:
        raise InputError("is nested too deeply") from None
    if not isinstance(entry, dict):
        raise InputError("must be a JSON object")
    return entry


def _sentence(entry: dict[str, Any], name: str) -> str:
    sentence = entry.get(name)
    if not isinstance(sentence, str) or not sentence.strip():
        raise InputError(f"has no {name!r}")
    if "\n" in sentence.strip():
        raise InputError(f"{name!r} has a line break in it")
    return sentence.strip()


def _critical(entry: dict[str, Any], prefix: str, word: str, sentence: str) -> Place | None:
    """The position of the word, if the sentence begins with the prefix and the word."""
    given = entry.get(prefix), entry.get(word)
    if not all(isinstance(text, str) and text.strip() for text in given):
        return None
    before, critical = (str(text).strip() for text in given)
    begin = f"{before} {critical}"
    if not sentence.startswith(begin) or sentence[len(begin) : len(begin) + 1].isalnum():
        return None
    return len(before) + 1, len(begin)


def _find_again(place: Place, before: str, after: str) -> Place | None:
    """The position of a word after spaces, and marks such as the @ of WikiText, were inserted."""
    letters = [n for n, character in enumerate(before) if not character.isspace()]
    found = _align([before[n] for n in letters], after)
    if found is None:
        return None
    inside = [new for old, new in zip(letters, found, strict=True) if place[0] <= old < place[1]]
    return inside[0], inside[-1] + 1


def _align(letters: list[str], text: str) -> list[int] | None:
    """The position of each letter in a text that has them in the same order, perhaps altered."""
    places = [n for n, character in enumerate(text) if not character.isspace()]
    if len(places) == len(letters):
        return places
    found, rest = [], iter(places)
    for letter in letters:
        match = next((n for n in rest if text[n] == letter), None)
        if match is None:
            return None
        found.append(match)
    return found


NEXT, APART = "verb next to its noun", "verb apart from its noun"  # the fields
_SENTENCES, _SEED = 500, 1991  # a seed of its own: not the sentences of the training text
_FORMS = [forms for words in (NOUNS, *VERBS.values()) for _, forms in words]
_OTHER = {form: forms[1 - number] for forms in _FORMS for number, form in enumerate(forms)}
_NOUN_NUMBER = {
    **{forms[place]: number for _, forms in NOUNS for number, place in NUMBERS.items()},
    **{name: "singular" for _, name in NAMES},
}


@cache
def agreement_pairs(sentences: int = _SENTENCES, seed: int = _SEED) -> tuple[MinimalPair, ...]:
    """Draw distinct minimal pairs from the built-in grammar, each with its twin.

    The bad sentence has a verb in the wrong number.

        boys who Mary chases walk .      boys who Mary chases walks .
        boy who Mary chases walks .      boy who Mary chases walk .        its twin

    Gives pairs drawn from `grammar.py`; called by `tasks/language_modelling/minimal_pairs.py`. The
    noun has only this verb, so nothing else reveals its number. Each pair has a twin in which noun
    and verb have the other number. A model that does not see the noun is therefore right in one of
    the two: exactly 50 %. Noun and verb are adjacent, or separated by the word "who" or a clause.
    The last noun of the clause may have the number of the right verb or of the wrong one; the
    second case is attraction.
    """
    pairs: dict[MinimalPair, None] = {}
    for words in elman_grammar().sample(sentences, seed):
        points = agreement_points(words)
        for point in points:
            own = [other.verb for other in points if other.noun == point.noun]
            if words[point.noun] in _OTHER and own == [point.verb]:  # names have one number only
                twin = _changed(words, point.noun, point.verb)
                pairs |= dict.fromkeys([_pair(words, point), _pair(twin, point)])
    return tuple(pairs)


def _pair(words: list[str], point: Agreement) -> MinimalPair:
    between = words[point.noun + 1 : point.verb]
    nouns = [_NOUN_NUMBER[word] for word in between if word in _NOUN_NUMBER]
    if not between:
        paradigm = "nothing between"
    elif not nouns:
        paradigm = "who between"
    else:
        attracted = nouns[-1] != _NOUN_NUMBER[words[point.noun]]
        paradigm = f"clause between, {'attraction' if attracted else 'no attraction'}"
    field = APART if between else NEXT
    bad = " ".join(_changed(words, point.verb))
    others = sum(number != _NOUN_NUMBER[words[point.noun]] for number in nouns)
    term = "number agreement"
    return MinimalPair(" ".join(words), bad, paradigm, field, term, attractors=others)


def _changed(words: list[str], *places: int) -> list[str]:
    """The words, with the other number at these positions."""
    return [_OTHER[word] if place in places else word for place, word in enumerate(words)]
