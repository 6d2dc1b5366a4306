"""Vectors in NumPy files: one per example or a grid; refusals in one clear line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elman.errors import InputError
from elman.tasks.translation.vectors import read_vectors


def save(path: Path, array: Any = None, **arrays: Any) -> Path:
    if arrays:
        np.savez(path, **arrays)
    else:
        np.save(path, array, allow_pickle=True)
    return path


@pytest.mark.parametrize(
    ("shape", "one"), [((4, 3), (1, 3)), ((4, 5, 3), (5, 3)), ((4, 2, 5, 3), (10, 3))]
)
def test_examples_of_one_array(tmp_path: Path, shape: tuple[int, ...], one: tuple[int]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape)
    for path in (save(tmp_path / "x.npy", array), save(tmp_path / "x.npz", all=array)):
        examples = read_vectors(path)
        assert [example.shape for example in examples] == [one] * 4
        assert examples[0].dtype == np.float32
        assert np.array_equal(np.concatenate(examples).ravel(), array.ravel())


def test_an_array_per_example_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    path = save(tmp_path / "x.npz", p10=np.full((2, 3), 10.0), p2=np.full(3, 2.0), p1=np.ones(3))
    assert [float(example[0, 0]) for example in read_vectors(path)] == [1, 2, 10]
    assert [len(example) for example in read_vectors(path)] == [1, 1, 2]


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    wrong: dict[str, tuple[Any, str]] = {
        "flat.npy": (np.ones(3), r"flat.npy: has the shape \(3,\); give \(examples, numbers\)"),
        "deep.npy": (np.ones((1, 1, 1, 1, 1)), "deep.npy: has the shape"),
        "words.npy": (np.array([["a", "b"]]), "example 1: has the shape .* of <U1"),
        "nan.npy": (np.array([[1.0], [np.nan]]), "example 2: contains NaN or infinity"),
        "none.npy": (np.ones((0, 3)), "has no vectors"),
        "objects.npy": (np.array([{}], dtype=object), "is not an array of numbers; write it"),
    }
    for name, (array, message) in wrong.items():
        with pytest.raises(InputError, match=message):
            read_vectors(save(tmp_path / name, array))
    sizes = save(tmp_path / "sizes.npz", a=np.ones(3), b=np.ones(4))
    with pytest.raises(InputError, match=r"different sizes: \[3, 4\]"):
        read_vectors(sizes)
    (tmp_path / "text.npy").write_text("hello")
    (tmp_path / "cut.npz").write_bytes(sizes.read_bytes()[:100])
    for name in ("text.npy", "cut.npz"):
        with pytest.raises(InputError, match=f"{name}: is not an array of numbers"):
            read_vectors(tmp_path / name)
    with pytest.raises(InputError, match="gone.npy: no such file"):
        read_vectors(tmp_path / "gone.npy")
