"""Spark counts like numpy: on a small cluster of this machine, also if it loses a worker."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elman
from elman.counts.engines import InMemory
from elman.counts.estimate import NgramConfig, estimate
from elman.counts.estimate_on_disk import estimate_on_disk
from elman.counts.levels_on_disk import DiskRoom
from elman.counts.shards import COUNT, columns, count_shards, group, read_rows
from elman.errors import InputError
from elman.text import tokenizer_to_data
from elman.text.tokenizer import TextConfig
from elman.text.words import Words

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # warnings of pyspark itself
pytest.importorskip("pyarrow", reason="counts in files need pyarrow")


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    root = str(Path(elman.__file__).parents[1])
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executorEnv.PYTHONPATH", root)
        .config("spark.executorEnv.OMP_NUM_THREADS", "1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.files.maxPartitionBytes", "300000")  # several tasks per worker
        .config("spark.executor.memory", "700m")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def all_rows(files: list[Path], order: int) -> tuple[np.ndarray, np.ndarray]:
    batches = [batch for file in files for batch in read_rows(file)]
    rows = [np.concatenate([batch[name] for batch in batches]) for name in columns(order)]
    rows, counts = group(rows, np.concatenate([batch[COUNT] for batch in batches]))
    return np.stack(rows), counts


@pytest.mark.parametrize("order", [3, 5])
def test_penn_treebank(order: int, session: Any, penn_treebank: Path, tmp_path: Path) -> None:
    """All tables of the model are those of counting in memory."""
    from elman.counts.spark import Spark

    text = (penn_treebank / "ptb.train.txt").read_text()
    words = Words.train(text, TextConfig())
    ids, config = words.encode(text), NgramConfig(order=order)
    files = count_shards(ids, tmp_path, order=order, eos_id=0, context="line", tokens=400_000)
    room = DiskRoom(tmp_path, 1 << 26)
    size = {"vocabulary_size": len(words), "eos_id": 0}
    found = estimate_on_disk(files, config, Spark(session), room, **size)
    expected = estimate(ids, config, **size)
    assert found.discounts == expected.discounts
    for ours, theirs in zip(found.tables, expected.tables, strict=True):
        for name in ("prefixes", "words", "log_probs", "log_backoffs", "counts"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name


def write_lines(folder: Path, text: str, parts: int) -> str:
    lines = text.splitlines()
    folder.mkdir()
    for number in range(parts):
        part = lines[number * len(lines) // parts : (number + 1) * len(lines) // parts]
        (folder / f"{number:02}.txt").write_text("".join(f"{line}\n" for line in part))
    return str(folder)


@pytest.mark.parametrize(
    "text",
    [
        TextConfig(),
        TextConfig(vocabulary_size=12),
        TextConfig(min_count=20, lowercase=True),
        TextConfig(normalise="none"),
    ],
)
def test_words(text: TextConfig, session: Any, penn_treebank: Path, tmp_path: Path) -> None:
    """They are those of one machine, also if characters can be typed in two ways."""
    from elman.counts.spark import learn_words

    file = tmp_path / "text.txt"
    typed = "cafe\u0301 caf\u00e9 300 \u212a K\n" * 30  # \u212a: the sign for kelvin
    file.write_text((penn_treebank / "ptb.valid.txt").read_text() + typed, encoding="utf-8")
    found = learn_words(session, [str(file)], text=text)
    expected = Words.train(file.read_text(encoding="utf-8"), text)
    assert tokenizer_to_data(found) == tokenizer_to_data(expected)


def test_quotes_are_refused(session: Any) -> None:
    from elman.counts.spark import learn_words

    with pytest.raises(InputError, match="use nfc"):
        learn_words(session, ["text.txt"], text=TextConfig(normalise="nfc+quotes"))


def test_composed_and_decomposed_characters(session: Any, tmp_path: Path) -> None:
    """A model of counts is that of training on the text."""
    from elman.counts.spark import count, learn_words

    lines = ["un cafe\u0301 noir", "un caf\u00e9 noir", "300 \u212a", "300 K", "un the\u0301"] * 20
    file = tmp_path / "data" / "train.txt"  # a folder: nothing is held out for validation
    file.parent.mkdir()
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    words = learn_words(session, [str(file)])
    count(session, [str(file)], tokenizer=words, order=3, out=str(tmp_path / "counts"))
    settings = ["model.order=3", "text.tokenizer=words"]
    found = elman.train("ngram", counts=[str(tmp_path / "counts")], overrides=settings[:1])
    expected = elman.train("ngram", data=str(file.parent), overrides=settings)
    assert found.tokenizer.tokens == expected.tokenizer.tokens
    for name, array in expected.model.arrays().items():
        assert np.array_equal(found.model.arrays()[name], array), name


def test_a_lost_worker(session: Any, penn_treebank: Path, tmp_path: Path) -> None:
    """The counts are complete, and one worker was killed during the work."""
    from elman.counts.spark import count

    text = (penn_treebank / "ptb.train.txt").read_text()
    words = Words.train(text, TextConfig())
    data = write_lines(tmp_path / "text", text, 12)
    killed: list[int] = []
    done = threading.Event()
    killer = threading.Thread(target=kill_a_worker, args=(session, killed, done), daemon=True)
    killer.start()
    out = tmp_path / "counts"
    count(session, [data], tokenizer=words, order=3, out=str(out))
    done.set()
    killer.join(60)
    assert killed
    ids = words.encode(text)
    expected = count_shards(ids, tmp_path, order=3, eos_id=0, context="line", tokens=10**9)
    InMemory().merge(expected, 3, tmp_path / "all.parquet")
    ours, counts = all_rows(sorted(out.glob("part-*.parquet")), 3)
    theirs, others = all_rows([tmp_path / "all.parquet"], 3)
    assert np.array_equal(ours, theirs)
    assert np.array_equal(counts, others)


def kill_a_worker(session: Any, killed: list[int], done: threading.Event) -> None:
    """Wait until tasks run, then kill one of the two worker processes of this cluster."""
    tracker = session.sparkContext.statusTracker()
    while not killed and not done.is_set():
        stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        running = any(stage is not None and stage.numActiveTasks for stage in stages)
        if running and (found := workers(session.sparkContext.applicationId)):
            os.kill(found[0], signal.SIGKILL)
            killed.append(found[0])
        time.sleep(0.05)


def workers(application: str) -> list[int]:
    """The processes of the workers of an application."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = file.read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has just ended
            continue
        backend = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
        if backend in arguments and application in arguments:
            found.append(int(file.parent.name))
    return found


