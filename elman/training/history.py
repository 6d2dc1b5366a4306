"""The history of a training: one line of JSON per record, and a plot of the curves.

Takes records (plain data), gives `history.jsonl`, which grows during the training, and
`curves.png`. A run that resumes from a checkpoint first drops the records after it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from elman.errors import ElmanError
from elman.notebooks import Table, Tabular, curve_html, records_table, table_html
from elman.runs.parts import open_regular, parse_json

HISTORY = "history.jsonl"
CURVES = "curves.png"

Record = dict[str, Any]

_AS_F1 = {"span_error": "F1 of spans", "label_error": "micro F1 of labels"}  # 1 - error
_NO_ERROR = 5e-4  # below it, a rounded error rate is zero
_HIGHEST = 1e100  # the largest value for a logarithmic axis


class Records(list[Record], Tabular):
    """The records of a training: curves in a notebook."""

    def as_table(self) -> Table:
        """One row per record."""
        return records_table(self)

    def _repr_html_(self) -> str:
        names = [*dict.fromkeys(name for record in self for name in record)]
        lines = {
            name: [
                (record["epoch"], record[name]) for record in self if _is_number(record.get(name))
            ]
            for name in names
            if name.endswith(("perplexity", "_error"))
        }
        return curve_html(lines) + table_html(self.as_table())


def read_history(folder: Path) -> Records:
    """Every record of a run, up to the first invalid line, such as a last line that was cut off
    when the process was killed.
    """
    try:
        with open_regular(folder / HISTORY) as file:
            text = file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return Records()
    records = Records()
    for line in text.splitlines():
        try:
            record = parse_json(line)
        except ValueError:
            break
        if not _is_record(record):
            break
        records.append(record)
    return records


def _is_record(record: Any) -> bool:
    """Whether a record has an epoch and scalar values, with numbers for the plotted curves."""
    if not isinstance(record, dict):
        return False
    drawn = [name for name in record if name.endswith(("perplexity", "_error", "_norm", "_rate"))]
    numbers = [record.get("epoch"), record.get("step", 0), *(record[name] for name in drawn)]
    return all(map(_is_number, numbers)) and all(
        value is None or isinstance(value, str | bool) or _is_number(value)
        for value in record.values()
    )


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 2**63)


class History:
    """The records of a run folder, appended one by one."""

    def __init__(self, folder: Path, keep: int = 0) -> None:
        """`keep`: the number of existing records to keep, from the first."""
        self._path = folder / HISTORY
        self.records = read_history(folder)[:keep]
        temporary = folder / f".{HISTORY}.partial"
        with self._writing():
            temporary.write_text("".join(map(_line, self.records)), encoding="utf-8")
            os.replace(temporary, self._path)

    def follow(self, folder: Path) -> None:
        """Note that the run folder was renamed."""
        self._path = folder / HISTORY

    def add(self, record: Record) -> None:
        """Write a record immediately."""
        self.records.append(record)
        with self._writing(), self._path.open("a", encoding="utf-8") as file:
            file.write(_line(record))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ElmanError(
                f"{self._path}: cannot be written ({error.strerror}); the last checkpoint is intact"
            ) from None


def _line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def still_improving(records: list[Record], judged_by: str) -> bool:
    """Whether the last validation was the best, by at least 1 % in the last quarter of them.

    An error that is as good as zero cannot improve.
    """
    found = [record[f"valid_{judged_by}"] for record in records if f"valid_{judged_by}" in record]
    before = found[: -max(1, len(found) // 4)]
    if not before or found[-1] < _NO_ERROR:
        return False
    return bool(found[-1] <= min(found) and found[-1] <= 0.99 * min(before))


def criterion(judged_by: str, value: float) -> tuple[str, float]:
    """The name and value of a validation criterion for people: an error of spans is shown as F1."""
    if judged_by in _AS_F1:
        return _AS_F1[judged_by], max(0.0, 1 - value)  # an error decided by ties is above 1
    return {"error": "error rate"}.get(judged_by, judged_by.replace("_", " ")), value


def draw_curves(records: list[Record], path: Path) -> None:
    """Plot training, validation, learning rate and gradient norm over the epochs, if possible.

    Perplexities share one panel. Other criteria, like an error rate, have a panel of their own, and
    the training is shown as negative log-likelihood.
    """
    train = [record for record in records if "train_perplexity" in record]
    if not train:
        return
    figure = curves_figure(records, train)
    temporary = path.with_name(f".{path.name}.partial")
    try:
        figure.savefig(temporary, format="png", dpi=110)
        os.replace(temporary, path)
    except OSError:  # for example a full disk; the records allow drawing it later
        with suppress(OSError):
            temporary.unlink()


def curves_figure(records: list[Record], train: list[Record]) -> Any:
    """The figure of `draw_curves`; `train`: the records of training steps."""
    from matplotlib.figure import Figure

    names = [name for record in records for name in record if name.startswith("valid_")]
    judged_by = names[0].removeprefix("valid_") if names else "perplexity"
    valid = [record for record in records if f"valid_{judged_by}" in record]
    figure = Figure(figsize=(8, 6), layout="constrained")
    if judged_by == "perplexity":
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        _plot_perplexity(above, train, valid)
    else:
        above, middle, below = figure.subplots(3, 1, sharex=True, height_ratios=[3, 3, 2])
        _plot_criterion(above, middle, train, valid, judged_by)
    _plot(below, train, "gradient_norm", label="gradient norm", color="tab:green", linewidth=0.8)
    _plot(below, train, "learning_rate", label="learning rate", color="tab:red")
    below.set_yscale("log")
    below.set_xlabel("epochs")
    for axes in figure.axes:
        axes.legend()
        axes.grid(alpha=0.3, which="both" if axes is above else "major")
    return figure


def _plot_perplexity(axes: Any, train: list[Record], valid: list[Record]) -> None:
    _plot(axes, train, "train_perplexity", label="training", color="tab:blue", linewidth=0.8)
    _plot(axes, valid, "valid_perplexity", label="validation", color="tab:orange", marker="o")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_ylabel("perplexity")


def _plot_criterion(
    above: Any, middle: Any, train: list[Record], valid: list[Record], judged_by: str
) -> None:
    shown = [record for record in train if 0 < record["train_perplexity"] < _HIGHEST]
    nats = [math.log(record["train_perplexity"]) for record in shown]
    epochs = [record["epoch"] for record in shown]
    above.plot(epochs, nats, label="training", color="tab:blue", linewidth=0.8)
    above.set_ylabel("negative log-likelihood\n(nats)")
    above.set_ylim(bottom=0)
    values = [criterion(judged_by, record[f"valid_{judged_by}"]) for record in valid]
    epochs = [record["epoch"] for record in valid]
    middle.plot(epochs, [v for _, v in values], label="validation", color="tab:orange", marker="o")
    middle.set_ylabel(values[0][0])


def _plot(axes: Any, records: list[Record], name: str, **style: Any) -> None:
    shown = [record for record in records if 0 < record[name] < _HIGHEST]
    axes.plot([record["epoch"] for record in shown], [r[name] for r in shown], **style)
