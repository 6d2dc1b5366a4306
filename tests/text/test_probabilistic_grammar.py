"""A grammar small enough to work out by hand, and grammars that are refused."""

import math

import pytest

from elman.text.probabilistic_grammar import END, Grammar, Rules

# a's, as many b's, then c. A sentence with n a's has 2n + 1 words and probability 0.75 * 0.25^n.
NESTED: Rules = {
    "SENTENCE": [(1.0, ("PAIRS", "c"))],
    "PAIRS": [(0.25, ("a", "PAIRS", "b")), (0.75, ())],
}


def test_stack_and_distribution_of_a_prefix() -> None:
    grammar = Grammar(NESTED)
    stack = grammar.advance(grammar.advance(grammar.start(), "a"), "a")
    assert stack == ("PAIRS", "b", "b", "c")
    assert grammar.next_words(stack) == {"a": 0.25, "b": 0.75}
    assert grammar.advance(stack, "b") == ("b", "c")


def test_end_is_certain_when_nothing_is_pending() -> None:
    grammar = Grammar(NESTED)
    stack = grammar.advance(grammar.start(), "c")
    assert stack == ()
    assert grammar.next_words(stack) == {END: 1.0}
    assert grammar.advance(stack, END) == grammar.start()


def test_end_competes_with_words_when_all_that_is_pending_may_be_empty() -> None:
    grammar = Grammar({"S": [(0.25, ("a", "S")), (0.75, ())]}, start="S")
    assert grammar.next_words(("S",)) == {"a": 0.25, END: 0.75}
    assert grammar.log_probs(["a"]) == [math.log(0.25), math.log(0.75)]


def test_log_probs() -> None:
    # a: 1/4. b: the second pair is not opened, 3/4. c is then the only word, END follows it.
    assert Grammar(NESTED).log_probs(["a", "b", "c"]) == [math.log(0.25), math.log(0.75), 0.0, 0.0]


def test_entropy_and_length_by_hand() -> None:
    grammar = Grammar(NESTED)
    # PAIRS is used 1 + 1/4 + 1/16 + ... = 4/3 times, each time a choice of H(1/4) nats.
    entropy = 4 / 3 * -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    # One use of PAIRS says 1/4 * 2 words: 4/3 * 1/2 = 2/3; and c, and END.
    length = 2 / 3 + 2
    assert grammar.sentence_entropy() == pytest.approx(entropy, abs=1e-12)
    assert grammar.mean_length() == pytest.approx(length, abs=1e-12)
    assert grammar.entropy_rate() == pytest.approx(entropy / length, abs=1e-12)
    assert grammar.perplexity_limit() == pytest.approx(math.exp(entropy / length), abs=1e-12)


@pytest.mark.parametrize("words", [["b"], ["a", "c"], ["a", "b", END], ["c", "a"]])
def test_an_impossible_word_is_named_with_the_possible_ones(words: list[str]) -> None:
    grammar = Grammar(NESTED)
    stack = grammar.start()
    for word in words[:-1]:
        stack = grammar.advance(stack, word)
    possible = ", ".join(sorted(grammar.next_words(stack)))
    with pytest.raises(ValueError, match=f"'{words[-1]}' cannot come next; possible: {possible}$"):
        grammar.advance(stack, words[-1])


def test_an_unfinished_sentence_has_no_log_probs() -> None:
    with pytest.raises(ValueError, match="'<eos>' cannot come next; possible: a, b"):
        Grammar(NESTED).log_probs(["a"])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"SENTENCE": [(0.5, ("a",)), (0.4, ("b",))]}, "'SENTENCE' sum to 0.9"),
        ({"SENTENCE": [(1.0, ("a",)), (0.0, ("b",))]}, "above zero"),
        ({"SENTENCE": []}, "needs alternatives"),
        ({"S": [(1.0, ("a",))]}, "'SENTENCE' has no rules"),
        ({"SENTENCE": [(1.0, ("a", END))]}, "reserved"),
        ({"SENTENCE": [(0.5, ("a", "b")), (0.5, ("a", "c"))]}, "ambiguous"),
        # Two more with probability 0.6 are 1.2 on average; 0.5 makes exactly one: no end either.
        ({"SENTENCE": [(0.6, ("a", "SENTENCE", "SENTENCE")), (0.4, ("b",))]}, "yields 1.200 more"),
        ({"SENTENCE": [(0.5, ("a", "SENTENCE", "SENTENCE")), (0.5, ("b",))]}, "yields 1.000 more"),
        ({"SENTENCE": [(1.0, ("SENTENCE", "a"))]}, "grow without end"),
    ],
)
def test_invalid_grammars_are_refused(rules: Rules, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Grammar(rules)
