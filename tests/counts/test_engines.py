"""The same model, whichever engine added up the counts: every table, number by number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from elman.counts.duckdb import DuckDB
from elman.counts.engines import Engine, InMemory
from elman.counts.estimate import NgramConfig, estimate
from elman.counts.estimate_on_disk import estimate_on_disk
from elman.counts.levels_on_disk import DiskRoom
from elman.counts.shards import (
    COUNT,
    count_shards,
    file_order,
    group,
    read_rows,
    windows,
    write_rows,
)
from elman.counts.smoothers import SMOOTHERS
from elman.counts.tables import Tables
from elman.errors import InputError
from elman.text.grammar import grammar_text
from elman.text.tokenizer import TextConfig
from elman.text.words import Words

pytest.importorskip("pyarrow", reason="counts in files need pyarrow")


def duckdb_engine(folder: Path) -> Engine:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return DuckDB(folder, memory=1 << 28, threads=1)


ENGINES: dict[str, Callable[[Path], Engine]] = {
    "memory": lambda folder: InMemory(),
    "duckdb": duckdb_engine,
}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    return ENGINES[request.param](tmp_path)


def grammar_ids(lines: int = 300) -> tuple[np.ndarray, int]:
    text = grammar_text("train", lines)
    words = Words.train(text, TextConfig())
    return words.encode(text), len(words)


def on_disk(
    ids: np.ndarray,
    config: NgramConfig,
    engine: Engine,
    folder: Path,
    size: int,
    eos_id: int = 0,
    tokens: int = 997,
    memory: int = 1,  # a few rows at a time
) -> Tables:
    files = count_shards(
        ids, folder, order=config.order, eos_id=eos_id, context=config.context, tokens=tokens
    )
    room = DiskRoom(folder, memory)
    return estimate_on_disk(files, config, engine, room, vocabulary_size=size, eos_id=eos_id)


def assert_same(found: Tables, expected: Tables) -> None:
    assert found.order == expected.order
    assert found.notes == expected.notes
    assert found.discounts == expected.discounts
    for order, (ours, theirs) in enumerate(zip(found.tables, expected.tables, strict=True), 1):
        for name in ("prefixes", "words", "log_probs", "log_backoffs", "counts"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
        if order > 1:
            starts = found.starts(order)
            assert np.array_equal(starts, expected.starts(order))
            assert starts.dtype == expected.starts(order).dtype


@pytest.mark.parametrize("context", ["line", "stream"])
@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_every_smoother(smoothing: str, context: str, engine: Engine, tmp_path: Path) -> None:
    ids, size = grammar_ids()
    config = NgramConfig(order=4, smoothing=smoothing, context=context)
    found = on_disk(ids, config, engine, tmp_path, size)
    assert_same(found, estimate(ids, config, vocabulary_size=size, eos_id=0))


@pytest.mark.parametrize("cutoffs", [(0, 1, 2), (1, 2, 2, 5), (0, 99)])
def test_cutoffs(cutoffs: tuple[int, ...], engine: Engine, tmp_path: Path) -> None:
    ids, size = grammar_ids()
    config = NgramConfig(order=4, cutoffs=cutoffs)
    found = on_disk(ids, config, engine, tmp_path, size)
    assert_same(found, estimate(ids, config, vocabulary_size=size, eos_id=0))


@pytest.mark.parametrize("order", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(3))
def test_random_texts(order: int, seed: int, engine: Engine, tmp_path: Path) -> None:
    """Also where <eos> is not the first id, lines are empty, and words never occur."""
    random = np.random.default_rng(seed)
    ids = random.integers(0, 9, random.integers(1, 4000))
    config = NgramConfig(order=order, context=random.choice(["line", "stream"]))
    found = on_disk(ids, config, engine, tmp_path, 12, eos_id=4, tokens=500)
    assert_same(found, estimate(ids, config, vocabulary_size=12, eos_id=4))


def test_many_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays in several pieces, rows in several batches."""
    monkeypatch.setattr(DiskRoom, "at_once", 64)
    monkeypatch.setattr(DiskRoom, "rows", 16)
    monkeypatch.setattr("elman.counts.shards._ROWS", 50)
    ids, size = grammar_ids()
    for cutoffs in ((), (1, 1, 2)):
        config = NgramConfig(order=4, cutoffs=cutoffs)
        found = on_disk(ids, config, InMemory(), tmp_path, size)
        assert_same(found, estimate(ids, config, vocabulary_size=size, eos_id=0))


def test_a_file_of_a_higher_order_serves_a_lower_one(engine: Engine, tmp_path: Path) -> None:
    ids, size = grammar_ids()
    files = count_shards(ids, tmp_path, order=5, eos_id=0, context="line", tokens=500)
    config = NgramConfig(order=3)
    room = DiskRoom(tmp_path, 1)
    found = estimate_on_disk(files, config, engine, room, vocabulary_size=size, eos_id=0)
    assert_same(found, estimate(ids, config, vocabulary_size=size, eos_id=0))


