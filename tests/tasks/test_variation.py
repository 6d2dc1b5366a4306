"""Variants of a recipe: every combination, kept and resumed, for every task."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from stopping import stop_at
from tiny import write_recipe, write_sentences

import elman
from elman.errors import InputError
from elman.experiments.vary import Variant, VariantRun, combinations, vary
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")

TINY = ("model.hidden_size=4", "model.embedding_size=4", "training.epochs=2")
TAGGED = "the DET\ncat NOUN\nsleeps VERB\n\na DET\ndog NOUN\nbarks VERB\n\n"
LABELLED = "good a fine film .\nbad a dull film .\n"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def fill(folder: Path, text: str) -> str:
    folder.mkdir()
    for split in ("train", "valid", "test"):
        (folder / f"{split}.txt").write_text(text * 4)
    return str(folder)


def test_every_combination_the_last_changing_fastest() -> None:
    assert combinations(["a.b=1,2", "a.c=x, y"]) == [
        {"a.b": "1", "a.c": "x"},
        {"a.b": "1", "a.c": "y"},
        {"a.b": "2", "a.c": "x"},
        {"a.b": "2", "a.c": "y"},
    ]


def test_lists_are_values_and_copies_count_once() -> None:
    assert combinations(["m.sizes=[1, 2],[3],3,3"]) == [
        {"m.sizes": "[1, 2]"},
        {"m.sizes": "[3]"},
        {"m.sizes": "3"},
    ]


@pytest.mark.parametrize(
    ("tries", "problem"),
    [
        ([], "nothing to vary"),
        (["model.order"], "write it as section.field=value,value"),
        (["model.order=2,"], "write it as section.field=value,value"),
        (["model.order=2", "model.order=3"], "is given twice"),
    ],
)
def test_what_cannot_be_tried_is_refused(tries: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        combinations(tries)


def test_mean_and_range_over_the_seeds() -> None:
    runs = [VariantRun(seed, value, 10, 2.0 * seed, "") for seed, value in ((1, 0.5), (2, 0.9))]
    variant = Variant({"a.b": "1"}, "accuracy", runs)
    assert (variant.mean, variant.lowest, variant.highest) == (pytest.approx(0.7), 0.5, 0.9)
    assert variant.seconds == 3


def test_count_models(tmp_path: Path, out: Path) -> None:
    data = str(write_sentences(tmp_path / "data"))
    low, high = vary("ngram", data=data, out=out, tries=["model.order=1,3"])
    assert (low.settings, high.settings) == ({"model.order": "1"}, {"model.order": "3"})
    assert low.measure == high.measure == "perplexity"
    assert high.mean < low.mean
    trained = elman.load(high.runs[0].run)
    assert high.mean == trained.evaluate(data).perplexity
    assert trained.config.model.order == 3
    assert trained.config.seed == 1


def test_neural_language_models_over_seeds(tmp_path: Path, out: Path) -> None:
    data = str(write_sentences(tmp_path / "data"))
    recipe = write_recipe(tmp_path / "recipe.toml", training="epochs = 1\nlearning_rate = 1.0")
    tries = ["model.hidden_size=3,4", "model.cell=gru,elman"]
    variants = vary(recipe, data=data, out=out, tries=tries, seeds=(1, 2))
    assert len(variants) == 4
    assert len({run.run for variant in variants for run in variant.runs}) == 8
    assert all(variant.lowest < variant.mean < variant.highest for variant in variants)
    assert len({variant.runs[0].parameters for variant in variants}) == 4


@pytest.mark.parametrize(
    ("recipe", "text", "tried", "measure"),
    [
        ("tagger", TAGGED, "model.output=crf,softmax", "accuracy"),
        ("classifier", LABELLED, "model.pooling=last,max", "accuracy"),
    ],
)
def test_tasks_of_sentences(
    tmp_path: Path, out: Path, recipe: str, text: str, tried: str, measure: str
) -> None:
    data = fill(tmp_path / "data", text)
    variants = vary(recipe, data=data, out=out, tries=[tried], overrides=TINY)
    assert [variant.measure for variant in variants] == [measure] * 2
    for variant in variants:
        (run,) = variant.runs
        trained = elman.load(run.run)
        assert run.value == trained.evaluate(data).main()[1]
        assert run.parameters == trained.model.count_parameters()


def test_another_split_is_measured_on_where_it_is_named(tmp_path: Path, out: Path) -> None:
    data = write_sentences(tmp_path / "data")
    (data / "valid.txt").write_text("a bird sees .\n" * 20)
    options = {"data": str(data), "out": out, "tries": ["model.order=2"]}
    (on_test,) = vary("ngram", **options)
    (on_valid,) = vary("ngram", **options, split="valid")
    assert on_test.mean != on_valid.mean


def test_what_is_finished_is_not_trained_again_and_what_stopped_goes_on(
    tmp_path: Path, out: Path
) -> None:
    data = fill(tmp_path / "data", LABELLED)
    options = {"data": data, "tries": ["model.pooling=last,max"], "overrides": TINY}
    options["overrides"] = [*TINY, "training.batch_size=2"]  # eight steps
    whole = vary("classifier", **options, out=tmp_path / "whole")
    with stop_at([5], signal.SIGINT), pytest.raises(Stopped):
        vary("classifier", **options, out=out)
    first, *others = out.iterdir()
    assert not others
    assert not elman.load(first).facts["training"]["finished"]
    gone_on = vary("classifier", **options, out=out)
    for before, after in zip(whole, gone_on, strict=True):
        arrays = elman.load(after.runs[0].run).model.arrays()
        for name, array in elman.load(before.runs[0].run).model.arrays().items():
            assert array.tobytes() == arrays[name].tobytes()
    again = vary("classifier", **options, out=out)
    assert again == gone_on  # with the seconds of then


def test_a_wrong_value_is_refused_before_anything_is_trained(tmp_path: Path, out: Path) -> None:
    data = fill(tmp_path / "data", LABELLED)
    with pytest.raises(InputError, match="unknown pooling 'mox'"):
        vary("classifier", data=data, out=out, tries=["model.pooling=max,mox"])
    assert not out.exists()


def test_nothing_is_left_behind_without_data(out: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        vary("ngram", data="nosuch.txt", out=out, tries=["model.order=2"])
    assert not out.exists()


def test_a_folder_of_other_runs_is_refused(tmp_path: Path, out: Path) -> None:
    data = fill(tmp_path / "data", LABELLED)
    other = fill(tmp_path / "other", LABELLED * 2)
    tries = ["model.pooling=max"]
    vary("classifier", data=data, out=out, tries=tries, overrides=TINY)
    for given, settings in ((other, TINY), (data, TINY[:2])):
        with pytest.raises(InputError, match="other settings or another text"):
            vary("classifier", data=given, out=out, tries=tries, overrides=settings)
