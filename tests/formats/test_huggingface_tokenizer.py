"""`tokenizer.json` gives the ids of elman, and the text back, for every tokenizer."""

import pytest

from elman.formats.huggingface_tokenizer import BOUNDARY, to_library
from elman.text import TOKENIZERS
from elman.text.raw_words import RawWords
from elman.text.tokenizer import TextConfig, Tokenizer

TEXT = """The cat sat on the mat , didn't it ?
"No ," said the dog's owner : 3 cats , 42 dogs ; a (small) mouse .

Über naïve café — ein Stück “Brot” für 7.50 € , o'clock !
the cat saw the dog . the dog saw the cat .
"""
PROBES = [
    "the cat",
    "the cat sat .\nthe dog",
    "\n",
    "\n\nthe\n",
    "",
    "unseen Wörter 日本語 🙂 z(y)x (the dog's",
    "a  b   c ",
    " the cat\n  the\tdog",
    "dog-cat's 3a 33.5% x_y __",
    "e\u0301 “quoted” 'single' l'ami",
    "the <unk> cat <unk>",
    "İstanbul ǅ ß",
]
SPACE_FIRST = ["words", "raw-words"]
CONFIGS = [
    {},
    {"lowercase": True},
    {"normalise": "nfc+quotes"},
    {"normalise": "nfc"},
]


def trained(name: str, settings: dict[str, object], text: str = TEXT) -> Tokenizer:
    size = {"bpe": 300, "unigram": 90}.get(name)
    config = TextConfig(tokenizer=name, vocabulary_size=size, **settings)
    return TOKENIZERS[name].train(text * 2, config)


@pytest.mark.parametrize("settings", CONFIGS, ids=str)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_ids_and_texts_are_the_same(name: str, settings: dict[str, object]) -> None:
    tokenizer = trained(name, settings)
    library = to_library(tokenizer)
    for probe in [TEXT, *PROBES]:
        ids = tokenizer.encode(probe).tolist()
        assert library.encode(probe).ids == ids, repr(probe)
        decoded = library.decode(ids, skip_special_tokens=True)
        if name in SPACE_FIRST:  # so that a continuation can be appended to its prompt
            decoded = decoded.removeprefix(" ")
        assert decoded == tokenizer.decode(ids), repr(probe)
    assert library.token_to_id(BOUNDARY) == len(tokenizer)


SCRIPTS = "नदियों में पानी है। می\u200cخواهم، العَرَبِيَّةُ 日本語のtext，東京。 ไม่ดี ❤️ 1️⃣ m̃bo 12x_3\n"


@pytest.mark.parametrize("scripts", [True, False])
def test_ids_are_the_same_in_every_script(scripts: bool) -> None:
    tokenizer = trained("raw-words", {}, SCRIPTS)
    assert isinstance(tokenizer, RawWords)
    tokenizer.scripts = scripts  # False: as in earlier runs
    for probe in [SCRIPTS, "नई बिल्ली, पानी।", "é̃ 東 京"]:
        assert to_library(tokenizer).encode(probe).ids == tokenizer.encode(probe).tolist()


def test_ids_of_elided_words_are_the_same() -> None:
    text = "l'ami qu’il Aujourd'hui n'a aujourd’hui L'AMI 'l' l' d'_x\n"
    tokenizer = trained("raw-words", {"elisions": True}, text)
    assert to_library(tokenizer).encode(text).ids == tokenizer.encode(text).tolist()


@pytest.mark.parametrize("name", SPACE_FIRST)
def test_a_continuation_can_be_appended(name: str) -> None:
    library = to_library(trained(name, {}))
    assert library.decode(library.encode("dog").ids) == " dog"


def test_curled_quotes_are_those_of_the_training_text() -> None:
    text = "“Yes” , it’s ‘so’ .\n" * 3
    tokenizer = trained("characters", {"normalise": "nfc+quotes"}, text)
    assert tokenizer.normaliser.typographic
    for probe in ["\"Yes\" it's 'so'", "('a' -'b')"]:
        assert to_library(tokenizer).encode(probe).ids == tokenizer.encode(probe).tolist()


@pytest.mark.parametrize("name", ["raw-words", "bytes", "bpe", "characters"])
def test_a_text_that_names_the_marker_stays_text(name: str) -> None:
    tokenizer = trained(name, {})
    ids = to_library(tokenizer).encode("the <eos> cat").ids
    assert ids == tokenizer.encode("the <eos> cat").tolist()
    assert tokenizer.eos_id not in ids
