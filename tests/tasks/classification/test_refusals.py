"""Labels not seen in training, and texts that cannot be classified or learned from."""

from __future__ import annotations

from pathlib import Path

import pytest
from films import draw_texts, train_classifier, write_texts

from elman.errors import DataWarning, InputError
from elman.tasks.classification.trained import TrainedClassifier

pytestmark = pytest.mark.usefixtures("without_curves")


def test_a_label_that_training_never_saw_is_noted_and_wrong(
    trained: TrainedClassifier, tmp_path: Path
) -> None:
    rows = [*draw_texts(9, 6), ("odd", "a film ."), ("odd", "a cast .")]
    measures = trained.evaluate(write_texts(tmp_path, test=rows))
    assert measures.unseen == {"odd": 2}
    assert measures.labels.labels["odd"].recall == 0
    assert measures.labels.accuracy <= 9 / 11
    assert measures.notes() == ["2 texts with labels not seen in training (odd): always wrong"]


def test_a_label_only_in_validation_is_always_wrong(tmp_path: Path) -> None:
    odd = [("odd", text) for _, text in draw_texts(20, 1)]
    place = write_texts(tmp_path, train=draw_texts(80, 0), valid=odd)
    with pytest.warns(DataWarning, match=r"20 texts with labels not seen in training \(odd\)"):
        trained = train_classifier(place)
    assert trained.facts["validation"]["error"] == 1
    note = "validation: 20 texts with labels not seen in training (odd): always wrong"
    assert note in trained.facts["data"]["notes"]


def test_an_empty_text_is_refused(trained: TrainedClassifier) -> None:
    with pytest.raises(InputError, match="text 2 is empty"):
        trained.classify(["a film .", " "])


def test_one_label_is_too_few(tmp_path: Path) -> None:
    place = write_texts(tmp_path, train=[("good", "a film .")] * 9, valid=draw_texts(4, 0))
    with pytest.raises(InputError, match="every training text has the label 'good'"):
        train_classifier(place)


def test_texts_and_pairs_do_not_mix(tmp_path: Path) -> None:
    rows = '{"text": "a", "label": "x"}\n{"text": "b", "text2": "c", "label": "y"}\n' * 5
    for split in ("train", "valid"):
        (tmp_path / f"{split}.jsonl").write_text(rows)
    with pytest.raises(InputError, match="give single texts or pairs, not both"):
        train_classifier(str(tmp_path))


def test_a_lone_file_whose_valid_part_has_no_label_is_refused(tmp_path: Path) -> None:
    left_out, labelled_lines = "x a film .\n" * 18, "good a film .\nbad a cast .\n"
    (tmp_path / "lines.txt").write_text(left_out + labelled_lines)
    with pytest.raises(InputError, match="no validation text has a label"):
        train_classifier(str(tmp_path / "lines.txt"), "text.rename.x=")
