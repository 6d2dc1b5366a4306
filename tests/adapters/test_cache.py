"""The unigram cache against its definition in plain Python."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elman.adapters.cache import Config as CacheConfig
from elman.adapters.cache import UnigramCache
from elman.errors import InputError

SIZE = 4


def by_hand(past: list[int], window: int, decay: float) -> list[float]:
    """Every remembered occurrence weighs exp(-decay * distance); the last token has distance 0."""
    remembered = past[-window:]
    if not remembered:
        return [1 / SIZE] * SIZE
    weights = [math.exp(-decay * distance) for distance in reversed(range(len(remembered)))]
    return [
        sum(weight for token, weight in zip(remembered, weights, strict=True) if token == word)
        / sum(weights)
        for word in range(SIZE)
    ]


def cache(window: int, decay: float) -> UnigramCache:
    return UnigramCache(SIZE, CacheConfig(window=window, decay=decay))


def predicted(model: UnigramCache, past: list[int]) -> list[float]:
    state = model.start(1)
    if past:
        state = model.read(torch.tensor([past]), state)
    return model.predict(state)[0].exp().tolist()


def test_two_words_by_hand() -> None:
    # 1 2 1, fading by a half at each step: 1/4 + 1 for word 1, 1/2 for word 2, of 7/4 in all.
    found = predicted(cache(10, math.log(2)), [1, 2, 1])
    assert found == pytest.approx([0, 5 / 7, 2 / 7, 0])
    # Not fading: two of three and one of three.
    assert predicted(cache(10, 0), [1, 2, 1]) == pytest.approx([0, 2 / 3, 1 / 3, 0])
    # The window holds the last two.
    assert predicted(cache(2, 0), [1, 2, 1]) == pytest.approx([0, 1 / 2, 1 / 2, 0])
    # Nothing read yet: all alike.
    assert predicted(cache(2, 0), []) == [0.25] * 4


pasts = st.lists(st.integers(0, SIZE - 1), max_size=12)
windows = st.sampled_from([1, 2, 5, 12, 30])
decays = st.sampled_from([0.0, 0.01, 0.7, 1000.0])


@settings(max_examples=60, deadline=None)
@given(pasts, windows, decays)
def test_predict_is_the_definition(past: list[int], window: int, decay: float) -> None:
    found = predicted(cache(window, decay), past)
    assert found == pytest.approx(by_hand(past, window, decay), abs=1e-12)
    assert sum(found) == pytest.approx(1)


@settings(max_examples=60, deadline=None)
@given(pasts, st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=12), windows, decays)
def test_score_is_the_definition(
    past: list[int], text: list[int], window: int, decay: float
) -> None:
    model = cache(window, decay)
    state = model.read(torch.tensor([past], dtype=torch.long), model.start(1))
    log_probs, state = model.score(torch.tensor([text]), state)
    expected = [
        by_hand(past + text[:place], window, decay)[word] for place, word in enumerate(text)
    ]
    assert log_probs[0].exp().tolist() == pytest.approx(expected, abs=1e-12)
    whole = model.read(torch.tensor([past + text], dtype=torch.long), model.start(1))
    assert torch.equal(state, whole)


def test_rows_do_not_see_each_other() -> None:
    model = cache(3, 0.5)
    ids = torch.tensor([[0, 1, 2, 3, 0], [3, 3, 3, 3, 3]])
    together, state = model.score(ids, model.start(2))
    for row in range(2):
        alone, _ = model.score(ids[row : row + 1], model.start(1))
        torch.testing.assert_close(together[row], alone[0], rtol=1e-12, atol=0)
    assert model.predict(state).exp()[1].tolist() == pytest.approx([0, 0, 0, 1])


def test_a_large_text_is_scored_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = cache(5, 0.1)
    ids = torch.randint(0, SIZE, (2, 40), generator=torch.Generator().manual_seed(1))
    at_once, _ = model.score(ids, model.start(2))
    monkeypatch.setattr("elman.adapters.cache._AT_ONCE", 30)  # three tokens of two rows
    in_parts, _ = model.score(ids, model.start(2))
    torch.testing.assert_close(in_parts, at_once, rtol=1e-12, atol=0)


def test_it_describes_itself() -> None:
    assert cache(5, 0.1).describe() == {"model": "cache", "window": 5, "decay": 0.1}
    assert cache(5, 0.1).horizon == 5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"window": 0}, "window=0"),
        ({"decay": -0.1}, "decay=-0.1"),
        ({"decay": math.nan}, "decay=nan"),
        ({"decay": math.inf}, "decay=inf"),
        ({"weight": 1.5}, "weight=1.5"),
        ({"weight": -0.1}, "weight=-0.1"),
        ({"weight": math.nan}, "weight=nan"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CacheConfig(**wrong)
