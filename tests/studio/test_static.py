"""The files of the page: all needed, all from this repository, nothing inline."""

import re
from pathlib import Path

import pytest

from elman.studio.pages import STATIC, page_files

FILES = sorted(path for path in STATIC.rglob("*") if path.is_file())
NAMES = [str(path.relative_to(STATIC)) for path in FILES]
_IMPORT = re.compile(r'^(?:import|export)\b[^;]*?from "(.+?)";|^import "(.+?)";', re.MULTILINE)


def reached(path: Path) -> set[Path]:
    """Files that a file loads, itself among them."""
    text = path.read_text(encoding="utf-8")
    found = {path}
    if path.suffix == ".html":
        for link in re.findall(r'(?:href|src)="([^"#]+)"', text):
            found |= reached(STATIC / link)
    if path.suffix == ".js":
        for names in _IMPORT.findall(text):
            found |= reached((path.parent / "".join(names)).resolve())
    return found


def test_every_file_is_loaded_by_the_page_and_served() -> None:
    assert {path.resolve() for path in FILES} == reached(STATIC / "index.html")
    assert set(page_files().values()) == set(FILES)
    assert {"index.html", "favicon.svg", "studio.js", "views/write.js"} <= set(NAMES)


def test_nothing_is_inline() -> None:
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert "<style" not in page
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"\s(?:on\w+|style)=", page) == []


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_other_address_and_no_markup_from_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    addresses = re.findall(r"https?://[^\s\"'`<>)]+", text)
    assert set(addresses) <= {"http://www.w3.org/2000/svg"}  # a name, never loaded
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert way not in text
