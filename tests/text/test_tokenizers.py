"""Properties of every tokenizer, on any text."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elman.errors import InputError
from elman.text import (
    TOKENIZERS,
    guess_tokenizer,
    tokenizer_from_data,
    tokenizer_to_data,
    train_tokenizer,
)
from elman.text.tokenizer import EOS, TextConfig, Tokenizer, lower

# Pieces of text on which tokenizers break.
PIECES = [
    *("a", "b", "the", "The", "cat's", "7", "_", "."),
    *(" ", "  ", "\n", "\t", "\r", "\r\n", "\x0b", "\x1c", "\0", "\x85", "\xa0", "\u2028"),
    *("<eos>", "<unk>", "<s>", "</s>", "<0xE2>", "␣", "Ġ", "▁", "\ufffd", "\ufeff"),
    *("é", "e\u0301", "😀", "👩‍👧", "漢", "ß", "İ", "Σ", "ς"),
]
# Every piece stands alone between spaces, so that all of them are known words and characters.
TRAINING = (" ".join(PIECES) + "\n") * 3
WORDS_TRAINING = " ".join(p for p in PIECES if p not in ("<eos>", "<s>", "</s>"))

any_text = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40)
nasty_text = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
lowercase = st.booleans()

ALL = pytest.mark.parametrize("name", list(TOKENIZERS))
LOSSLESS = pytest.mark.parametrize("name", ["raw-words", "bytes", "bpe"])
quick = settings(max_examples=60, deadline=None)


@cache
def trained(name: str, lowercase: bool = False) -> Tokenizer:
    text = WORDS_TRAINING if name == "words" else TRAINING
    size = 300 if name == "bpe" else None
    return TOKENIZERS[name].train(text, TextConfig(vocabulary_size=size, lowercase=lowercase))


def without_markers(name: str, text: str) -> str:
    """The text as `words` may see it: other tokenizers take markers as text."""
    if name == "words":
        for marker in ("<eos>", "</s>", "<s>"):
            text = text.replace(marker, "").replace(marker.upper(), "")
    return text


@LOSSLESS
@quick
@given(text=any_text | nasty_text, lowercase=lowercase)
@example(text="", lowercase=False)
@example(text="\n", lowercase=False)
@example(text=" \n  two\n\n three ", lowercase=False)
@example(text="İİ Σ", lowercase=True)
def test_any_text_comes_back(name: str, text: str, lowercase: bool) -> None:
    tokenizer = trained(name, lowercase)
    assert tokenizer.decode(tokenizer.encode(text)) == tokenizer.normalise(text)


@pytest.mark.parametrize("name", ["characters", "unigram"])
@quick
@given(text=nasty_text)
@example(text="<unk><unk>")
@example(text="")
def test_text_of_known_characters_comes_back(name: str, text: str) -> None:
    tokenizer = trained(name)
    assert tokenizer.decode(tokenizer.encode(text)) == tokenizer.normalise(text)
    assert tokenizer.unknown_id not in tokenizer.encode(text)


@ALL
def test_what_is_lost_is_said(name: str) -> None:
    text = "漢字 \t unseen Ω\n"
    tokenizer = trained(name)
    lost = tokenizer.decode(tokenizer.encode(text)) != text
    assert lost == bool(tokenizer.loses)


@ALL
@quick
@given(text=any_text | nasty_text, lowercase=lowercase)
@example(text="İstanbul İ a", lowercase=True)
def test_spans_are_the_ids_with_their_places(name: str, text: str, lowercase: bool) -> None:
    text = without_markers(name, text)
    tokenizer = trained(name, lowercase)
    spans = tokenizer.spans(text)
    assert spans.ids.tolist() == tokenizer.encode(text).tolist()
    assert len(spans.ids) == len(spans.starts) == len(spans.ends)
    assert np.all(spans.starts >= 0)
    assert np.all(spans.ends <= len(text))
    assert np.all(spans.starts <= spans.ends)
    assert np.all(np.diff(spans.starts) >= 0)
    assert np.all(np.diff(spans.ends) >= 0)
    covered = {c for s, e in zip(spans.starts, spans.ends, strict=True) for c in range(s, e)}
    assert {c for c, character in enumerate(text) if not character.isspace()} <= covered


@ALL
@quick
@given(text=any_text | nasty_text)
def test_ids_are_whole_numbers_below_the_vocabulary_size(name: str, text: str) -> None:
    tokenizer = trained(name)
    ids = tokenizer.encode(without_markers(name, text))
    assert ids.dtype == np.int64
    assert all(0 <= number < len(tokenizer) for number in ids)


@ALL
@quick
@given(text=any_text | nasty_text)
def test_every_newline_is_one_end_of_line(name: str, text: str) -> None:
    text = without_markers(name, text)
    tokenizer = trained(name)
    assert tokenizer.tokens[tokenizer.eos_id] == EOS
    assert np.count_nonzero(tokenizer.encode(text) == tokenizer.eos_id) == text.count("\n")
    assert tokenizer.encode("\n").tolist() == [tokenizer.eos_id]


@ALL
@quick
@given(text=nasty_text)
@example(text="The İ Σ THE")
def test_lowercase_is_the_same_everywhere(name: str, text: str) -> None:
    text = without_markers(name, text)
    plain, small = trained(name, True).encode(text), trained(name, True).encode(lower(text))
    assert plain.tolist() == small.tolist()
    assert trained(name, True).normalise(text) == trained(name, True).normalise(lower(text))
    assert trained(name).normalise("The") == "The"


def test_lower_case_keeps_places_and_does_not_depend_on_letters_far_away() -> None:
    assert lower("İSTANBUL") == "İstanbul"
    assert lower("ΟΔΟΣ İ") == lower("ΟΔΟΣ") + " İ" == "οδος İ"


@ALL
@pytest.mark.parametrize("lowercase", [False, True])
def test_plain_data_makes_the_same_tokenizer(name: str, lowercase: bool) -> None:
    tokenizer = trained(name, lowercase)
    again = tokenizer_from_data(json.loads(json.dumps(tokenizer_to_data(tokenizer))))
    text = without_markers(name, f"The cat's 😀 {WORDS_TRAINING}\n unseen Ω\n")
    assert again.encode(text).tolist() == tokenizer.encode(text).tolist()
    assert (again.tokens, again.eos_id, again.unknown_id, again.lowercase) == (
        tokenizer.tokens,
        tokenizer.eos_id,
        tokenizer.unknown_id,
        lowercase,
    )


@ALL
def test_the_same_text_makes_the_same_tokenizer(name: str) -> None:
    text = without_markers(name, "a dog and some cats sat! all of them. (why?)\n" * 9)
    first, second = (TOKENIZERS[name].train(text, TextConfig()) for _ in range(2))
    assert first.to_data() == second.to_data()


@ALL
@pytest.mark.parametrize("text", ["", "\n", " ", "a"])
def test_almost_nothing_is_enough_to_train_on(name: str, text: str) -> None:
    tokenizer = TOKENIZERS[name].train(text, TextConfig())
    assert tokenizer.decode(tokenizer.encode(text)) == tokenizer.normalise(text)


@ALL
def test_the_vocabulary_is_not_larger_than_asked(name: str) -> None:
    text = "the cat sat on the mat and the dog sat on the cat today\n" * 5
    for size in (20, 260):
        config = TextConfig(vocabulary_size=size)
        if size == 20 and name in ("raw-words", "bytes", "bpe"):
            with pytest.raises(InputError, match=r"vocabulary_size=20: .* at least 25[67]"):
                TOKENIZERS[name].train(text, config)
        else:
            assert len(TOKENIZERS[name].train(text, config)) <= size


@ALL
@pytest.mark.parametrize("method", ["encode", "spans"])
def test_half_a_character_is_refused_with_its_place(name: str, method: str) -> None:
    with pytest.raises(InputError, match=r"character 3 .*U\+DCFF"):
        getattr(trained(name), method)("a \udcff b")


@ALL
def test_half_a_character_is_refused_in_training(name: str) -> None:
    with pytest.raises(InputError, match=r"character 1 .*U\+D800"):
        train_tokenizer("\ud800", TextConfig(tokenizer=name))


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("the cat sat , on the mat .\n", "words"),
        ("mr. smith said no to the offer of the group <unk> N times and they all left\n", "words"),
        ("The cat sat, on the mat.\n", "raw-words"),
        ('"Why?" (He did not know.)\n', "raw-words"),
        ("", "words"),
        ("नदी में पानी है। लड़का, लड़की\n", "raw-words"),
        ("नदी में पानी है । लड़का , लड़की\n", "words"),
        ("هل رأيت البيت؟ نعم، رأيته\n", "raw-words"),
        (
            "open the file\ncould not read: no such file or folder on this disk at all\n",
            "raw-words",
        ),
        ("ls はディレクトリ (directory) の内容を表示する。\n", "bpe"),
        ("显示文件 file 的全部内容，然后退出程序。\n", "bpe"),
        ("ไม่สามารถเปิดแฟ้ม %s\n", "bpe"),
        ("我 喜欢 北京 。\n", "words"),
    ],
)
def test_the_tokenizer_is_guessed_from_marks_that_stick_to_words(text: str, guess: str) -> None:
    assert guess_tokenizer(text * 30) == guess
    assert train_tokenizer(text * 30, TextConfig())[0].name == guess


def test_an_unknown_tokenizer_gets_the_nearest() -> None:
    with pytest.raises(InputError, match="'raw-word'; did you mean 'raw-words'"):
        train_tokenizer("a", TextConfig(tokenizer="raw-word"))


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"tokenizer": "words"},
        {"tokenizer": "words", "tokens": ["<eos>"], "lowercase": False},  # no <unk>
        {"tokenizer": "characters", "characters": ["ab"], "lowercase": False},
        {"tokenizer": "bpe", "library": "{", "lowercase": False},
        {"tokenizer": "bpe", "library": 3, "lowercase": False},
        {"tokenizer": "nothing"},
        {"tokenizer": ["words"]},
    ],
)
def test_data_that_is_no_tokenizer_is_refused(data: dict) -> None:
    with pytest.raises(InputError, match="tokenizer"):
        tokenizer_from_data(data)


@pytest.mark.parametrize(("setting", "value"), [("vocabulary_size", 2), ("min_count", -1)])
def test_settings_out_of_range_are_refused(setting: str, value: int) -> None:
    with pytest.raises(InputError, match=f"text.{setting}={value}"):
        TextConfig(**{setting: value})


@pytest.mark.parametrize("name", TOKENIZERS)
def test_learning_gives_the_ids_that_encoding_gives(name: str) -> None:
    text = "a cat , a dog\n\na <unk> cat .\nrare\n" * 3 + "once\n"
    tokenizer, ids = TOKENIZERS[name].learn(text, TextConfig(lowercase=True))
    assert ids.tolist() == tokenizer.encode(text).tolist()
    assert tokenizer.to_data() == TOKENIZERS[name].train(text, TextConfig(lowercase=True)).to_data()
