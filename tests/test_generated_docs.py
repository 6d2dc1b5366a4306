"""The generated pages are up to date."""

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


@pytest.mark.parametrize(
    "name", ["commands.md", "recipes.md", "components.md", "python.md", "rooms.svg"]
)
def test_a_page_is_up_to_date(generate: ModuleType, name: str) -> None:
    assert generate.PAGES[name]() == (DOCS / name).read_text("utf-8"), f"{name} {REMEDY}"


def test_every_page_is_checked(generate: ModuleType) -> None:
    assert list(generate.PAGES) == [
        "commands.md", "recipes.md", "components.md", "python.md", "rooms.svg",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("commands.md", ["## elman minimal-pairs", "`--temperature VALUE`", "| `RUN` |"]),
        ("recipes.md", ["## zaremba-small", "hidden_size = 200"]),
        ("components.md", ["## cells", "| `lstm` |"]),
        ("python.md", ["### elman.train", "#### TrainedModel.surprisal"]),
    ],
)
def test_a_page_shows_what_there_is(name: str, shown: list[str]) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    assert [text for text in shown if text not in page] == []
