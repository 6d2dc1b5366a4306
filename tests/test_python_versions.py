"""Nothing that newer versions of Python have removed is used.

`.ci/run` tries the versions that are installed. For those that are not, these checks read the code.
"""

import ast
import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path
    for folder in ("elman", "docs", "benchmarks", "examples", "tests")
    for path in (ROOT / folder).rglob("*.py")
)
# From the sections "Removed" of "What's New in Python" 3.12, 3.13 and 3.14.
MODULES = {
    *"asynchat asyncore distutils imp smtpd".split(),  # 3.12
    *"aifc audioop cgi cgitb chunk crypt imghdr lib2to3 mailcap msilib nis nntplib".split(),  # 3.13
    *"ossaudiodev pipes sndhdr spwd sunau telnetlib uu xdrlib".split(),
}
NAMES = {
    *"configparser.SafeConfigParser configparser.LegacyInterpolation io.OpenWrapper".split(),
    *"locale.format locale.resetlocale re.template ssl.match_hostname ssl.wrap_socket".split(),
    *"pkgutil.ImpImporter pkgutil.ImpLoader pkgutil.find_loader pkgutil.get_loader".split(),
    *"importlib.find_loader typing.io typing.re tkinter.tix unittest.makeSuite".split(),
    *"unittest.findTestCases webbrowser.MacOSX urllib.parse.Quoter".split(),
    *"urllib.request.URLopener urllib.request.FancyURLopener pty.master_open".split(),
    *"ast.Num ast.Str ast.Bytes ast.NameConstant ast.Ellipsis sqlite3.version".split(),
    *"importlib.abc.ResourceReader importlib.abc.Traversable".split(),
    *"asyncio.AbstractChildWatcher asyncio.get_child_watcher asyncio.set_child_watcher".split(),
    "asyncio.get_event_loop",  # there, but raises without a running loop since 3.14
}


def imported(tree: ast.AST) -> dict[str, str]:
    """The full name of everything that is imported, by its name in the file."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.partition(".")[0]
                found[one.asname or top] = one.name if one.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return found


def dotted(node: ast.expr) -> str:
    """A name with its attributes, as `ast.Str`; "" for any other expression."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def removed(text: str) -> list[str]:
    """The removed modules and names that a program uses."""
    tree = ast.parse(text)
    names = imported(tree)
    used = {*names.values()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (written := dotted(node)):
            first, _, rest = written.partition(".")
            used.add(f"{names[first]}.{rest}" if first in names else "")
        elif isinstance(node, ast.Import):
            used |= {one.name for one in node.names}
    return sorted(name for name in used if name in NAMES or name.partition(".")[0] in MODULES)


def leaves_finally(text: str) -> list[int]:
    """Lines with return, break or continue in a finally block: a warning since 3.14 (PEP 765)."""
    blocks = [node.finalbody for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Try)]
    return [line for block in blocks for statement in block for line in _leaving(statement, False)]


def _leaving(node: ast.AST, in_loop: bool) -> list[int]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return []
    if isinstance(node, ast.Return) or (isinstance(node, ast.Break | ast.Continue) and not in_loop):
        return [node.lineno]
    inside = in_loop or isinstance(node, ast.For | ast.AsyncFor | ast.While)
    return [line for child in ast.iter_child_nodes(node) for line in _leaving(child, inside)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_for_newer_versions_too(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert removed(text) == []
    assert leaves_finally(text) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an unknown escape sequence like "\d" will be an error
        compile(text, str(path), "exec")


@pytest.mark.parametrize(
    "line",
    [
        "import imp",
        "import distutils.core",
        "from cgi import escape",
        "import ast as a; a.Str",
        "from urllib.request import URLopener",
        "import urllib.request\nurllib.request.FancyURLopener()",
        "import asyncio; asyncio.get_event_loop()",
    ],
)
def test_the_check_sees_what_was_removed(line: str) -> None:
    assert removed(line)


def test_the_check_lets_other_names_pass() -> None:
    assert removed("import ast, re, chunker\nast.Constant, re.compile, self.imp.ast.Str") == []
    assert leaves_finally("def f():\n try: pass\n finally:\n  return 1") == [4]
    assert leaves_finally("try: pass\nfinally:\n for a in b:\n  break") == []


def test_ci_tries_the_versions_that_are_declared() -> None:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'requires-python = ">=3.11"' in settings
    declared = set(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', settings))
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert declared <= set(re.findall(r"python(3\.\d+)", script))
