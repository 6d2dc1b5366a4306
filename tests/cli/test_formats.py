"""Every command that takes text, with every format of the table in docs/data.md."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
from pathlib import Path
from typing import Any

import pytest
from tiny import sentences

from elman.cli import run as elman
from elman.text import files

arrow = pytest.importorskip("pyarrow")
ipc = pytest.importorskip("pyarrow.ipc")
parquet = pytest.importorskip("pyarrow.parquet")
zstandard = pytest.importorskip("zstandard")

DOCS = Path(__file__).parents[2] / "docs" / "data.md"
TEXT = sentences(120, 0)
LINES = TEXT.splitlines()
# The rows of the table in the docs, with the files that stand for them.
FORMATS = {
    "plain text": ["t.txt"],
    "`.gz`, `.bz2`, `.xz`, `.zst`": ["t.txt.gz", "t.txt.bz2", "t.txt.xz", "t.txt.zst"],
    "JSON lines": ["t.jsonl", "t.jsonl.gz"],
    "CSV, TSV": ["t.csv", "t.tsv"],
    "Parquet, Arrow": ["t.parquet", "t.arrow"],
    "dataset of Hugging Face on disk": ["saved"],
    "pattern, several files": ["shards/*.txt", "shards"],
    "`-` (standard input)": ["-"],
}
# The columns, with the commands that stand for them; DATA is replaced.
COMMANDS = {
    "`train`, `plan`, `study`": [
        ["train", "ngram", "--data", "DATA", "--out", "OUT"],
        ["plan", "small", "--data", "DATA"],
    ],
    "`data`": [["data", "DATA"]],
    "`evaluate`, `compare`": [
        ["evaluate", "RUN", "--data", "DATA"],
        ["compare", "RUN", "RUN", "--data", "DATA"],
    ],
    "`surprisal`, `score`, `explain`, `suggest`, `distribution`": [
        ["surprisal", "RUN", "DATA"],
        ["score", "RUN", "DATA"],
        ["explain", "RUN", "DATA"],
    ],
}


def documented() -> dict[str, dict[str, str]]:
    """The table of the docs: format, group of commands, entry."""
    text = DOCS.read_text(encoding="utf-8")
    rows = [line for line in text.split("\n") if line.startswith("|")]
    start = next(n for n, row in enumerate(rows) if row.startswith("| format |"))
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[start:]]
    header, _, *body = cells
    found = {
        row[0]: dict(zip(header[1:], row[1:], strict=True))
        for row in body
        if len(row) == len(header)
    }
    return {name: row for name, row in found.items() if name in FORMATS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same text in all formats, and a run."""
    place = tmp_path_factory.mktemp("formats")
    packers = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    packers[".zst"] = zstandard.compress
    (place / "t.txt").write_text(TEXT)
    for ending, pack in packers.items():
        (place / f"t.txt{ending}").write_bytes(pack(TEXT.encode()))
    rows = "".join(json.dumps({"n": n, "text": line}) + "\n" for n, line in enumerate(LINES))
    (place / "t.jsonl").write_text(rows)
    (place / "t.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    (place / "t.csv").write_text("n,text\n" + "".join(f'{n},"{x}"\n' for n, x in enumerate(LINES)))
    (place / "t.tsv").write_text("n\ttext\n" + "".join(f"{n}\t{x}\n" for n, x in enumerate(LINES)))
    table = arrow.table({"n": range(len(LINES)), "text": LINES})
    parquet.write_table(table, place / "t.parquet")
    with arrow.OSFile(str(place / "t.arrow"), "wb") as file, ipc.new_file(file, table.schema) as to:
        to.write_table(table)
    (place / "saved").mkdir()
    name = str(place / "saved" / "data-00000-of-00001.arrow")
    with arrow.OSFile(name, "wb") as file, ipc.new_stream(file, table.schema) as to:
        to.write_table(table)
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}
    (place / "saved" / "state.json").write_text(json.dumps(state))
    (place / "shards").mkdir()
    for shard in range(3):
        part = "".join(f"{line}\n" for line in LINES[40 * shard : 40 * shard + 40])
        (place / "shards" / f"p-{shard}.txt").write_text(part)
    assert (
        elman(["train", "ngram", "--data", str(place / "t.txt"), "--out", str(place / "run")]) == 0
    )
    return place


class _Input:
    def __init__(self) -> None:
        self.buffer = io.BytesIO(TEXT.encode())

    def isatty(self) -> bool:
        return False


def test_the_docs_have_the_table() -> None:
    found = documented()
    assert [*found] == [*FORMATS]
    assert all([*row] == [*COMMANDS] for row in found.values())


@pytest.mark.parametrize("group", COMMANDS)
@pytest.mark.parametrize("form", FORMATS)
def test_formats(
    form: str,
    group: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    entry = documented()[form][group]
    for file in FORMATS[form]:
        for number, words in enumerate(COMMANDS[group]):
            data = "-" if file == "-" else str(folder / file)
            out = str(tmp_path / f"{number}-{file.replace('/', '')}")
            places = {"DATA": data, "RUN": str(folder / "run"), "OUT": out}
            monkeypatch.setattr(sys, "stdin", _Input())
            files._standard_input.cache_clear()
            capsys.readouterr()
            code = elman([places.get(word, word) for word in words])
            shown = capsys.readouterr()
            said = f"{words[0]} {file}: {shown.err}"
            tables = (".tsv", ".csv", ".parquet", ".arrow")
            stimuli = words[0] == "surprisal" and file.endswith(tables)  # has its own meaning
            if entry == "no" and not stimuli:
                assert code == 2, said
            else:
                assert (code, bool(shown.out)) == (0, True), said
                warned = entry == "as it is, with a warning" and not stimuli
                assert ("its lines are read as they are" in shown.err) == warned, said


def test_all_formats_give_the_same_figure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Perplexities of the same text are equal, whatever its format."""
    found = {}
    for some in FORMATS.values():
        for file in some:
            if file == "-":
                continue
            capsys.readouterr()
            words = ["evaluate", str(folder / "run"), "--data", str(folder / file), "--json"]
            assert elman([*words, "--split", "test"]) == 0, file
            result: dict[str, Any] = json.loads(capsys.readouterr().out)
            found[file] = result["perplexity"]
    assert len({round(value, 9) for value in found.values()}) == 1, found
