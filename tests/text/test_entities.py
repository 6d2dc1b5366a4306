"""Spans in tags, compared with seqeval and converted back."""

import random

import pytest

from elman.errors import InputError
from elman.text.tag_schemes import (
    Entity,
    check_scheme,
    convert_scheme,
    find_entities,
    is_iob1,
    is_scheme,
    to_tags,
)


def test_an_example_by_hand() -> None:
    tags = ["B-PER", "O", "O", "B-LOC", "I-LOC"]
    assert find_entities(tags) == [Entity("PER", 0, 1), Entity("LOC", 3, 5)]
    assert convert_scheme(tags, "bioes") == ["S-PER", "O", "O", "B-LOC", "E-LOC"]
    assert convert_scheme(["S-PER", "O", "O", "B-LOC", "E-LOC"], "bio") == tags


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        (["I-A", "I-A"], [("A", 0, 2)]),  # begins without a B, as the CoNLL script allows
        (["O", "I-A", "I-B"], [("A", 1, 2), ("B", 2, 3)]),
        (["B-A", "B-A"], [("A", 0, 1), ("A", 1, 2)]),
        (["S-A", "S-A", "I-A"], [("A", 0, 1), ("A", 1, 2), ("A", 2, 3)]),
        (["B-A", "E-A", "E-A"], [("A", 0, 2), ("A", 2, 3)]),
        ([], []),
    ],
)
def test_odd_tags_are_read_as_the_conll_script_does(tags: list[str], spans: list[tuple]) -> None:
    assert find_entities(tags) == [Entity(*span) for span in spans]


def test_the_same_spans_as_seqeval() -> None:
    get_entities = pytest.importorskip("seqeval.metrics.sequence_labeling").get_entities
    drawn = random.Random(0)
    choices = ["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in ("X", "Y"))]
    for _ in range(2000):
        tags = [drawn.choice(choices) for _ in range(drawn.randrange(9))]
        expected = [(kind, first, last + 1) for kind, first, last in get_entities(tags)]
        assert [(e.kind, e.start, e.end) for e in find_entities(tags)] == expected


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_tags_come_back(scheme: str) -> None:
    entities = [Entity("A", 0, 1), Entity("B", 1, 3), Entity("A", 4, 7)]
    assert find_entities(to_tags(entities, 8, scheme)) == entities


def test_schemes_are_told_from_plain_tags() -> None:
    assert is_scheme(["O", "B-NP", "I-NP"])
    assert not is_scheme(["NOUN", "VERB"])
    assert not is_scheme(["O"])
    check_scheme("x", [["O", "B-A"], ["I-A"]])
    check_scheme("x", [["NOUN", "X"]])
    with pytest.raises(InputError, match="x: 'LOC' does not mark a span"):
        check_scheme("x", [["O", "B-A", "LOC"]])


@pytest.mark.parametrize(
    ("sentences", "expected"),
    [
        ([["I-A", "I-A", "O", "I-B"], ["O"]], True),
        ([["I-A", "B-A", "I-A"]], True),  # two spans side by side
        ([["B-A", "I-A"]], False),
        ([["O", "I-A"], ["O", "B-A"]], False),  # BIO with a slip
        ([["I-A", "B-B"]], False),
        ([["S-A", "O", "I-A"]], False),
        ([["O", "O"]], False),
    ],
)
def test_iob1_is_told_from_bio(sentences: list[list[str]], expected: bool) -> None:
    assert is_iob1(sentences) is expected
