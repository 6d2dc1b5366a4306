"""Generated lines: reproducible, any number, each always in the same split."""

import random

import pytest

from elman.errors import InputError
from elman.text.corpora import DrawnLines, Line


class Numbers(DrawnLines):
    def draw(self, chance: random.Random) -> Line:
        number = chance.randrange(1000)
        return Line(f"{'x' * chance.randrange(3)}{number}", str(number))

    def details(self) -> str:
        return ""


def numbers(split: str, **settings: int) -> list[str]:
    lines = Numbers(**settings).text(split).splitlines()
    return [line.lstrip("x") for line in lines]


def test_the_splits_never_share_an_identity_whatever_the_seed() -> None:
    train = {*numbers("train", lines=5000), *numbers("train", lines=5000, seed=1)}
    valid = {*numbers("valid", lines=5000), *numbers("valid", lines=5000, seed=2)}
    test = {*numbers("test", lines=5000), *numbers("test", lines=5000, seed=3)}
    assert not train & valid
    assert not train & test
    assert not valid & test
    assert len(train) > 800  # of some 900
    assert min(len(valid), len(test)) > 25  # of some 50


def test_sizes_and_seeds() -> None:
    assert [len(numbers(split, lines=200)) for split in ("train", "valid", "test")] == [200, 10, 10]
    assert numbers("train", lines=50, seed=4) == numbers("train", lines=50, seed=4)
    assert numbers("train", lines=50, seed=4) != numbers("train", lines=50, seed=5)
    assert numbers("train", lines=50) == numbers("train", lines=90)[:50]


@pytest.mark.parametrize("wrong", [{"lines": 19}, {"seed": -1}])
def test_impossible_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))}=.*at least"):
        Numbers(**wrong)


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(InputError, match="unknown split 'tests'; did you mean 'test'"):
        Numbers().text("tests")
