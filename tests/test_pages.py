"""The documentation pages: links, anchors, commands, and the list of the site."""

import re
import shlex
from pathlib import Path

import pytest

from elman.cli import called_command, command_names, commands_by_group, run

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")),
    *sorted(DOCS.glob("*.md")),
]
_CODE = re.compile(r"```.*?```", re.DOTALL)


def prose(page: Path) -> str:
    """A page without blocks of code, which have brackets of their own."""
    return _CODE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts and MkDocs make them."""
    headings = re.findall(r"^#{1,6} (.+)$", prose(page), re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", heading.replace("`", "")).lower() for heading in headings)
    return {re.sub(r" +", "-", heading.strip()) for heading in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", prose(page)):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name}: {link}"


def test_the_site_lists_every_page() -> None:
    listed = re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in DOCS.glob("*.md"))


def test_pages_link_inside_the_docs_only() -> None:
    """The site has no files from elsewhere in the repository."""
    for page in DOCS.glob("*.md"):
        assert not re.findall(r"\]\(\.\./[^)]*\)", prose(page)), page.name


@pytest.mark.parametrize("command", command_names())
def test_every_command_is_documented(command: str) -> None:
    assert f"## elman {command}\n" in (DOCS / "commands.md").read_text(encoding="utf-8")
    generated = {"commands.md", "recipes.md", "components.md", "python.md"}
    guide = [page for page in PAGES if page.name not in generated]
    assert any(f"elman {command}" in page.read_text(encoding="utf-8") for page in guide)


def test_the_help_has_the_same_commands() -> None:
    assert sorted(command_names()) == sorted(
        name for group in commands_by_group().values() for name in group
    )


def shown_commands() -> list[tuple[str, str]]:
    """Every line of a page's blocks that calls elman, with the name of its page."""
    return [
        (page.name, line.removeprefix("$ "))
        for page in PAGES
        for block in _CODE.findall(page.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if re.match(r"(\$ )?elman [a-z]", line)
    ]


def test_every_command_that_is_shown_exists() -> None:
    assert len(shown_commands()) > 150
    for page, line in shown_commands():
        words = line.split("#")[0].split()[1:]
        assert called_command(words), f"{page}: {line}"


def test_the_commands_of_the_first_page_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    without_curves: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "start.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) >= 8
    for line in lines:
        arguments = shlex.split(line, comments=True)[1:]
        short = ["--set", "training.epochs=0.02"] if arguments[:2] == ["train", "small"] else []
        assert run([*arguments, *short]) == 0, line
        assert capsys.readouterr().out.strip(), line
