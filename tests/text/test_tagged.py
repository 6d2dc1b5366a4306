"""Sentences in columns and CoNLL-U: read correctly, or refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from elman.errors import InputError
from elman.tasks.tagging.reader import TaggedSentence, read_tagged
from elman.text.reader import Document, read_document
from elman.text.tag_schemes import check_scheme, find_entities, scheme_of, tags_in

CONLLU = """# sent_id = 1
# text = I didn't
1\tI\tI\tPRON\tPRP\t_\t2\tnsubj\t_\t_
2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdid\tdo\tAUX\tVBD\t_\t0\troot\t_\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_

# sent_id = 2
1\tNo\tno\tINTJ\tUH\t_\t0\troot\t_\t_
"""


def read(text: str, column: str = "") -> list[TaggedSentence]:
    return read_tagged(Document("here", text), column)


def test_columns_have_the_word_first_and_the_tag_last() -> None:
    text = "Ann NNP B-PER\nsees VBZ O\n\n\n \nBob NNP B-PER\n"
    first, second = read(text)
    assert first == TaggedSentence(("Ann", "sees"), ("B-PER", "O"))
    assert second.words == ("Bob",)
    assert read(text, "2")[0].tags == ("NNP", "VBZ")


def test_tabs_keep_words_with_spaces_together() -> None:
    assert read("New York\tLOC\n")[0] == TaggedSentence(("New York",), ("LOC",))


def test_multiword_tokens_and_empty_nodes_are_passed_over() -> None:
    first, second = read(CONLLU)
    assert first == TaggedSentence(("I", "did", "n't"), ("PRON", "AUX", "PART"))
    assert second == TaggedSentence(("No",), ("INTJ",))
    assert read(CONLLU, "xpos")[1].tags == ("UH",)


def test_columns_with_spaces_between_them() -> None:
    text = (
        "# text = Dogs bark\n1 Dogs dog NOUN _ _ 2 nsubj _ _\n2 bark bark VERB _ _ 0 root _ _\n\n"
    )
    first, _ = read_tagged(Document("here", text * 2))
    assert (first.words, first.tags) == (("Dogs", "bark"), ("NOUN", "VERB"))


def test_comments_without_a_space() -> None:
    assert read(CONLLU.replace("# ", "#")) == read(CONLLU)


def test_sentences_without_a_blank_line_between_them() -> None:
    with pytest.raises(InputError, match=r"here, line 8: is a comment inside a sentence; put a b"):
        read(CONLLU.replace("\n\n", "\n"))


def test_the_beginning_of_a_document_is_no_sentence() -> None:
    assert len(read("-DOCSTART- -X- O\n\nAnn NNP B-PER\n")) == 1


LISTS = '{"tokens": ["Ann", "New York"], "ner_tags": ["B-PER", "B-LOC"], "labels": ["x"]}\n'


def test_lists_of_words_and_tags() -> None:
    document = Document("here", LISTS + "\n" + '{"tokens": [], "ner_tags": []}\n')
    assert read_tagged(document) == [TaggedSentence(("Ann", "New York"), ("B-PER", "B-LOC"))]
    assert document.notes == ["here: JSON lines, tags = ner_tags"]
    words = '{"words": ["Ann"], "tags": ["O"], "pos": ["NNP"]}'
    assert read(words)[0].tags == ("O",)
    assert read(words, "pos")[0].tags == ("NNP",)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"tokens": ["a"], "tags": ["O", "O"]}', "here, line 2: has 1 words and 2 tags"),
        ('{"tokens": ["a"], "tags": [3]}', "here, line 2: has tags that are not texts, such as 3"),
        ('{"tokens": ["a"]}', "here, line 2: has no list of tags in 'tags'; name their field"),
        ('{"tags": ["O"]}', "here, line 2: has no list of words; write {"),
        ('{"tokens": [" "], "tags": ["O"]}', "here, line 2: has an empty word"),
        ('{"tokens": ["a"], "tags": [""]}', "here, line 2: the tag of a word is empty"),
        ('["a"]', "here, line 2: must be an object like {"),
    ],
)
def test_wrong_lists_of_words_and_tags(line: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read('{"tokens": ["Ann"], "tags": ["O"]}\n' + line)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize("quote", ["", '"'])
def test_tables_of_words_are_refused_as_such(quote: str) -> None:
    rows = [f"{n // 3},{quote}word {n}{quote},O\n" for n in range(9)]
    with pytest.raises(InputError, match=r"here: looks like a CSV table; a tagger reads one word"):
        read("sentence,word,tag\n" + "".join(rows))


def test_further_columns_are_features() -> None:
    (sentence,) = read_tagged(Document("here", "Ann NNP x B-PER\nsees VBZ y O\n"), "", ["3", "2"])
    assert sentence.features == (("x", "NNP"), ("y", "VBZ"))
    assert sentence.given() == [("Ann", "x", "NNP"), ("sees", "y", "VBZ")]
    assert TaggedSentence.of(sentence.given(), sentence.tags) == sentence
    first, _ = read_tagged(Document("here", CONLLU), "", ["xpos", "lemma"])
    assert first.features == (("PRP", "I"), ("VBD", "do"), ("RB", "not"))
    plain = read("Ann O\n")[0]
    assert plain.given() == ["Ann"]
    assert TaggedSentence.of(plain.given(), plain.tags) == plain


def test_features_that_are_not_there() -> None:
    with pytest.raises(InputError, match="here, line 2: the feature is missing"):
        read_tagged(Document("here", "Ann\tN\tO\nsees\t\tO\n"), "", ["2"])
    with pytest.raises(InputError, match="text.features=xops: here .*did you mean 'xpos'"):
        read_tagged(Document("here", CONLLU), "", ["xops"])


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("Ann NNP B-PER\nsees O\n", "", "here, line 2: has 2 columns where the file began with 3"),
        ("Ann X O\n\nsees O\n", "", "here, line 3: has 2 columns where the file began with 3"),
        ("Ann\nsees\n", "", "here: has one column; write a tag after each word"),
        ("a dog runs\tein Hund\na cat\teine Katze\n", "", "here: most lines contain several words"),
        (
            "a fine film\tgood\na dull film\tbad\n",
            "",
            "here: most lines contain several words",
        ),
        ("Ann\tO\nsees\t\n", "", "here, line 2: the tag is missing"),
        ("Ann\tO\n\tO\n", "", "here, line 2: the word is missing"),
        ("# only = this\n\t\n", "", "here: has no sentences"),
        ("1\tI\t_\t_\t_\t_\t_\t_\t_\t_\n", "", "here: has no tags, only _; name their column"),
        ("Ann O\n", "3", "text.column=3: here has no such column"),
        (CONLLU, "upso", "text.column=upso: here has no such column; did you mean 'upos'"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, column: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text, column)
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "sentence", [["B-A", "O"], ["B-A", "I-A"], ["I-A", "B-A", "E-A"], ["B-A", "E-B"]]
)
def test_bio_among_bioes_is_refused(sentence: list[str]) -> None:
    good = [["S-A", "O", "B-B", "I-B", "E-B"]]
    check_scheme("here", good)
    check_scheme("here", [["B-A", "I-A", "B-B"]])
    with pytest.raises(InputError, match="here: mixes BIO and BIOES: .* in sentence 2 a span ends"):
        check_scheme("here", [*good, sentence])


def test_schemes_and_what_tags_become() -> None:
    assert scheme_of([["B-A", "I-A"]]) == "bio"
    assert scheme_of([["O"], ["S-A"]]) == "bioes"
    assert tags_in(["O", "S-A", "E-B"], "bio") == {"O", "B-A", "I-B"}
    assert tags_in(["O", "B-A", "I-A"], "bioes") == {"O", "B-A", "S-A", "I-A", "E-A"}


# What the READMEs beside the corpora say ----------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "sentences", "words"),
    [
        ("en_ewt-ud-train.conllu.gz", 12_544, 204_577),
        ("en_ewt-ud-dev.conllu", 2_001, 25_147),
        ("en_ewt-ud-test.conllu", 2_077, 25_094),
    ],
)
def test_the_web_treebank(
    file: str, sentences: int, words: int, corpus: Callable[[str], Path]
) -> None:
    found = read_tagged(read_document(corpus("ud-english-ewt") / file))
    assert (len(found), sum(len(one.words) for one in found)) == (sentences, words)
    assert len({tag for one in found for tag in one.tags}) == 17


@pytest.mark.parametrize(
    ("file", "sentences", "words", "spans", "tags"),
    [
        ("conll2000/train.txt", 8_936, 211_727, 106_978, 22),
        ("conll2000/test.txt", 2_012, 47_377, 23_852, 19),
        ("wnut17/wnut17train.conll", 3_394, 62_730, 1_975, 13),
        ("wnut17/emerging.dev.conll", 1_009, 15_733, 836, 13),
        ("wnut17/emerging.test.annotated", 1_287, 23_394, 1_079, 13),
    ],
)
def test_chunks_and_entities(
    file: str, sentences: int, words: int, spans: int, tags: int, corpus: Callable[[str], Path]
) -> None:
    folder, _, name = file.partition("/")
    found = read_tagged(read_document(corpus(folder) / name))
    check_scheme(file, [one.tags for one in found])
    assert (len(found), sum(len(one.words) for one in found)) == (sentences, words)
    assert sum(len(find_entities(one.tags)) for one in found) == spans
    assert len({tag for one in found for tag in one.tags}) == tags


def test_a_word_may_have_a_space_in_it() -> None:
    (sentence,) = read("Ann\tB-PER\n10 000\tO\n")  # as French numbers are written
    assert sentence.words == ("Ann", "10 000")


def test_a_note_says_that_blank_lines_are_missing() -> None:
    document = Document("here", "a B-X\nb O\n" * 600)
    read_tagged(document)
    assert document.notes == [
        "here: the longest sentence has 1,200 words; a blank line must follow every sentence"
    ]
    document = Document("here", "a B-X\nb O\n\n" * 600)
    read_tagged(document)
    assert document.notes == []


def test_running_text_is_not_called_a_damaged_table() -> None:
    lines = ["a dog runs", "two men sit in a park", "no", "the old man walks home", "a b"]
    with pytest.raises(InputError, match=r"^x: looks like running text; a tagger learns from one"):
        read_tagged(Document("x", "\n".join(lines)))
