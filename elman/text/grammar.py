"""An artificial language in the spirit of Elman (1991), with a known lowest perplexity.

Verbs agree in number with their noun across relative clauses of any depth:

    boys who cat who Mary feeds sees walk .

This file defines the words, the rules and their probabilities. So the true distribution of every
next word is known. Elman, J. L. (1991): Distributed representations, simple recurrent networks,
and grammatical structure. Machine Learning 7.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from elman.errors import choose
from elman.text.corpora import BuiltInCorpus
from elman.text.probabilistic_grammar import Grammar, Rules

NUMBERS = {"singular": 0, "plural": 1}  # which of the two forms of a word

WordForms = list[tuple[float, tuple[str, str]]]  # probability, (singular, plural)
NOUNS: WordForms = [
    (0.35, ("boy", "boys")),
    (0.3, ("girl", "girls")),
    (0.2, ("cat", "cats")),
    (0.15, ("dog", "dogs")),
]
VERBS: dict[str, WordForms] = {
    "TRANSITIVE": [(0.6, ("chases", "chase")), (0.4, ("feeds", "feed"))],  # with an object
    "OPTIONAL": [(0.7, ("sees", "see")), (0.3, ("hears", "hear"))],  # with or without
    "INTRANSITIVE": [(0.55, ("walks", "walk")), (0.45, ("lives", "live"))],  # without
}
NAMES = [(0.6, "John"), (0.4, "Mary")]

# The probability that a common noun has a relative clause: in the main clause, and inside another
# relative clause. The second is higher, so that clauses nest although most sentences have none.
RELATIVE_OUTSIDE, RELATIVE_INSIDE = 0.33, 0.55

SENTENCES = {"train": 10_000, "valid": 1_000, "test": 1_000}


@cache
def elman_grammar(depth: int | None = None) -> Grammar:
    """The grammar; `depth` limits how deep relative clauses nest (0: none, None: no limit).

    Levels count the depth of a clause: 0 is the main clause. Without a limit all relative clauses
    share the rules of level 1, which then refer to themselves.
    """
    if depth is not None and depth < 0:
        raise ValueError(f"depth must be at least 0, not {depth}")
    rules: Rules = {
        "SENTENCE": [
            (0.55, ("NOUN_PHRASE/singular/0", "VERB_PHRASE/singular/0", ".")),
            (0.45, ("NOUN_PHRASE/plural/0", "VERB_PHRASE/plural/0", ".")),
        ]
    }
    deepest = 1 if depth is None else depth
    for level in range(deepest + 1):
        rules |= _clause_rules(level, inner=min(level + 1, deepest), last=level == depth)
    return Grammar(rules | _word_rules())


def _clause_rules(level: int, inner: int, last: bool) -> Rules:
    """The rules of clauses at one level, whose relative clauses are at level `inner`."""
    relative = RELATIVE_INSIDE if level else RELATIVE_OUTSIDE
    rules: Rules = {
        f"OBJECT/{level}": [
            (0.6, (f"NOUN_PHRASE/singular/{level}",)),
            (0.4, (f"NOUN_PHRASE/plural/{level}",)),
        ],
        f"MAYBE_OBJECT/{level}": [(0.7, (f"OBJECT/{level}",)), (0.3, ())],
    }
    for number in NUMBERS:
        common = (f"NOUN/{number}", f"RELATIVE/{number}/{level}")
        rules[f"NOUN_PHRASE/{number}/{level}"] = (
            [(0.8, common), (0.2, ("NAME",))] if number == "singular" else [(1.0, common)]
        )
        rules[f"RELATIVE/{number}/{level}"] = (
            [(1.0, ())]
            if last
            else [(relative, ("who", f"CLAUSE/{number}/{inner}")), (1 - relative, ())]
        )
        rules[f"VERB_PHRASE/{number}/{level}"] = [
            (0.5, (f"TRANSITIVE/{number}", f"OBJECT/{level}")),
            (0.3, (f"OPTIONAL/{number}", f"MAYBE_OBJECT/{level}")),
            (0.2, (f"INTRANSITIVE/{number}",)),
        ]
        # The noun with the clause is its subject, or the missing object of its verb.
        rules[f"CLAUSE/{number}/{level}"] = [
            (0.5, (f"VERB_PHRASE/{number}/{level}",)),
            (0.3, (f"NOUN_PHRASE/singular/{level}", "GAP_VERB/singular")),
            (0.2, (f"NOUN_PHRASE/plural/{level}", "GAP_VERB/plural")),
        ]
    return rules


def _word_rules() -> Rules:
    """The rules that produce words."""
    rules: Rules = {"NAME": [(probability, (name,)) for probability, name in NAMES]}
    for number in NUMBERS:
        for kind, words in {"NOUN": NOUNS, **VERBS}.items():
            rules[f"{kind}/{number}"] = [
                (probability, (forms[NUMBERS[number]],)) for probability, forms in words
            ]
        rules[f"GAP_VERB/{number}"] = [
            (0.65, (f"TRANSITIVE/{number}",)),
            (0.35, (f"OPTIONAL/{number}",)),
        ]
    return rules


def verbs(number: str) -> set[str]:
    """The verb forms that agree with a `singular` or a `plural` noun."""
    form = choose(NUMBERS, number, "number")
    return {forms[form] for words in VERBS.values() for _, forms in words}


class Agreement(NamedTuple):
    """A verb, the noun it must agree with (positions in the sentence), and their number."""

    verb: int
    noun: int
    number: str

    @property
    def distance(self) -> int:
        """The number of words between the noun and its verb."""
        return self.verb - self.noun - 1


def agreement_points(words: list[str]) -> list[Agreement]:
    """Every verb of a sentence, or of the beginning of one, with the noun that controls it.

    Each pending symbol of the stack remembers its controlling noun. A noun controls all symbols
    that it leaves pending (its relative clause, its verb); any other word passes its controller on.
    """
    grammar = elman_grammar()
    nouns = {form for _, forms in NOUNS for form in forms} | {name for _, name in NAMES}
    numbers = {verb: number for number in NUMBERS for verb in verbs(number)}
    stack, controllers = grammar.start(), [-1]  # no noun yet; the first word is always a noun
    points = []
    for position, word in enumerate(words):
        taker = grammar.taker(stack, word)
        controller = position if word in nouns else controllers[taker]
        if word in numbers:
            points.append(Agreement(position, controller, numbers[word]))
        untouched = controllers[taker + 1 :]
        stack = grammar.advance(stack, word)
        controllers = [controller] * (len(stack) - len(untouched)) + untouched
    return points


@cache
def grammar_text(split: str, sentences: int | None = None, seed: int = 0) -> str:
    """The text of a split (train, valid or test): one randomly drawn sentence per line.

    Each split has its own seed, derived from `seed`. Short sentences occur in several splits.
    """
    default = choose(SENTENCES, split, "split")
    own_seed = len(SENTENCES) * seed + list(SENTENCES).index(split)
    drawn = elman_grammar().sample(default if sentences is None else sentences, own_seed)
    return "".join(" ".join(words) + "\n" for words in drawn)


@dataclass
class GrammarCorpus(BuiltInCorpus):
    """The texts above as a corpus."""

    about = "an artificial language with long-distance agreement"

    def text(self, split: str) -> str:
        return grammar_text(split)

    def details(self) -> str:
        """The mean length of the sentences, and the lowest possible perplexity."""
        grammar = elman_grammar()
        return (
            f"sentences of {grammar.mean_length():.2f} tokens on average; no model can have a "
            f"lower perplexity than {grammar.perplexity_limit():.4f} (per token, over all its "
            "sentences)"
        )
