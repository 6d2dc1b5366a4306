"""Minimal pairs as JSON lines, suites as JSON, and the pairs of the built-in language."""

import json
from typing import Any

import pytest

from elman.errors import InputError
from elman.text.grammar import agreement_points, verbs
from elman.text.minimal_pairs import (
    MinimalPair,
    PairFile,
    agreement_pairs,
    prepare_pair,
    read_minimal_pairs,
)
from elman.text.reader import Document
from elman.text.syntax_suites import read_suite

GOOD = {"sentence_good": "The cats sleep.", "sentence_bad": "The cats sleeps."}


def pairs_of(*lines: str) -> PairFile:
    return read_minimal_pairs(Document("folder/pairs.jsonl", "\n".join(lines)))


def test_pairs() -> None:
    named = {**GOOD, "UID": "verb number", "field": "morphology", "linguistics_term": "agreement"}
    first, second, third = pairs_of(
        json.dumps(named), "", json.dumps(GOOD), json.dumps({**GOOD, "paradigm": "mine"})
    ).pairs
    expected = ("verb number", "morphology", "agreement")
    assert first == MinimalPair("The cats sleep.", "The cats sleeps.", *expected)
    assert (second.paradigm, second.field) == ("pairs", "")  # the name of the file
    assert third.paradigm == "mine"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 1: is not JSON"),
        ("[1]", "line 1: must be a JSON object"),
        ('{"sentence_good": "a"}', "line 1: has no 'sentence_bad'"),
        (json.dumps({**GOOD, "sentence_bad": 3}), "has no 'sentence_bad'"),
        (json.dumps({**GOOD, "sentence_good": " "}), "has no 'sentence_good'"),
        (json.dumps({**GOOD, "sentence_good": "a\nb"}), "has a line break"),
        ('{"sentence_good": "a", "sentence_bad": "a"}', "are identical"),
        ("", "has no pairs"),
    ],
)
def test_what_are_no_pairs_is_refused(line: str, reason: str) -> None:
    with pytest.raises(InputError) as refused:
        pairs_of(line)
    assert reason in str(refused.value)
    assert "folder/pairs.jsonl" in str(refused.value)


def test_other_lines_are_skipped_and_numbered() -> None:
    same = {**GOOD, "sentence_bad": GOOD["sentence_good"] + " "}
    lines = [json.dumps(GOOD), json.dumps(same), "", "{", '{"UID": "a"}', json.dumps(GOOD)]
    read = pairs_of(*lines)
    assert len(read.pairs) == 2
    assert [(line.file, line.line) for line in read.skipped] == [
        ("folder/pairs.jsonl", number) for number in (2, 4, 5)
    ]
    reasons = [line.reason for line in read.skipped]
    assert reasons[0] == "the two sentences are identical"
    assert reasons[1].startswith("is not JSON")
    assert reasons[2] == "has no 'sentence_good'"


ONE_PREFIX = {
    "one_prefix_prefix": "The cats",
    "one_prefix_word_good": "sleep",
    "one_prefix_word_bad": "sleeps",
}
TWO_PREFIXES = {
    "two_prefix_prefix_good": "Cats",
    "two_prefix_prefix_bad": "A cat",
    "two_prefix_word": " sleep",
}


def critical_words(pair: MinimalPair) -> tuple[str, str] | None:
    if pair.critical is None:
        return None
    (a, b), (c, d) = pair.critical
    return pair.good[a:b], pair.bad[c:d]


def test_the_critical_words_that_blimp_names() -> None:
    two = {"sentence_good": "Cats sleep.", "sentence_bad": "A cat sleep.", **TWO_PREFIXES}
    elsewhere = {**GOOD, **ONE_PREFIX, "one_prefix_prefix": "A cat"}
    inside = {**GOOD, **ONE_PREFIX, "one_prefix_word_good": "sle"}
    lines = [{**GOOD, **ONE_PREFIX}, two, elsewhere, inside]
    pairs = pairs_of(*(json.dumps(line) for line in lines)).pairs
    named = [(critical_words(pair), pair.same_beginning) for pair in pairs]
    nothing = (None, True)
    assert named == [(("sleep", "sleeps"), True), (("sleep", "sleep"), False), nothing, nothing]


