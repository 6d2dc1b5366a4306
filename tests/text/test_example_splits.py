"""Random splits of a single file: repeatable, with every label in the training part."""

from __future__ import annotations

from collections import Counter

import pytest

from elman.text.example_splits import ORDERED, Splitter

SORTED = [(label, number) for label in range(77) for number in range(7 if label else 1)]  # 533
BY_LABEL = Splitter(labels=lambda example: [str(example[0])])


def test_every_label_is_in_train_and_nothing_is_lost() -> None:
    parts = BY_LABEL.split(SORTED)
    assert {label for label, _ in parts["train"]} == set(range(77))
    assert sorted(example for part in parts.values() for example in part) == SORTED
    assert [len(parts[name]) for name in ("train", "valid", "test")] == [479, 27, 27]
    assert all(part == sorted(part) for part in parts.values())  # in the order of the file


@pytest.mark.parametrize("rare", ["a", "z"])
def test_of_several_labels_the_rarest_counts(rare: str) -> None:
    """Forty labels of one text each, always beside a frequent one."""
    examples = [["m", f"{rare}{n}"] if n < 40 else ["m"] for n in range(400)]
    parts = Splitter(labels=lambda example: example).split(examples)
    assert {f"{rare}{n}" for n in range(40)} <= {label for some in parts["train"] for label in some}
    assert len(parts["valid"]) == len(parts["test"]) == 20


def test_large_labels_keep_their_share() -> None:
    examples = [("many", n) for n in range(800)] + [("few", n) for n in range(200)]
    parts = BY_LABEL.split(examples)
    assert Counter(label for label, _ in parts["valid"]) == {"many": 40, "few": 10}
    assert Counter(label for label, _ in parts["test"]) == {"many": 40, "few": 10}
    kept, held_out = BY_LABEL.hold_out(examples)
    assert Counter(label for label, _ in held_out) == {"many": 80, "few": 20}
    assert len(kept) == 900


def test_the_split_is_the_same_each_time_and_not_the_end_of_the_file() -> None:
    first, second = Splitter().split(range(100)), Splitter().split(range(100))
    assert first == second
    assert first["test"] != [95, 96, 97, 98, 99]


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(1, (1, 0, 0)), (2, (1, 1, 0)), (3, (1, 1, 1)), (8, (6, 1, 1)), (20, (18, 1, 1))],
)
def test_few_examples(count: int, sizes: tuple[int, int, int]) -> None:
    parts = Splitter().split(range(count))
    assert tuple(len(parts[name]) for name in ("train", "valid", "test")) == sizes


def test_without_a_label_to_spare_training_examples_validate() -> None:
    examples = [("a", 0), ("b", 1)]
    assert BY_LABEL.hold_out(examples) == (examples, examples)


def test_groups_stay_together() -> None:
    examples = [(passage, question) for passage in range(40) for question in range(5)]
    parts = Splitter(group=lambda example: example[0]).split(examples)
    passages = [{passage for passage, _ in part} for part in parts.values()]
    assert [len(found) for found in passages] == [36, 2, 2]
    assert sum(map(len, passages)) == len(set.union(*passages))


def test_few_groups_are_split_inside() -> None:
    parts = Splitter(group=lambda example: 0).split(range(40))
    assert [len(part) for part in parts.values()] == [36, 2, 2]


def test_ordered_is_the_split_of_version_0_1() -> None:
    ordered = Splitter(ORDERED)
    assert ordered.split(range(100)) == {
        "train": [*range(90)],
        "valid": [*range(90, 95)],
        "test": [*range(95, 100)],
    }
    assert ordered.hold_out(range(20)) == ([*range(18)], [18, 19])
    assert ordered.hold_out(["a"]) == (["a"], ["a"])
