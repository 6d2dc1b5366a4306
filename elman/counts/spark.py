"""Count n-grams with Spark, on a cluster.

`count` takes a session and the paths of texts, and writes a folder of counts, which `elman train
ngram --counts` reads. The workers tokenize, count the n-grams of some thousand lines at a time, and
send only distinct n-grams; Spark adds them up. `learn_words` gives the tokenizer in the same way.
A lost worker costs time: Spark repeats its part. `Spark` is the engine that adds up counts like
every other (`engines.py`).

The workers need elman, numpy and pyarrow; folders must be reachable from all machines.

    words = learn_words(session, ["s3://texts/*.parquet"])
    count(session, ["s3://texts/*.parquet"], tokenizer=words, order=5, out="s3://counts")
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elman.config import as_data
from elman.counts.engines import Engine
from elman.counts.folders import descriptions
from elman.counts.shards import BEFORE, COUNT, columns, group, windows
from elman.errors import ElmanError, InputError
from elman.extras import import_extra
from elman.runs.claim import MANIFEST
from elman.runs.manifest import manifest_text
from elman.runs.parts import as_json
from elman.text import tokenizer_from_data, tokenizer_to_data
from elman.text.normalising import Normaliser
from elman.text.tokenizer import (
    EOS,
    UNKNOWN,
    TextConfig,
    Tokenizer,
    smallest_count,
    words_to_keep,
)
from elman.text.words import Words, split_words

_LINES = 10_000  # lines that a worker counts at once
_ROWS = 8_000_000  # of a file; some 50 MB
_OUTSIDE = 640 << 20  # bytes of memory of Java outside its heap, and of elman itself
_SMALLEST = 512 << 20  # bytes of heap; Spark refuses less than 450 MB
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
            heap = max((memory - _OUTSIDE) // 2, _SMALLEST)
            settings["spark.driver.memory"] = f"{heap >> 20}m"
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
    """Count the n-grams of all lines of these texts and write a folder of counts (`folders.py`).

    Paths are those of Parquet files with a column of text, or of text files, plain or compressed.
    Contexts stop at line starts, since the lines of a distributed text have no order. The manifest
    is written last: without it, `elman train --counts` refuses the folder.
    """
    encoding = tokenizer_to_data(tokenizer)
    names = columns(order)
    schema = ", ".join([*(f"{name} int" for name in names), f"{COUNT} bigint"])
    lines = _lines(session, paths := [*paths], column)
    with _explained():
        parts = lines.mapInArrow(_counter(encoding, order), schema)
        counts = parts.groupBy(*names).sum(COUNT).withColumnRenamed(f"sum({COUNT})", COUNT)
        counts.write.mode("errorifexists").option("maxRecordsPerFile", _ROWS).parquet(out)
        written = descriptions(
            encoding,
            order=order,
            context="line",
            text=as_data(_text_settings(tokenizer)),
            data=_facts(session, lines, tokenizer, paths, out),
        )
        _write_descriptions(session, out, written)


def _text_settings(tokenizer: Tokenizer) -> TextConfig:
    return TextConfig(
        tokenizer=tokenizer.name,
        lowercase=tokenizer.lowercase,
        normalise=tokenizer.normaliser.form,
    )


def _facts(
    session: Any, lines: Any, tokenizer: Tokenizer, paths: list[str], out: str
) -> dict[str, Any]:
    """Facts about the text, from its counts."""
    counts = session.read.parquet(out)
    empty = f"w1 = {tokenizer.eos_id}" + (
        " AND w2 = w1" if "w2" in counts.columns else " AND false"
    )
    wanted = {
        "tokens": "true",
        "lines": f"w1 = {tokenizer.eos_id}",
        "empty_lines": empty,
        "unknown_tokens": f"w1 = {-1 if tokenizer.unknown_id is None else tokenizer.unknown_id}",
    }
    sums = [f"COALESCE(SUM({COUNT}) FILTER (WHERE {which}), 0)" for which in wanted.values()]
    found = counts.selectExpr(*(f"{s} AS {name}" for s, name in zip(sums, wanted, strict=True)))
    numbers = {name: int(value) for name, value in found.first().asDict().items()}
    missing = lines.filter(lines[lines.columns[0]].isNull()).count()
    notes = [f"rows without text, left out: {missing:,}"] if missing else []
    return {"name": ", ".join(paths), "sha256": {}, **numbers, "notes": notes}


def _write_descriptions(session: Any, out: str, written: dict[str, dict[str, Any]]) -> None:
    """Write the JSON files of a folder of counts to wherever Spark wrote the counts."""
    texts = {name: as_json(content) for name, content in written.items()}
    files = session.read.format("binaryFile").option("pathGlobFilter", "*.parquet").load(out)
    rows = files.selectExpr("path", "length", "sha2(content, 256) AS sha256").collect()
    known = {
        row["path"].rpartition("/")[2]: {"bytes": row["length"], "sha256": row["sha256"]}
        for row in rows
    }
    for name, text in texts.items():
        content = text.encode()
        known[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    texts[MANIFEST] = manifest_text(dict(sorted(known.items())))
    java = session.sparkContext._jvm.org.apache.hadoop.fs
    folder = java.Path(out)
    system = folder.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    for name, text in texts.items():
        stream = system.create(java.Path(folder, name))
        stream.write(bytearray(text.encode()))
        stream.close()


def learn_words(
    session: Any, paths: Iterable[str], *, text: TextConfig | None = None, column: str = "text"
) -> Words:
    """The tokenizer `words` of these texts, the same as if one machine had read them.

    `text` bounds the vocabulary (`vocabulary_size`, `min_count`), and sets case and normalisation.
    """
    config = text or TextConfig()
    if config.normalise == "nfc+quotes":
        raise InputError("text.normalise=nfc+quotes: is not available with Spark; use nfc")
    empty = _words([], config)
    with _explained():
        counter = _word_counter(tokenizer_to_data(empty))
        found = _lines(session, [*paths], column).mapInArrow(
            counter, f"word string, {COUNT} bigint"
        )
        found = found.groupBy("word").sum(COUNT).withColumnRenamed(f"sum({COUNT})", COUNT)
        found = found.filter(~found["word"].isin(empty.tokens))
        found = found.filter(found[COUNT] >= smallest_count(config, min_count=1))
        found = found.orderBy(found[COUNT].desc(), "word")
        most = words_to_keep(config, reserved=len(empty))
        rows = (found if most is None else found.limit(most)).collect()
    return _words([row["word"] for row in rows], config)


def _words(frequent: list[str], config: TextConfig) -> Words:
    words = Words([EOS, UNKNOWN, *frequent], config.lowercase)
    words.normaliser = Normaliser(config.normalise)
    return words


def _lines(session: Any, paths: list[str], column: str) -> Any:
    """The lines as one column of text."""
    session.conf.set(_CUT, str(_LINES))
    tables = [path for path in paths if path.endswith(".parquet")]
    texts = [path for path in paths if not path.endswith(".parquet")]
    with _explained():
        found = []
        if tables:
            rows = session.read.parquet(*tables)
            if column not in rows.columns:
                raise InputError(
                    f"{tables[0]}: has no column {column}; its columns are "
                    f"{', '.join(rows.columns)}"
                )
            found.append(rows.select(rows[column].alias("value")))
        if texts:
            lines = session.read.text(texts)
            binary = [file for file in lines.inputFiles() if file.endswith(".parquet")]
            if binary:
                raise InputError(
                    f"{binary[0]}: is a table; name tables with a path that ends in .parquet, "
                    "such as texts/*.parquet"
                )
            found.append(lines)
        if not found:
            raise InputError("give at least one path of a text")
        return found[0] if len(found) == 1 else found[0].union(found[1])


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


def _word_counter(encoding: dict[str, Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function that counts the words of batches of lines on a worker."""

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        pyarrow = _arrow()
        tokenizer = tokenizer_from_data(encoding)
        for text in _texts(batches):
            found = Counter(split_words(tokenizer.normalise(text)))
            yield pyarrow.RecordBatch.from_arrays(
                [pyarrow.array([*found]), pyarrow.array([*found.values()], pyarrow.int64())],
                ["word", COUNT],
            )

    return counted


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
