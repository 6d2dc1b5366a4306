"""Splitting typed text like a tokenized corpus, for different conventions."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from elman.text.corpus_form import CorpusForm
from elman.text.words import Line

TYPED = "He didn't see the house, but John's dog did."


def write(tokens: list[str]) -> str:
    line = Line()
    return "".join(line.add(token) for token in tokens)


def form_of(text: str) -> CorpusForm:
    counts = Counter(text.split())
    return CorpusForm([word for word, _ in counts.most_common()])


# Small corpora, each with one convention.
WIKI = form_of(
    "He didn 't see the house , but John 's dog did . \" The well @-@ known dogs ' bones \" cost "
    "3 @.@ 5 ( U.S. ) dollars ; isn 't it ? O 'Brien said no . Mr. X , no . 1 @,@ 000 ... $ 5 % "
    + " , . "
    * 40
)
TREEBANK = form_of(
    "he did n't see the house but john 's dog did n't in N or N u.s. firms mr. x said no no no "
    "well-known o'brien is n't no. $ N dogs ' bones "
    * 3
    + " ".join(f"word{number}" for number in "abcdefghijklmnopqrstuvwxyz" * 2)
)
RAW = form_of("He didn't see the house, but John's dog did. The dogs, cats, and mice, ran. No, no.")
FRENCH = form_of("l' ami qu' il n' aime pas , c' est l' ami . " * 3)


@pytest.mark.parametrize(
    ("form", "typed", "tokens"),
    [
        (WIKI, TYPED, "He didn 't see the house , but John 's dog did ."),
        (WIKI, '"The well-known (U.S.) bones"', '" The well @-@ known ( U.S. ) bones "'),
        (WIKI, "It cost 3.5 or 1,000...", "It cost 3 @.@ 5 or 1 @,@ 000 ..."),
        (WIKI, "O'Brien isn't Mr. X.", "O 'Brien isn 't Mr. X ."),
        (WIKI, "$5, 5%", "$ 5 , 5 %"),
        (TREEBANK, TYPED, "he did n't see the house but john 's dog did"),
        (TREEBANK, "In 1987 Mr. O'Brien said no.", "in N mr. o'brien said no"),
        (TREEBANK, "A well-known U.S. firm isn't in.", "a well-known u.s. firm is n't in"),
        (RAW, TYPED, TYPED),
        (FRENCH, "L'ami qu'il n'aime pas, c'est ça.", "l' ami qu' il n' aime pas , c' est ça ."),
    ],
)  # fmt: skip
def test_typed_text_becomes_tokens_of_the_corpus(form: CorpusForm, typed: str, tokens: str) -> None:
    assert " ".join(form.split(typed)) == tokens


def test_places_are_those_of_the_typed_text() -> None:
    for piece in WIKI.pieces(TYPED):
        assert TYPED[piece.start : piece.end] == piece.token


def test_tokenized_text_stays_as_it_is() -> None:
    line = 'He saw the never-seen house , " John \'s " .'
    assert WIKI.split(line) == line.split()
    assert WIKI.split("The <unk> saw <unk>.") == ["The", "<unk>", "saw", "<unk>", "."]


def test_marks_that_a_corpus_never_has_are_left_out_or_kept() -> None:
    words = ["the", "house", "dog"]
    assert CorpusForm(words).split("the house, the dog!") == ["the", "house", "the", "dog"]
    kept = CorpusForm(words, keeps_marks=True).split("the house, the dog!")
    assert kept == ["the", "house", ",", "the", "dog", "!"]


def test_a_word_list_without_case_keeps_the_case_of_the_text() -> None:
    form = CorpusForm(["the", ",", "house", "."], str.lower)
    assert form.split("The House, Sir.") == ["The", "House", ",", "Sir", "."]


def test_a_chance_token_does_not_hide_its_word() -> None:
    # `house,` slipped into the training text once; `house` and `,` are far more frequent.
    form = form_of("house , the house , a house . " * 20 + "house, no. the no.1 no no")
    assert form.split("the house, no. yes no.") == ["the", "house", ",", "no.", "yes", "no", "."]


@pytest.mark.parametrize(
    "tokens",
    [
        "He didn 't see the house , but John 's dog did .",
        '" I saw it , " he said . " Really ? "',
        "the well @-@ known dogs ' bones cost 3 @.@ 5 ( or $ 5 ) %",
        "he did n't go ; she 'll stay",
    ],
)
def test_written_text_reads_well(tokens: str) -> None:
    written = write(tokens.split())
    for wrong in (" ,", " .", "( ", " )", " n't", " 't", " 's", "@", '" I', "$ "):
        assert wrong not in written.replace('said. "R', "")
    assert written.count('"') % 2 == 0


def test_quotes_open_and_close() -> None:
    assert write('he said " no " and " yes "'.split()) == 'he said "no" and "yes"'
    assert write("the dogs ' food ' is here '".split()) == "the dogs' food 'is here'"


@pytest.mark.parametrize(
    ("name", "share"), [("ptb/ptb.train.txt", 0.99), ("wikitext-2/wiki.train.tokens", 0.9)]
)
def test_real_corpora_there_and_back(
    name: str, share: float, corpus: Callable[[str], Path]
) -> None:
    folder, file = name.split("/")
    text = (corpus(folder) / file).read_text("utf-8")
    lines = [line.split() for line in text.split("\n")[:3000] if line.strip()]
    form = form_of(text)
    same = sum(form.split(" ".join(line)) == line for line in lines)
    assert same >= 0.999 * len(lines)  # what is tokenized already is left alone
    back = sum(form.split(write(line)) == line for line in lines)
    assert back >= share * len(lines)
