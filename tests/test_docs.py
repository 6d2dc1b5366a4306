"""The Python in the docs runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def test_the_cells_page_runs(tmp_path: Path) -> None:
    text = (DOCS / "cells.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    assert "class Leaky" in code
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", ["adapters", "outputs"])
def test_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_python_of_every_page_is_python(page: Path) -> None:
    if page.name == "python.md":
        pytest.skip("it has signatures, not programs")
    for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL):
        compile(code, page.name, "exec")


def test_every_cell_is_documented_with_equations() -> None:
    from elman.cells import CELLS

    for name, cell in CELLS.items():
        docs = f"{sys.modules[cell.__module__].__doc__} {cell.__doc__}"
        assert "_t" in docs, f"{name}: neither the file nor the class has equations"


def test_the_facts_of_the_answering_page_can_be_learned(tmp_path: Path) -> None:
    text = (DOCS / "answering.md").read_text(encoding="utf-8")
    code = next(
        c for c in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "def passage" in c
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    from elman.tasks.answering.reader import read_questions
    from elman.text.reader import read_document

    document = read_document(tmp_path / "test.json")
    assert len(read_questions(document)) == 300
    assert document.notes == []
