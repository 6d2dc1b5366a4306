"""The results that ship with elman."""

from pathlib import Path

from elman.experiments.reproduce import shipped
from elman.experiments.reproduce.registry import read_tables

DOCS = Path(__file__).parents[2] / "docs"


def test_a_checkout_reads_the_file_that_the_wheel_is_made_from() -> None:
    assert shipped.shipped_file() == DOCS / "results.json"


def test_a_wheel_has_it_beside_the_module(tmp_path: Path, monkeypatch) -> None:
    inside = tmp_path / "results.json"
    inside.write_bytes((DOCS / "results.json").read_bytes())
    monkeypatch.setattr(shipped, "_PLACES", (inside, tmp_path / "nowhere"))
    assert shipped.shipped_file() == inside
    monkeypatch.setattr(shipped, "_PLACES", (tmp_path / "nowhere",))
    assert shipped.read_shipped().results == {}


def test_every_result_says_when_and_with_what() -> None:
    tables = read_tables()
    for name, result in shipped.read_shipped().results.items():
        assert result.date, name
        assert result.elman, name
        assert result.by_seed() or result.experiment, name
        if tables[result.table].data:
            assert len(result.data["test"]) == 64, name
