"""Join files of elman into one that needs no elman.

Takes names of modules from the lowest to the highest, gives the text of one module: what they
import from elman must be in a module before them, or among the given constants.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from elman.errors import ElmanError

# The modules that split text into words and spell them.
READING = (
    "elman.data_checks",
    "elman.text.look_alikes",
    "elman.text.letters",
    "elman.text.splitting",
    "elman.text.spelling",
    "elman.text.corpus_form",
    "elman.text.treebank_cuts",
    "elman.formats.portable.words",
)
_FUTURE = "from __future__ import annotations\n"


def join_modules(
    about: str, modules: Sequence[str], constants: Mapping[str, Any] | None = None
) -> str:
    """The text of all modules behind one docstring, their imports and the constants."""
    sources = {name: _source(name) for name in modules}
    parts = [f'"""{about}"""\n', _FUTURE, _imports(sources.values())]
    parts += [f"{name} = {value!r}\n" for name, value in (constants or {}).items()]
    for name, text in sources.items():
        parts.append(f"# {name} {'-' * (97 - len(name))}\n\n{_own_text(text)}")
    return "\n".join(parts)


def _imports(sources: Iterable[str]) -> str:
    """What the modules import from elsewhere, each name once."""
    plain: set[str] = set()
    names: dict[str, set[str]] = {}
    for text in sources:
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import):
                plain |= {ast.unparse(alias) for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not _is_left_out(node):
                names.setdefault(node.module or "", set()).update(map(ast.unparse, node.names))
    lines = [f"import {name}\n" for name in sorted(plain)]
    lines += [
        f"from {module} import {', '.join(sorted(some))}\n"
        for module, some in sorted(names.items())
    ]
    return "".join(lines)


def _own_text(text: str) -> str:
    """A module without its docstring and imports."""
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_text(node):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "".join(lines).strip() + "\n"


def _source(module: str) -> str:
    """The text of a module, which is not imported: it may need a package that is missing."""
    spec = find_spec(module)
    loader: Any = None if spec is None else spec.loader
    text = None if loader is None else loader.get_source(module)
    if text is None:
        raise ElmanError(f"{module}: the source of this module is missing; install elman again")
    return str(text)


def _is_left_out(node: ast.ImportFrom) -> bool:
    return (node.module or "").split(".")[0] in ("elman", "__future__")


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def names_in(text: str) -> list[str]:
    """The names that a module defines at its top, in their order."""
    found: list[str] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [
                name.id
                for target in targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name)
            ]
    return found
