"""A note says if there are too few validation examples to judge by."""

from __future__ import annotations

from pathlib import Path

import pytest
from films import draw_texts, write_texts

from elman.recipes import load_recipe
from elman.tasks.saved_runs import task_of


@pytest.mark.parametrize(("valid", "said"), [(3, True), (19, True), (20, False)])
def test_few_texts_to_validate_on(valid: int, said: bool, tmp_path: Path) -> None:
    data = write_texts(tmp_path, train=draw_texts(60, 0), valid=draw_texts(valid, 1))
    config = load_recipe("classifier")
    task = task_of(config.kind)
    lesson = task.prepare(task.open(data, config), config, lambda stage: None)
    assert any(note.startswith(f"only {valid} texts") for note in lesson.notes) == said
