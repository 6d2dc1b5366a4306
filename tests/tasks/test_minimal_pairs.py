"""Agreement in the built-in language: what counting cannot see, and a recurrence can."""

from pathlib import Path

import pytest

import elman
from elman.tasks.minimal_pairs import PairScores, judge, read_material


def accuracies(scores: PairScores) -> dict[str, float | None]:
    return {score.name: score.accuracy for score in (*scores.by_paradigm, *scores.by_field)}


def test_a_bigram_is_at_chance_where_the_noun_is_out_of_sight(tmp_path: Path) -> None:
    model = elman.train("ngram", data="grammar", out=None, overrides=("model.order=2",))
    found = accuracies(judge(model, read_material("grammar")))
    assert found["nothing between"] == 1.0
    assert found["verb apart from its noun"] == 0.5  # exactly, since pairs come in twins


@pytest.mark.slow
def test_an_lstm_sees_across_clauses(tmp_path: Path, without_curves: None) -> None:
    settings = ("training.epochs=3",)
    model = elman.train("small", data="grammar", out=tmp_path / "run", overrides=settings)
    found = accuracies(judge(model, read_material("grammar")))
    assert found["verb next to its noun"] == 1.0
    assert (found["verb apart from its noun"] or 0) > 0.97
