"""Samples of validation data: from all parts, short, without duplicates."""

from elman.tasks.samples import LONGEST, choose_samples


def as_text(example: str) -> dict[str, str]:
    return {"text": example}


def test_they_come_from_each_third() -> None:
    found = choose_samples([str(number) for number in range(9)], as_text)
    assert found == [{"text": "0"}, {"text": "3"}, {"text": "6"}]


def test_long_empty_and_repeated_ones_are_passed_over() -> None:
    examples = ["", "x" * (LONGEST + 1), "a", "a", "a", "b"]
    assert choose_samples(examples, as_text) == [{"text": "a"}, {"text": "b"}]


def test_examples_that_are_no_request_are_passed_over() -> None:
    assert choose_samples(["a", "b"], lambda example: {}) == []
    assert choose_samples([], as_text) == []
