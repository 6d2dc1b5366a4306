"""The tour: models in the expected order, never below the limit."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest

from elman.experiments.tour import RUNGS, SHOWN, Rung, Tour, climb, grammar_limits, tour
from elman.experiments.tour_page import tour_page
from elman.text.grammar import elman_grammar


def shortened(rung: Rung) -> Rung:
    """The same model with hardly any training, so that the whole tour takes seconds."""
    if "laplace" in rung.recipe or "ngram" in rung.recipe:
        return rung
    return replace(rung, overrides=(*rung.overrides, "training.epochs=0.3"))


@pytest.fixture(scope="module")
def stages() -> list[str]:
    return []


@pytest.fixture(scope="module")
def seen(stages: list[str]) -> Tour:
    """The tour with hardly trained networks; the slow test runs the real one."""
    short = {corpus: [shortened(rung) for rung in rungs] for corpus, rungs in RUNGS.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.experiments.tour.RUNGS", short)
        return tour(stages.append)


@pytest.mark.slow
def test_the_whole_ladder_up_to_the_limit() -> None:
    seen = tour()
    ladder = perplexities(seen, "grammar")
    assert ladder["LSTM"] < 1.03 * seen.limit < ladder["5-gram, modified Kneser-Ney"]
    names = ["5-gram, modified Kneser-Ney", "window of four words (Bengio)", "Elman network"]
    below = [*(ladder[name] for name in names), max(ladder["GRU"], ladder["LSTM"])]
    assert all(above < under for under, above in pairwise(below))
    far = {rung: [s for s in scores if s.distance >= 5] for rung, scores in seen.agreement.items()}
    accuracy = {
        rung: sum(s.right for s in scores) / sum(s.verbs for s in scores)
        for rung, scores in far.items()
    }
    assert accuracy["LSTM"] > 0.95
    assert accuracy["5-gram, modified Kneser-Ney"] < 0.6
    assert accuracy["window of four words (Bengio)"] < 0.6


def perplexities(seen: Tour, corpus: str) -> dict[str, float]:
    return {result.rung: result.measurement.perplexity for result in seen.ladders[corpus]}


def test_every_rung_is_climbed(seen: Tour, stages: list[str]) -> None:
    for corpus, rungs in RUNGS.items():
        assert list(perplexities(seen, corpus)) == [rung.name for rung in rungs]
    assert stages == [f"{corpus}: {rung.name}" for corpus, rungs in RUNGS.items() for rung in rungs]
    assert seen.seconds >= sum(r.seconds for results in seen.ladders.values() for r in results)


def test_every_count_model_of_the_grammar_is_better_than_the_one_below(seen: Tour) -> None:
    ladder = list(perplexities(seen, "grammar").values())[:5]
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
    prompts = {"grammar": "boys who", "python-docs": "The value of"}
    for corpus, prompt in prompts.items():
        assert list(seen.samples[corpus]) == list(SHOWN)
        for texts in seen.samples[corpus].values():
            assert len(set(texts)) > 1
            assert all(text.startswith(prompt) for text in texts)
    for sentence in seen.sentences.values():
        assert [row.word for row in sentence] == "boys who Mary chases walk . <eos>".split()
        assert len(seen.true_sentence) == len(sentence)
    assert seen.true_sentence[-1] == 0  # after the full stop a sentence must end
    bits = sum(elman_grammar().log_probs("boys who Mary chases walk .".split())) / -math.log(2)
    assert sum(seen.true_sentence) == pytest.approx(bits)


def test_a_rung_may_have_adapters() -> None:
    small = ("model.order=2",)
    plain, _ = climb(Rung("plain", "ngram", small), "grammar")
    cached, model = climb(Rung("cached", "ngram", small, ("cache:weight=0.9",)), "grammar")
    assert model.model.describe()["model"] == "mixture"
    assert cached.measurement.perplexity > plain.measurement.perplexity


def test_agreement_falls_where_counts_end(seen: Tour) -> None:
    five = {score.distance: score for score in seen.agreement["5-gram, modified Kneser-Ney"]}
    assert five[0].accuracy == five[1].accuracy == 1
    assert sum(five[d].right for d in five if d >= 5) < 0.6 * sum(
        five[d].verbs for d in five if d >= 5
    )


def test_neural_rungs_bring_their_learning_curves(seen: Tour) -> None:
    for results in seen.ladders.values():
        for result in results:
            neural = result.rung.split()[0] in ("window", "Elman", "GRU", "LSTM")
            assert bool([r for r in result.history if "valid_perplexity" in r]) == neural


def test_the_page_stands_alone(seen: Tour) -> None:
    page = tour_page(seen)
    assert all(result.rung in page for results in seen.ladders.values() for result in results)
    assert page.count("<svg") == page.count("</svg>") == 4
    assert "src=" not in page
    assert "<script" not in page
    outside = [part for part in page.split('href="')[1:] if part[0] not in "#d"]
    assert outside == []  # nothing is fetched from anywhere
