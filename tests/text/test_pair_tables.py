"""Tables of minimal pairs: two sentences, marked forms, positions, and the files of Gulordava."""

import pytest

from elman.errors import InputError
from elman.text.minimal_pairs import MinimalPair
from elman.text.pair_tables import is_pair_table, read_gold, read_pair_table
from elman.text.reader import Document

GOOD, BAD = "the keys to the box are here .", "the keys to the box is here ."


def only(text: str, name: str = "pairs.tsv", **columns: str) -> MinimalPair:
    (pair,) = read_pair_table(Document(name, text), columns).pairs
    return pair


def critical(pair: MinimalPair) -> tuple[str, str]:
    assert pair.critical is not None
    (a, b), (c, d) = pair.critical
    return pair.good[a:b], pair.bad[c:d]


def test_two_sentences_by_names_or_numbers() -> None:
    row = f"{GOOD}\t{BAD}\tnumber\t1\n"
    named = only("Grammatical\tungrammatical\tUID\tn_attr\n" + row)
    assert (named.good, named.bad, named.paradigm, named.attractors) == (GOOD, BAD, "number", 1)
    numbered = only(row, good="1", bad="2", attractors="4")
    assert (numbered.good, numbered.paradigm, numbered.attractors) == (GOOD, "pairs", 1)
    quoted = only(f'a,b\n"{GOOD[:-2]}, yes","{BAD[:-2]}, yes"\n', "p.csv", good="a", bad="b")
    assert quoted.good.endswith("here, yes")


@pytest.mark.parametrize("mark", ["___", "***mask***", "[MASK]", "<mask>"])
def test_a_sentence_with_a_gap(mark: str) -> None:
    pair = only(f"sentence\tgood\tbad\n{GOOD.replace('are', mark)}\tare\tis\n")
    assert (pair.good, pair.bad, critical(pair)) == (GOOD, BAD, ("are", "is"))


def test_forms_in_brackets() -> None:
    pair = only(f"sentence\n{GOOD.replace('are', '[are|is]')}\n", sentence="sentence")
    assert (pair.good, pair.bad, critical(pair)) == (GOOD, BAD, ("are", "is"))


@pytest.mark.parametrize(("sentence", "index"), [(GOOD, 5), (BAD, 5), (GOOD, 6)])
def test_the_word_at_a_position_from_0_or_1(sentence: str, index: int) -> None:
    pair = only(f"sentence\tindex\tgood\tbad\n{sentence}\t{index}\tare\tis\n")
    assert (pair.good, pair.bad) == (GOOD, BAD)


def test_gold_files() -> None:
    text = Document("x.text", f"{GOOD}\n{BAD}\n")
    (one, two) = read_gold(text, Document("x.gold", "5\tare\tis\t1\n5\tis\tare\t0\n")).pairs
    assert (one.good, one.bad, one.attractors, critical(one)) == (GOOD, BAD, 1, ("are", "is"))
    assert (two.good, two.bad) == (BAD, GOOD)
    wide = "L!N_V\t0\t0\t5\tVERB\tNumber=Plur\tare\tis\tbe\t1\tNOUN\tthe keys\n"
    (pair, _) = read_gold(text, Document("x.gold", wide * 2)).pairs
    assert (pair.good, pair.paradigm) == (GOOD, "L!N_V")
    with pytest.raises(InputError, match="must match line by line"):
        read_gold(text, Document("x.gold", wide))


def test_unusable_rows_are_reported_and_counted() -> None:
    rows = [f"{GOOD}\t{BAD}", f"{GOOD}\t{GOOD}", f"{GOOD}\t"]
    found = read_pair_table(Document("p.tsv", "good\tbad\n" + "\n".join(rows)), {})
    assert len(found.pairs) == 1
    assert [line.line for line in found.skipped] == [3, 4]
    with pytest.raises(InputError, match="line 2: 'are' or 'is' is not at one place"):
        only("sentence\tgood\tbad\nit is what it is .\tare\tis\n")
    with pytest.raises(InputError, match="which columns are the pair"):
        only("a\tb\nx\ty\n")
    with pytest.raises(InputError, match="has no column 'c'"):
        only("a\tb\nx\ty\n", good="a", bad="c")


def test_only_tables_with_pairs_are_tables_of_pairs() -> None:
    assert is_pair_table(Document("p.tsv", "good\tbad\nx\ty\n"))
    assert not is_pair_table(Document("p.tsv", "good\tscore\nx\t1\n"))
    assert not is_pair_table(Document("p.jsonl", '{"good": 1, "bad": 2}\n'))
