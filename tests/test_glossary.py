"""One word per thing: what the glossary says we do not say is not said."""

import re
from pathlib import Path

import pytest

import elman

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
READ = [
    *sorted(Path(elman.__file__).parent.rglob("*.py")),
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path != GLOSSARY),
    ROOT / "README.md",
]
# Where we speak in the words of another's interface, since its clients do.
THEIRS = {
    "logprob": {
        "docs/api.md",
        "docs/engineer.md",
        "elman/studio/completion_request.py",
        "elman/studio/completion_shape.py",
        "elman/studio/completions.py",
    }
}


def forbidden() -> list[str]:
    rows = re.findall(r"^\| \*\*.+?\*\* \|.+?\| (.+?) \|$", GLOSSARY.read_text(), re.MULTILINE)
    return [word for row in rows for word in row.split(", ") if word.strip()]


def test_the_glossary_is_read() -> None:
    assert {"dataset", "hyperparameter", "minibatch"} <= set(forbidden())


@pytest.mark.parametrize("word", forbidden())
def test_a_word_that_we_do_not_say_is_not_said(word: str) -> None:
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}s?(?![\w-])", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in READ
        if str(path.relative_to(ROOT)) not in THEIRS.get(word, ())
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found, "\n".join(found)
