"""The artificial language against a list of all its sentences, and against its own samples."""

import math
import time
from collections import defaultdict
from functools import cache

import numpy
import pytest

from elman.errors import InputError
from elman.text.grammar import (
    Agreement,
    agreement_points,
    elman_grammar,
    grammar_text,
    verbs,
)
from elman.text.probabilistic_grammar import END, Grammar, Rules

Language = dict[tuple[str, ...], float]


def fewer_words(grammar: Grammar) -> Grammar:
    """The same grammar with one word of each kind, so that all sentences can be listed."""
    kinds = ("NOUN/", "NAME", "TRANSITIVE/", "OPTIONAL/", "INTRANSITIVE/")
    rules: Rules = {
        symbol: [(1.0, alternatives[0][1])] if symbol.startswith(kinds) else alternatives
        for symbol, alternatives in grammar.rules.items()
    }
    return Grammar(rules)


def all_sentences(grammar: Grammar) -> Language:
    """Every sentence and its probability: all rules in all ways, nothing of the stack used."""

    @cache
    def phrases(symbol: str) -> list[tuple[tuple[str, ...], float]]:
        if symbol not in grammar.rules:
            return [((symbol,), 1.0)]
        said = []
        for probability, symbols in grammar.rules[symbol]:
            partial: list[tuple[tuple[str, ...], float]] = [((), probability)]
            for inner in symbols:
                partial = [(w + v, p * q) for w, p in partial for v, q in phrases(inner)]
            said += partial
        return said

    sentences = phrases("SENTENCE")
    assert len(dict(sentences)) == len(sentences)  # no sentence in two ways
    return dict(sentences)


@pytest.fixture(scope="module", params=["no clauses, all words", "two levels, fewer words"])
def listed(request: pytest.FixtureRequest) -> tuple[Grammar, Language]:
    full = request.param == "no clauses, all words"
    grammar = elman_grammar(depth=0) if full else fewer_words(elman_grammar(depth=2))
    return grammar, all_sentences(grammar)


def test_number_of_sentences(listed: tuple[Grammar, Language]) -> None:
    # All words, no clauses: 10 nouns and names; a verb phrase is 2 * 10 with a transitive verb,
    # 2 * (10 + 1) with an optional object, or 2 without: 44. 10 * 44 = 440.
    # Fewer words: 3 nouns, so 3 + 4 + 1 = 8 verb phrases and 8 + 3 * 2 = 14 clauses at level 2;
    # at level 1: 2 * (1 + 14) + 1 = 31 nouns, 31 + 32 + 1 = 64 verb phrases, 64 + 62 = 126 clauses;
    # at level 0: 2 * (1 + 126) + 1 = 255 nouns, 255 + 256 + 1 = 512 verb phrases: 255 * 512.
    grammar, sentences = listed
    full = len(grammar.rules["NAME"]) == 2
    assert len(sentences) == (440 if full else 255 * 512)


def test_probabilities_sum_to_one(listed: tuple[Grammar, Language]) -> None:
    assert math.fsum(listed[1].values()) == pytest.approx(1.0, abs=1e-12)


def test_entropy_and_mean_length(listed: tuple[Grammar, Language]) -> None:
    grammar, sentences = listed
    entropy = math.fsum(-p * math.log(p) for p in sentences.values())
    length = math.fsum(p * (len(words) + 1) for words, p in sentences.items())
    assert grammar.sentence_entropy() == pytest.approx(entropy, abs=1e-10)
    assert grammar.mean_length() == pytest.approx(length, abs=1e-10)


def test_log_probs_of_whole_sentences(listed: tuple[Grammar, Language]) -> None:
    grammar, sentences = listed
    for words in list(sentences)[::37]:
        total = math.fsum(grammar.log_probs(list(words)))
        assert total == pytest.approx(math.log(sentences[words]), abs=1e-12)


