"""Scores of parts of a sentence add up to that of the sentence, for every tokenizer."""

import math

import numpy as np
import pytest
from sentence_models import Pair, fitted

from elman.evaluation.pairs import judge_pairs
from elman.evaluation.suites import judge_suite
from elman.evaluation.surprisal import part_surprisals, word_surprisals
from elman.text import TOKENIZERS
from elman.text.minimal_pairs import MinimalPair
from elman.text.syntax_suites import Condition, Item, Suite, read_formula


@pytest.fixture(scope="module", params=TOKENIZERS)
def pair(request: pytest.FixtureRequest) -> Pair:
    return fitted(request.param)


@pytest.fixture(scope="module")
def words() -> Pair:
    return fitted("words")


def test_words_as_parts_are_the_table_of_words(pair: Pair) -> None:
    model, tokenizer = pair
    table = word_surprisals(model, tokenizer, "the cats sleep .\na dog sees\n", base=math.e)
    parts = part_surprisals(model, tokenizer, [["the", "cats", "sleep", "."], ["a", "dog", "sees"]])
    flat = [part for sentence in parts for part in sentence]
    rows = [row for row in table if row.word != "<eos>"]
    for part, row in zip(flat, rows, strict=True):
        assert part is not None
        assert part.surprisal == pytest.approx(row.surprisal_uncorrected)
        assert part.entropy == pytest.approx(row.entropy)
        assert (len(part.token_surprisals), part.unknown) == (row.tokens, row.unknown)


def test_parts_of_several_words_and_of_none(pair: Pair) -> None:
    model, tokenizer = pair
    (cut,) = part_surprisals(model, tokenizer, [["", "the cats", " ", "sleep  ."]])
    (whole,) = part_surprisals(model, tokenizer, [["the cats sleep ."]])
    assert cut[0] is None
    assert cut[2] is None
    total = sum(part.surprisal for part in cut if part)
    assert whole[0] is not None
    assert total == pytest.approx(whole[0].surprisal)
    assert part_surprisals(model, tokenizer, [["", " "], ["the"]])[0] == [None, None]


def test_a_pair_is_judged_by_the_whole_sentence(words: Pair) -> None:
    model, tokenizer = words
    good, longer = "the cats sleep .", "the cats sleep . ."
    pairs = [MinimalPair(good, longer, "p"), MinimalPair("zebra", "zebras", "q")]
    first, second = judge_pairs(model, tokenizer, pairs)
    table = word_surprisals(model, tokenizer, good + "\n", base=math.e)
    assert first.good_log_probability == pytest.approx(-sum(row.surprisal for row in table))
    assert (first.judgement.right, first.judgement.tie) == (True, False)
    judged = second.judgement  # two unknown words are the same
    assert (judged.right, judged.tie, judged.unknown) == (False, True, True)
    (mean,) = judge_pairs(model, tokenizer, pairs[:1], per_token=True)
    assert mean.good_log_probability == pytest.approx(first.good_log_probability / 5)
    assert mean.bad_log_probability == pytest.approx(first.bad_log_probability / 6)


def test_the_predictions_of_a_suite(words: Pair) -> None:
    model, tokenizer = words
    right = Condition("right", (1, 2), ("the cats", "sleep"))
    wrong = Condition("wrong", (1, 2), ("the cats", "sleeps"))
    formulas = ("(2;%wrong%) > (2;%right%)", "(1;%wrong%) > (1;%right%)")
    suite = Suite(
        "s", "sum", tuple(read_formula(f) for f in formulas), (Item("1", (right, wrong)),)
    )
    first, second, together = judge_suite(model, tokenizer, suite)
    assert (first.judgement.right, second.judgement.right, second.judgement.tie) == (1, 0, 1)
    assert (together.judgement.right, together.prediction) == (False, "all")
    table = word_surprisals(model, tokenizer, "the cats sleep")
    assert first.surprisals["(2;%right%)"] == pytest.approx(table[2].surprisal)
    assert second.surprisals["(1;%right%)"] == pytest.approx(
        table[0].surprisal + table[1].surprisal
    )
    mean = judge_suite(model, tokenizer, Suite("s", "mean", suite.predictions, suite.items))
    expected = np.mean([table[0].surprisal, table[1].surprisal])
    assert mean[1].surprisals["(1;%right%)"] == pytest.approx(expected)


def test_items_of_a_suite_are_excluded_if_they_differ_in_an_unknown_word(words: Pair) -> None:
    model, tokenizer = words
    formulas = (read_formula("(2;%wrong%) > (2;%right%)"),)

    def excluded(noun: str, other: str, rule: str) -> bool:
        right = Condition("right", (1, 2), (f"the {noun}", "sleep"))
        wrong = Condition("wrong", (1, 2), (f"the {other}", "sleeps"))
        suite = Suite("s", "sum", formulas, (Item("1", (right, wrong)),))
        (judged,) = judge_suite(model, tokenizer, suite, exclude_unknown=rule)
        return judged.judgement.excluded

    assert [excluded("zebras", "zebras", rule) for rule in ("differing", "any", "never")] == [
        0,
        1,
        0,
    ]
    assert [excluded("cats", "zebras", rule) for rule in ("differing", "any", "never")] == [1, 1, 0]


def test_surprisal_alone_is_that_beside_entropy(pair: Pair) -> None:
    model, tokenizer = pair
    sentences = [["the", "cats", "sleep", "."], ["the", "cats", "sees"]]
    both = part_surprisals(model, tokenizer, sentences)
    alone = part_surprisals(model, tokenizer, sentences, entropy=False)
    for rows in zip(both, alone, strict=True):
        for first, second in zip(*rows, strict=True):
            assert first is not None
            assert second is not None
            assert second.surprisal == pytest.approx(first.surprisal)
            assert math.isnan(second.entropy)
