"""Texts on films with labels, and a small classifier of them."""

import pytest
from films import draw_texts, train_classifier, write_texts

from elman.tasks.classification.trained import TrainedClassifier


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("films")
    return write_texts(
        place, train=draw_texts(80, 0), dev=draw_texts(20, 1), test=draw_texts(40, 2)
    )


@pytest.fixture(scope="session")
def trained(data: str) -> TrainedClassifier:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        return train_classifier(data)
