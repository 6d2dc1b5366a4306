"""The tokenizers of elman as `tokenizer.json` of the `tokenizers` library.

In elman every newline is the token `<eos>`, and no other text is. In the library the same id is an
added token with the text "\\n": it is split off before anything else, and decodes to a newline. A
text that contains `<eos>` stays text. One further id, `<|endoftext|>`, begins and pads texts; the
model reads it as `<eos>` and never predicts it. (transformers leaves out special tokens when it
decodes and does not train on padding: a newline must be neither.)

    words        white space separates; each word has a mark before it, which decodes to a space
    raw-words    pieces by a regular expression, each with a mark before it; a piece outside the
                 vocabulary falls apart into bytes, and its mark is dropped
    characters   BPE without merges
    bytes        byte-level BPE without merges
    bpe, unigram the trained models, with every id one higher
"""

from __future__ import annotations

import json
from functools import singledispatch
from typing import Any

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Library

from elman.errors import InputError
from elman.text.characters import Bytes, Characters
from elman.text.letters import SCRIPTS_WITHOUT_SPACES
from elman.text.normalising import Normaliser
from elman.text.raw_words import RawWords
from elman.text.subwords import BytePairs, Unigram
from elman.text.tokenizer import UNKNOWN, Tokenizer
from elman.text.word_list import WordList
from elman.text.words import Words

NEWLINE = "\n"
BOUNDARY = "<|endoftext|>"  # begins and pads a text; its id follows the vocabulary
_MARK = "▁"  # before every piece of raw words; not in the alphabet of bytes
_KEPT = "\ue130"  # stands for İ, from the private use area
_WORD = "\ue131"  # before every word, from the private use area
_LETTER = r"[\p{L}\p{Nl}\p{No}]"
_MARKS = r"[\p{M}\x{200c}\x{200d}]"


def to_library(tokenizer: Tokenizer) -> Library:
    """The tokenizer as one of the library."""
    library = _convert(tokenizer)
    steps = _normalise(tokenizer.normaliser)
    if tokenizer.lowercase:
        # As in elman, the one letter that would get longer stays as it is.
        steps += [
            normalizers.Replace("İ", _KEPT),
            normalizers.Lowercase(),
            normalizers.Replace(_KEPT, "İ"),
        ]
    if library.normalizer is not None:
        steps.append(library.normalizer)
    if steps:
        library.normalizer = normalizers.Sequence(steps)
    library.add_tokens([AddedToken(NEWLINE, normalized=False, special=False)])
    library.add_special_tokens([AddedToken(BOUNDARY, normalized=False, special=True)])
    return library


def words_to_library(words: WordList) -> Library:
    """The words of a classifier or tagger: split at white space, looked up in the list."""
    vocabulary = {word: number for number, word in enumerate(words.words)}
    library = Library(models.WordLevel(vocabulary, unk_token=words.words[0]))
    steps = _normalise(words.normaliser)
    if words.lowercase:
        steps.append(normalizers.Lowercase())
    if words.digits_alike:
        steps.append(normalizers.Replace(Regex(r"\d"), "0"))
    if steps:
        library.normalizer = normalizers.Sequence(steps)
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    library.add_special_tokens([AddedToken(BOUNDARY, normalized=False, special=True)])
    return library


def byte_alphabet() -> list[str]:
    """The character that stands for each byte in byte-level models."""
    library = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ascii_ = [library.pre_tokenize_str(chr(byte))[0][0] for byte in range(128)]
    # Printable bytes stand for themselves; the others are numbered from 256 on.
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(256, 512))
    found = [chr(byte) if byte in own else chr(next(others)) for byte in range(256)]
    assert found[:128] == ascii_
    return found


@singledispatch
def _convert(tokenizer: Tokenizer) -> Library:
    raise InputError(
        f"the tokenizer {tokenizer.name!r} has no form in tokenizer.json; train with another one "
        "(elman list tokenizers)"
    )


@_convert.register
def _(tokenizer: Words) -> Library:
    vocabulary = {_WORD + token: number for number, token in enumerate(tokenizer.tokens)}
    del vocabulary[_WORD + tokenizer.tokens[tokenizer.eos_id]]
    vocabulary[NEWLINE] = tokenizer.eos_id
    library = Library(models.WordLevel(vocabulary, unk_token=_WORD + UNKNOWN))
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Metaspace(_WORD, prepend_scheme="always", split=False),
        ]
    )
    library.decoder = decoders.Sequence(
        [decoders.Replace(_WORD, " "), decoders.Fuse(), decoders.Replace("\n ", NEWLINE)]
    )
    return library


