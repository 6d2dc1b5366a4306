"""Spell words in symbols: begin, the bytes of UTF-8, end.

Takes words, gives an array of symbols; called by batches of sentences and by character inputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NOTHING, BEGIN, END = 0, 257, 258  # bytes are 1 to 256
SYMBOLS = 259


def spell(words: Sequence[str], longest: int) -> np.ndarray:
    """Spell every word in symbols, (N, longest + 2): begin, its first bytes, end, then padding.

    Symbols are the bytes of UTF-8, so that every text can be spelled.
    """
    spelled = np.zeros((len(words), longest + 2), dtype=np.int16)
    for row, word in enumerate(words):
        written = np.frombuffer(word.encode("utf-8", "replace")[:longest], dtype=np.uint8)
        spelled[row, 0] = BEGIN
        spelled[row, 1 : 1 + len(written)] = written.astype(np.int16) + 1
        spelled[row, 1 + len(written)] = END
    return spelled