def test_a_model_of_the_counts(
    session: Any, penn_treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`elman train --counts` reads the folder; the model is that of training on the text."""
    from elman.counts.spark import count

    monkeypatch.setenv("ELMAN_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "text" / "train.txt"
    file.parent.mkdir()
    file.write_text("\n" + (penn_treebank / "ptb.valid.txt").read_text())
    expected = elman.train("ngram", data=str(file.parent), out=tmp_path / "expected")
    place = str(tmp_path / "counts")
    count(session, [str(file)], tokenizer=expected.task.tokenizer, order=5, out=place)
    found = elman.train("ngram", counts=[place], out=tmp_path / "run")
    weights = [tmp_path / name / "weights.safetensors" for name in ("expected", "run")]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    facts, others = expected.facts["data"], found.facts["data"]
    for name in ("tokens", "lines", "empty_lines"):
        assert others[name] == facts[name], name
    assert others["unknown_tokens"] == file.read_text().split().count("<unk>") > 0
    (tmp_path / "counts" / "manifest.json").unlink()  # as if it was interrupted
    with pytest.raises(InputError, match="manifest"):
        elman.train("ngram", counts=[place], out=tmp_path / "other")


def test_tables_and_texts(session: Any, tmp_path: Path) -> None:
    """Paths of both kinds together; rows without text are reported, other columns refused."""
    import pyarrow
    from pyarrow import parquet

    from elman.counts.spark import count

    table = pyarrow.table({"body": ["a b", None, "b c"]})
    parquet.write_table(table, tmp_path / "one.parquet")
    with gzip.open(tmp_path / "two.txt.gz", "wt") as text:
        text.write("a b\n")
    paths = [str(tmp_path / "one.parquet"), str(tmp_path / "two.txt.gz")]
    words = Words(["<eos>", "<unk>", "a", "b"])
    out = tmp_path / "counts"
    count(session, paths, tokenizer=words, order=2, out=str(out), column="body")
    rows, counts = all_rows(sorted(out.glob("part-*.parquet")), 2)
    found = {tuple(row): count for row, count in zip(rows.T.tolist(), counts.tolist(), strict=True)}
    assert found == {(0, 2): 2, (0, 3): 1, (1, 0): 1, (2, 3): 2, (3, 0): 2, (3, 1): 1}
    facts = json.loads((out / "counts.json").read_text())["data"]
    assert facts["notes"] == ["rows without text, left out: 1"]
    assert (facts["lines"], facts["tokens"], facts["unknown_tokens"]) == (3, 9, 1)
    place = {"tokenizer": words, "order": 2, "out": str(tmp_path / "other")}
    with pytest.raises(InputError, match="no column text.*body"):
        count(session, paths, **place)
    with pytest.raises(InputError, match=r"is a table"):
        count(session, [str(tmp_path)], **place)
