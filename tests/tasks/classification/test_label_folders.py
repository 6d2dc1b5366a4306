"""Training, resuming and evaluating on folders with one folder per label."""

from pathlib import Path

import pytest
from films import draw_texts, train_classifier, write_label_folders

import elman

pytestmark = pytest.mark.usefixtures("without_curves")


def test_folders_with_splits(tmp_path: Path) -> None:
    data = write_label_folders(tmp_path / "films", train=draw_texts(60, 0), test=draw_texts(20, 1))
    (tmp_path / "films/train/bad/none.txt").touch()
    trained = train_classifier(data, out=tmp_path / "run")
    assert trained.task.labels == ["bad", "good"]
    assert trained.facts["data"]["examples"] == 54  # a tenth is held out
    notes = trained.facts["data"]["notes"]
    assert "held out for validation" in notes[0]
    assert notes[1].endswith("names of the 2 folders (bad, good)")
    assert notes[2].endswith("left out: 1 file (bad/none.txt) without text")
    assert not any("columns" in note for note in notes)
    loaded = elman.load(tmp_path / "run")
    found = loaded.evaluate(data)
    assert len(loaded.examples(data)) == 20
    assert found.to_data() == loaded.evaluate(f"{data}/test").to_data()
    assert loaded.has_seen(f"{data}/train")
    assert not loaded.has_seen(f"{data}/test")


def test_a_folder_without_splits(tmp_path: Path) -> None:
    data = f"{write_label_folders(tmp_path, news=draw_texts(60, 0))}/news"
    trained = train_classifier(data)
    assert trained.facts["data"]["examples"] == 54
    assert len(trained.examples(data)) == 3  # its test part
    assert not trained.has_seen(data)


def test_a_changed_folder_cannot_be_resumed(tmp_path: Path) -> None:
    data = write_label_folders(tmp_path / "films", train=draw_texts(60, 0))
    train_classifier(data, out=tmp_path / "run")
    (tmp_path / "films/train/bad/new.txt").write_text("a new film .")
    with pytest.raises(elman.InputError, match="this is not the text that"):
        elman.tasks.task.resume(tmp_path / "run", overrides=["training.epochs=9"])


def test_texts_of_several_lines_are_one_sample(tmp_path: Path) -> None:
    texts = [(label, text.replace(" ", "\n", 1)) for label, text in draw_texts(60, 0)]
    trained = train_classifier(write_label_folders(tmp_path / "films", train=texts))
    assert trained.facts["samples"]
    assert not any("\n" in sample["texts"] for sample in trained.facts["samples"])
