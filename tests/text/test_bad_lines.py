"""Bad lines of tables: every row is used or reported, whatever is wrong with it."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import sentences

from elman.errors import InputError
from elman.text import records
from elman.text.running_text import open_running_text
from elman.text.sources import Columns, Source

LINES = sentences(400, 3).splitlines()
# What a line of JSON becomes, and the reason that is reported for it.
JSON_DAMAGES: dict[str, Callable[[str, random.Random], str]] = {
    "are not JSON": lambda text, chance: json.dumps({"body": text})[: chance.randint(1, 12)],
    "are not objects like {…}": lambda text, chance: chance.choice(["[]", "3", '"x"', "null"]),
    "have no field 'body'": lambda text, chance: json.dumps({"text": text}),
    "have no text in 'body'": lambda text, chance: json.dumps(
        {"body": chance.choice([None, 3, 2.5, True, ["a"], {"a": 1}])}
    ),
    "have an empty 'body'": lambda text, chance: json.dumps(
        {"body": chance.choice(["", " ", "\n"])}
    ),
    "have a NUL character": lambda text, chance: json.dumps({"body": f"{text}\0"}),
    "have half a character (a lone surrogate)": lambda text, chance: '{"body": "a \\ud800 b"}',
    "are empty": lambda text, chance: chance.choice(["", "  "]),
}
CELL_DAMAGES: dict[str, Callable[[str, random.Random], str]] = {
    "do not have 2 columns": lambda text, chance: chance.choice(["x", f"1\t{text}\t2"]),
    "have an empty 'body'": lambda text, chance: "7\t ",
    "are empty": lambda text, chance: "",
}


def damaged(
    damages: dict[str, Callable[[str, random.Random], str]],
    row: Callable[[str], str],
    seed: int,
) -> tuple[list[str], list[str], Counter[str]]:
    """Lines with random damages, the texts that are intact, and how often each damage occurs."""
    chance = random.Random(seed)
    share = chance.choice([0.0, 0.02, 0.3, 0.95])
    lines, good, bad = [], [], Counter()
    for text in LINES:
        if chance.random() < share:
            problem = chance.choice([*damages])
            lines.append(damages[problem](text, chance))
            bad[problem] += 1
        else:
            lines.append(row(text))
            good.append(text)
    return lines, good, bad


def check(path: Path, form: str, good: list[str], bad: Counter[str], rows: int) -> None:
    source = Source(str(path), form, Columns("body"))
    assert [text for text, _ in source.units()] == good
    found = {problem: known.count for problem, known in source.problems.items()}
    assert found == dict(bad)
    assert source.rows == rows == len(good) + sum(found.values())  # read = used + reported
    notes = " ".join(source.notes())
    assert (f"{len(good):,} of {rows:,}" in notes) == bool(bad)
    strict = Source(str(path), form, Columns("body"), strict=True)
    if not bad:
        assert [text for text, _ in strict.units()] == good
        return
    with pytest.raises(InputError, match="leave out --strict"):
        [*strict.units()]


@pytest.mark.parametrize("seed", range(12))
def test_json_lines(seed: int, tmp_path: Path) -> None:
    lines, good, bad = damaged(JSON_DAMAGES, lambda text: json.dumps({"n": 1, "body": text}), seed)
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    check(path, records.JSON_LINES, good, bad, len(lines))


@pytest.mark.parametrize("seed", range(8))
def test_tab_separated(seed: int, tmp_path: Path) -> None:
    lines, good, bad = damaged(CELL_DAMAGES, lambda text: f"1\t{text}", seed)
    path = tmp_path / "x.tsv"
    path.write_text("n\tbody\n" + "".join(f"{line}\n" for line in lines))
    check(path, records.TSV, good, bad, len(lines))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_parquet(seed: int, kind: str, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    chance = random.Random(seed)
    cells: list[Any] = [
        chance.choice([None, "", "a\0"]) if chance.random() < 0.2 else text for text in LINES
    ]
    reasons = {
        None: "have no text in 'body'",
        "": "have an empty 'body'",
        "a\0": "have a NUL character",
    }
    column = arrow.array(cells, arrow.large_string() if kind == "large_string" else arrow.string())
    if kind == "dictionary":
        column = column.dictionary_encode()
    path = tmp_path / "x.parquet"
    parquet.write_table(arrow.table({"n": range(len(cells)), "body": column}), path)
    bad = Counter(reasons[cell] for cell in cells if cell in reasons)
    check(path, records.PARQUET, [cell for cell in cells if cell not in reasons], bad, len(cells))
    assert records.column_names(str(path), records.PARQUET) == ["body"]


@pytest.mark.parametrize("seed", range(4))
def test_shards_report_all_their_lines(seed: int, tmp_path: Path) -> None:
    """Through the whole opener: the notes of all shards together account for every line."""
    used = read = 0
    for shard in range(3):
        lines, good, _ = damaged(
            JSON_DAMAGES, lambda text: json.dumps({"body": text}), 10 * seed + shard
        )
        (tmp_path / f"part-{shard}.jsonl").write_text("".join(f"{line}\n" for line in lines))
        used, read = used + len(good), read + len(lines)
    corpus = open_running_text(str(tmp_path), columns={"text": "body"})
    assert sum(document.lines for document in corpus.documents.values()) == used
    reported = 0
    for note in corpus.all_notes():
        if " lines are used; " in note:
            part, whole = note.split(": ", 1)[1].split(" lines are used")[0].split(" of ")
            reported += int(whole) - int(part)
    assert used + reported == read