def test_next_word_distribution_of_prefixes(listed: tuple[Grammar, Language]) -> None:
    grammar, sentences = listed
    mass: dict[tuple[str, ...], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for words, probability in sentences.items():
        for position, word in enumerate((*words, END)):
            mass[words[:position]][word] += probability
    prefixes = list(mass)[::29]
    for prefix in prefixes:
        total = math.fsum(mass[prefix].values())
        expected = {word: p / total for word, p in mass[prefix].items()}
        assert grammar.next_words(read(grammar, prefix)) == pytest.approx(expected, abs=1e-12)


def read(grammar: Grammar, words: tuple[str, ...]) -> tuple[str, ...]:
    stack = grammar.start()
    for word in words:
        stack = grammar.advance(stack, word)
    return stack


def test_next_words_sum_to_one_at_any_depth() -> None:
    grammar = elman_grammar()
    for words in grammar.sample(500, seed=3):
        stack = grammar.start()
        for word in [*words, END]:
            next_words = grammar.next_words(stack)
            assert math.fsum(next_words.values()) == pytest.approx(1, abs=1e-12)
            assert next_words[word] == pytest.approx(grammar.probability(stack, word), abs=1e-15)
            stack = grammar.advance(stack, word)


def test_samples_agree_with_entropy_and_mean_length() -> None:
    grammar = elman_grammar()
    sentences = grammar.sample(20_000, seed=11)
    surprisals = [-math.fsum(grammar.log_probs(words)) for words in sentences]
    lengths = [len(words) + 1 for words in sentences]
    # What a text of n sentences costs beyond rate * tokens is zero on average.
    excess = numpy.array(surprisals) - grammar.entropy_rate() * numpy.array(lengths)
    for values, expected in (
        (surprisals, grammar.sentence_entropy()),
        (lengths, grammar.mean_length()),
        (excess, 0.0),
    ):
        error = numpy.std(values) / math.sqrt(len(values))
        assert abs(numpy.mean(values) - expected) < 3 * error


def test_the_language_is_as_promised() -> None:
    sentences = elman_grammar().sample(20_000, seed=12)
    assert 6 < elman_grammar().mean_length() - 1 < 9
    assert 0.35 < sum("who" in words for words in sentences) / len(sentences) < 0.45
    assert max(words.count("who") for words in sentences) >= 4


def test_sampling_is_reproducible_and_fast() -> None:
    grammar = elman_grammar()
    start = time.process_time()
    sentences = grammar.sample(12_000, seed=7)
    assert time.process_time() - start < 2
    assert sentences == grammar.sample(12_000, seed=7)
    assert sentences != grammar.sample(12_000, seed=8)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        # walks (1) belongs to boy (0), the word before it.
        ("boy walks .", [(1, 0, "singular", 0)]),
        # An object is not controlling: chases (1) belongs to Mary (0), not to boys (2).
        ("Mary chases boys .", [(1, 0, "singular", 0)]),
        # Subject relative: boy (0) is the subject of chases (2) and of walks (4).
        ("boy who chases cats walks .", [(2, 0, "singular", 1), (4, 0, "singular", 3)]),
        # Object relative: cats (2) chase (3), and between boy (0) and walks (4) are three words.
        ("boy who cats chase walks .", [(3, 2, "plural", 0), (4, 0, "singular", 3)]),
        # Nested twice: Mary (4) feeds (5) the cat (2) that sees (6) the boys (0) that walk (7).
        (
            "boys who cat who Mary feeds sees walk .",
            [(5, 4, "singular", 0), (6, 2, "singular", 3), (7, 0, "plural", 6)],
        ),
        # On the object: girls (0) chase (1) dogs (2); the dogs hear (4) the girl (5) whom John (7)
        # sees (8). Only who (3) stands between dogs and hear.
        (
            "girls chase dogs who hear girl who John sees .",
            [(1, 0, "plural", 0), (4, 2, "plural", 1), (8, 7, "singular", 0)],
        ),
        # An optional object left out: sees (2) ends the clause, lives (3) is the main verb.
        ("dog who sees lives .", [(2, 0, "singular", 1), (3, 0, "singular", 2)]),
    ],
)
def test_agreement_points(sentence: str, expected: list[tuple[int, int, str, int]]) -> None:
    points = agreement_points(sentence.split())
    assert [(*point, point.distance) for point in points] == expected


def test_agreement_holds_in_samples() -> None:
    singular = {"boy", "girl", "cat", "dog", "John", "Mary"}
    either = verbs("singular") | verbs("plural")
    for words in elman_grammar().sample(2_000, seed=5):
        points = agreement_points(words)
        assert [point.verb for point in points] == [i for i, w in enumerate(words) if w in either]
        for point in points:
            assert words[point.verb] in verbs(point.number)
            assert (words[point.noun] in singular) == (point.number == "singular")


def test_agreement_points_of_a_beginning() -> None:
    assert agreement_points(["boys", "who", "cats", "chase"]) == [Agreement(3, 2, "plural")]


@pytest.mark.parametrize(
    "sentence",
    [
        "boys walks .",  # number
        "boy who cats chase walk .",  # number, across the clause
        "boy chases .",  # an object is missing
        "boy walks cats .",  # an object too many
        "boy who cats chase dogs walks .",  # the gap is filled
        "boy who cats walk lives .",  # this verb has no object to miss
        "John who walks lives .",  # names carry no clause
    ],
)
def test_what_the_language_does_not_say(sentence: str) -> None:
    with pytest.raises(ValueError, match="cannot come next"):
        elman_grammar().log_probs(sentence.split())


def test_depth_limits_nesting_only() -> None:
    shallow = ["boy", "who", "sees", "girl", "walks", "."]
    deep = [*shallow[:4], "who", "lives", *shallow[4:]]
    assert len(elman_grammar(1).log_probs(shallow)) == 7
    assert len(elman_grammar(2).log_probs(deep)) == 9
    with pytest.raises(ValueError, match="'who' cannot come next"):
        elman_grammar(1).log_probs(deep)
    with pytest.raises(ValueError, match="at least 0"):
        elman_grammar(-1)


def test_verbs() -> None:
    assert verbs("plural") == {"chase", "feed", "see", "hear", "walk", "live"}
    assert verbs("singular") == {verb + "s" for verb in verbs("plural")}
    with pytest.raises(InputError, match="did you mean 'plural'"):
        verbs("plurals")


def test_text_of_the_splits() -> None:
    texts = {split: grammar_text(split) for split in ("train", "valid", "test")}
    assert [text.count("\n") for text in texts.values()] == [10_000, 1_000, 1_000]
    assert len({text[:500] for text in texts.values()}) == 3
    assert texts["test"] == grammar_text("test") != grammar_text("test", seed=1)
    sentences = [line.split(" ") for line in texts["valid"].splitlines()]
    assert all(elman_grammar().log_probs(words)[-1] == 0.0 for words in sentences)


def test_text_of_another_size_and_of_an_unknown_split() -> None:
    assert grammar_text("valid", sentences=3).splitlines() == grammar_text("valid").splitlines()[:3]
    with pytest.raises(InputError, match="unknown split 'tests'; did you mean 'test'"):
        grammar_text("tests", sentences=3)
