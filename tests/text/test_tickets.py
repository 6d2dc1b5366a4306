"""The ticket corpus: a word at the end that was named 6 to 40 tokens before."""

from collections import Counter
from random import Random
from typing import Any

from elman.text.corpora import open_corpus
from elman.text.tickets import TICKET_SENTENCE, Tickets


def test_the_last_word_is_the_one_that_was_to_be_printed() -> None:
    for line in Tickets(lines=40).text("train").splitlines():
        words = line.replace(",", "").replace(".", "").split()
        assert words[-1] == words[6]
        assert words.count(words[-1]) == 2


def test_the_word_is_to_be_remembered_for_several_distances() -> None:
    lines = Tickets(lines=400).text("train").splitlines()
    tokens = [line.replace(",", " ,").replace(".", " .").split()[:-1] for line in lines]
    distances = Counter(len(line) - 1 - line.index(line[-1]) for line in tokens)
    assert sorted(distances) == [6, 13, 21, 28, 40]
    assert min(distances.values()) > 40


def test_the_sentence_of_the_lectures_is_one_of_them() -> None:
    class Lecturer(Random):
        """Chooses what the sentence has, and the longest story."""

        def choice(self, options: Any) -> Any:
            words = TICKET_SENTENCE.replace(".", "").replace(",", "").split()
            return next((one for one in options if one in words), max(options, key=len))

    assert Tickets(lines=20).draw(Lecturer()).text == TICKET_SENTENCE


def test_no_line_is_in_two_splits() -> None:
    corpus = open_corpus("tickets:lines=500")
    lines = {name: {*corpus.split(name).text.splitlines()} for name in ("train", "valid", "test")}
    assert not lines["train"] & (lines["valid"] | lines["test"])
    assert not lines["valid"] & lines["test"]
    assert len(lines["train"]) > 300


def test_the_same_seed_gives_the_same_text() -> None:
    assert Tickets(lines=40).text("train") == Tickets(lines=40).text("train")
    assert Tickets(lines=40).text("train") != Tickets(lines=40, seed=1).text("train")
