"""Letters of every script: vowel signs stay in their words; Chinese and Thai have no spaces."""

import pytest

from elman.text.corpus_form import CorpusForm
from elman.text.letters import has_other_scripts, is_letter, lacks_spaces
from elman.text.raw_words import RawWords
from elman.text.splitting import is_typed, split_raw
from elman.text.tokenizer import TextConfig


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("आपकी फ़ाइल नहीं मिली।", ["आपकी", "फ़ाइल", "नहीं", "मिली", "।"]),  # Hindi
        ("العَرَبِيَّةُ، جميلة؟", ["العَرَبِيَّةُ", "،", "جميلة", "؟"]),  # Arabic with vowels
        ("می\u200cخواهم بروم", ["می\u200cخواهم", "بروم"]),  # Persian, a joiner
        ("日本語のtext，東京", ["日", "本", "語", "の", "text", "，", "東", "京"]),
        ("ไทย ๑๒", ["ไ", "ท", "ย", "๑๒"]),
        ("ก็ดี", ["ก็", "ดี"]),  # a letter with its vowel
        ("m̃bo ❤️ l'été", ["m̃bo", "❤️", "l'été"]),
    ],
)
def test_words_are_whole_in_every_script(text: str, words: list[str]) -> None:
    assert split_raw(text) == words
    tokenizer = RawWords.train(f"{text}\n" * 3, TextConfig())
    assert [tokenizer.tokens[number].strip() for number in tokenizer.encode(text)] == words
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_runs_before_scripts_keep_their_tokens() -> None:
    pieces = [" म", "ि", "ल", "ी"]
    old = RawWords.from_data({"words": pieces, "lowercase": False})
    new = RawWords.from_data({"words": [" मिली"], "lowercase": False, "scripts": True})
    assert [old.tokens[number] for number in old.encode("मिली")] == pieces
    assert [new.tokens[number] for number in new.encode("मिली")] == [" मिली"]
    assert old.to_data() == {"words": pieces, "lowercase": False}
    assert new.to_data()["scripts"] is True


def test_typed_words_keep_their_vowel_signs() -> None:
    form = CorpusForm("के है में । , लड़का".split())
    assert form.split("नदियों में पानी है।") == ["नदियों", "में", "पानी", "है", "।"]
    assert form.split("नई बिल्ली , है ।") == ["नई", "बिल्ली", ",", "है", "।"]


def test_typed_text_is_known_by_the_marks_of_its_script() -> None:
    assert is_typed("नदी में पानी है।")
    assert is_typed("هل رأيت البيت؟")
    assert not is_typed("नदी में पानी है ।")


@pytest.mark.parametrize("letter", ["ी", "é", "7", "\u200d", "東"])
def test_letters_digits_and_combining_marks_belong_to_words(letter: str) -> None:
    assert is_letter(letter)


@pytest.mark.parametrize("mark", ["।", "_", "，", "-"])
def test_marks_do_not(mark: str) -> None:
    assert not is_letter(mark)


def test_a_plain_text_is_split_by_the_faster_pattern() -> None:
    assert not has_other_scripts("Straße, été")
    assert has_other_scripts("東京")
    assert has_other_scripts("e\u0301")


def test_segmented_chinese_has_spaces() -> None:
    assert lacks_spaces({"日本語のテキスト": 3, "file": 2})
    assert not lacks_spaces({"我": 2, "喜欢": 3})
