"""What happened while a model was trained: one line of JSON per record, and the curves as a picture.

Takes records (plain data), gives `history.jsonl`, which grows while the training runs, and
`curves.png`. A run that goes on from a checkpoint first drops what came after that checkpoint.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

HISTORY = "history.jsonl"
CURVES = "curves.png"

Record = dict[str, Any]


def read_history(folder: Path) -> list[Record]:
    """Every record of a run; a last line that was cut off by a kill is left out."""
    path = folder / HISTORY
    if not path.exists():
        return []
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            break
    return records


class History:
    """The records of a run folder, appended as they come."""

    def __init__(self, folder: Path, up_to_step: int = 0) -> None:
        self._path = folder / HISTORY
        self.records = [r for r in read_history(folder) if r["step"] <= up_to_step]
        temporary = self._path.with_suffix(".partial")
        temporary.write_text("".join(map(_line, self.records)), encoding="utf-8")
        os.replace(temporary, self._path)

    def add(self, record: Record) -> None:
        """Write a record down at once."""
        self.records.append(record)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line(record))


def _line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def draw_curves(records: list[Record], path: Path) -> None:
    """Perplexity, learning rate and gradient norm over the epochs, as a picture."""
    from matplotlib.figure import Figure

    train = [record for record in records if "train_perplexity" in record]
    valid = [record for record in records if "valid_perplexity" in record]
    if not train:
        return
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    _plot(above, train, "train_perplexity", label="training", color="tab:blue", linewidth=0.8)
    _plot(above, valid, "valid_perplexity", label="validation", color="tab:orange", marker="o")
    above.set_yscale("log")
    above.yaxis.set_major_formatter("{x:g}")
    above.yaxis.set_minor_formatter("{x:g}")
    above.set_ylabel("perplexity")
    above.legend()
    above.grid(alpha=0.3, which="both")
    _plot(below, train, "gradient_norm", label="gradient norm", color="tab:green", linewidth=0.8)
    _plot(below, train, "learning_rate", label="learning rate", color="tab:red")
    below.set_yscale("log")
    below.set_xlabel("epochs")
    below.legend()
    below.grid(alpha=0.3)
    temporary = path.with_name(f".{path.name}.partial")
    figure.savefig(temporary, format="png", dpi=110)
    os.replace(temporary, path)


def _plot(axes: Any, records: list[Record], name: str, **style: Any) -> None:
    axes.plot([record["epoch"] for record in records], [r[name] for r in records], **style)
