"""`elman export` and `elman import`."""

from pathlib import Path
from typing import Any

import pytest


def test_export_and_import(says: Any, gives: Any, tmp_path: Path) -> None:
    arpa, out = str(tmp_path / "words.arpa"), str(tmp_path / "imported")
    assert f"wrote {arpa}: order 5" in says("export", "words", arpa)
    assert f"saved in {out}" in says("import", arpa, "--out", out)
    original, imported = (
        gives("evaluate", name, "--data", "data")["nats"] for name in ("words", out)
    )
    assert imported == pytest.approx(original, rel=1e-5)


def test_export_does_not_overwrite(call: Any, tmp_path: Path) -> None:
    path = tmp_path / "words.arpa"
    path.write_text("precious")
    result = call("export", "words", str(path))
    assert result.code == 2
    assert "exists already" in result.err
    assert path.read_text() == "precious"
    assert call("export", "words", str(path), "--overwrite").code == 0
