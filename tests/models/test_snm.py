"""The sparse non-negative matrix model by hand, and what it refuses. The contract has its own."""

import numpy as np
import pytest

from elman.errors import InputError
from elman.models.snm import SparseMatrix, SparseMatrixConfig

EOS, SIZE = 0, 4
TEXT = np.array([1, 2, 3, 0, 1, 3, 3, 0, 1, 2, 3, 0] * 5)


def fit(**settings: object) -> SparseMatrix:
    config = SparseMatrixConfig(**settings)
    return SparseMatrix.fit(TEXT, config, vocabulary_size=SIZE, eos_id=EOS)


def test_a_prediction_adds_up_the_rows_of_the_features_that_hold() -> None:
    model = fit(order=2, skip=1, skip_words=1, steps=4)
    # After "1 2" hold: nothing at all, the last word 2, and the word before it, 1.
    expected = np.full(SIZE, model.uniform / SIZE)
    for table, feature in zip(model.kinds, (None, 2, 1), strict=True):
        row = 0 if feature is None else int(np.flatnonzero(table.keys == feature)[0])
        entries = slice(table.starts[row], table.starts[row + 1])
        np.add.at(expected, table.words[entries], table.values[entries].astype(float))
    found = np.exp(model.predict_rows(np.array([[1, 2]])))[0]
    assert np.allclose(found, expected / expected.sum(), atol=1e-12)
    assert found[3] > 0.8  # "1 2" is always followed by 3


def test_skip_grams_see_a_word_that_n_grams_do_not() -> None:
    """Every third word repeats the first of three; those between are random."""
    random = np.random.default_rng(0)
    first, noise = random.integers(1, 5, 2000), random.integers(5, 9, 2000)
    text = np.stack([first, noise, first, np.zeros(2000, dtype=int)], axis=1).ravel()
    known = {"vocabulary_size": 9, "eos_id": EOS}
    nats = {}
    for skip in (0, 1):
        config = SparseMatrixConfig(order=2, skip=skip, skip_words=1)
        model = SparseMatrix.fit(text[:4000], config, **known)
        nats[skip] = -model.log_probs(text[4000:]).mean()
    # Bigrams cannot know three words of four, and twice not whether noise or the line end follows.
    assert nats[0] > (3 * np.log(4) + 2 * np.log(2)) / 4 - 0.01
    assert nats[1] < nats[0] - 0.4


def test_no_word_is_impossible() -> None:
    model = SparseMatrix.fit(
        np.array([1, 1, 0]), SparseMatrixConfig(), vocabulary_size=SIZE, eos_id=EOS
    )
    assert np.isfinite(model.log_probs(np.array([3, 2, 0]))).all()


@pytest.mark.parametrize("text", [[], [0], [1]])
def test_short_texts(text: list[int]) -> None:
    ids = np.array(text, dtype=np.int64)
    model = SparseMatrix.fit(ids, SparseMatrixConfig(), vocabulary_size=SIZE, eos_id=EOS)
    total = np.exp(model.predict_rows(model.start_context[None])).sum()
    assert total == pytest.approx(1)


def spoil(name: str, value: object) -> dict[str, np.ndarray]:
    arrays = {key: array.copy() for key, array in fit(steps=1).arrays().items()}
    arrays[name] = value(arrays[name])
    return arrays


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("uniform", lambda array: array * np.nan),
        ("uniform", lambda array: array * 0),
        ("kind1.words", lambda array: array + SIZE),
        ("kind1.words", lambda array: array.astype(float)),
        ("kind1.values", lambda array: -array),
        ("kind1.values", lambda array: array[1:]),
        ("kind1.values", lambda array: array * np.inf),
        ("kind2.starts", lambda array: array[::-1].copy()),
        ("kind2.starts", lambda array: array - 1),
        ("kind2.starts", lambda array: np.concatenate([array[:-1], array[-1:] - 1])),
        ("kind6.keys", lambda array: array + 10**6),
        ("kind6.keys", lambda array: array * 0),
    ],
)
def test_damaged_arrays_are_refused(name: str, value: object) -> None:
    model = fit(steps=1)
    SparseMatrix.restore(model.config, model.arrays(), model.facts())  # an intact one is not
    with pytest.raises(ValueError, match="the |a word|weights|features"):
        SparseMatrix.restore(model.config, spoil(name, value), model.facts())


@pytest.mark.parametrize(
    "settings",
    [
        {"order": 0},
        {"skip": -1},
        {"skip_words": 0},
        {"steps": 0},
        {"prior": -1.0},
        {"context": "x"},
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match=f"model.{next(iter(settings))}="):
        SparseMatrixConfig(**settings)
