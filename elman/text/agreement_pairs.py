"""Minimal pairs of the artificial language: a verb in the wrong number.

    boys who Mary chases walk .      boys who Mary chases walks .
    boy who Mary chases walks .      boy who Mary chases walk .        its twin

Gives pairs drawn from `grammar.py`; called by `tasks/language_modelling/minimal_pairs.py`. The verb
is the only one of its noun, so nothing else tells its number; and each pair has a twin in which
noun and verb have the other number. Who does not see as far as the noun is therefore right in one
of the two: exactly 50 %. Between them stands nothing, the word "who", or a clause; the last noun of
the clause may have the number of the right verb or of the wrong one, which then attracts it.
"""

from __future__ import annotations

from functools import cache

from elman.text.grammar import (
    NAMES,
    NOUNS,
    NUMBERS,
    VERBS,
    Agreement,
    agreement_points,
    elman_grammar,
)
from elman.text.minimal_pairs import MinimalPair

NEXT, APART = "verb next to its noun", "verb apart from its noun"  # the fields
_SENTENCES, _SEED = 500, 1991  # of its own: not those that models are trained on
_FORMS = [forms for words in (NOUNS, *VERBS.values()) for _, forms in words]
_OTHER = {form: forms[1 - number] for forms in _FORMS for number, form in enumerate(forms)}
_NOUN_NUMBER = {
    **{forms[place]: number for _, forms in NOUNS for number, place in NUMBERS.items()},
    **{name: "singular" for _, name in NAMES},
}


@cache
def agreement_pairs(sentences: int = _SENTENCES, seed: int = _SEED) -> tuple[MinimalPair, ...]:
    """The pairs of so many sentences, each of them with its twin, none of them twice."""
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
    bad = _changed(words, point.verb)
    return MinimalPair(" ".join(words), " ".join(bad), paradigm, field, "number agreement")


def _changed(words: list[str], *places: int) -> list[str]:
    """The words, with those at these places in the other number."""
    return [_OTHER[word] if place in places else word for place, word in enumerate(words)]
