"""Add up counts with DuckDB: on one machine, in bounded memory, the rest on disk.

Takes and gives files of n-grams like every engine (`engines.py`). Needs the package duckdb.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elman.atomic import replacing
from elman.counts.engines import Engine
from elman.counts.shards import BEFORE, COUNT, columns
from elman.errors import DiskFull, InputError
from elman.extras import import_extra

_SHARE = 0.5  # of the memory; the rest is for Python, for buffers and for the allocator
_SMALLEST = 128 << 20  # bytes; DuckDB needs so much to sort on disk
_PER_THREAD = 256 << 20  # bytes; with less, threads wait for one another


class DuckDB(Engine):
    """One connection with a bound on its memory and a folder for the rest."""

    def __init__(self, folder: Path, memory: int, threads: int | None = None) -> None:
        database = import_extra("duckdb", "--engine duckdb: DuckDB is not installed")
        room = max(int(memory * _SHARE), _SMALLEST)
        self._errors = database.Error
        self._connection = database.connect()
        settings: dict[str, Any] = {
            "memory_limit": f"{room}B",
            "temp_directory": str(folder / "spill"),
            "threads": threads or max(1, min(4, room // _PER_THREAD)),
            "preserve_insertion_order": False,  # rows are sorted explicitly
            "enable_progress_bar": False,
        }
        for name, value in settings.items():
            self._connection.execute(f"SET {name} = {_quoted(value)}")

    def merge(self, files: Sequence[Path], order: int, out: Path) -> list[Path]:
        names = ", ".join(columns(order))
        return self._copy(
            f"SELECT {names}, CAST(SUM({COUNT}) AS BIGINT) AS {COUNT} "
            f"FROM {_source(files)} GROUP BY {names} ORDER BY {names}",
            out,
        )

    def shorten(self, files: Sequence[Path], order: int, out: Path) -> list[Path]:
        names = ", ".join(columns(order))
        return self._copy(
            f"SELECT {names}, CAST(SUM({COUNT}) AS BIGINT) AS {COUNT}, "
            f"COUNT(*) FILTER (WHERE w{order + 1} >= 0) AS {BEFORE} "
            f"FROM {_source(files)} GROUP BY {names} ORDER BY {names}",
            out,
        )

    def _copy(self, query: str, out: Path) -> list[Path]:
        with replacing(out) as path:
            try:
                self._connection.execute(
                    f"COPY ({query}) TO {_quoted(path)} (FORMAT parquet, COMPRESSION zstd)"
                )
            except self._errors as error:
                raise _explained(error, out) from None
        return [out]


def _source(files: Sequence[Path]) -> str:
    return f"read_parquet([{', '.join(_quoted(file) for file in files)}])"


def _quoted(value: Any) -> str:
    return (
        str(value) if isinstance(value, bool | int) else "'" + str(value).replace("'", "''") + "'"
    )


def _explained(error: Exception, out: Path) -> Exception:
    message = " ".join(str(error).split())
    if "No space left" in message or "temp_directory_size" in message:
        return DiskFull(
            f"{out.parent}: the disk is full; set ELMAN_CACHE to a folder with more room"
        )
    if "Out of Memory" in message:
        return InputError(f"DuckDB needs more memory; raise --memory ({message[:200]})")
    return error
