"""Looking inside trained models: texts of every kind, several models, and three cells compared."""

from dataclasses import replace
from pathlib import Path

import pytest
from tiny import train_tiny, write_sentences

import elman
from elman.errors import InputError
from elman.experiments.cells import sentence_for, train_cells
from elman.figures.inspection import TITLES, inspection_page, write_pictures
from elman.insight import INSIGHTS
from elman.insight.gradient_flow import GradientFlow
from elman.tasks.language_modelling.inspection import inspect, inspect_several, make_subject
from elman.tasks.language_modelling.trained import TrainedModel

pytestmark = pytest.mark.usefixtures("without_curves")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    place = tmp_path_factory.mktemp("inspection")
    train_tiny(write_sentences(place / "data"), place / "run")
    return elman.load(place / "run")


def test_everything_there_is_to_see(trained: TrainedModel) -> None:
    seen = inspect(trained, "the cat sees a dog .\nthe bird hears")
    assert {*seen.insights} == {*INSIGHTS} - {"attention"}
    assert seen.unseen == {"attention": "this model has no attention"}
    assert (seen.tokens, seen.left_out) == (10, 0)
    assert seen.insights["training"].to_data()["epochs"]  # from the run folder


def test_every_insight_has_a_title() -> None:
    assert {*TITLES} == {*INSIGHTS}


def test_tokens_are_shown_as_they_stand_in_the_text(trained: TrainedModel) -> None:
    subject, left_out = make_subject(trained, "the  Zebra\nsees $5", limit=4)
    assert subject.tokens == ["the", "Zebra", "⏎", "sees"]
    assert "".join(subject.pieces) == subject.text == "the  Zebra\nsees"
    assert left_out == 1
    assert subject.read == ["<start>", "the", "Zebra", "⏎"]


@pytest.mark.parametrize("text", ["cat", "\n", "the\n\n\ncat", "é 猫 🐈 \t x", "a " * 300])
def test_texts_that_nobody_prepared(text: str, trained: TrainedModel) -> None:
    seen = inspect(trained, text, limit=40)
    assert "surprisal" in seen.insights
    assert "gradient-flow" in seen.insights


def test_only_what_is_asked_for(trained: TrainedModel) -> None:
    seen = inspect(trained, "the cat", only=["surprisal"])
    assert [*seen.insights] == ["surprisal"]
    with pytest.raises(InputError, match="unknown insight 'suprisal'; did you mean 'surprisal'"):
        inspect(trained, "the cat", only=["suprisal"])


def test_refusals(trained: TrainedModel, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is empty"):
        inspect(trained, "")
    with pytest.raises(InputError, match="at least 2"):
        inspect(trained, "the cat", limit=1)
    counted = elman.train("ngram", data=str(write_sentences(tmp_path / "data")))
    with pytest.raises(InputError, match="not a neural model; for n-gram models use elman explain"):
        inspect(counted, "the cat")


def test_looking_leaves_the_model_as_it_was(trained: TrainedModel) -> None:
    before = trained.perplexity("the cat sees a dog .\n")
    inspect(trained, "the cat sees a dog .\n")
    assert trained.perplexity("the cat sees a dog .\n") == before


def test_pages_and_pictures(trained: TrainedModel, tmp_path: Path) -> None:
    models = {"one": (trained, None), "two": (trained, [])}
    seen = inspect_several(models, "the cat sees a dog .", only=["gradient-flow", "training"])
    page = inspection_page(seen)
    assert "Side by side" in page
    assert "the run has no history" in page  # of the second
    files = write_pictures(seen, tmp_path / "figures", "svg")
    assert [file.name for file in files][:2] == ["side-by-side-1.svg", "side-by-side-2.svg"]
    assert "one-training-1.svg" in [file.name for file in files]
    assert all(file.read_text(encoding="utf-8").startswith("<?xml") for file in files)


@pytest.mark.parametrize(
    ("data", "epochs", "near", "far", "least"),
    [("tickets:lines=200", 3, 10, 40, 0.05), ("grammar", 0.2, 3, 13, 0.2)],
)
def test_the_elman_network_forgets_and_the_lstm_holds(
    data: str, epochs: float, near: int, far: int, least: float
) -> None:
    """On the ticket sentence and on the grammar, in the gradient of the last word."""
    cells = train_cells(data=data, overrides=[f"training.epochs={epochs}"])
    models = {name: (cell.trained, cell.records) for name, cell in cells.items()}
    seen = inspect_several(models, sentence_for(data), only=["gradient-flow"])
    left = {}
    for one in seen.inspections:
        flow = one.insights["gradient-flow"]
        assert isinstance(flow, GradientFlow)
        assert flow.predicted[-1] in ("tickets", "walk")
        norms = flow.of_loss(-1)
        left[one.name] = norms[far] / norms[near]
    assert left["elman"] < least
    assert left["lstm"] > 0.3
    assert [len(d.arguments.get("series", [])) for d in seen.drawings()[:2]] == [3, 3]


def test_what_networks_remember_is_measured_after_every_epoch(tmp_path: Path) -> None:
    overrides = ["training.epochs=2", "model.hidden_size=4", "model.embedding_size=4"]
    (cell,) = train_cells(["gru"], "tickets:lines=200", overrides=overrides).values()
    remembering = cell.remembering
    assert remembering is not None
    assert remembering.epochs == [1, 2]
    assert [*remembering.probabilities[0]] == [6, 13, 21, 28, 40]
    assert remembering.chance == 1 / 8
    assert not remembering.solved
    seen = inspect_several({"gru": (cell.trained, [])}, "she printed", only=["surprisal"])
    seen = replace(seen, remembering={"gru": remembering})
    (drawing,) = seen.drawings()
    assert [panel["title"] for panel in drawing.arguments["panels"]] == [
        "gru, by epoch",
        "After the last epoch, by distance",
    ]
    assert drawing.arguments["panels"][0]["levels"] == [{"y": 0.125, "name": "chance: 1 of 8"}]
    assert "chance: 1 of 8" in inspection_page(seen)
    assert write_pictures(seen, tmp_path)[0].name == "side-by-side-1.png"
    assert seen.to_data()["remembering"]["gru"]["distances"] == [6, 13, 21, 28, 40]


@pytest.mark.slow
def test_the_lstm_remembers_the_tickets_and_the_elman_network_does_not() -> None:
    cells = train_cells(["elman", "lstm"])
    elman, lstm = (cells[name].remembering for name in ("elman", "lstm"))
    assert elman is not None
    assert lstm is not None
    assert lstm.solved
    assert all(elman.probabilities[-1][distance] < 0.2 for distance in (21, 28, 40))


def test_cells_that_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="unknown cell 'lstmm'"):
        train_cells(["lstmm"])
    with pytest.raises(InputError, match="name each of them once"):
        train_cells(["lstm", "lstm"])
