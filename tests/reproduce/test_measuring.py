"""Rows from recipe to result: trained once, resumed, shared, stored."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from elman.errors import InputError
from elman.experiments.reproduce import experiments, trainings
from elman.experiments.reproduce.measuring import reproduce_row
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable, read_tables
from elman.experiments.reproduce.results import Result, read_kept
from elman.experiments.reproduce.status import statuses
from elman.experiments.reproduce.workshop import Workshop
from elman.tasks.task import load
from elman.training.machine import Machine


@pytest.fixture
def workshop(place: Path) -> Workshop:
    return Workshop(read_tables(), place / "out", place / "out" / "results.json")


def run(workshop: Workshop, name: str, again: bool = False) -> Result:
    table = workshop.tables["toy"]
    return reproduce_row(workshop, table, table.row(name), "texts/toy", again=again)


def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args, **kwargs):
        raise AssertionError("trained again")

    monkeypatch.setattr(trainings, "train", refuse)
    monkeypatch.setattr("elman.tasks.task.resume", refuse)


def test_a_count_row_and_one_that_shares_its_run(workshop, monkeypatch) -> None:
    result = run(workshop, "counts")
    (folder,) = workshop.runs.iterdir()
    assert folder.name == "toy-ngram-2-words"
    measured = load(folder).evaluate("texts/toy")
    assert result.measured == measured.perplexity
    assert result.protocol == str(measured.protocol)
    assert result.data["test"].startswith(measured.protocol.text[-12:])
    assert result.valid == load(folder).facts["validation"]["perplexity"]
    assert result.tokens == measured.tokens
    assert result.verdict.startswith("reproduced")
    no_training(monkeypatch)
    cached = run(workshop, "counts-cache")
    assert cached.measured != result.measured
    assert cached.model["weights"]
    assert cached.valid is None
    assert cached.verdict.startswith("not reached")
    assert len(list(workshop.runs.iterdir())) == 1


def test_a_neural_row_and_a_mixture(workshop, monkeypatch) -> None:
    neural = run(workshop, "neural")
    assert neural.verdict == "ours"
    assert neural.teraflop is not None
    assert neural.parameters
    mixed = run(workshop, "both")
    assert mixed.measured is not None
    assert sorted(folder.name for folder in workshop.runs.iterdir()) == [
        "toy-ngram-2-words",
        "toy-tiny",
    ]
    assert mixed.adapters == ("mix:run={counts}",)  # no folder of this machine
    no_training(monkeypatch)
    assert run(workshop, "both") == mixed
    again = run(workshop, "both", again=True)
    assert again.measured == mixed.measured


def test_kept_rows_are_not_measured(workshop, monkeypatch) -> None:
    result = run(workshop, "counts")
    monkeypatch.setattr("elman.experiments.reproduce.measuring.measure_row", None)
    assert run(workshop, "counts") == result
    changed = PublishedRow(
        name="counts", published=6.5, recipe="ngram", settings=("model.order=3",)
    )
    assert read_kept(workshop.results).of(workshop.tables["toy"], changed) is None


def test_a_stopped_training_goes_on(workshop) -> None:
    def stop(progress: object) -> None:
        raise KeyboardInterrupt

    workshop.machine = Machine(watch=stop)
    with pytest.raises(KeyboardInterrupt):
        run(workshop, "neural")
    (folder,) = workshop.runs.iterdir()
    assert not load(folder).facts["training"]["finished"]
    assert not trainings.is_finished(trainings.Training("toy", "tiny.toml"), workshop.runs)
    workshop.machine = Machine()
    stopped = run(workshop, "neural")
    other = Workshop(workshop.tables, workshop.out / "other", workshop.out / "other.json")
    assert run(other, "neural").measured == stopped.measured


def test_runs_of_other_settings_or_texts_stay(workshop, place) -> None:
    run(workshop, "neural")
    recipe = place / "tiny.toml"
    recipe.write_text(recipe.read_text().replace("epochs = 3", "epochs = 4"))
    with pytest.raises(InputError, match="toy-tiny: was trained with other settings"):
        run(workshop, "neural", again=True)
    recipe.write_text(recipe.read_text().replace("epochs = 4", "epochs = 3"))
    with (place / "texts" / "toy" / "train.txt").open("a") as file:
        file.write("a b\n")
    with pytest.raises(InputError, match="toy-tiny: was trained on another text"):
        run(workshop, "neural", again=True)


def test_another_text_is_said(workshop) -> None:
    table = workshop.tables["toy"]
    table.sha256 = "0" * 64
    assert run(workshop, "counts").verdict == "other text: not the one of the publication"


@pytest.mark.parametrize(
    ("row", "culprit"),
    [("said", "quoted: nobody knows how"), ("later", "needs the adapter 'of-tomorrow'")],
)
def test_what_cannot_be_run_is_refused_before_the_work(workshop, row, culprit) -> None:
    with pytest.raises(InputError, match=culprit):
        run(workshop, row)
    assert not workshop.runs.exists()


def ablation_table() -> PublishedTable:
    cells = {"elman": 0.3, "gru": 0.6, "lstm": 0.9}
    rows = [
        PublishedRow(name=name, published=value, experiment="ablation", task="xml", cell=name)
        for name, value in cells.items()
    ]
    return PublishedTable(name="cells", title="", source="", metric="accuracy", rows=tuple(rows))


def test_experiments_are_judged_by_their_order(workshop, monkeypatch) -> None:
    means = {"elman": 0.2, "gru": 0.5, "lstm": 0.4}
    trained = []

    def ensure(training, corpus, runs, *, machine, progress):
        trained.append((training.name, training.config().seed, training.config().model.cell))

    def measure_run(folder, data, after, seed):
        cell = folder.name.split("-")[1]
        assert data.endswith(f",seed={seed}")
        off = {1: -0.01, 2: 0.0, 3: 0.01}[seed]
        return SimpleNamespace(seed=seed, accuracy=means[cell] + off, parameters=10, seconds=2.0)

    monkeypatch.setattr("elman.experiments.reproduce.measuring.ensure", ensure)
    monkeypatch.setattr("elman.experiments.reproduce.measuring.hash_run", lambda path: "f" * 64)
    monkeypatch.setattr(experiments, "measure_run", measure_run)
    table = ablation_table()
    verdicts = [reproduce_row(workshop, table, row, "").verdict for row in table.rows]
    assert verdicts == [
        "measured: an order needs another row",
        "direction holds (1 pair)",
        "order differs (1 of 2 pairs)",
    ]
    assert trained[:4] == [
        ("ablation/xml-elman-1", 1, "elman"),
        ("ablation/xml-elman-2", 2, "elman"),
        ("ablation/xml-elman-3", 3, "elman"),
        ("ablation/xml-gru-1", 1, "gru"),
    ]
    kept = read_kept(workshop.results)
    found = {s.row.name: str(s.verdict) for s in statuses(workshop.tables, [table], kept)}
    assert found == {
        "elman": "order holds (2 of 2 pairs)",
        "gru": "order differs (1 of 2 pairs)",
        "lstm": "order differs (1 of 2 pairs)",
    }
    assert {result.row: result.verdict for result in kept.results.values()} == found
    result = kept.results["cells/elman"]
    assert result.training_seconds == 6.0
    assert result.figures == pytest.approx({"1": 0.19, "2": 0.2, "3": 0.21})
    assert result.spread == pytest.approx(0.01)


def test_a_training_that_starts_from_another(workshop) -> None:
    table = workshop.tables["toy"]
    still = ("training.epochs=1", "training.learning_rate=1e-9")  # nothing is learned any more
    recipe = table.row("neural").recipe
    tuned = PublishedRow(name="tuned", recipe=recipe, starts_from="neural", settings=still)
    result = reproduce_row(workshop, table, tuned, "texts/toy")
    assert result.starts_from == "neural"
    runs = {path.name for path in workshop.runs.iterdir()}
    assert runs == {"toy-tiny", "toy-tiny-1-1e-9-finetuned"}
    assert result.measured == pytest.approx(run(workshop, "neural").measured, rel=1e-6)
    alone = PublishedRow(name="alone", recipe=recipe, settings=still)
    assert reproduce_row(workshop, table, alone, "texts/toy").measured != result.measured


def test_older_results_of_our_recipes_move_to_their_new_rows(workshop) -> None:
    table = workshop.tables["toy"]
    result = run(workshop, "counts")
    published = PublishedRow(name="counts", recipe="ngram", settings=("model.order=3",))
    ours = replace(table.row("counts"), name="counts-ours", ours=True)
    table.rows = (published, ours)
    kept = workshop.kept()
    assert kept.of(table, published) is None
    moved = kept.of(table, ours)
    assert moved is not None
    assert moved.measured == result.measured
    assert list(kept.results) == ["toy/counts-ours"]


def test_infinite_perplexity_is_kept(workshop) -> None:
    table = workshop.tables["toy"]
    settings = ("model.order=5", "model.smoothing=maximum-likelihood", "text.tokenizer=words")
    row = PublishedRow(name="ml", published=5.0, recipe="ngram", settings=settings)
    result = reproduce_row(workshop, table, row, "texts/toy")
    assert result.measured is None
    assert result.verdict == "not reached: infinite"
    assert math.isfinite(result.training_seconds or math.nan)


def rewriting_table(metric: str) -> PublishedTable:
    settings = ("model.hidden_size=8", "model.embedding_size=8", "training.epochs=1")
    row = PublishedRow(name="tiny", published=0.5, recipe="reverse", settings=settings)
    return PublishedTable(
        name="letters",
        title="",
        source="",
        metric=metric,
        data="copy:longest=4,lines=100",
        rows=(row,),
    )


@pytest.mark.parametrize("metric", ["exact match", "BLEU"])
def test_other_tasks_are_measured_by_the_metric_of_the_table(workshop, metric) -> None:
    table = rewriting_table(metric)
    result = reproduce_row(workshop, table, table.rows[0], table.data)
    (folder,) = workshop.runs.iterdir()
    measures = load(folder).evaluate(table.data)
    assert result.measured == dict(measures.rows())[metric]
    assert result.runs == {"0": trainings.hash_run(folder)}
    again = reproduce_row(workshop, table, table.rows[0], table.data, again=True)
    assert again.figures == result.figures


def test_a_metric_that_the_task_lacks_is_refused(workshop) -> None:
    for metric, culprit in {"F1": "unknown measure", "perplexity": "not a language model"}.items():
        table = rewriting_table(metric)
        with pytest.raises(InputError, match=culprit):
            reproduce_row(workshop, table, table.rows[0], table.data)