def _raw_pieces(tokenizer: RawWords) -> str:
    """The pattern of `text/raw_words.py` in the dialect of the library."""
    letters, ideograph, marks = rf"{_LETTER}+", "", ""
    if tokenizer.scripts:
        spaced = rf"(?:(?![{SCRIPTS_WITHOUT_SPACES}]){_LETTER})"
        letters = rf"{spaced}+(?:{_MARKS}+{spaced}*)*"
        ideograph = rf"| ?[{SCRIPTS_WITHOUT_SPACES}]{_MARKS}*"
        marks = rf"{_MARKS}*"
    elided = rf" ?(?!(?i:aujourd)['’](?i:hui)){_LETTER}+['’](?={_LETTER})|"
    return (
        rf"{elided if tokenizer.elisions else ''} ?{letters}(?:['’]{letters})*"
        rf"| ?\p{{Nd}}+{ideograph}| ?(?:[^\p{{L}}\p{{N}}\p{{Pc}}\s]|\p{{Pc}}){marks}|\s+(?= \S)|\s+"
    )


@_convert.register
def _(tokenizer: RawWords) -> Library:
    alphabet = byte_alphabet()
    vocabulary = {symbol: 1 + byte for byte, symbol in enumerate(alphabet)}
    for number, word in enumerate(tokenizer.words, start=257):
        vocabulary[_MARK + "".join(alphabet[byte] for byte in word.encode())] = number
    vocabulary[NEWLINE] = tokenizer.eos_id
    library = Library(models.BPE(vocabulary, [], ignore_merges=True))
    library.normalizer = normalizers.Prepend(" ")
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_raw_pieces(tokenizer)), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            pre_tokenizers.Metaspace(_MARK, prepend_scheme="always", split=False),
        ]
    )
    library.decoder = decoders.Sequence(
        [
            decoders.Replace(_MARK, ""),
            decoders.ByteLevel(),
            decoders.Replace("\n ", NEWLINE),
        ]
    )
    return library


@_convert.register
def _(tokenizer: Characters) -> Library:
    vocabulary = {token: number for number, token in enumerate(tokenizer.tokens) if number}
    vocabulary[NEWLINE] = tokenizer.eos_id
    library = Library(models.BPE(vocabulary, [], unk_token=UNKNOWN, fuse_unk=False))
    library.decoder = decoders.Fuse()
    return library


@_convert.register
def _(tokenizer: Bytes) -> Library:
    vocabulary = {symbol: byte for byte, symbol in enumerate(byte_alphabet())}
    del vocabulary[byte_alphabet()[tokenizer.eos_id]]
    vocabulary[NEWLINE] = tokenizer.eos_id
    library = Library(models.BPE(vocabulary, []))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.decoder = decoders.ByteLevel()
    return library


@_convert.register
def _(tokenizer: BytePairs) -> Library:
    data = json.loads(tokenizer.library.to_str())
    vocabulary = data["model"]["vocab"]
    raised = {piece: number + tokenizer.offset for piece, number in vocabulary.items()}
    data["model"]["vocab"] = {NEWLINE: tokenizer.eos_id, **raised}
    return Library.from_str(json.dumps(data))


@_convert.register
def _(tokenizer: Unigram) -> Library:
    data = json.loads(tokenizer.library.to_str())
    (_, score), *pieces = data["model"]["vocab"]
    # The newline is never looked for in a line; the best score leaves all others as they are.
    best = max((each for _, each in pieces), default=0.0)
    data["model"]["vocab"] = [[NEWLINE, best], [UNKNOWN + NEWLINE, score], *pieces]
    data["model"]["unk_id"] = tokenizer.unknown_id
    library = Library.from_str(json.dumps(data))
    library.decoder = decoders.Sequence(
        [decoders.Replace(UNKNOWN + NEWLINE, UNKNOWN), decoders.Fuse()]
    )
    return library


def _normalise(normaliser: Normaliser) -> list[Any]:
    """The form of the text, as in `text/normalising.py`."""
    if normaliser.form == "none":
        return []
    steps: list[Any] = [normalizers.NFC()]
    if normaliser.form == "nfc":
        return steps
    steps += [
        normalizers.Replace(Regex("[‘’ʼ]"), "'"),
        normalizers.Replace(Regex("[“”„]"), '"'),
    ]
    if normaliser.typographic:
        before = r"(?<![^\s(\[{—–-])"
        steps += [
            normalizers.Replace(Regex(rf"{before}'(?=\w)"), "‘"),
            normalizers.Replace("'", "’"),
            normalizers.Replace(Regex(rf'{before}"'), "“"),
            normalizers.Replace('"', "”"),
        ]
    return steps
