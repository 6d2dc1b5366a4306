"""Lengthen a text for the measurements of counting: draw new lines from it.

    python benchmarks/scale_draw.py text.txt --out long.txt --millions 100

Reads a text of lines, words separated by spaces, and writes its lines followed by drawn ones. A
drawn line begins like a line of the text. After each word, it goes on as the text does there (with
probability 0.7), or as the text does after another occurrence of the same word. So words, their
frequencies and bigrams are those of the text, and most of the longer n-grams are new.
"""

import argparse
from pathlib import Path

import numpy as np

_JUMPS = 0.3  # how often a line goes on from another occurrence of its last word
_LINES = 1 << 15  # drawn at a time
_LONGEST = 60  # words of a drawn line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--millions", type=float, default=100)
    given = parser.parse_args()
    text = given.text.read_text(encoding="utf-8")
    words, ids = numbered(text)
    order = np.argsort(ids, kind="stable").astype(np.int32)  # the places of each word
    starts = np.searchsorted(ids[order], np.arange(len(words) + 1))
    chance = np.random.default_rng(0)
    count = len(ids)
    with given.out.open("w", encoding="utf-8") as out:
        out.write(text)
        while count < given.millions * 1e6:
            lines = draw(ids, order, starts, chance)
            out.writelines(f"{' '.join(words[line[line > 0]].tolist())}\n" for line in lines)
            count += int(np.count_nonzero(lines)) + len(lines)
    print(f"{len(ids):,} tokens read, {count:,} written, {len(words) - 1:,} different words")


def numbered(text: str) -> tuple[np.ndarray, np.ndarray]:
    """The words, and the text as numbers; 0 is the end of a line."""
    numbers: dict[str, int] = {"": 0}
    ids = []
    for line in text.splitlines():
        ids += [numbers.setdefault(word, len(numbers)) for word in line.split()]
        ids.append(0)
    return np.array([*numbers], dtype=object), np.array(ids, dtype=np.int32)


def draw(
    ids: np.ndarray, order: np.ndarray, starts: np.ndarray, chance: np.random.Generator
) -> np.ndarray:
    """New lines, one per row; 0 after their ends. The places of word w are order[starts[w] :]."""
    places = order[chance.integers(starts[1], size=_LINES)]  # ends of lines: beginnings of others
    found = np.zeros((_LINES, _LONGEST), dtype=np.int32)
    for column in range(_LONGEST):
        places = (places + 1) % len(ids)
        words = ids[places]
        found[:, column] = words
        if column:
            found[found[:, column - 1] == 0, column] = 0  # the line has ended
        jumps = np.flatnonzero(chance.random(_LINES) < _JUMPS)
        first, last = starts[words[jumps]], starts[words[jumps] + 1]
        places[jumps] = order[chance.integers(first, last)]
    return found[found[:, 0] > 0]


if __name__ == "__main__":
    main()
