"""Comparison of runs of every task: the measures of `evaluate`, paired, on the same examples."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from facts import write_facts
from films import draw_texts, train_classifier, write_texts
from small_elmo import small_elmo
from tagged import train_tagger, write_tagged

import elman
from elman.errors import InputError


def _classifiers(place: Path) -> tuple[str, list[Any]]:
    splits = {"train": draw_texts(80, 0), "valid": draw_texts(20, 1), "test": draw_texts(60, 2)}
    data = write_texts(place / "data", **splits)
    return data, [train_classifier(data, f"training.epochs={n}", "seed=1") for n in (6, 0.5)]


def _taggers(place: Path) -> tuple[str, list[Any]]:
    data = write_tagged(place / "data")
    return str(data), [train_tagger(data, None, f"training.epochs={n}") for n in (4, 0.5)]


def _answerers(place: Path) -> tuple[str, list[Any]]:
    data = str(write_facts(place / "data", train=8, valid=3, test=3))
    small = ["model.num_layers=1", "model.hidden_size=5", "model.embedding_size=4"]
    rates = (0.01, 0.001)
    return data, [
        elman.train(
            "answerer",
            data=data,
            overrides=[*small, "training.epochs=1", f"training.learning_rate={rate}"],
        )
        for rate in rates
    ]


def _translators(place: Path) -> tuple[str, list[Any]]:
    data = "reverse:lines=400,longest=3,symbols=12"
    small = ["model.hidden_size=8", "model.embedding_size=8"]
    return data, [
        elman.train("reverse", data=data, overrides=[*small, f"training.epochs={n}"])
        for n in (3, 0.1)
    ]


def _embeddings(place: Path) -> tuple[str, list[Any]]:
    runs = [small_elmo(place, f"training.epochs={n}", out=False) for n in (4, 1)]
    (place / "test.txt").write_text("the cat sat on the mat .\nJohn saw London .\n" * 6)
    return str(place), runs


MAKERS: dict[str, Callable[[Path], tuple[str, list[Any]]]] = {
    "classification": _classifiers,
    "tagging": _taggers,
    "answering": _answerers,
    "translation": _translators,
    "embedding": _embeddings,
}
# The measures of a comparison, and those of `evaluate` with their rows.
MEASURES = {
    "classification": {"accuracy": "accuracy", "macro F1": "macro F1"},
    "tagging": {"span F1": "F1", "accuracy": "accuracy"},
    "answering": {"exact match": "exact match", "F1": "F1"},
    "translation": {"BLEU": "BLEU", "chrF": "chrF"},
    "embedding": {"perplexity": "perplexity"},
}


@pytest.fixture(scope="module", params=MAKERS)
def compared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str, list[Any]]:
    """The task, its data, and two runs of it."""
    data, runs = MAKERS[request.param](tmp_path_factory.mktemp(request.param))
    for run, name in zip(runs, ("better", "worse"), strict=True):
        run.name = name
    return request.param, data, runs


def test_values_are_those_of_evaluate(compared: tuple[str, str, list[Any]]) -> None:
    task, data, runs = compared
    found = elman.compare(runs, data)
    assert {*found.rows[0].values} == {*MEASURES[task]}
    for run, row in zip(runs, found.rows, strict=True):
        evaluated = dict(run.evaluate(data).rows())
        for name, of_evaluate in MEASURES[task].items():
            value = row.values[name]
            assert value.value == pytest.approx(evaluated[of_evaluate], rel=1e-5)
            assert value.low is not None
            assert value.low <= value.value <= (value.high or 0)


def test_differences_are_paired(compared: tuple[str, str, list[Any]]) -> None:
    task, data, runs = compared
    found = elman.compare(runs, data, draws=200, seed=5)
    assert [pair.measure for pair in found.pairs] == [*found.rows[0].values]
    for pair in found.pairs:
        better, worse = (row.values[pair.measure].value for row in found.rows)
        assert pair.result.difference == pytest.approx(worse - better)
        assert pair.result.low <= pair.result.difference <= pair.result.high
        assert pair.result.draws == 200
        assert pair.better == ("better" if pair.result.significant else None), task
    data_again = json.loads(json.dumps(found.to_data(), allow_nan=False))
    assert data_again == elman.compare(runs, data, draws=200, seed=5).to_data()


def test_a_run_does_not_differ_from_itself(compared: tuple[str, str, list[Any]]) -> None:
    _, data, (run, _) = compared
    for pair in elman.compare([run, run], data).pairs:
        result = pair.result
        assert (result.difference, result.low, result.high, result.p_value) == (0, 0, 0, 1)
        assert pair.better is None


def test_every_pair_is_compared(compared: tuple[str, str, list[Any]]) -> None:
    task, data, (first, second) = compared
    found = elman.compare([first, second, first.named("again")], data, draws=20)
    names = [*dict.fromkeys((pair.first, pair.second) for pair in found.pairs)]
    assert names == [("better", "worse"), ("better", "again"), ("worse", "again")]
    assert len(found.pairs) == 3 * len(MEASURES[task])


def test_an_option_of_language_models_is_refused(compared: tuple[str, str, list[Any]]) -> None:
    _, data, runs = compared
    with pytest.raises(InputError, match="--reset does not apply to better"):
        elman.compare(runs, data, reset="line")


def test_other_labels_are_refused(tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data", train=draw_texts(40, 0), test=draw_texts(20, 1))
    renamed = 'text.rename={good = "1", bad = "0"}'
    runs = [train_classifier(data, "training.epochs=0.2", *more) for more in ([], [renamed])]
    with pytest.raises(InputError, match=r"different labels \(bad, good and 0, 1\); compare runs"):
        elman.compare(runs, data)


def test_examples_read_differently_are_refused(tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data", train=draw_texts(40, 0), test=draw_texts(20, 1))
    runs = [train_classifier(data, "training.epochs=0.2") for _ in range(2)]
    other = runs[1].with_columns({"text": "2", "label": "1"})
    with pytest.raises(InputError, match="do not read the same examples"):
        elman.compare([runs[0], other], data)


def test_a_file_that_a_run_was_trained_on_is_measured_on_its_test_part(tmp_path: Path) -> None:
    lines = [f"{text}\t{label}\n" for label, text in draw_texts(400, 0)]
    (tmp_path / "one.tsv").write_text("".join(lines))
    folder = write_texts(tmp_path / "data", train=draw_texts(40, 3), valid=draw_texts(9, 4))
    trained = train_classifier(str(tmp_path / "one.tsv"), "training.epochs=0.1")
    stranger = train_classifier(folder, "training.epochs=0.1")
    for runs in ([trained, stranger], [stranger, trained]):
        assert elman.compare(runs, str(tmp_path / "one.tsv")).examples == 20
    assert elman.compare([stranger], str(tmp_path / "one.tsv")).examples == 400


def test_seen_texts_and_few_texts_are_noted(tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data", train=draw_texts(40, 0), test=draw_texts(9, 1))
    run = train_classifier(data, "training.epochs=0.1")
    found = elman.compare([run, run], data)
    assert found.pairs == []
    assert found.rows[0].values["accuracy"].low is None
    assert any("fewer than 10 texts" in note for note in found.notes)
    assert any("was trained on this" in n for n in elman.compare([run], data, split="train").notes)
