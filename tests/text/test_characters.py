"""One token per character."""

from elman.text.characters import Characters
from elman.text.tokenizer import TextConfig


def test_characters_are_numbered_by_frequency_then_code() -> None:
    tokenizer = Characters.train("abba\nac", TextConfig())
    assert tokenizer.tokens == ["<eos>", "<unk>", "a", "b", "c"]
    assert tokenizer.encode("cab\n").tolist() == [4, 2, 3, 0]


def test_a_character_not_seen_is_unknown_below_and_above_the_known_codes() -> None:
    tokenizer = Characters.train("é", TextConfig())
    assert tokenizer.encode("aèéê😀").tolist() == [1, 1, 2, 1, 1]  # codes è, é, ê follow each other
    assert tokenizer.decode([1, 2, 0]) == "<unk>é\n"


def test_rare_characters_are_unknown() -> None:
    assert Characters.train("aabc", TextConfig(min_count=2)).characters == ["a"]
    assert Characters.train("aabc", TextConfig(vocabulary_size=4)).characters == ["a", "b"]


def test_one_span_per_character() -> None:
    spans = Characters.train("ab", TextConfig()).spans("a😀b")
    assert spans.starts.tolist() == [0, 1, 2]
    assert spans.ends.tolist() == [1, 2, 3]
