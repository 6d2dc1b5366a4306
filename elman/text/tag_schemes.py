"""Tag schemes for spans (BIO, BIOES): from tags to entities and back.

    John  lives  in  New    York          B-PER O O B-LOC I-LOC       BIO (IOB2)
    (PER, 0, 1)      (LOC, 3, 5)          S-PER O O B-LOC E-LOC       BIOES
                                          I-PER O O I-LOC I-LOC       IOB1: B only between two

Takes tags, gives `Entity`s; called by evaluation and tasks. Tags that no scheme allows, like an
I-LOC after O, are read as the CoNLL script reads them: the span begins there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elman.errors import InputError

_PREFIXES = "BIES"
SCHEMES = ("bio", "bioes")
_IN_BIO = {"S": "B", "E": "I"}


@dataclass(frozen=True, order=True)
class Entity:
    """A span of words, from `start` up to `end`, exclusive."""

    kind: str
    start: int
    end: int


def is_scheme(tags: Iterable[str]) -> bool:
    """Whether all tags mark spans: O, or a prefix and a kind."""
    distinct = set(tags)
    marked = [tag for tag in distinct if tag != "O"]
    return bool(marked) and all(tag[0] in _PREFIXES and tag[1:2] == "-" for tag in marked)


def find_entities(tags: Sequence[str]) -> list[Entity]:
    """The spans of one sentence, in order."""
    found: list[Entity] = []
    start, kind = 0, ""  # the open span; no kind: no span is open
    before = "O"  # prefix of the tag before
    for place, tag in enumerate(tags):
        prefix, _, own = tag.partition("-")
        begins = prefix in "BS" or own != kind or before in "ES"
        if kind and (prefix == "O" or begins):
            found.append(Entity(kind, start, place))
            kind = ""
        if prefix != "O" and not kind:
            start, kind = place, own
        before = prefix
    if kind:
        found.append(Entity(kind, start, len(tags)))
    return found


def to_tags(entities: Iterable[Entity], length: int, scheme: str = "bio") -> list[str]:
    """The tags of a sentence of so many words."""
    tags = ["O"] * length
    for entity in entities:
        single = entity.end - entity.start == 1
        for place in range(entity.start, entity.end):
            prefix = "B" if place == entity.start else "I"
            if scheme == "bioes" and place == entity.end - 1:
                prefix = "S" if single else "E"
            tags[place] = f"{prefix}-{entity.kind}"
    return tags


def convert_scheme(tags: Sequence[str], scheme: str) -> list[str]:
    """The same spans in another scheme."""
    return to_tags(find_entities(tags), len(tags), scheme)


def scheme_of(sentences: Iterable[Sequence[str]]) -> str:
    """The scheme of tags: bioes if there is an S- or E- tag, else bio."""
    prefixes = {tag[:2] for sentence in sentences for tag in sentence}
    return "bioes" if prefixes & {"S-", "E-"} else "bio"


def is_iob1(sentences: Iterable[Sequence[str]]) -> bool:
    """Whether spans begin with I-…, and with B-… only right after one of the same kind."""
    begun = 0
    for sentence in sentences:
        before = "O"
        for tag in sentence:
            prefix, kind = tag[:1], tag[2:]
            follows = before != "O" and before[2:] == kind
            if prefix in "ES" or (prefix == "B" and not follows):
                return False
            begun += prefix == "I" and not follows
            before = tag
    return begun > 0


def tags_in(tags: Iterable[str], scheme: str) -> set[str]:
    """All tags that can occur when the spans of these tags are written in a scheme."""
    become = {"B": "B", "I": "I", "E": "I", "S": "B"}
    if scheme == "bioes":
        become = {"B": "BS", "I": "IE", "E": "E", "S": "S"}
    split = [tag.partition("-") for tag in tags]
    return {
        f"{prefix}-{kind}" if kind else old
        for old, _, kind in split
        for prefix in become.get(old, old)
    }


def to_bio(tag: str) -> str:
    """The BIO tag of a word with this BIOES tag."""
    prefix, mark, kind = tag.partition("-")
    return f"{_IN_BIO.get(prefix, prefix)}{mark}{kind}"


def check_scheme(name: str, sentences: Sequence[Sequence[str]]) -> None:
    """Refuse a text that mixes BIO and BIOES, or marks some spans and has bare tags beside them."""
    tags = {tag for sentence in sentences for tag in sentence}
    marked = {tag for tag in tags if tag[1:2] == "-" and tag[0] in _PREFIXES}
    bare = sorted(tags - marked - {"O"})
    if marked and bare and "O" in tags:
        raise InputError(
            f"{name}: {bare[0]!r} does not mark a span, but other tags do (B-…, O); "
            "write every tag as O or with B-, I-, E-, S- before it"
        )
    if bare or scheme_of(sentences) == "bio":
        return
    for number, sentence in enumerate(sentences, 1):
        for tag, after in zip(sentence, [*sentence[1:], "O"], strict=True):
            if tag[:1] in "BI" and after not in (f"I{tag[1:]}", f"E{tag[1:]}"):
                raise InputError(
                    f"{name}: mixes BIO and BIOES: there are tags E-… or S-…, but in sentence "
                    f"{number} a span ends with {tag}; write all spans in one scheme"
                )
