"""The tour climbs its ladders in the expected order and never gets below the limit."""

import math
from itertools import pairwise

import pytest

from elman.text.grammar import elman_grammar
from elman.tour import RUNGS, Rung, Tour, climb, grammar_limits, tour


@pytest.fixture(scope="module")
def stages() -> list[str]:
    return []


@pytest.fixture(scope="module")
def seen(stages: list[str]) -> Tour:
    return tour(stages.append)


def perplexities(seen: Tour, corpus: str) -> dict[str, float]:
    return {result.rung: result.measurement.perplexity for result in seen.ladders[corpus]}


def test_every_rung_is_climbed(seen: Tour, stages: list[str]) -> None:
    for corpus, rungs in RUNGS.items():
        assert list(perplexities(seen, corpus)) == [rung.name for rung in rungs]
    assert stages == [f"{corpus}: {rung.name}" for corpus, rungs in RUNGS.items() for rung in rungs]
    assert seen.seconds >= sum(r.seconds for results in seen.ladders.values() for r in results)


def test_every_rung_of_the_grammar_is_better_than_the_one_below(seen: Tour) -> None:
    ladder = list(perplexities(seen, "grammar").values())
    assert all(above < below for below, above in pairwise(ladder))


def test_no_model_gets_below_the_limit(seen: Tour) -> None:
    assert min(perplexities(seen, "grammar").values()) > seen.limit
    # On a thousand sentences the grammar's own perplexity is near its exact limit.
    assert seen.limit == pytest.approx(seen.entropy_limit, rel=0.05)
    assert seen.entropy_limit == elman_grammar().perplexity_limit()
    assert (seen.limit, seen.entropy_limit) == grammar_limits()


def test_the_docs_ladder(seen: Tour) -> None:
    ladder = perplexities(seen, "python-docs")
    laplace, trigram, five, cached = list(ladder.values())[:4]
    assert laplace > trigram > five > cached
    measured = [result.measurement for result in seen.ladders["python-docs"]]
    assert len({m.bytes for m in measured}) == 1  # one text, so that bits per byte compare
    assert all(0.5 < m.bits_per_byte < 8 for m in measured)


def test_samples_and_the_sentence(seen: Tour) -> None:
    assert all(len(set(samples)) > 1 for samples in seen.samples.values())
    assert all(text.startswith("boys who") for text in seen.samples["grammar"])
    assert all(text.startswith("The value of") for text in seen.samples["python-docs"])
    assert [row.word for row in seen.sentence] == "boys who Mary chases walk . <eos>".split()
    assert len(seen.true_sentence) == len(seen.sentence)
    assert seen.true_sentence[-1] == 0  # after the full stop a sentence must end
    bits = sum(elman_grammar().log_probs("boys who Mary chases walk .".split())) / -math.log(2)
    assert sum(seen.true_sentence) == pytest.approx(bits)


def test_a_rung_may_have_adapters() -> None:
    small = ("model.order=2",)
    plain, _ = climb(Rung("plain", "ngram", small), "grammar")
    cached, model = climb(Rung("cached", "ngram", small, ("cache:weight=0.9",)), "grammar")
    assert model.model.describe()["model"] == "mixture"
    assert cached.measurement.perplexity > plain.measurement.perplexity
