"""Text decoded id by id equals text decoded at once, for every tokenizer."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elman.errors import InputError
from elman.tasks.language_modelling.continuation import HALF_CHARACTER, Continuation
from elman.text import TOKENIZERS, train_tokenizer
from elman.text.tokenizer import TextConfig, Tokenizer

TEXT = """the cat sees the dog .
  a bird  hears the cat , and the dog hears it .

the naïve café in 東京 is “ open ” .
<unk> the café is 🐈 – open .
"""


@cache
def tokenizer_of(name: str) -> Tokenizer:
    sizes = {"bpe": 290, "unigram": 90}
    config = TextConfig(tokenizer=name, vocabulary_size=sizes.get(name))
    return train_tokenizer(TEXT * 20, config)[0]


def whole_text(continuation: Continuation, ids: Sequence[int]) -> str:
    """All decoded at once, and the prompt taken off."""
    prompt = continuation.prompt_ids.tolist()
    text, before = map(continuation.tokenizer.write, ([*prompt, *ids], prompt))
    assert text.startswith(before)
    return text[len(before) :]


prompts = st.sampled_from(["", "the", "the ", "the cat\n", "a café", "🐈", "the \ufffd", "\n "])
# Ids are taken modulo the size of the vocabulary; small ones are line ends, bytes and marks.
numbers = st.lists(st.integers(0, 12) | st.integers(0, 10**6), max_size=40)
stops = st.lists(
    st.sampled_from(
        [*"\n é🐈\ufffd", "the", " .", "\n ", "\n\n", "é i", "🐈 –", "\ufffd\ufffd", "at s"]
    ),
    max_size=3,
)
# Half a character that never ends, bytes that begin none, a whole one, a space at a line start.
BYTES = [0x61, 0xC3, 0xA9, 0xF0, 0x9F, 0xE2, 0xE2, 0x80, *[0xFF] * 5, *"🐈".encode(), 0x0A, 0x20]


def ids_of(tokenizer: Tokenizer, drawn: list[int]) -> list[int]:
    return [number % len(tokenizer) for number in drawn]


def for_any_text(check: Callable[[str, list[int], list[str]], None]) -> None:
    """Call the check with many prompts, ids and stop sequences."""
    examples: Any = check
    for shift in (0, 1):  # where the bytes begin among the ids
        drawn = [byte + shift for byte in BYTES]
        for prompt, stop in (("the", []), ("", ["\ufffd"]), ("", ["🐈"]), ("a", ["🐈\n"])):
            examples = example(prompt, drawn, stop)(examples)
    settings(deadline=None, max_examples=150)(given(prompts, numbers, stops)(examples))()


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_pieces_add_up_to_the_whole(name: str) -> None:
    tokenizer = tokenizer_of(name)

    def check(prompt: str, drawn: list[int], stop: list[str]) -> None:
        continuation = Continuation(tokenizer, prompt, stop)
        ids = ids_of(tokenizer, drawn)
        whole = whole_text(continuation, ids)
        assert continuation.text(ids) == whole
        places = [whole.find(text) for text in stop if text in whole]
        free = list(Continuation(tokenizer, prompt).pieces(ids))
        assert "".join(free) == whole
        assert not any(piece.endswith(HALF_CHARACTER) for piece in free[:-1])
        stopping = next((n for n in range(len(ids)) if continuation.stops(ids[: n + 1])), None)
        shown = list(continuation.pieces(ids if stopping is None else ids[: stopping + 1]))
        assert all(shown)
        if stopping is None:
            assert not places
            assert "".join(shown) == whole
        else:
            assert "".join(shown) == continuation.cut(whole_text(continuation, ids[: stopping + 1]))

    for_any_text(check)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_it_stops_with_the_first_id_that_completes_a_stop_sequence(name: str) -> None:
    tokenizer = tokenizer_of(name)

    def check(prompt: str, drawn: list[int], stop: list[str]) -> None:
        continuation = Continuation(tokenizer, prompt, stop)
        ids = ids_of(tokenizer, drawn)
        for length in range(1, len(ids) + 1):
            text = whole_text(continuation, ids[:length])
            expected = any(each in text for each in stop)
            assert continuation.stops(ids[:length]) == expected
            if expected:
                break

    for_any_text(check)


# `words` looks at the line so far, which says whether a quotation mark opens or closes.
@pytest.mark.parametrize("name", [name for name in TOKENIZERS if name != "words"])
def test_a_step_looks_at_a_few_ids_however_long_the_text(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = tokenizer_of(name)
    decode = tokenizer.decode
    decoded: list[int] = []

    def counted(ids: Any) -> str:
        decoded.append(len(ids))
        return decode(ids)

    continuation = Continuation(tokenizer, "the cat " * 100, ("zebra",))
    monkeypatch.setattr(tokenizer, "decode", counted)
    ids = [7 * number % len(tokenizer) for number in range(500)]
    text = "".join(continuation.pieces(ids))
    assert not any(continuation.stops(ids[: n + 1]) for n in range(len(ids)))
    assert max(decoded) <= 4 + 4 * len("zebra")
    assert text == whole_text(continuation, ids)


def test_what_could_become_a_stop_sequence_waits() -> None:
    tokenizer = tokenizer_of("characters")
    continuation = Continuation(tokenizer, "", ("the dog",))
    ids = tokenizer.encode("see the cat and the dog .").tolist()
    assert list(continuation.pieces(ids))[3:6] == [" ", "the c", "a"]
    assert "".join(continuation.pieces(ids)) == "see the cat and "


def test_half_characters_wait_for_their_other_half() -> None:
    tokenizer = tokenizer_of("bytes")
    pieces = Continuation(tokenizer, "a").pieces(tokenizer.encode("é🐈.").tolist())
    assert list(pieces) == ["é", "🐈", "."]
    broken = Continuation(tokenizer, "a").pieces([0xFF, 0xE2, 0x82])
    assert list(broken) == ["\ufffd\ufffd"]


@pytest.mark.parametrize("stop", ["", ("dog", "")])
def test_an_empty_stop_sequence_is_refused(stop: str | tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="empty stop sequence"):
        Continuation(tokenizer_of("words"), "the", stop)


def test_one_stop_sequence_may_be_given_as_it_is() -> None:
    assert Continuation(tokenizer_of("words"), "the", "dog").stop == ("dog",)
