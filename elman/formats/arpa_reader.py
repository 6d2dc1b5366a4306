"""Read ARPA files, the plain text in which n-gram toolkits exchange back-off models.

Takes a file that this package, KenLM, SRILM or another toolkit wrote, gives `Tables` and tokens.
The format is described in `arpa_writer.py`. Error messages name the line.
"""

import os
import re
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from elman.counts.tables import OrderTable, Tables
from elman.errors import InputError
from elman.formats.arpa_writer import END, LOG_10, START, ZERO
from elman.text.reader import read_document
from elman.text.tokenizer import EOS, UNKNOWN

Array = np.ndarray


def read_arpa(path: str | os.PathLike[str]) -> tuple[Tables, list[str]]:
    """Read an ARPA file, plain or gzip: the model and its tokens (`<eos>`, `<unk>`, file order).

    Files of other toolkits may lack the prefix of an n-gram. It is added with its back-off
    probability and weight one, which changes no score.
    """
    source = _Source(path)
    counts = source.header()
    unigrams = _Entries.read(source, 1, counts[0])
    tokens, numbers = _vocabulary(source, unigrams)
    unigrams.number_words(source, numbers, len(tokens))
    tables = [_unigram_table(source, unigrams, len(tokens))]
    entries = [_Entries.read(source, order, count) for order, count in enumerate(counts[1:], 2)]
    left_out = sum(each.number_words(source, numbers, len(tokens)) for each in entries)
    while entries and len(entries[-1].ids) == 0:
        entries.pop()
    for index in range(len(entries)):
        tables.append(_table(source, tables, entries[index:], len(tokens)))
    tables[-1].log_backoffs[:] = 0.0  # some toolkits write a weight for the highest order
    notes = [f"{left_out:,} n-grams that cross line ends were dropped"] if left_out else []
    if 1 not in numbers.values():
        notes.append("the ARPA file lists no <unk>: words it does not list have probability zero")
    return Tables(tables, len(tokens), 0, notes), tokens


