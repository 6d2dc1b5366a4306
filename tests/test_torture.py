"""The reliability benchmark works: a few trials of every promise."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "torture.py"


@pytest.mark.slow
@pytest.mark.parametrize("promise", ["writers", "resume", "numbers", "hostile", "disk", "memory"])
def test_a_few_trials(promise: str, tmp_path: Path) -> None:
    if promise == "disk" and os.geteuid():
        pytest.skip("needs the right to mount a small disk")
    results = tmp_path / "results.json"
    command = [sys.executable, str(SCRIPT), promise, "--trials", "8", "--results", str(results)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads(results.read_text())[promise]
    assert (found["trials"], found["failures"]) == (8, {})


def test_the_page_has_the_table_of_the_results() -> None:
    spec = importlib.util.spec_from_file_location("torture_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    results = json.loads(script.RESULTS.read_text(encoding="utf-8"))
    remedy = "run: python benchmarks/torture.py table"
    assert script.table(results) in script.PAGE.read_text(encoding="utf-8"), remedy
