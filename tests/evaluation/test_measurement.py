"""Measurements of a three-token text by hand, and their protocol."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from elman.errors import InputError
from elman.evaluation.measurement import Measurement, Protocol, measure

EOS, UNKNOWN = 0, 1
PROTOCOL = Protocol(
    unit="words", vocabulary_size=10_000, state="every line by itself", unknown="<unk> counts"
)


def measured(probs: list[float], ids: list[int], text: str) -> Measurement:
    with np.errstate(divide="ignore"):
        log_probs = np.log(probs)
    return measure(log_probs, np.array(ids), text, PROTOCOL, EOS, ids.count(UNKNOWN))


def test_three_tokens_by_hand() -> None:
    # 1/2 * 1/4 * 1/8 = 2^-6: six bits
    found = measured([1 / 2, 1 / 4, 1 / 8], [2, 1, EOS], "é b\n")
    assert found.nats == pytest.approx(6 * math.log(2))
    assert found.perplexity == pytest.approx(4)  # 2^(6 / 3)
    assert found.surprisal == pytest.approx(2)  # 6 bits / 3 tokens
    assert found.bits_per_character == pytest.approx(1.5)  # 6 bits / 4 characters
    assert found.bits_per_byte == pytest.approx(1.2)  # 6 bits / 5 bytes, é has two
    assert (found.tokens, found.characters, found.bytes) == (3, 4, 5)
    assert (found.lines, found.unknown, found.impossible) == (1, 1, 0)
    assert found.perplexity == pytest.approx(math.exp(found.nats / found.tokens))


@pytest.mark.parametrize(
    ("ids", "bits_per_line"),
    [
        ([2, EOS, 3, 2, EOS], [2, 3]),
        ([2, EOS, 3, 2], [2, 2]),  # the last line has no end
        ([EOS, EOS, 2, EOS], [1, 1, 2]),  # empty lines are lines
        ([2, 3], [2]),
    ],
)
def test_the_lines_add_up(ids: list[int], bits_per_line: list[int]) -> None:
    found = measured([0.5] * len(ids), ids, "text")
    np.testing.assert_allclose(found.line_nats / math.log(2), bits_per_line)
    assert found.line_nats.sum() == pytest.approx(found.nats)
    assert found.lines == len(bits_per_line)


def test_an_impossible_token_is_counted_and_makes_the_perplexity_infinite() -> None:
    found = measured([0.5, 0.0, 0.5], [2, 3, EOS], "a b\n")
    assert found.perplexity == math.inf
    assert found.impossible == 1
    data = json.loads(json.dumps(found.to_data(), allow_nan=False))
    assert data["perplexity"] is data["nats"] is data["bits_per_byte"] is None
    assert data["impossible_tokens"] == 1


def test_data_has_every_number_and_the_protocol() -> None:
    found = measured([1 / 2, 1 / 4, 1 / 8], [2, 3, EOS], "a b\n")
    data = json.loads(json.dumps(found.to_data()))
    assert data["perplexity"] == pytest.approx(4)
    assert data["surprisal_bits"] == pytest.approx(2)
    assert data["bits_per_character"] == data["bits_per_byte"] == pytest.approx(1.5)
    assert data["nats"] == pytest.approx(6 * math.log(2))
    assert (data["tokens"], data["lines"], data["unknown_tokens"]) == (3, 1, 0)
    assert data["protocol"]["signature"] == str(PROTOCOL)
    assert data["protocol"]["unit"] == "words"


def test_half_a_character_has_no_bytes_to_count() -> None:
    with pytest.raises(InputError, match="half a character"):
        measured([0.5, 0.5], [2, 3], "a\ud800")


def test_the_protocol_in_one_line() -> None:
    line = "words · vocabulary 10,000 · every line by itself · <eos> counted · <unk> counts"
    assert str(PROTOCOL) == line
    assert "<eos> not counted" in str(replace(PROTOCOL, counts_eos=False))
    assert not str(replace(PROTOCOL, unknown="")).endswith("· ")


@pytest.mark.parametrize(
    ("change", "comparable"),
    [
        ({}, True),
        ({"state": "state carried from line to line"}, True),  # a matter of the model
        ({"unit": "characters"}, False),
        ({"vocabulary_size": 9_999}, False),
        ({"vocabulary": "another ten thousand words"}, False),
        ({"counts_eos": False}, False),
        ({"text": "another text"}, False),
    ],
)
def test_only_numbers_about_the_same_tokens_compare(
    change: dict[str, object], comparable: bool
) -> None:
    other = replace(PROTOCOL, **change)
    assert PROTOCOL.comparable(other) is comparable
    assert other.comparable(PROTOCOL) is comparable
