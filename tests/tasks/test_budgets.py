"""Trainings with a budget: what is chosen, that they end in time, and how they go on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

import pytest
from films import draw_texts, write_texts
from pairs import write_parallel
from tagged import write_tagged
from tiny import sentences, write_recipe, write_sentences

from elman.errors import InputError
from elman.recipes import RunConfig, load_recipe
from elman.runs.folder import read_run, update_run
from elman.tasks import planning
from elman.tasks.budgeted import kept_budget, rest_of
from elman.tasks.saved_runs import task_of
from elman.tasks.sizing import Choice, choose_size, with_config
from elman.tasks.task import Lesson, Plan, load, plan, resume, train
from elman.training import loop
from elman.training.budget import Allowance, Budget
from elman.training.loop import Stopped
from elman.training.probe import Speed

pytestmark = pytest.mark.usefixtures("without_curves")
SCHEDULE = 'epochs = 50\nlearning_rate = 2.0\nschedule = "linear"'


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_PROBE_SECONDS", 0.01)


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a fast machine is stopped by its budget, not by having learned enough."""
    monkeypatch.setattr("elman.tasks.sizing._FEWEST_STEPS", 10**7)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_sentences(tmp_path / "data")


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    model = "num_layers = 1\ndropout_output = 0.2"
    text = write_recipe(tmp_path / "recipe.toml", training=SCHEDULE, model=model)
    path = Path(text)
    path.write_text(path.read_text().replace("_size = 6", "_size = 64"))
    return text


def _hidden_size(found: Plan) -> int:
    (size,) = (one for one in found.settings if one.startswith("model.hidden_size="))
    return int(size.partition("=")[2])


def test_operations_are_used_up(tmp_path: Path) -> None:
    """A count of operations is the same on every machine; the width grows with it."""
    text = str(write_tagged(tmp_path / "data"))
    less, more = (plan(data=text, budget=budget) for budget in ("0.001teraflop", "0.1teraflop"))
    assert less.teraflop == pytest.approx(0.001, rel=0.02)
    assert more.teraflop == pytest.approx(0.1, rel=0.02)
    assert _hidden_size(more) > 1.5 * _hidden_size(less)
    assert more.epochs > 1.5 * less.epochs


