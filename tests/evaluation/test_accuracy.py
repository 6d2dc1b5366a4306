"""Next-token accuracy against counting by hand, for every batching of the text."""

from typing import Any

import numpy as np
import pytest
import torch

from elman.errors import InputError
from elman.evaluation import scoring
from elman.evaluation.accuracy import Accuracy, Counted, likeliest, measure_accuracy
from elman.evaluation.measures import Reading
from elman.models.contract import LanguageModel
from elman.text.characters import Characters
from elman.text.tokenizer import TextConfig

TEXT = "ab=ab\nba=bb\naa=a\n"
TOKENIZER = Characters.train(TEXT, TextConfig())


class Repeats(LanguageModel):
    """Predicts the last character again; at the start, the line end."""

    vocabulary_size = len(TOKENIZER)

    def start(self, batch_size: int, source: Any = None) -> torch.Tensor:
        return torch.full((batch_size, 1), TOKENIZER.eos_id)

    def predict(self, state: Any) -> torch.Tensor:
        other = torch.full((len(state), self.vocabulary_size), 0.1)
        return other.scatter(1, state, 0.6).log()

    def read(self, ids: torch.Tensor, state: Any) -> torch.Tensor:
        return ids[:, -1:] if ids.shape[1] else state

    def score(self, ids: torch.Tensor, state: Any) -> tuple[torch.Tensor, torch.Tensor]:
        distributions, state = self.predict_all(ids, state)
        return distributions.gather(2, ids[:, :, None])[:, :, 0], state


def measured(counted: Counted, **settings: Any) -> Accuracy:
    return measure_accuracy(Repeats(), TOKENIZER, TEXT, counted, Reading(**settings))


def test_the_likeliest_before_each_token() -> None:
    ids = TOKENIZER.encode(TEXT)
    expected = [TOKENIZER.eos_id, *ids[:-1]]
    assert likeliest(Repeats(), ids, TOKENIZER.eos_id).tolist() == expected


def test_everything_counts() -> None:
    # Repeated characters: the second b of "bb", the second a of "aa"; 17 tokens with line ends.
    found = measured(Counted())
    assert (found.right, found.counted) == (2, 17)
    assert (found.lines_right, found.lines) == (0, 3)
    assert "every token" in found.what


def test_only_what_follows_a_mark_counts() -> None:
    # "ab\n", "bb\n", "a\n": of eight, the second b of "bb".
    found = measured(Counted("="))
    assert (found.right, found.counted) == (1, 8)
    assert found.accuracy == 1 / 8
    assert "after '='" in found.what


def test_up_to_another_mark() -> None:
    # After "b" up to and with "a": "=a" of line 1, "a" and then, after the next b, "b\n" of line 2.
    found = measured(Counted("b", "a"))
    assert (found.right, found.counted) == (1, 2 + 1 + 1 + 2)
    assert found.lines == 2  # the third has no b


def test_lines_that_are_all_right() -> None:
    # After "=": "b" and the line end are wrong, "=" and "=" of a last line without its end right.
    found = measure_accuracy(Repeats(), TOKENIZER, "a=b\nab\na===", Counted("="))
    assert (found.right, found.counted) == (2, 4)
    assert (found.lines_right, found.lines) == (1, 2)  # nothing counts in the second line
    assert found.line_accuracy == 0.5


@pytest.mark.parametrize("reset", ["stream", "line"])
def test_cutting_never_changes_a_number(reset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measured(Counted("="), reset=reset)
    for at_once in (1, 50, 1 << 22):
        monkeypatch.setattr(scoring, "_AT_ONCE", at_once)
        for batch_size in (1, 2, 7):
            assert measured(Counted("="), reset=reset, batch_size=batch_size) == whole


@pytest.mark.parametrize(
    ("after", "until", "problem"),
    [
        ("ab", None, "'ab': is not a single token"),
        ("x", None, "'x': is not a single token"),
        ("=", "", "'': is not a single token"),
        (None, "=", "give both"),
    ],
)
def test_marks_that_cannot_be(after: str | None, until: str | None, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        measured(Counted(after, until))


def test_a_text_without_the_mark_is_refused() -> None:
    with pytest.raises(InputError, match="no tokens to count"):
        measure_accuracy(Repeats(), TOKENIZER, "ab\n", Counted("="))


def test_data_has_the_quotients_and_what_they_are_of() -> None:
    data = measured(Counted("=")).to_data()
    assert data["accuracy"] == pytest.approx(0.125)
    assert np.isclose(data["line_accuracy"], 0)
    assert data["counted"] == 8
