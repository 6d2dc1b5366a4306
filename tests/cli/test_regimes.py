"""`elman study regimes`, on a small text."""

import json
from pathlib import Path
from typing import Any


def test_regimes(says: Any, gives: Any, tmp_path: Path) -> None:
    options = ["--seeds", "2", "--sentences", "60", "--epochs", "1", "--set", "model.hidden_size=8"]
    shown = says(
        "study",
        "regimes",
        "teacher-forcing",
        "scheduled-sampling:final=0.2",
        *options,
        "--out",
        str(tmp_path / "new"),
    )
    assert "scheduled-sampling final=0.2" in shown
    assert "Means over 2 seeds" in shown
    assert (tmp_path / "new" / "regimes.png").read_bytes().startswith(b"\x89PNG")
    written = json.loads((tmp_path / "new" / "regimes.json").read_text(encoding="utf-8"))
    assert [found["regime"] for found in written["regimes"]] == [
        "teacher-forcing",
        "scheduled-sampling",
    ]
    found = gives("study", "regimes", "teacher-forcing", *options)
    (again,) = found["regimes"]
    assert [run["exposure"] for run in again["runs"]] == [
        run["exposure"] for run in written["regimes"][0]["runs"]
    ]  # seconds differ
    assert 4 < found["limit"] < again["runs"][0]["perplexity"]
