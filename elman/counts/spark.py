"""Count n-grams with Spark, on a cluster.

`count` takes a session and the paths of texts, gives Parquet files of n-grams (`shards.py`) from
which a model is made. The workers tokenize, count the n-grams of some thousand lines at a time, and
send only distinct n-grams; Spark adds them up. `count_words` gives the vocabulary in the same way.
A lost worker costs time: Spark repeats its part. `Spark` is the engine that adds up counts like
every other (`engines.py`).

The workers need elman, numpy and pyarrow; folders must be reachable from all machines.

    files = count(session, ["s3://texts/*.parquet"], tokenizer=tokenizer, order=5, out="s3://counts")
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elman.counts.engines import Engine
from elman.counts.shards import BEFORE, COUNT, columns, group, windows
from elman.errors import ElmanError, InputError
from elman.extras import import_extra
from elman.text import tokenizer_from_data, tokenizer_to_data
from elman.text.tokenizer import EOS, UNKNOWN, Tokenizer
from elman.text.words import split_words

_LINES = 10_000  # lines that a worker counts at once
_CUT = "spark.sql.execution.arrow.maxRecordsPerBatch"


class Spark(Engine):
    """A session that adds up files of n-grams."""

    def __init__(self, session: Any) -> None:
        self._session = session

    @classmethod
    def connected(cls, folder: Path, memory: int, master: str | None = None) -> Spark:
        """A session of its own; by default on this machine, with this memory."""
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings = {
            "spark.app.name": "elman",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.local.dir": str(folder / "spill"),
        }
        if master is None:
            settings["spark.driver.memory"] = f"{max(memory // (1 << 20) // 2, 512)}m"
        sql = import_extra("pyspark.sql", "--engine spark: pyspark is not installed")
        builder = sql.SparkSession.builder.master(master or "local[1]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        try:
            session = builder.getOrCreate()
        except Exception as error:  # Java is missing, the master does not answer
            reason = " ".join(str(error).split())[:200]
            raise InputError(
                f"--engine spark: cannot start ({reason}); it needs Java 17 and, for a cluster, "
                "its address in --master"
            ) from None
        session.sparkContext.setLogLevel("ERROR")
        return cls(session)

    def merge(self, files: Sequence[Path], order: int, out: Path) -> list[Path]:
        names = ", ".join(columns(order))
        return self._write(
            f"SELECT {names}, CAST(SUM({COUNT}) AS BIGINT) AS {COUNT} FROM {{source}} "
            f"GROUP BY {names} ORDER BY {names}",
            files,
            out,
        )

    def shorten(self, files: Sequence[Path], order: int, out: Path) -> list[Path]:
        names = ", ".join(columns(order))
        return self._write(
            f"SELECT {names}, CAST(SUM({COUNT}) AS BIGINT) AS {COUNT}, "
            f"COUNT(CASE WHEN w{order + 1} >= 0 THEN 1 END) AS {BEFORE} FROM {{source}} "
            f"GROUP BY {names} ORDER BY {names}",
            files,
            out,
        )

    def _write(self, query: str, files: Sequence[Path], out: Path) -> list[Path]:
        source = self._session.read.parquet(*(str(Path(file).absolute()) for file in files))
        with _explained():
            found = self._session.sql(query, source=source)
            found.write.mode("overwrite").parquet(str(out.absolute()))
        return sorted(out.glob("part-*.parquet"))  # numbered in the order of their rows


def count(
    session: Any,
    paths: Iterable[str],
    *,
    tokenizer: Tokenizer,
    order: int,
    out: str,
    column: str = "text",
) -> None:
    """Count the n-grams of all lines of these texts and write them as Parquet files.

    Paths are those of Parquet files with a column of text, or of text files, plain or compressed.
    Contexts stop at line starts, since the lines of a distributed text have no order.
    """
    encoding = tokenizer_to_data(tokenizer)
    schema = ", ".join([*(f"{name} int" for name in columns(order)), f"{COUNT} bigint"])
    lines = _lines(session, [*paths], column)
    with _explained():
        parts = lines.mapInArrow(_counter(encoding, order), schema)
        names = columns(order)
        parts.groupBy(*names).sum(COUNT).withColumnRenamed(f"sum({COUNT})", COUNT).write.mode(
            "errorifexists"
        ).parquet(out)


def count_words(
    session: Any, paths: Iterable[str], *, column: str = "text", most: int | None = None
) -> dict[str, int]:
    """How often each word of these texts occurs (between spaces), the `most` frequent ones."""
    with _explained():
        found = _lines(session, [*paths], column).mapInArrow(_word_counts, "word string, n bigint")
        found = found.groupBy("word").sum("n").withColumnRenamed("sum(n)", COUNT)
        found = found.orderBy(found[COUNT].desc(), "word")
        rows = (found if most is None else found.limit(most + 2)).collect()
    return {row["word"]: row[COUNT] for row in rows if row["word"] not in (EOS, UNKNOWN)}


def _lines(session: Any, paths: list[str], column: str) -> Any:
    """The lines as one column of text."""
    session.conf.set(_CUT, str(_LINES))
    with _explained():
        if all(path.endswith(".parquet") for path in paths):
            return session.read.parquet(*paths).select(column)
        return session.read.text(paths)


def _counter(encoding: dict[str, Any], order: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function that counts the n-grams of batches of lines on a worker."""

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        pyarrow = _arrow()
        tokenizer = tokenizer_from_data(encoding)
        for text in _texts(batches):
            ids = tokenizer.encode(text)
            place = {"order": order, "eos_id": tokenizer.eos_id, "context": "line"}
            rows, counts = group(windows(ids, 0, len(ids), **place))  # type: ignore[arg-type]
            arrays = [*(rows_.astype(np.int32) for rows_ in rows), counts.astype(np.int64)]
            yield pyarrow.RecordBatch.from_arrays(
                [pyarrow.array(values) for values in arrays], [*columns(order), COUNT]
            )

    return counted


def _word_counts(batches: Iterator[Any]) -> Iterator[Any]:
    pyarrow = _arrow()
    for text in _texts(batches):
        found = Counter(split_words(text))
        yield pyarrow.RecordBatch.from_arrays(
            [pyarrow.array([*found]), pyarrow.array([*found.values()], pyarrow.int64())],
            ["word", "n"],
        )


def _texts(batches: Iterator[Any]) -> Iterator[str]:
    """The lines of each batch as one text; rows without text are left out."""
    for batch in batches:
        lines = [line for line in batch.column(0).to_pylist() if line is not None]
        if lines:
            yield "".join(f"{line}\n" for line in lines)


class _explained:
    """Turn an error of Spark into one line."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None and type(error).__module__.split(".")[0] in ("pyspark", "py4j"):
            raise ElmanError(f"Spark: {' '.join(str(error).split())[:300]}") from None


def _arrow() -> Any:
    return import_extra("pyarrow", "the workers of Spark need pyarrow")