class _Source:
    """The text of an ARPA file and the positions of its sections.

    It stays bytes, which split only at ASCII white space, as in other toolkits: a word may contain
    a no-break space.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.data = read_document(path).text.encode()
        headings = list(re.finditer(rb"^\\[^\n]*", self.data, re.MULTILINE))
        names = [heading.group().strip() for heading in headings]
        if b"\\data\\" not in names:
            raise self.error(1, "not an ARPA file: there is no line \\data\\")
        if b"\\end\\" not in names:
            last = self.line_at(len(self.data.rstrip()))
            raise self.error(last, "the file stops before \\end\\; it may be cut off")
        first, last = names.index(b"\\data\\"), names.index(b"\\end\\")
        self.headings = headings[first : last + 1]

    def error(self, line: int, message: str) -> InputError:
        return InputError(f"{self.path}, line {line}: {message}")

    def line_at(self, place: int) -> int:
        return self.data.count(b"\n", 0, place) + 1

    def refuse(self, lines: Array, wrong: Array, message: str) -> None:
        """Raise an error for the first wrong line, if any."""
        if wrong.any():
            raise self.error(int(lines[np.argmax(wrong)]), message)

    def section(self, number: int) -> tuple[int, bytes]:
        """The line of a heading, and the text up to the next heading."""
        heading, following = self.headings[number : number + 2]
        return self.line_at(heading.start()), self.data[heading.end() : following.start()]

    def header(self) -> list[int]:
        """The declared number of n-grams of each order; a section must follow for each."""
        counts: list[int] = []
        first, text = self.section(0)
        for line, content in enumerate(text.split(b"\n"), first):
            found = re.fullmatch(rb"\s*ngram\s+(\d+)\s*=\s*(\d+)\s*", content)
            if found and int(found[1]) == len(counts) + 1:
                counts.append(int(found[2]))
            elif content.strip():
                raise self.error(line, f"expected 'ngram {len(counts) + 1}=' and their number")
        if not counts:
            raise self.error(first, "no line 'ngram 1=' follows \\data\\")
        for order, heading in enumerate(self.headings[1:], 1):
            name = f"\\{order}-grams:" if order <= len(counts) else "\\end\\"
            found_name = heading.group().strip().decode()
            if found_name != name:
                line = self.line_at(heading.start())
                raise self.error(line, f"expected {name}, found {found_name}")
        return counts


@dataclass
class _Entries:
    """The n-grams of one order, in file order."""

    lines: Array  # the line of each
    words: Array  # (N, order), bytes
    log_probs: Array
    log_backoffs: Array
    ids: Array  # (N, order), once the vocabulary is known
    beginnings: Array  # number of each prefix in the highest table built so far

    @classmethod
    def read(cls, source: _Source, order: int, count: int) -> "_Entries":
        first, text = source.section(order)
        lengths = np.array([len(line.split()) for line in text.split(b"\n")])
        lines = first + np.flatnonzero(lengths)
        lengths = lengths[lengths > 0]
        if len(lengths) != count:
            raise source.error(
                first, f"\\data\\ declares {count} {order}-grams, but there are {len(lengths)}"
            )
        wrong = (lengths != order + 1) & (lengths != order + 2)
        content = f"a number, {order} word{'s' * (order > 1)} and an optional back-off weight"
        source.refuse(lines, wrong, f"expected {content}")
        fields = np.array(text.split(), dtype=object)
        starts = np.cumsum(lengths) - lengths
        log_probs = _natural_logs(source, lines, fields[starts])
        source.refuse(lines, log_probs > 0, "the logarithm of a probability cannot be above 0")
        log_backoffs = np.zeros(count)
        weighted = lengths == order + 2
        log_backoffs[weighted] = _natural_logs(
            source, lines[weighted], fields[starts[weighted] + order + 1]
        )
        words = fields[starts[:, None] + 1 + np.arange(order)]
        nothing = np.empty(0, dtype=np.int64)
        return cls(lines, words, log_probs, log_backoffs, nothing, nothing)

    def number_words(self, source: _Source, numbers: dict[bytes, int], start_id: int) -> int:
        """Convert words to ids; drop, and count, n-grams with a misplaced marker."""
        order = self.words.shape[1]
        ids = np.fromiter(map(numbers.get, self.words.flat, repeat(-1)), np.int64, self.words.size)
        ids = ids.reshape(-1, order)
        if (ids < 0).any():
            row, column = np.argwhere(ids < 0)[0]
            word = self.words[row, column].decode()
            raise source.error(self.lines[row], f"the word {word!r} is not among the 1-grams")
        possible = (ids[:, 1:] != start_id).all(axis=1) & (ids[:, :-1] != 0).all(axis=1)
        ids = ids[possible]
        if order > 1:
            ids[ids == start_id] = 0
        self.lines, self.ids, self.words = self.lines[possible], ids, self.words[:0]
        self.log_probs, self.log_backoffs = self.log_probs[possible], self.log_backoffs[possible]
        self.beginnings = ids[:, 0]
        return int(np.count_nonzero(~possible))


def _natural_logs(source: _Source, lines: Array, fields: Array) -> Array:
    try:
        values = np.fromiter(map(float, fields), float, len(fields))
    except ValueError:
        values = np.array([_number_or_nan(field) for field in fields])
    wrong = np.isnan(values) | (values == np.inf)
    if wrong.any():
        text = fields[np.argmax(wrong)].decode()
        source.refuse(lines, wrong, f"{text!r} is not a number")
    return np.where(values <= ZERO, -np.inf, values * LOG_10)


def _number_or_nan(field: bytes) -> float:
    try:
        return float(field)
    except ValueError:
        return np.nan


def _vocabulary(source: _Source, unigrams: _Entries) -> tuple[list[str], dict[bytes, int]]:
    """The tokens, and the number of each word; that of `<s>` comes after all others."""
    listed = unigrams.words[:, 0]
    taken = f"the word {EOS!r} is elman's marker for the end of a line; rename it"
    source.refuse(unigrams.lines, listed == EOS.encode(), taken)
    words = dict.fromkeys(listed)
    if END.encode() not in words:
        raise source.error(source.section(1)[0], f"the 1-grams lack {END}, so no line could end")
    unknown = (
        UNKNOWN if UNKNOWN.encode() in words else UNKNOWN.upper()
    )  # some toolkits use capitals
    special = [word for word in (END, unknown, START) if word.encode() in words]
    ordinary = [word for word in words if word.decode() not in special]
    tokens = [EOS, UNKNOWN, *(word.decode() for word in ordinary)]
    places = {END: 0, unknown: 1, START: len(tokens)}
    numbers = {word: number for number, word in enumerate(ordinary, 2)}
    return tokens, numbers | {word.encode(): places[word] for word in special}


def _unigram_table(source: _Source, unigrams: _Entries, size: int) -> OrderTable:
    """A row for every token; `<eos>` gets the probability of `</s>` and the weight of `<s>`."""
    ids = unigrams.ids[:, 0]
    _sort(source, unigrams, ids)
    log_probs, log_backoffs = np.full(size + 1, -np.inf), np.zeros(size + 1)
    log_probs[ids], log_backoffs[ids] = unigrams.log_probs, unigrams.log_backoffs
    log_backoffs[0] = log_backoffs[size]
    everything = np.arange(size)
    return OrderTable(np.zeros_like(everything), everything, log_probs[:size], log_backoffs[:size])


def _table(
    source: _Source, below: list[OrderTable], entries: list[_Entries], size: int
) -> OrderTable:
    """The next table: the first of `entries`, and the missing prefixes of the others."""
    order = len(below) + 1
    own, *longer = entries
    keys = [each.beginnings * size + each.ids[:, order - 1] for each in entries]
    places = _sort(source, own, keys[0])
    log_probs, log_backoffs = own.log_probs[places], own.log_backoffs[places]
    present = keys[0][places]
    # A line ends with </s>: its weight in the file must not affect the next line.
    log_backoffs[present % size == 0] = 0.0

    wanted, firsts = np.unique(np.concatenate([present[:0], *keys[1:]]), return_index=True)
    lacking = ~np.isin(wanted, present)
    if lacking.any():
        rows = np.concatenate([each.ids[:, :order] for each in longer])[firsts[lacking]]
        prefixes = wanted[lacking] // size
        backed_off = Tables(below, size, 0).score(rows)[:, -1] + below[-1].log_backoffs[prefixes]
        spots = np.searchsorted(present, wanted[lacking])
        present = np.insert(present, spots, wanted[lacking])
        log_probs = np.insert(log_probs, spots, backed_off)
        log_backoffs = np.insert(log_backoffs, spots, 0.0)
    for each, key in zip(entries, keys, strict=True):
        each.beginnings = np.searchsorted(present, key)
    return OrderTable(present // size, present % size, log_probs, log_backoffs)


def _sort(source: _Source, entries: _Entries, keys: Array) -> Array:
    """The permutation that sorts the keys of n-grams; duplicates are refused."""
    places = np.argsort(keys, kind="stable")
    again = keys[places][1:] == keys[places][:-1]
    if again.any():
        line = entries.lines[places[1:][again]].min()
        raise source.error(line, "duplicate n-gram")
    return places
