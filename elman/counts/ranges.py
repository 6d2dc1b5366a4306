"""Binary search in many ranges of one sorted array at once.

Takes the ranges and a test that holds for the beginning of each, gives the last place where it
holds. Called by `tables.py`, to find words among the continuations of contexts, and by `spread.py`.
"""

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def last_holding(
    begins: Array, ends: Array, given: tuple[Array, ...], test: Callable[..., Array]
) -> Array:
    """The last place of each range from `begins` to before `ends` where the test holds, or the
    place before the range. `test` takes places and, for each, its values of `given`.

    The ranges are divided by their length, so that short ones take few steps:

        length   1   2 – 3   4 – 7   8 – 15 …
        steps    1     2       3       4
    """
    lengths = np.maximum(ends - begins, 0)
    steps = np.frexp(lengths.astype(float))[1].astype(np.uint8)  # the bit length
    order = np.argsort(np.uint8(64) - steps, kind="stable")  # longest first
    longer = np.cumsum(np.bincount(steps, minlength=65)[::-1])[::-1]  # ranges of so many steps
    places, ends = begins.take(order), ends.take(order)
    places -= 1
    given = tuple(values.take(order) for values in given)
    for step in range(int(steps.max(initial=0)) - 1, -1, -1):
        count = int(longer[step + 1])
        further = places[:count] + (1 << step)
        holds = test(further, *(values[:count] for values in given))
        holds &= further < ends[:count]
        places[:count] += holds.astype(np.int64) << step
    result = np.empty_like(places)
    result[order] = places
    return result
