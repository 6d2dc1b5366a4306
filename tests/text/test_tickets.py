"""The ticket corpus: a word at the end that was named forty words before."""

from elman.text.corpora import open_corpus
from elman.text.tickets import TICKET_SENTENCE, Tickets


def test_the_last_word_is_the_one_that_was_to_be_printed() -> None:
    for line in Tickets(lines=40).text("train").splitlines():
        words = line.replace(",", "").replace(".", "").split()
        assert words[-1] == words[6]
        assert len(words) > 40
        assert words.count(words[-1]) == 2


def test_the_sentence_of_the_lectures_is_one_of_them() -> None:
    everything = "".join(Tickets(lines=20_000).text(split) for split in ("train", "valid", "test"))
    assert TICKET_SENTENCE in everything.splitlines()


def test_no_line_is_in_two_splits() -> None:
    corpus = open_corpus("tickets:lines=500")
    lines = {name: {*corpus.split(name).text.splitlines()} for name in ("train", "valid", "test")}
    assert not lines["train"] & (lines["valid"] | lines["test"])
    assert not lines["valid"] & lines["test"]
    assert len(lines["train"]) > 300


def test_the_same_seed_gives_the_same_text() -> None:
    assert Tickets(lines=40).text("train") == Tickets(lines=40).text("train")
    assert Tickets(lines=40).text("train") != Tickets(lines=40, seed=1).text("train")
