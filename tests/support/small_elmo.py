"""A bidirectional model that trains in a moment, and its training files."""

from pathlib import Path
from typing import Any

from elman.tasks.task import train

LINES = [
    "the cat sat on the mat .",
    "John sat in London .",
    "dogs bark at John !",
    "the <unk> cat saw London , and London saw the cat .",
]
TAGGED = """\
John\tB-PER
sat\tO
in\tO
London\tB-LOC

the\tO
cat\tO
bit\tO
Mary\tB-PER
Smith\tI-PER
"""
SIZES = [
    "model.character_size=4",
    "model.widths=[1,3]",
    "model.filters=[5,7]",
    "model.projection=6",
    "model.hidden_size=11",
    "model.samples=8",
    "text.min_count=2",
]
TAGGER = ["model.hidden_size=8", "model.embedding_size=6", "training.epochs=3"]


def small_elmo(folder: Path, *overrides: str, out: bool = True, **others: Any) -> Any:
    """Trained on a few lines; its run is `folder / "elmo"`."""
    folder.mkdir(exist_ok=True, parents=True)
    for name in ("train", "valid", "test"):
        (folder / f"{name}.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    place = folder / "elmo" if out else None
    settings = [*SIZES, "training.epochs=2", "training.batch_size=2", *overrides]
    return train("elmo-small", data=str(folder), out=place, overrides=settings, **others)


def small_tagger(folder: Path, *overrides: str, **others: Any) -> Any:
    """Trained on two sentences."""
    folder.mkdir(exist_ok=True, parents=True)
    for name in ("train", "valid", "test"):
        (folder / f"{name}.conll").write_text(TAGGED, encoding="utf-8")
    return train("tagger", data=str(folder), overrides=[*TAGGER, *overrides], **others)
