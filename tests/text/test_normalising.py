"""Unicode normalisation: characters that look the same are the same."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elman.errors import InputError
from elman.text import TOKENIZERS, tokenizer_from_data, tokenizer_to_data, train_tokenizer
from elman.text.normalising import AS_IT_IS, Normaliser
from elman.text.tokenizer import TextConfig, Tokenizer
from elman.text.word_list import WordList

NFC = "un café très cher , qu'il n'aime pas .\n" * 30
NFD = unicodedata.normalize("NFD", NFC)


def trained(name: str, text: str = NFC, normalise: str = "nfc") -> Tokenizer:
    sizes = {"bpe": 280, "unigram": 60}
    config = TextConfig(tokenizer=name, normalise=normalise, vocabulary_size=sizes.get(name))
    return train_tokenizer(text, config)[0]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_composed_and_decomposed_text_get_the_same_ids(name: str) -> None:
    tokenizer = trained(name)
    assert tokenizer.encode(NFD).tolist() == tokenizer.encode(NFC).tolist()
    assert trained(name, NFD).tokens == tokenizer.tokens  # whichever of them it was trained on
    again = tokenizer_from_data(tokenizer_to_data(tokenizer))
    assert again.encode(NFD).tolist() == tokenizer.encode(NFC).tolist()


def test_a_run_of_version_0_1_takes_text_as_it_is() -> None:
    data = tokenizer_to_data(trained("words"))
    del data["normalise"]
    assert tokenizer_from_data(data).normaliser == AS_IT_IS
    assert tokenizer_from_data(data).encode(NFD).tolist() != trained("words").encode(NFC).tolist()


@pytest.mark.parametrize("name", TOKENIZERS)
def test_places_are_those_of_the_text_as_it_was_given(name: str) -> None:
    text = unicodedata.normalize("NFD", "un café très cher")
    spans = trained(name).spans(text)
    assert spans.ends[-1] == len(text)
    assert np.all(np.diff(spans.ends) >= 0)
    words = {text[start:end].strip() for start, end in zip(spans.starts, spans.ends, strict=True)}
    if name == "words":
        assert words == {*text.split()}


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_every_character_has_its_place(text: str) -> None:
    normaliser = Normaliser("nfc")
    places = normaliser.places(text)
    assert len(places) == len(normaliser(text)) + 1
    assert np.all(np.diff(places) >= 0)
    assert places[-1] == len(text)


@pytest.mark.parametrize(
    ("training", "typed"),
    [
        ('don\'t say "no" .\n', "don’t say “no” .\n"),
        ("don’t say “no” .\n", 'don\'t say "no" .\n'),
        ("it’s ‘so’ .\n", "it's 'so' .\n"),
    ],
)
def test_quotes_take_the_form_of_the_training_text(training: str, typed: str) -> None:
    tokenizer = trained("characters", training * 20, "nfc+quotes")
    assert tokenizer.encode(typed).tolist() == tokenizer.encode(training).tolist()
    assert tokenizer.decode(tokenizer.encode(typed)) == training
    plain = trained("characters", training * 20)
    assert plain.encode(typed).tolist() != plain.encode(training).tolist()  # nfc leaves them


def test_word_lists_do_the_same() -> None:
    words = WordList.learn([NFC.split()], normalise="nfc")
    assert words.ids(NFD.split()).tolist() == words.ids(NFC.split()).tolist()
    assert 0 not in WordList.from_data(words.to_data()).ids(NFD.split())


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(InputError, match=r"text.normalise 'nfd'"):
        TextConfig(normalise="nfd")
