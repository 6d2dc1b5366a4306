"""A translator's training that was stopped and resumed is the one that never stopped."""

from pathlib import Path

import pytest
from outcome import differences, outcome
from pairs import train_translator, write_captions, write_parallel
from stopping import stop_at

from elman.errors import InputError
from elman.tasks.task import resume
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")

SETTINGS = {
    "additive": [],
    "after, average": ["model.attend=after", "model.input_feeding=true", "training.average=ema"],
    "none, sampled": ["model.attention=none", "training.regime=scheduled-sampling"],
    "bpe": ["text.tokenizer=bpe", "text.vocabulary_size=300", "text.shared=true"],
}


def finish(out: Path) -> int:
    stops = 0
    while True:
        try:
            resume(out)
            return stops
        except Stopped:
            stops += 1


@pytest.mark.parametrize("name", SETTINGS)
def test_stops_leave_no_trace(tmp_path: Path, name: str) -> None:
    data = write_parallel(tmp_path / "data")
    train_translator(data, tmp_path / "straight", *SETTINGS[name])
    with stop_at(range(0, 1000, 3)):
        with pytest.raises(Stopped):
            train_translator(data, tmp_path / "stopped", *SETTINGS[name])
        assert finish(tmp_path / "stopped") >= 2
    assert differences(outcome(tmp_path / "straight"), outcome(tmp_path / "stopped")) == []


def test_other_vectors_are_another_text(tmp_path: Path) -> None:
    data = write_captions(tmp_path / "data")
    settings = ("text.source=npz", "text.target=txt")
    with stop_at([3]), pytest.raises(Stopped):
        train_translator(data, tmp_path / "run", *settings)
    (data / "train.npz").write_bytes((data / "val.npz").read_bytes())
    with pytest.raises(InputError, match="has 20 sources and .*train.txt has 120 lines"):
        resume(tmp_path / "run")
