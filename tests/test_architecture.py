"""Imports point downwards only: the packages and their levels."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import elman

PACKAGE = Path(elman.__file__).parent
# From the ground up; a module may import from lower floors and from its own room.
FLOORS = [
    {"errors", "version", "state", "atomic", "data_checks", "json_safe", "mapping"},
    {"extras", "entry_points", "allocator", "matrix_products", "wording"},
    {"notebooks"},
    {"config"},
    {"registry"},
    {"text", "runs"},
    {"counts", "cells", "batches"},
    {"layers"},
    {"models"},
    {"adapters"},
    {"evaluation", "decoding", "training", "insight"},
    {"recipes", "figures", "formats"},
    {"tasks"},
    {"experiments"},
    {""},
    {"studio"},
    {"cli"},
    {"__main__"},
]
PLACE = re.compile(r"elman(\.\w+)+(:\w+)?")
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def room(module: str) -> str:
    return [*module.split("."), ""][1]


def floor(name: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if name in rooms)


def module_name(path: Path) -> str:
    parts = ["elman", *path.with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


KNOWN = {module_name(path) for path in MODULES}


@cache
def imports(path: Path, *, top_level_only: bool) -> set[str]:
    """Modules of the package that a file imports, leaving out what only type checkers see."""
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("elman"):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in KNOWN else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("elman")}
        elif isinstance(node, ast.Constant) and PLACE.fullmatch(str(node.value)):
            found.add(node.value.partition(":")[0])  # of a registry, imported on use
    return found


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_point_downwards(path: Path) -> None:
    own = room(module_name(path))
    for imported in imports(path, top_level_only=False):
        other = room(imported)
        assert other == own or floor(other) < floor(own), f"{path} may not import {imported}"


@pytest.mark.parametrize("path", [p for p in MODULES if p.parts[0] == "tasks"], ids=str)
def test_folders_of_tasks_do_not_import_one_another(path: Path) -> None:
    folders = {other.parts[1] for other in MODULES if other.parts[0] == "tasks" and other.parts[2:]}
    own = path.parts[1] if path.parts[2:] else None
    for imported in imports(path, top_level_only=False) if own else ():
        room, *inside = imported.split(".")[1:]
        assert room != "tasks" or not inside or inside[0] in {own} | {inside[0]} - folders, imported


def test_no_import_cycle() -> None:
    graph = {module_name(p): imports(p, top_level_only=True) for p in MODULES}
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " → ".join([*above, module])
        if module not in done:
            for imported in graph.get(module, ()):
                if imported != module:
                    visit(imported, (*above, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_the_check_sees_imports() -> None:
    assert "elman.counts.estimate" in imports(Path("models/ngram.py"), top_level_only=True)
    assert "elman.models.ngram" in imports(Path("models/__init__.py"), top_level_only=False)


STEPS = re.findall(
    r"`(?:elman/)?([\w/]+)\.py: (\w+(?:\.\w+)?)`",
    (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8"),
)


@pytest.mark.parametrize(("file", "name"), sorted(set(STEPS)))
def test_the_walks_name_what_is_there(file: str, name: str) -> None:
    found = import_module("elman." + file.replace("/", "."))
    for part in name.split("."):
        found = getattr(found, part)


def test_the_walks_are_read() -> None:
    assert len(STEPS) > 40


def test_the_picture_shows_every_room_on_its_floor() -> None:
    picture = (PACKAGE.parent / "docs" / "rooms.svg").read_text(encoding="utf-8")
    heights: dict[str, float] = {}
    for height, words in re.findall(r'y="([\d.]+)"[^>]*font-weight="600"[^>]*>([^<]+)<', picture):
        for word in re.findall(r"\w+", words):
            heights["" if word == "elman" else word] = float(height)
    drawn = [sorted({heights[room] for room in rooms if room in heights}) for rooms in FLOORS]
    missing = [room for rooms in FLOORS for room in rooms if room not in heights]
    assert sorted(missing) == ["__main__", "version"]
    above = [floor[0] for floor in drawn if floor]
    assert above == sorted(above, reverse=True)  # the ground is at the bottom


def test_no_grab_bags() -> None:
    forbidden = {"utils", "helpers", "common", "misc", "manager"}
    assert not forbidden & {path.stem for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_files_that_a_docstring_names_are_there(path: Path) -> None:
    names = {other.name for other in MODULES}
    text = (PACKAGE / path).read_text(encoding="utf-8")
    for named in re.findall(r"`(?:[\w/]+/)?(\w+\.py)`", text):
        assert named in names, f"{path} names {named}, which is not there"
