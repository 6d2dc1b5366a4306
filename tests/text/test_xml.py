"""Documents of nested tags: all that is opened is closed, in the right order."""

import random
import re
from collections import Counter

import pytest

from elman.errors import InputError
from elman.text.xml import Xml


def depths(document: str) -> list[int]:
    """How many tags are open after each tag; the document is checked on the way."""
    tags = re.findall(r"<(/?)([a-z]+)>", document)
    assert "".join(f"<{slash}{name}>" for slash, name in tags) == document
    stack: list[str] = []
    found = []
    for slash, name in tags:
        if slash:
            assert stack.pop() == name
        else:
            stack.append(name)
        found.append(len(stack))
    assert not stack
    return found


def test_documents_are_well_formed() -> None:
    lines = Xml(lines=1000).text("train").splitlines()
    deepest = max(max(depths(line)) for line in lines)
    assert deepest >= 6
    names = [name for line in lines for name in re.findall(r"<([a-z]+)>", line)]
    assert sorted(Counter(map(len, names))) == list(range(2, 11))


def test_half_of_the_documents_close_their_first_tag_at_once() -> None:
    lines = Xml(lines=4000).text("train").splitlines()
    short = sum(depths(line)[1] == 0 for line in lines) / len(lines)
    # Standard deviation sqrt(1/4 / 4000) = 0.0079.
    assert abs(short - 0.5) < 4 * 0.0079


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_after_so_many_steps_tags_are_only_closed(steps: int) -> None:
    class Opens(random.Random):
        """Always on the side of opening a tag."""

        def random(self) -> float:
            return 0.99

    document = Xml(steps=steps).draw(Opens(0)).text
    assert depths(document) == [*range(1, steps + 1), *range(steps - 1, -1, -1)]


def test_no_document_is_in_two_splits() -> None:
    corpus = Xml(lines=4000, longest_name=2, steps=2)  # few different ones
    train, valid, test = ({*corpus.text(s).splitlines()} for s in ("train", "valid", "test"))
    assert not train & valid
    assert not train & test
    assert not valid & test


@pytest.mark.parametrize("wrong", [{"longest_name": 1}, {"steps": 0}])
def test_impossible_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="must be at least"):
        Xml(**wrong)
