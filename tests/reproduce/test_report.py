"""The tables in a Markdown page, between two marks, from stored results."""

from pathlib import Path

import pytest

from elman.errors import InputError
from elman.experiments.reproduce.registry import read_tables
from elman.experiments.reproduce.report import BEGIN, END, between_marks, render, rewrite
from elman.experiments.reproduce.results import Cost, Kept, Result, read_kept

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_results_is_what_generation_gives() -> None:
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    part = render(read_tables(), read_kept(DOCS / "results.json"))
    remedy = "elman reproduce --write docs/results.md --results docs/results.json"
    assert between_marks(text, part, DOCS / "results.md") == text, remedy


def test_kept_results_are_of_the_rows_as_they_are() -> None:
    tables, kept = read_tables(), read_kept(DOCS / "results.json")
    for name, result in kept.results.items():
        table, row = name.split("/")
        assert result.is_of(tables[table].row(row)), f"{name}: the row was changed; measure again"
        assert result.published == tables[table].row(row).published


def test_no_page_of_a_machine() -> None:
    names = read_kept(DOCS / "results.json").costs
    assert not [name for name in names if "/" in name.removeprefix("ablation/")]


def kept() -> Kept:
    result = Result(
        table="toy",
        row="counts",
        metric="perplexity",
        published=6.5,
        measured=6.4321,
        valid=6.6789,
        verdict="",
        recipe="ngram",
        settings=("model.order=2", "text.tokenizer=words"),
        split="test",
        protocol="words · and so on",
        data={"test": "abcdef123456789"},
        training_seconds=1.9,
    )
    return Kept({"toy/counts": result}, {"toy-tiny": Cost(seconds=7200, teraflop=1234.5)})


def test_rows_as_markdown(place: Path) -> None:
    text = render(read_tables(), kept())
    lines = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}
    how = "`recipe ngram --set model.order=2 --set text.tokenizer=words`"
    assert lines["counts"] == (
        f"| `counts` | bigram | 6.5 | **6.43** (valid 6.68) | reproduced (−1.0 %) | {how} | 2 s |"
    )
    assert "| not run: cost 2.0 h, 1,234 teraflop |" in lines["neural"]
    assert "| 3.0 |  | quoted: nobody knows how |" in lines["said"]
    assert lines["said"].endswith("| no cost: nobody knows the sizes |")
    assert "not run: needs the adapter 'of-tomorrow'" in lines["later"]
    assert "weights fitted on the validation text" in lines["both"]
    assert "Protocol: `words · and so on`; test text sha256:abcdef123456." in text


def test_only_what_stands_between_the_marks_is_changed(place: Path) -> None:
    page = place / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    rewrite(page, read_tables(), kept())
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n\n### a toy\n")
    assert text.endswith(f"\n{END}\nafter\n")
    assert "old" not in text
    rewrite(page, read_tables(), kept())
    assert page.read_text() == text


@pytest.mark.parametrize("text", ["", f"{BEGIN}\n", f"{END}\n{BEGIN}\n"])
def test_a_page_without_marks_is_refused(place: Path, text: str) -> None:
    page = place / "page.md"
    page.write_text(text)
    with pytest.raises(InputError, match="has no place for the tables"):
        rewrite(page, read_tables(), kept())
    assert page.read_text() == text
