"""Numbers of words as people write them, for checkpoints by words seen.

1M,2M,5M        500k,1.5M        babylm: those of the BabyLM challenge
"""

import re

from elman.errors import InputError

_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000}
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([kmb]?)", re.IGNORECASE)
# Every million up to 10, every ten up to 100, every hundred up to 1,000.
_BABYLM = [step * 10**power for power in (6, 7, 8) for step in range(1 if power == 6 else 2, 11)]


def parse_word_counts(written: str) -> list[int]:
    """The numbers in ascending order; [] for an empty text."""
    if written.strip().lower() == "babylm":
        return [*_BABYLM]
    counts = set()
    for part in filter(None, (part.strip() for part in written.split(","))):
        found = _NUMBER.fullmatch(part)
        words = round(float(found[1]) * _UNITS[found[2].lower()]) if found else 0
        if words < 1:
            raise InputError(
                f"training.checkpoints_at_words={written}: give numbers of words like 1M,2M,500k, "
                "or babylm"
            )
        counts.add(words)
    return sorted(counts)


def checkpoint_name(words: int) -> str:
    """The name of a checkpoint after so many words, as in BabyLM: chck_1M."""
    for size, letter in ((10**6, "M"), (10**3, "k")):
        if words >= size and words % (size // 10) == 0:
            return f"chck_{words / size:g}{letter}"
    return f"chck_{words}"
