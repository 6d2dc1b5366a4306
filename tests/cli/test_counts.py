"""`elman counts`, and training from counts, with every engine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import elman

pytest.importorskip("pyarrow", reason="counts in files need pyarrow")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "cache"
    monkeypatch.setenv("ELMAN_CACHE", str(cache))
    return cache


def weights(run: Path) -> bytes:
    return (run / "weights.safetensors").read_bytes()


@pytest.mark.parametrize(
    "settings", [(), ("--set", "model.order=3", "--set", "model.cutoffs=[1,1,2]")]
)
def test_engines_give_the_same_run(
    settings: tuple[str, ...], call: Any, tmp_path: Path, own_cache: Path
) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    for engine in ("memory", "duckdb"):
        train = ("train", "ngram", "--data", "data", "--out", str(tmp_path / engine))
        result = call(*train, "--engine", engine, "--memory", "512M", *settings)
        assert result.code == 0, result.err
        assert "validation perplexity" in result.out
    assert weights(tmp_path / "memory") == weights(tmp_path / "duckdb")
    assert (tmp_path / "memory" / "config.json").read_bytes() == (
        tmp_path / "duckdb" / "config.json"
    ).read_bytes()
    assert not [*own_cache.glob("counts-*")]  # removed once the run was saved


def test_counts_of_two_people_add_up(call: Any, gives: Any, tmp_path: Path) -> None:
    lines = Path("data/train.txt").read_text().splitlines(keepends=True)
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "train.txt").write_text("".join(lines))
    for name, part in (("one", lines[:90]), ("two", lines[90:])):
        (tmp_path / f"{name}.train.txt").write_text("".join(part))
    # The first text must have all words; its vocabulary serves both.
    counts = [str(tmp_path / f"counts-{name}") for name in ("all", "one", "two")]
    assert call("counts", str(whole), "--out", counts[0]).code == 0
    for name, out in (("one", counts[1]), ("two", counts[2])):
        folder = tmp_path / name
        folder.mkdir()
        shutil.move(tmp_path / f"{name}.train.txt", folder / "train.txt")
        found = gives("counts", str(folder), "--out", out, "--like", counts[0])
        assert found["order"] == 5
        assert found["data"]["tokens"] > 100
    train = ("train", "ngram", "--set", "model.order=4")
    both = ("--counts", counts[1], "--counts", counts[2])
    assert call(*train, *both, "--out", str(tmp_path / "both")).code == 0
    assert call(*train, "--data", str(whole), "--out", str(tmp_path / "direct")).code == 0
    assert weights(tmp_path / "both") == weights(tmp_path / "direct")
    run = elman.load(tmp_path / "both")
    assert run.facts["data"]["tokens"] == elman.load(tmp_path / "direct").facts["data"]["tokens"]
    assert call("evaluate", str(tmp_path / "both"), "--data", "data").code == 0
    assert call("export", str(tmp_path / "both"), str(tmp_path / "both.arpa")).code == 0


def test_what_does_not_fit_is_refused(call: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "counts")
    assert call("counts", "data", "--out", out, "--set", "model.order=3").code == 0
    other = tmp_path / "other"
    other.mkdir()
    (other / "train.txt").write_text("quite other words\n" * 9)
    assert call("counts", str(other), "--out", str(tmp_path / "others")).code == 0
    train = ("train", "ngram", "--out", str(tmp_path / "run"))
    for arguments, said in {
        (): "--data is missing",
        ("--counts", out): "has n-grams up to order 3, not 5",
        ("--counts", out, "--data", "data"): "either data or counts",
        ("--counts", out, "--counts", out, "--set", "model.order=3"): "given twice",
        ("--counts", out, "--counts", str(tmp_path / "others")): "has other words",
        (
            "--counts",
            out,
            "--set",
            "model.order=2",
            "--set",
            "model.context=stream",
        ): "--set model.context=line",
        ("--counts", "data"): "data: has no counts",
        ("--counts", "missing"): "missing: no such folder",
        ("--data", "data", "--engine", "oracle"): "oracle",
        ("--data", "data", "--memory", "2 apples"): "write a size like 2G",
        ("--data", "data", "--memory", "1M"): "give at least",
        (
            "--data",
            "data",
            "--memory",
            "300M",
            "--engine",
            "duckdb",
        ): "duckdb needs at least 537 MB",
        ("--data", "data", "--engine", "memory", "--master", "local"): "--master is for",
    }.items():
        result = call(*train, *arguments)
        assert result.code == 2, arguments
        assert said in result.err, result.err
    for recipe in ("small", "tagger", "word2vec"):
        options = ("--data", "data", "--out", str(tmp_path / "run"), "--memory", "2G")
        result = call("train", recipe, *options)
        assert result.code == 2
        assert "is not a count model" in result.err
    assert call("evaluate", out, "--data", "data").code == 2


def test_damaged_counts_are_refused(call: Any, tmp_path: Path) -> None:
    out = tmp_path / "counts"
    assert call("counts", "data", "--out", str(out)).code == 0
    (shard,) = out.glob("*.parquet")
    shard.write_bytes(shard.read_bytes()[:-1])
    result = call("train", "ngram", "--counts", str(out), "--out", str(tmp_path / "run"))
    assert result.code == 2
    assert "is damaged or missing" in result.err
    assert not (tmp_path / "run").exists()


def test_too_little_disk_is_told_before_the_start(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    train = ("train", "ngram", "--data", "data", "--out", str(tmp_path / "run"))
    result = call(*train, "--engine", "duckdb")
    assert result.code == 2
    assert "are free, but counting needs about" in result.err


def test_a_large_text_is_counted_on_disk(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from elman.counts.resources import Resources

    assert Resources().choose(1000, 5) == "memory"
    assert Resources(memory=1 << 30).choose(100_000_000, 5) == "duckdb"
    train = ("train", "ngram", "--data", "data", "--out", str(tmp_path / "run"))
    monkeypatch.setattr("elman.counts.resources._IN_MEMORY", 10**7)
    result = call(*train, "--engine", "memory", "--memory", "300M")
    assert result.code == 2
    assert "raise --memory or use --engine duckdb" in result.err


def test_plan(gives: Any, call: Any) -> None:
    found = gives("plan", "ngram", "--data", "data")
    assert found["tokens"] == 1400
    assert found["disk_megabytes"] > 0
    assert json.dumps(found)
    result = call("plan", "ngram", "--data", "data", "--engine", "duckdb", "--memory", "1G")
    assert "duckdb" in result.out
    assert "disk while counting" in result.out
