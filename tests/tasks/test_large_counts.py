"""Counting on disk: killed at any moment, it continues, and nothing half-made is a model."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import elman
from elman.counts import resources
from elman.counts.resources import Resources, estimate_need
from elman.errors import InputError
from elman.formats import arpa_writer
from elman.recipes import load_recipe
from elman.tasks.language_modelling import large_counts
from elman.tasks.language_modelling.counting import count_text, import_arpa
from elman.tasks.language_modelling.explanation import explain_text
from elman.tasks.task import Order
from elman.text.grammar import grammar_text
from elman.training.machine import Machine

pytest.importorskip("pyarrow", reason="counts in files need pyarrow")

# Small shards, and a pause after each, so that the kills find all stages of the work.
CHILD = """
import sys, time
from elman.cli import run
from elman.counts import shards
from elman.tasks.language_modelling import large_counts
large_counts.shard_size = lambda memory, order: 20_000
write = shards.write_rows
def slowly(*arguments):
    write(*arguments)
    time.sleep(0.1)
shards.write_rows = slowly
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.slow
def test_killed_at_ten_random_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    cache, run = tmp_path / "cache", tmp_path / "run"
    monkeypatch.setenv("ELMAN_CACHE", str(cache))
    data = tmp_path / "train.txt"
    data.write_text(grammar_text("train", 60_000))
    command = [sys.executable, "-c", CHILD, "train", "ngram", "--data", str(data)]
    command += ["--out", str(run), "--engine", "duckdb", "--threads", "1"]
    started = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    whole = time.monotonic() - started
    expected = (run / "weights.safetensors").read_bytes()
    subprocess.run(["rm", "-r", str(run)], check=True)
    chance, kept, finished = random.Random(0), 0, 0
    for _ in range(10):
        before = {file: file.stat().st_mtime_ns for file in cache.glob("counts-*/shard-*.parquet")}
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(chance.uniform(0.3, 1.0) * whole)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        after = {file: file.stat().st_mtime_ns for file in cache.glob("counts-*/shard-*.parquet")}
        if run.exists():  # complete, if it is there at all
            assert (run / "weights.safetensors").read_bytes() == expected
            elman.load(run)
            subprocess.run(["rm", "-r", str(run)], check=True)
            finished += 1
        else:
            assert before.items() <= after.items()  # what was counted is not counted again
            kept += len(before)
    assert kept > 0
    assert finished < 10
    subprocess.run(command, check=True, capture_output=True)
    assert (run / "weights.safetensors").read_bytes() == expected
    assert not [*cache.glob("counts-*")]
    assert not [*cache.glob("tables-*")]  # those of killed processes are gone, too


def test_an_error_keeps_the_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    monkeypatch.setenv("ELMAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(large_counts, "shard_size", lambda memory, order: 500)
    data = tmp_path / "train.txt"
    data.write_text(grammar_text("train", 300))
    machine = Machine(counting=Resources("duckdb", 1 << 29))
    train = {"data": str(data), "out": tmp_path / "run", "machine": machine}

    def fail(*arguments: object, **named: object) -> None:
        raise InputError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(large_counts, "estimate_on_disk", fail)
        with pytest.raises(InputError, match="full"):
            elman.train("ngram", **train)
    assert not (tmp_path / "run").exists()
    shards = [*(tmp_path / "cache").glob("counts-*/shard-*.parquet")]
    assert len(shards) > 2
    assert not [*(tmp_path / "cache").glob("tables-*")]
    with monkeypatch.context() as patch:
        patch.setattr("elman.counts.shards.write_rows", fail)  # nothing is left to count
        elman.train("ngram", **train)
    assert not [*(tmp_path / "cache").glob("counts-*")]


def test_tables_in_files_live_as_long_as_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    monkeypatch.setenv("ELMAN_CACHE", str(tmp_path))
    machine = Machine(counting=Resources("duckdb", 1 << 29))
    first = elman.train("ngram", data="grammar", machine=machine)
    second = elman.train("ngram", data="grammar", machine=machine)
    assert first.perplexity("the dog sees the cat .\n") == second.perplexity(
        "the dog sees the cat .\n"
    )
    assert len([*tmp_path.glob("tables-*")]) == 2
    del first, second
    assert not [*tmp_path.glob("tables-*")] or os.name == "nt"


def test_a_text_grows_like_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimated number of n-grams is close to the real one, and not below it."""
    draws = np.random.default_rng(0).zipf(1.4, 200_000) % 5000
    monkeypatch.setattr(resources, "_SAMPLE", 20_000)
    told = estimate_need(draws, order=3, eos_id=0, context="line")
    monkeypatch.setattr(resources, "_SAMPLE", len(draws))
    real = estimate_need(draws, order=3, eos_id=0, context="line")
    assert real.ngrams <= told.ngrams < 1.4 * real.ngrams


@pytest.mark.parametrize("cutoffs", ["[]", "[1,1,2]"])
@pytest.mark.parametrize("way", ["duckdb", "counts"])
def test_explain_and_arpa_files_of_every_engine(
    way: str, cutoffs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted on disk or in memory, a run gives the same evidence and the same ARPA file."""
    if way == "duckdb":
        pytest.importorskip("duckdb", reason="DuckDB is not installed")
    monkeypatch.setenv("ELMAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(arpa_writer, "_AT_ONCE", 50)  # many parts
    data = tmp_path / "data"
    data.mkdir()
    (data / "train.txt").write_text(grammar_text("train", 300))
    settings = [f"model.cutoffs={cutoffs}", "model.order=4", "text.tokenizer=words"]
    elman.train("ngram", data=str(data), out=tmp_path / "expected", overrides=settings)
    out = tmp_path / "run"
    if way == "counts":
        count_text(str(data), tmp_path / "counts", load_recipe("ngram", settings), Order())
        elman.train("ngram", counts=[tmp_path / "counts"], out=out, overrides=settings[:2])
    else:
        machine = Machine(counting=Resources("duckdb", 1 << 29))
        elman.train("ngram", data=str(data), out=out, overrides=settings, machine=machine)
    runs = [elman.load(tmp_path / "expected"), elman.load(out)]
    evidence = [explain_text(run, "the dog sees the zebra .") for run in runs]
    assert evidence[0] == evidence[1]
    assert evidence[0][1].orders[-2].count  # there are counts
    files = [tmp_path / "expected.arpa", tmp_path / "run.arpa"]
    for run, file in zip(runs, files, strict=True):
        arpa_writer.write(run, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    text = grammar_text("valid", 50)
    imported = import_arpa(files[1])
    assert imported.perplexity(text) == pytest.approx(runs[1].perplexity(text), rel=1e-9)
