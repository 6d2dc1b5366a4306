"""A file sorted by label: every label is trained, and the test part is never trained on."""

from __future__ import annotations

from pathlib import Path

import pytest
from films import train_classifier

import elman
from elman.errors import DataWarning, InputError
from elman.recipes import load_recipe, saved_config
from elman.tasks import planning
from elman.tasks.task import plan

pytestmark = pytest.mark.usefixtures("without_curves")

LABELS = [f"label{number:02}" for number in range(20)]
NO_STEP = ("training.learning_rate=1e-30", "training.epochs=0.1")


@pytest.fixture
def lone(tmp_path: Path) -> str:
    """A file sorted by label; no text is there twice."""
    rows = [f"{label}\ta film {label} {number} .\n" for label in LABELS for number in range(6)]
    (tmp_path / "sorted.tsv").write_text("".join(rows) + "rare\ta lone film .\n")
    return str(tmp_path / "sorted.tsv")


def test_every_label_of_a_sorted_file_is_trained(lone: str) -> None:
    trained = train_classifier(lone, *NO_STEP)
    assert {*trained.task.labels} == {*LABELS, "rare"}
    notes = trained.facts["data"]["notes"]
    assert "no splits: 121 texts were split at random into 109 train, 6 valid, 6 test" in notes[0]
    assert notes[1].endswith("text = column 2, label = column 1, 21 labels")


def test_what_is_evaluated_was_not_trained_on(lone: str, tmp_path: Path) -> None:
    for seed in (0, 1):  # all runs share the split
        train_classifier(lone, *NO_STEP, seed=seed, out=tmp_path / f"run{seed}")
    parts = []
    for seed in (0, 1):
        trained = elman.load(tmp_path / f"run{seed}")
        parts.append({split: trained.examples(lone, split) for split in ("train", "valid", "test")})
        assert trained.examples(lone) == parts[-1]["test"]
        assert trained.facts["data"]["examples"] == len(parts[-1]["train"]) == 109
    assert parts[0] == parts[1]
    texts = [[e.texts for e in parts[0][split]] for split in ("train", "valid", "test")]
    assert len({text for part in texts for text in part}) == sum(map(len, texts)) == 121


def test_a_folder_without_a_valid_file(lone: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "train.tsv").write_text(Path(lone).read_text())
    trained = train_classifier(str(tmp_path / "folder"), *NO_STEP)
    assert {*trained.task.labels} == {*LABELS, "rare"}
    assert "no valid file: a random 12 of 121 texts" in trained.facts["data"]["notes"][0]


def test_runs_of_version_0_1_keep_their_split(lone: str) -> None:
    config = load_recipe("classifier").to_data()
    assert saved_config(config).text.split == "shuffled"
    del config["text"]["split"], config["text"]["columns"]
    assert saved_config(config).text.split == "ordered"
    with pytest.warns(DataWarning, match=r"not seen in training \(label19\)"):
        ordered = train_classifier(lone, *NO_STEP, "text.split=ordered")
    assert [example.label for example in ordered.examples(lone)] == [LABELS[-1]] * 5 + ["rare"]


def test_a_plan_survives_labels_that_only_validation_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "_PROBE_SECONDS", 0.01)
    (tmp_path / "train.tsv").write_text("a film .\tgood\na cast .\tbad\n" * 9)
    (tmp_path / "valid.tsv").write_text("a film .\todd\na cast .\tbad\n" * 9)
    cost = plan("classifier", data=str(tmp_path), overrides=["model.hidden_size=4"])
    assert cost.seconds > 0
    expected = "validation: 9 texts with labels not seen in training (odd)"
    assert any(expected in note for note in cost.notes)


def test_unseen_labels_are_reported_before_fit_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = elman.Classifier(model__hidden_size=4, training__epochs=1, threads=1)
    order: list[str] = []
    monkeypatch.setattr(
        "elman.tasks.training_run.TrainingRun.train", lambda *_, **__: order.append("trained")
    )
    monkeypatch.setattr("warnings.warn", lambda message, *_, **__: order.append(str(message)))
    texts, labels = ["a film .", "a cast ."] * 6, ["good", "bad"] * 6
    classifier.fit(texts, labels, validation=(["a film ."], ["odd"]))
    assert order[0].startswith("validation: 1 text with a label not seen in training (odd)")
    assert order[1] == "trained"


def test_fit_holds_out_of_every_label() -> None:
    texts = [f"a film {number} ." for number in range(60)]
    labels = [f"label{number // 6}" for number in range(60)]
    classifier = elman.Classifier(model__hidden_size=4, training__epochs=0.1, threads=1)
    assert classifier.fit(texts, labels).classes_.tolist() == sorted({*labels})


def test_labels_that_are_nearly_as_many_as_texts_are_refused(tmp_path: Path) -> None:
    rows = [f"a film {number} .\tanother film {number}\n" for number in range(40)]
    (tmp_path / "texts.tsv").write_text("".join(rows))
    with pytest.raises(InputError, match="40 different labels for 40 texts, taken from column 2"):
        train_classifier(str(tmp_path / "texts.tsv"))
    with pytest.raises(InputError, match="12 different labels for 12 texts"):
        elman.Classifier().fit(["a film"] * 12, [str(number) for number in range(12)])


def test_columns_are_kept_and_other_files_are_read_alike(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    folder.mkdir()
    rows = [f"{'good' if n % 2 else 'bad'}\ta film {n}\n" for n in range(40)]
    (folder / "train.tsv").write_text("".join(rows))
    (folder / "valid.tsv").write_text("good\ta film\nbad\tthe film\n")
    (folder / "test.tsv").write_text("good\tfilm\n")
    run = tmp_path / "run"
    train_classifier(str(folder), *NO_STEP, out=run)
    facts = elman.load(run).facts
    assert facts["data"]["columns"] == {"text": "2", "label": "1"}
    (example,) = elman.load(run).examples(str(folder))
    assert (example.texts, example.label) == (("film",), "good")