@pytest.mark.parametrize("kind", ["tagger", "classifier", "quick"])
def test_more_time_never_gives_a_smaller_or_shorter_training(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a constant speed, up to the longest training that the data can use."""
    monkeypatch.setattr("elman.tasks.sizing.measure_speed", _constant_speed)
    lesson = _lesson(kind, tmp_path)
    choices = [_choice(lesson, seconds) for seconds in (2, 5, 15, 60, 300, 1200, 3600, 36000)]
    widths = [choice.config.model.hidden_size for choice in choices]
    operations = [
        _products(lesson, choice.config) * choice.config.training.epochs for choice in choices
    ]
    assert widths == sorted(widths)
    assert operations == sorted(operations)
    assert operations[0] < operations[-1]
    last, recipe = choices[-1].config.training, lesson.task.config.training
    assert last.epochs == choices[-1].most_epochs
    assert choices[0].config.training.epochs < last.epochs
    # It validates at least as often as the recipe in its own epochs.
    assert last.epochs / last.validate_every >= recipe.epochs / recipe.validate_every
    if kind != "quick":  # whose text is too short for more than the least width
        assert widths[0] < widths[-1] == lesson.task.config.model.hidden_size


def _lesson(kind: str, place: Path) -> Lesson:
    if kind == "classifier":
        data = write_texts(place / "data", train=draw_texts(80, 0), valid=draw_texts(20, 1))
    else:
        data = str((write_tagged if kind == "tagger" else write_sentences)(place / "data"))
    config = load_recipe(kind)
    task = task_of(config.kind)
    return task.prepare(task.open(data, config), config, lambda stage: None)


def _choice(lesson: Lesson, seconds: float) -> Choice:
    allowance = Allowance(Budget(seconds=seconds))
    return choose_size(lesson, allowance, cast("Any", lambda part: part))


def _products(lesson: Lesson, config: RunConfig) -> int:
    found: int = with_config(lesson, config).task.build(lesson.train).multiplications(100)
    return found


def _constant_speed(lesson: Any, seconds: float) -> Speed:
    """Of a slow machine: 0.4 GFLOP per second, and a tenth of a millisecond per token."""
    speed = 1 / (1e-4 + 6 * _products(lesson, lesson.task.config) / 4e8)
    return Speed(speed, 3 * speed, steady=True, running=1.0)


def test_the_same_operations_give_the_same_model(data: Path, recipe: str, tmp_path: Path) -> None:
    first, second = (
        train(recipe, data=str(data), out=tmp_path / name, budget="0.002teraflop")
        for name in ("first", "second")
    )
    assert first.facts["validation"] == second.facts["validation"]
    assert first.facts["budget"]["settings"] == second.facts["budget"]["settings"]


@pytest.mark.parametrize(
    "setting",
    ["model.output=full", "model.output_options={}", "model.output_options.smoothing=0.1"],
)
def test_an_output_set_by_the_user_gets_no_options_of_another(
    setting: str, data: Path, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget would choose a sampled softmax for this vocabulary."""
    monkeypatch.setattr("elman.tasks.language_modelling.task._FULL_WORDS", 1)
    assert train(recipe, data=str(data), budget="0.001teraflop").config.model.output == "sampled"
    trained = train(recipe, data=str(data), budget="0.001teraflop", overrides=[setting])
    assert trained.config.model.output == "full"
    assert "samples" not in trained.config.model.output_options


@pytest.mark.usefixtures("endless")
def test_a_time_ends_the_run(data: Path, recipe: str, tmp_path: Path) -> None:
    started = time.monotonic()
    trained = train(
        recipe,
        data=str(data),
        out=tmp_path / "run",
        budget="6s",
        overrides=["model.hidden_size=64", "training.patience=0"],
    )
    passed = time.monotonic() - started
    assert 3.5 < passed < 8
    assert trained.config.model.hidden_size == 64  # as the user said
    kept = load(tmp_path / "run")
    assert kept.config.training.epochs == trained.config.training.epochs
    assert kept.facts["training"]["finished"] is True
    assert kept.facts["training"]["epochs"] == pytest.approx(kept.config.training.epochs, rel=0.01)
    assert kept.facts["budget"]["ngram_perplexity"] > 1


def test_what_the_user_sets_is_not_chosen(data: Path, recipe: str) -> None:
    overrides = ["model.output=full", "model.embedding_size=48", "training.schedule=constant"]
    trained = train(recipe, data=str(data), budget="0.001teraflop", overrides=overrides)
    assert trained.config.model.embedding_size == 48
    assert trained.config.model.hidden_size == 64
    assert trained.config.training.schedule == "constant"
    with pytest.raises(InputError, match=r"--budget chooses training\.epochs; leave out one"):
        train(recipe, data=str(data), budget="1m", overrides=["training.epochs=3"])


def test_data_that_is_used_up_ends_earlier(data: Path, recipe: str, monkeypatch) -> None:
    monkeypatch.setattr("elman.tasks.sizing._FEWEST_STEPS", 10)
    trained = train(recipe, data=str(data), budget="1petaflop")
    assert trained.config.training.epochs == 100  # twice the recipe's
    assert trained.facts["training"]["epochs"] <= 100


@pytest.mark.parametrize("kind", ["tagger", "translator"])
def test_other_tasks(kind: str, tmp_path: Path) -> None:
    write = {"tagger": write_tagged, "translator": write_parallel}[kind]
    trained = train(
        data=str(write(tmp_path / "data")),
        budget="0.003teraflop",
        overrides=["text.tokenizer=words"] if kind == "translator" else [],
    )
    assert trained.config.recipe == kind
    assert trained.facts["training"]["teraflop"] == pytest.approx(0.003, abs=0.0015)


def test_tags_without_spans_need_no_crf(tmp_path: Path) -> None:
    words = "".join(
        f"1\tw{n}\tw\t{'NOUN VERB'.split()[n % 2]}" + "\t_" * 6 + "\n\n" for n in range(40)
    )
    (tmp_path / "x.conllu").write_text(words)
    chosen = plan(data=str(tmp_path / "x.conllu"), budget="0.001teraflop").settings
    assert "model.output=softmax" in chosen
    assert not any("output=softmax" in one for one in plan_of_spans(tmp_path))


def plan_of_spans(place: Path) -> list[str]:
    return plan(data=str(write_tagged(place / "spans")), budget="0.001teraflop").settings


def test_a_plan_says_what_training_would_choose(data: Path, recipe: str) -> None:
    planned = plan(recipe, data=str(data), budget="0.004teraflop")
    trained = train(recipe, data=str(data), budget="0.004teraflop")
    assert planned.settings == trained.facts["budget"]["settings"]
    assert planned.epochs == trained.config.training.epochs
    with pytest.raises(InputError, match="name a recipe, or give a budget"):
        plan(data=str(data))


@pytest.mark.usefixtures("endless")
def test_a_stopped_run_continues_with_the_rest(
    data: Path, recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, seen = tmp_path / "run", []
    run = loop.Loop._heed

    def stop_once(self: loop.Loop, asked: list[int]) -> None:
        if self.trainer.counters.step >= 40 and not seen:
            seen.append(asked.append(15))
        run(self, asked)

    monkeypatch.setattr(loop.Loop, "_heed", stop_once)
    with pytest.raises(Stopped):
        train(recipe, data=str(data), out=out, budget="8s", overrides=["training.patience=0"])
    before = read_run(out)["facts.json"]["budget"]["used"]
    started = time.monotonic()
    trained = resume(out)
    assert time.monotonic() - started < 8 - before + 2
    assert trained.facts["training"]["finished"] is True
    assert trained.facts["budget"]["used"] == pytest.approx(8, abs=2)


def test_the_rest_of_a_budget(tmp_path: Path) -> None:
    facts = {"budget": {"seconds": 60, "used": 45.0, "validated": 7, "most_epochs": 3}}
    kept = kept_budget(tmp_path, facts)
    assert kept is not None
    assert rest_of(kept, time.monotonic()).left == pytest.approx(15, abs=1)
    assert kept_budget(tmp_path, {}) is None


def test_a_new_budget_lengthens_a_finished_run(data: Path, recipe: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = train(recipe, data=str(data), out=out, overrides=["training.epochs=2"])
    assert first.facts["training"]["epochs"] == 2
    started = time.monotonic()
    longer = resume(out, budget="4s")
    assert 2 < time.monotonic() - started < 6
    assert longer.facts["training"]["epochs"] > 3
    assert load(out).config.training.epochs == longer.config.training.epochs
    more = resume(out, budget="0.001teraflop")
    gained = more.facts["training"]["teraflop"] - longer.facts["training"]["teraflop"]
    assert gained == pytest.approx(0.001, abs=0.0011)


def test_a_forged_budget_is_refused(data: Path, recipe: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(recipe, data=str(data), out=out, budget="0.001teraflop")
    facts = read_run(out)["facts.json"]
    facts["budget"]["used"] = "all"
    update_run(out, {"facts.json": facts})
    with pytest.raises(InputError, match="its budget cannot be read"):
        resume(out)


def test_counting_has_no_budget(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(sentences(60, 0))
    with pytest.raises(InputError, match="counting takes seconds"):
        train("ngram", data=str(tmp_path / "x.txt"), budget="1m")
