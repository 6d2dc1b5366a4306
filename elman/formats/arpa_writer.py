"""Write back-off models as ARPA files, the plain text in which n-gram toolkits exchange them.

Takes `Tables` and tokens, writes a file, which `arpa_reader.py` reads. Each line is a log10
probability, the words, and a log10 back-off weight where something longer is stored:

    \\1-grams:
    -99        <s>        -0.30      never predicted, but a context
    -1.2       </s>       0          predicted, but never a context
    \\2-grams:
    -0.4       <s> the

Both markers are one token here, `<eos>`: first in an n-gram it is `<s>`, last it is `</s>`.
By convention, numbers of -99 and less mean probability zero. A vocabulary without `<unk>` is
written with an `<unk>` of probability zero; a file without one is read the same way.
"""

import gzip
import os
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from elman.atomic import replacing
from elman.counts.tables import OrderTable, Tables
from elman.errors import InputError
from elman.formats import Exported
from elman.text.tokenizer import UNKNOWN, no_surrogates

Array = np.ndarray
START, END = "<s>", "</s>"
ZERO = -99.0  # the logarithm of zero, by convention
LOG_10 = np.log(10)
_AT_ONCE = 1 << 18  # n-grams that are written at a time


def write(run: Any, path: Path) -> Exported:
    """Write a run of a count model (`elman export RUN --to arpa FILE`)."""
    write_arpa(path, run.model.tables, run.tokenizer.tokens)
    ngrams = run.facts["model"]["ngrams"]
    notes = ("KenLM in its usual build reads only orders from 2 to 6",)
    return Exported(
        f"order {len(ngrams)}, {sum(ngrams):,} n-grams",
        {"ngrams": ngrams},
        () if 2 <= len(ngrams) <= 6 else notes,
    )


def check(run: Any) -> None:
    """Refuse a run that the format cannot express."""
    check_exportable(run.model.tables, run.tokenizer.tokens)


def is_exportable(run: Any) -> bool:
    """Whether the format can express a run of a count model."""
    try:
        check(run)
    except InputError:
        return False
    return True


def write_arpa(path: str | os.PathLike[str], tables: Tables, tokens: list[str]) -> None:
    """Write a model as an ARPA file, atomically; gzipped if the path ends in .gz.

    Twelve digits are written, so that probabilities read back still sum to one within 1e-9.
    """
    check_exportable(tables, tokens)
    path = Path(path)
    try:
        with replacing(path) as temporary, _opened(temporary, path.suffix == ".gz") as file:
            for block in _blocks(tables, tokens):
                file.write(block.encode())
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def check_exportable(tables: Tables, tokens: list[str]) -> None:
    """Raise an InputError if the format cannot express this model."""
    for token in tokens:
        if no_surrogates(token).split() != [no_surrogates(token)]:  # " the" would become "the"
            raise InputError(
                f"the token {token!r} cannot be written: white space separates words in ARPA "
                "files; train a model with --set text.tokenizer=words"
            )
        if token in (START, END):
            raise InputError(
                f"the token {token!r} is a marker of ARPA files; rename it in the text"
            )
    if len(set(tokens)) < len(tokens):
        twice = next(token for token in tokens if tokens.count(token) > 1)
        raise InputError(
            f"two tokens are written {twice!r}, so an ARPA file cannot tell them apart"
        )
    for order, below in enumerate(tables.tables[1:-1], 2):
        ends, starts = np.flatnonzero(below.words == tables.eos_id), tables.starts(order + 1)
        if (starts[ends + 1] > starts[ends]).any():
            raise InputError(
                "contexts of this model cross line ends, which ARPA files cannot express; "
                "train it with --set model.context=line"
            )


def _blocks(tables: Tables, tokens: list[str]) -> Iterator[str]:
    """The file in pieces: the header, then some n-grams of an order at a time."""
    used = [table for table in tables.tables if len(table)]  # cutoffs may have emptied an order
    extra = 1 + (UNKNOWN not in tokens)  # <s> besides </s>, and <unk>
    counts = [len(table) + (extra if order == 1 else 0) for order, table in enumerate(used, 1)]
    yield "\\data\\\n" + "".join(f"ngram {order}={n}\n" for order, n in enumerate(counts, 1))

    contexts, lasts = (np.array(tokens, dtype=object) for _ in range(2))
    contexts[tables.eos_id], lasts[tables.eos_id] = START, END
    yield _unigrams(used[0], lasts.tolist(), tables.eos_id, highest=len(used) == 1)
    lasts = " " + lasts
    for order, table in enumerate(used[1:], 2):
        yield _heading(order)
        for begin in range(0, len(table), _AT_ONCE):
            end = min(begin + _AT_ONCE, len(table))
            words = _words(tables, contexts, lasts, order, begin, end).tolist()
            columns = [_log10_texts(np.minimum(table.log_probs[begin:end], 0)), words]
            if order < len(used):
                columns.append(_log10_texts(table.log_backoffs[begin:end]))
            yield _lines(columns)
    yield "\n\\end\\\n"


def _words(
    tables: Tables, contexts: Array, lasts: Array, order: int, begin: int, end: int
) -> Array:
    """The words of a range of n-grams: those of the prefixes, from one order below, and one more.

    Prefixes ascend, so that those of a range are a range.
    """
    if order == 1:
        return contexts[begin:end]
    starts = tables.starts(order)
    first, last = (bisect_right(starts, place) - 1 for place in (begin, end - 1))
    bounds: Array = np.clip(starts[first : last + 2].astype(np.int64), begin, end)
    prefixes = _words(tables, contexts, lasts, order - 1, first, last + 1)
    prefixes = np.repeat(prefixes, bounds[1:] - bounds[:-1])
    found: Array = prefixes + lasts[tables.tables[order - 1].words[begin:end]]
    return found


def _unigrams(table: OrderTable, names: list[str], eos_id: int, highest: bool) -> str:
    """The first section: `<eos>` becomes `</s>` (its probability) and `<s>` (its weight)."""
    unknown = [] if UNKNOWN in names else [UNKNOWN]
    impossible = [f"{ZERO:g}"]
    log_probs = _log10_texts(np.minimum(table.log_probs, 0))
    log_backoffs = _log10_texts(table.log_backoffs)
    start_backoff, log_backoffs[eos_id] = log_backoffs[eos_id], "0"
    columns = [
        impossible * len(unknown) + impossible + log_probs,
        [*unknown, START, *names],
        ["0"] * len(unknown) + [start_backoff, *log_backoffs],
    ]
    return _heading(1) + _lines(columns[:2] if highest else columns)


def _heading(order: int) -> str:
    return f"\n\\{order}-grams:\n"


def _lines(columns: list[list[str]]) -> str:
    return "\n".join(map("\t".join, zip(*columns, strict=True))) + "\n"


def _log10_texts(natural: Array) -> list[str]:
    values = np.maximum(natural / LOG_10, ZERO) + 0.0  # adding zero turns -0 into 0
    return list(map("%.12g".__mod__, values.tolist()))


@contextmanager
def _opened(path: Path, compressed: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as file:
        if not compressed:
            yield file
            return
        # Without name and time, so that the same model gives the same bytes.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield packed  # type: ignore[misc]  # a GzipFile has all the methods needed
