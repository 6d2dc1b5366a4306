import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from elman.counts.ranges import last_holding


@given(st.lists(st.lists(st.integers(0, 9), max_size=20), max_size=9), st.data())
def test_the_last_place_in_each_range(lists: list[list[int]], data: st.DataObject) -> None:
    ranges = [sorted(one) for one in lists]
    values = np.array([value for one in ranges for value in one] + [-1])  # never asked for
    ends = np.cumsum([len(one) for one in ranges]).astype(np.int64)
    begins = ends - np.array([len(one) for one in ranges], dtype=np.int64)
    size = len(ranges)
    bounds = np.array(data.draw(st.lists(st.integers(-1, 10), min_size=size, max_size=size)))
    found = last_holding(
        begins,
        ends,
        (bounds.astype(np.int64),),
        lambda places, most: values.take(places, mode="clip") <= most,
    )
    counted = [
        sum(value <= most for value in one) for one, most in zip(ranges, bounds, strict=True)
    ]
    assert (found - begins + 1).tolist() == counted
