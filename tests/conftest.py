"""What all tests share: where the measured corpora are, and quiet threads."""

import os
from pathlib import Path

import pytest
import torch

_DATA = Path(os.environ.get("ELMAN_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))

torch.set_num_threads(1)  # several test processes share the cores


def corpus_folder(name: str) -> Path:
    """The folder of a corpus that is not part of the package, or a skip that says so."""
    folder = _DATA / name
    if not folder.is_dir():
        pytest.skip(
            f"needs the corpus {name!r}: put it into a folder and name that in ELMAN_TEST_DATA"
        )
    return folder


@pytest.fixture(scope="session")
def penn_treebank() -> Path:
    return corpus_folder("ptb")


@pytest.fixture(scope="session")
def shakespeare() -> Path:
    return corpus_folder("tinyshakespeare") / "input.txt"
