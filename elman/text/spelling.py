"""Words in symbols: the bytes of their UTF-8, with a mark before and after them.

Takes words, gives an array of symbols; called by whatever reads words by their characters. Bytes,
so that no text is out of the alphabet.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NOTHING, BEGIN, END = 0, 257, 258  # bytes are 1 to 256
SYMBOLS = 259


def spell(words: Sequence[str], longest: int) -> np.ndarray:
    """Every word in symbols, (N, longest + 2): begin, its first bytes, end, then nothing."""
    spelled = np.zeros((len(words), longest + 2), dtype=np.int16)
    for row, word in enumerate(words):
        written = np.frombuffer(word.encode("utf-8", "replace")[:longest], dtype=np.uint8)
        spelled[row, 0] = BEGIN
        spelled[row, 1 : 1 + len(written)] = written.astype(np.int16) + 1
        spelled[row, 1 + len(written)] = END
    return spelled
