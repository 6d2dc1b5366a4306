"""Count n-grams in shards of a text; the counts are Parquet files of ids.

Takes ids, gives one file per shard, which anyone can read, count apart and add up. Every token is a
row: its own id, w1, and the ids of the words before it, w2, w3 … Equal rows are one row with a
count. NOTHING (-1) is written where there is no such word: before the line, or before the text.

     w5   w4   w3   w2   w1   count
     -1   -1   -1    0   17       3       a line (after <eos>, 0) began with 17 three times
     -1   -1    0   17   23       2

So the columns w1 to wk have all n-grams of order k, and a file of order 5 also serves a model of
order 3. Counts of several files add up, whichever way the text was cut. Called by the engines and
by `tasks/language_modelling/count_files.py`. Needs pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elman.atomic import replacing
from elman.counts.tables import NOTHING
from elman.errors import InputError
from elman.extras import import_extra

Ints = np.ndarray
COUNT, BEFORE = "count", "before"
_ROWS = 1 << 20  # of a group of rows in a file, and of a batch that is read
_BYTES_PER_TOKEN = 160  # of memory while a shard of order 5 is counted, as measured
_SMALLEST = 1 << 16


def columns(order: int) -> list[str]:
    """The names of the columns of an n-gram, first word first."""
    return [f"w{number}" for number in range(order, 0, -1)]


def shard_size(memory: int, order: int) -> int:
    """How many tokens are counted at once in this many bytes."""
    return max(memory // 3 // (_BYTES_PER_TOKEN * max(order, 2) // 5), _SMALLEST)


def count_shards(
    ids: Ints,
    folder: Path,
    *,
    order: int,
    eos_id: int,
    context: str,
    tokens: int,
    told: Callable[[str], None] = lambda what: None,
) -> list[Path]:
    """Count a text in shards of so many tokens; shards that are in the folder are complete."""
    files = []
    for number, start in enumerate(range(0, len(ids), tokens)):
        file = folder / f"shard-{number:05}.parquet"
        files.append(file)
        if file.exists():
            continue
        told(f"counting: {start / 1e6:,.0f} of {len(ids) / 1e6:,.0f} million tokens")
        stop = min(start + tokens, len(ids))
        rows, counts = group(windows(ids, start, stop, order=order, eos_id=eos_id, context=context))
        write_rows(file, rows, {COUNT: counts})
    return files


def windows(
    ids: Ints, start: int, stop: int, *, order: int, eos_id: int, context: str
) -> list[Ints]:
    """The n-gram that ends at each place of a part of a text, first words first."""
    missing = max(order - 1 - start, 0)
    before = np.full(missing, NOTHING, dtype=np.int32)
    before[-1:] = eos_id  # a text begins like a line
    known = np.asarray(ids[max(start - order + 1, 0) : stop], dtype=np.int32)
    stream = np.concatenate([before, known])
    size = stop - start
    found = [stream[order - 1 - back : order - 1 - back + size] for back in range(order)]
    if context == "line":
        outside = np.zeros(size, dtype=bool)
        for back in range(1, order):
            found[back] = np.where(outside, np.int32(NOTHING), found[back])
            outside |= found[back] == eos_id
    return found[::-1]


def group(rows: Sequence[Ints], counts: Ints | None = None) -> tuple[list[Ints], Ints]:
    """The distinct rows, sorted, and how often each occurs (or the sum of the given counts)."""
    order, starts = _sorted(rows)
    distinct = [column[order[starts]] for column in rows]
    if counts is None:
        return distinct, np.diff(np.append(starts, len(order)))
    return distinct, _sums(counts[order], starts)


def shorten(rows: Sequence[Ints], counts: Ints) -> tuple[list[Ints], Ints, Ints]:
    """The rows without their first word: distinct, with the sum of their counts, and how many
    different words come before each.
    """
    order, starts = _sorted(rows[1:])
    distinct = [column[order[starts]] for column in rows[1:]]
    has_word = (rows[0] != NOTHING)[order].astype(np.int64)
    return distinct, _sums(counts[order], starts), _sums(has_word, starts)


def _sums(values: Ints, starts: Ints) -> Ints:
    if not len(starts):
        return np.zeros(0, dtype=np.int64)
    return np.add.reduceat(values, starts, dtype=np.int64)


def _sorted(rows: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The order that sorts rows, and where each distinct row begins in it."""
    keys = _packed(rows)
    order = np.lexsort(keys[::-1]) if len(keys) > 1 else np.argsort(keys[0], kind="stable")
    is_new = np.zeros(len(order), dtype=bool)
    is_new[:1] = True
    for key in keys:
        ordered = key[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(is_new)


def _packed(rows: Sequence[Ints]) -> list[Ints]:
    """As few integers per row as hold its ids, in the same order."""
    largest = max((int(column.max(initial=0)) for column in rows), default=0)
    bits = (largest + 1).bit_length()  # NOTHING is packed as 0
    each = max(62 // bits, 1)
    keys = []
    for first in range(0, len(rows), each):
        key = np.zeros(len(rows[0]), dtype=np.int64)
        for column in rows[first : first + each]:
            key <<= bits
            key |= column.astype(np.int64) + 1
        keys.append(key)
    return keys


# Files --------------------------------------------------------------------------------------------


def write_rows(file: Path, rows: Sequence[Ints], numbers: dict[str, Ints]) -> None:
    """Write n-grams and their counts; the file is complete or absent."""
    arrow, parquet = _parquet()
    named = dict(zip(columns(len(rows)), (column.astype(np.int32) for column in rows), strict=True))
    named |= {name: values.astype(np.int64) for name, values in numbers.items()}
    with replacing(file) as path:
        parquet.write_table(arrow.table(named), path, compression="zstd", row_group_size=_ROWS)


def read_rows(file: Path | str) -> Iterator[dict[str, Ints]]:
    """The columns of a file, some rows at a time."""
    _, parquet = _parquet()
    with parquet.ParquetFile(file) as opened:
        for batch in opened.iter_batches(_ROWS):
            yield {name: batch[name].to_numpy() for name in batch.schema.names}


def row_count(file: Path | str) -> int:
    """The number of rows of a file."""
    return int(_parquet()[1].read_metadata(file).num_rows)


def file_order(file: Path | str) -> int:
    """The order of the n-grams of a file; an InputError if it has none."""
    arrow, parquet = _parquet()
    try:
        names = parquet.read_schema(file).names
    except (OSError, arrow.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{file}: is not a Parquet file of counts ({reason})") from None
    order = len([name for name in names if name not in (COUNT, BEFORE)])
    if not order or not {*columns(order), COUNT} <= set(names):
        wanted = f"w1, w2 … and {COUNT}"
        raise InputError(f"{file}: has the columns {', '.join(names)}; counts have {wanted}")
    return order


def _parquet() -> tuple[Any, Any]:
    problem = "counts in files need pyarrow, which is not installed"
    return import_extra("pyarrow", problem), import_extra("pyarrow.parquet", problem)