@pytest.mark.parametrize("order", [3, 5])
def test_penn_treebank(order: int, engine: Engine, penn_treebank: Path, tmp_path: Path) -> None:
    text = (penn_treebank / "ptb.train.txt").read_text()
    words = Words.train(text, TextConfig())
    ids, config = words.encode(text), NgramConfig(order=order)
    found = on_disk(ids, config, engine, tmp_path, len(words), tokens=400_000, memory=1 << 26)
    assert_same(found, estimate(ids, config, vocabulary_size=len(words), eos_id=0))


def test_rows_of_a_text() -> None:
    """The words before each token; nothing from before the line."""
    rows = windows(np.array([5, 6, 0, 7]), 0, 4, order=3, eos_id=0, context="line")
    assert np.stack(rows, axis=1).tolist() == [[-1, 0, 5], [0, 5, 6], [5, 6, 0], [-1, 0, 7]]
    rows = windows(np.array([5, 6, 0, 7]), 1, 4, order=3, eos_id=0, context="stream")
    assert np.stack(rows, axis=1).tolist() == [[0, 5, 6], [5, 6, 0], [6, 0, 7]]


def test_large_ids_are_sorted_like_small_ones() -> None:
    largest = 2**31 - 2
    rows, counts = group([np.array([largest, -1, largest]), np.array([largest, 3, largest])])
    assert [column.tolist() for column in rows] == [[-1, largest], [3, largest]]
    assert counts.tolist() == [1, 2]


def test_shards_that_exist_are_not_counted_again(tmp_path: Path) -> None:
    ids, _ = grammar_ids()
    settings = {"order": 3, "eos_id": 0, "context": "line", "tokens": 500}
    files = count_shards(ids, tmp_path, **settings)
    times = [file.stat().st_mtime_ns for file in files]
    files[1].unlink()
    again = count_shards(ids, tmp_path, **settings)
    changed = [file.stat().st_mtime_ns != time for file, time in zip(again, times, strict=True)]
    assert [number for number, is_new in enumerate(changed) if is_new] == [1]


def test_files_that_are_no_counts_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.parquet"
    file.write_text("no table")
    with pytest.raises(InputError, match="is not a Parquet file of counts"):
        file_order(file)
    write_rows(file, [np.array([1])], {"number": np.array([1])})
    with pytest.raises(InputError, match="counts have w1, w2 … and count"):
        file_order(file)


def test_counts_of_another_vocabulary_are_refused(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the vocabulary has 5 words"):
        on_disk(np.array([1, 2, 9]), NgramConfig(order=1), engine, tmp_path, 5)


def test_the_order_of_words_in_a_file(tmp_path: Path) -> None:
    ids = np.array([3, 2, 3, 2])
    (file,) = count_shards(ids, tmp_path, order=2, eos_id=0, context="stream", tokens=100)
    (rows,) = read_rows(file)
    assert rows["w2"].tolist() == [0, 2, 3]
    assert rows["w1"].tolist() == [3, 3, 2]
    assert rows[COUNT].tolist() == [1, 1, 2]


def test_words_before_an_ngram(engine: Engine, tmp_path: Path) -> None:
    """6 comes after two words; nothing comes before the start of a line."""
    rows = [np.array([-1, 0]), np.array([0, 5]), np.array([5, 6])]
    write_rows(tmp_path / "one.parquet", rows, {COUNT: np.array([1, 1])})
    rows = [np.array([-1, 0, 0]), np.array([0, 5, 7]), np.array([7, 6, 6])]
    write_rows(tmp_path / "two.parquet", rows, {COUNT: np.array([1, 4, 2])})
    files = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    longest = engine.merge(files, 3, tmp_path / "3.parquet")
    pairs = engine.shorten(longest, 2, tmp_path / "2.parquet")
    words = engine.shorten(pairs, 1, tmp_path / "1.parquet")
    (found,) = (batch for file in pairs for batch in read_rows(file))
    table = np.stack([found[name] for name in ("w2", "w1", COUNT, "before")], axis=1)
    assert table.tolist() == [[0, 5, 1, 0], [0, 7, 1, 0], [5, 6, 5, 1], [7, 6, 2, 1]]
    (found,) = (batch for file in words for batch in read_rows(file))
    table = np.stack([found[name] for name in ("w1", COUNT, "before")], axis=1)
    assert table.tolist() == [[5, 1, 1], [6, 7, 2], [7, 1, 1]]


def test_an_interrupted_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during a query of DuckDB is a Ctrl-C, and leaves no file."""
    engine = duckdb_engine(tmp_path)

    class Interrupted:
        def execute(self, query: str) -> None:
            raise RuntimeError("Query interrupted")

    monkeypatch.setattr(engine, "_connection", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        engine.merge([], 2, tmp_path / "order-2.parquet")
    assert not [*tmp_path.glob("order-*")]
