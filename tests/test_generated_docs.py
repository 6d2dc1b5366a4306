"""The pages that are made from the code are those of this code."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[1] / "docs"
REMEDY = "is out of date; run: python docs/generate.py"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_commands(generate: ModuleType) -> None:
    page = generate.commands_page()
    assert page == (DOCS / "commands.md").read_text(encoding="utf-8"), f"commands.md {REMEDY}"
    for shown in ("## elman minimal-pairs", "`--temperature VALUE`", "| `RUN` | A run folder. |"):
        assert shown in page


def test_the_rooms(generate: ModuleType) -> None:
    picture = (DOCS / "rooms.svg").read_text(encoding="utf-8")
    assert picture == generate.rooms_picture(), f"rooms.svg {REMEDY}"