def test_prepared_sentences_keep_their_critical_words() -> None:
    def prepare(text: str) -> str:
        return text.replace("'t", " 't").replace("-", " @-@ ").replace(".", " .")

    sentences = ("The well-known cats can't sleep.", "The well-known cats can't sleeps.")
    fields = {**ONE_PREFIX, "one_prefix_prefix": "The well-known cats can't"}
    entry = {"sentence_good": sentences[0], "sentence_bad": sentences[1], **fields}
    (pair,) = pairs_of(json.dumps(entry)).pairs
    prepared = prepare_pair(pair, prepare)
    assert prepared.good == "The well @-@ known cats can 't sleep ."
    assert critical_words(prepared) == ("sleep", "sleeps")
    assert prepare_pair(pair, prepare, critical=False).critical is None
    assert prepare_pair(pair, lambda text: text.replace("cat", "mat")[1:]).critical is None


def region(number: int, content: str) -> dict[str, Any]:
    return {"region_number": number, "content": content}


def suite(**changes: Any) -> dict[str, Any]:
    conditions = [
        {"condition_name": "right", "regions": [region(1, "the cats"), region(2, "sleep")]},
        {"condition_name": "wrong", "regions": [region(1, "the cats"), region(2, "sleeps")]},
    ]
    formula = {"type": "formula", "formula": "(2;%wrong%) > (2;%right%)"}
    items = [{"item_number": 7, "conditions": conditions}]
    return {"meta": {"name": "agreement"}, "predictions": [formula], "items": items, **changes}


def test_a_suite() -> None:
    read = read_suite(Document("suite.json", json.dumps(suite())))
    assert (read.name, read.metric, read.items[0].name) == ("agreement", "sum", "7")
    assert read.predictions[0].places == {("wrong", 2), ("right", 2)}
    assert [c.regions for c in read.items[0].conditions][1] == ("the cats", "sleeps")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"predictions": []}, "has no predictions"),
        ({"predictions": [{}]}, "prediction 1: has no 'formula'"),
        ({"predictions": [{"formula": "1 >"}]}, "prediction 1: the formula '1 >'"),
        ({"predictions": [{"formula": "(2;%wrng%) > 1"}]}, "did you mean 'wrong'"),
        ({"predictions": [{"formula": "(9;%wrong%) > 1"}]}, "has no region 9"),
        ({"items": []}, "has no items"),
        ({"items": [{"conditions": 3}]}, "item 1: 'conditions' must be a list"),
        ({"meta": {"metric": "mode"}}, "unknown metric 'mode'"),
        ({"items": {}}, "'items' must be a list"),
    ],
)
def test_what_is_no_suite_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError) as refused:
        read_suite(Document("suite.json", json.dumps(suite(**changes))))
    assert reason in str(refused.value)
    assert str(refused.value).startswith("suite.json")


def test_the_pairs_of_the_grammar_differ_in_one_verb_and_come_in_twins() -> None:
    pairs = agreement_pairs(100)
    forms = verbs("singular") | verbs("plural")
    numbers = []
    for pair in pairs:
        good, bad = pair.good.split(), pair.bad.split()
        (place,) = [n for n, (a, b) in enumerate(zip(good, bad, strict=True)) if a != b]
        assert {good[place], bad[place]} <= forms
        point = next(p for p in agreement_points(good) if p.verb == place)  # it is grammatical
        numbers.append((point.number, pair.field))
        if pair.paradigm == "nothing between":
            assert point.distance == 0
        else:
            assert point.distance > 0
    assert {field for _, field in numbers} == {"verb next to its noun", "verb apart from its noun"}
    for field in {field for _, field in numbers}:
        assert numbers.count(("singular", field)) == numbers.count(("plural", field)) > 10
