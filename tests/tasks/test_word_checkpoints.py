"""Checkpoints by words seen are runs of their own, with the weights of that moment."""

from pathlib import Path

import numpy as np
import pytest

import elman
from elman.errors import InputError
from elman.training.word_counts import checkpoint_name, parse_word_counts

SETTINGS = (
    "model.hidden_size=8", "model.embedding_size=8", "training.batch_size=4", "training.window=5",
    "training.epochs=2", "text.tokenizer=words",
)  # fmt: skip


def test_numbers_of_words() -> None:
    assert parse_word_counts("2M, 500k,1.5M,20") == [20, 500_000, 1_500_000, 2_000_000]
    assert [*map(checkpoint_name, (20, 500_000, 1_500_000, 10**7, 10**9))] == [
        "chck_20", "chck_500k", "chck_1.5M", "chck_10M", "chck_1000M",
    ]  # fmt: skip
    babylm = parse_word_counts("babylm")
    assert babylm[:11] == [n * 10**6 for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20)]
    assert (len(babylm), babylm[-1]) == (28, 10**9)
    for wrong in ("1X", "0", "many", "-5"):
        with pytest.raises(InputError, match="checkpoints_at_words"):
            parse_word_counts(wrong)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(0)
    words = np.array(["ape", "bee", "cat", "dog", "elk"])[random.integers(0, 5, (200, 4))]
    folder = tmp_path_factory.mktemp("text")
    for name, part in (("train", words[:160]), ("valid", words[160:])):
        (folder / f"{name}.txt").write_text("".join(" ".join(row) + "\n" for row in part))
    return folder


def test_a_checkpoint_is_the_training_that_stops_there(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    at = "training.checkpoints_at_words=320,640,1M"
    # 640 words per epoch: the second checkpoint is the end of the first of two epochs.
    elman.train("small", data=str(text), out=out, overrides=(*SETTINGS, at))
    names = sorted(path.name for path in (out / "checkpoints").iterdir())
    assert [name for name in names if not name.startswith(".")] == ["chck_320", "chck_640"]
    half = elman.load(out / "checkpoints" / "chck_640", elman.TrainedModel)
    assert half.facts["words_seen"] == 640
    assert half.facts["training"]["epochs"] == pytest.approx(1, abs=0.05)
    whole = elman.load(out, elman.TrainedModel)
    line = "ape bee cat dog\n"
    assert half.perplexity(line) != whole.perplexity(line)
    with pytest.raises(InputError):
        elman.tasks.task.resume(out / "checkpoints" / "chck_640")  # type: ignore[attr-defined]


def test_checkpoints_do_not_disturb_the_training(text: Path, tmp_path: Path) -> None:
    plain = elman.train("small", data=str(text), out=tmp_path / "a", overrides=SETTINGS)
    with_them = elman.train(
        "small", data=str(text), out=tmp_path / "b",
        overrides=(*SETTINGS, "training.checkpoints_at_words=100,200,300"),
    )  # fmt: skip
    ours, theirs = plain.model.arrays(), with_them.model.arrays()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_only_running_text_has_words(tmp_path: Path) -> None:
    rows = "".join(f"w{n % 7} is here\tlabel{n % 2}\n" for n in range(60))
    (tmp_path / "rows.tsv").write_text("text\tlabel\n" + rows)
    with pytest.raises(InputError, match="only language models"):
        elman.train(
            "classifier", data=str(tmp_path / "rows.tsv"), out=tmp_path / "run",
            overrides=("training.checkpoints_at_words=10", "training.epochs=1"),
        )  # fmt: skip
