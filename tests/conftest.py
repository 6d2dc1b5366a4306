"""Shared by all tests: datasets, one thread, no pictures, short measurements, small disks."""

import os
import subprocess
from collections.abc import Callable, Iterator
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
def corpus() -> Callable[[str], Path]:
    """Any of those corpora, by the name of its folder."""
    return corpus_folder


@pytest.fixture(scope="session")
def penn_treebank() -> Path:
    return corpus_folder("ptb")


@pytest.fixture(scope="session")
def shakespeare() -> Path:
    return corpus_folder("tinyshakespeare") / "input.txt"


@pytest.fixture(scope="session", autouse=True)
def without_curves() -> Iterator[None]:
    """Do not draw training curves, which takes longer than the trainings.

    `tests/tasks/test_curves.py` tests that trainings draw them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def short_measurements() -> Iterator[None]:
    """Plan from a few steps, not from those of six seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.planning._PROBE_SECONDS", 0.01)
        yield


@pytest.fixture
def disk_of(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A function that mounts an empty disk of a size like `1m`; skips if it cannot."""
    mounted: list[Path] = []

    def mount(size: str) -> Path:
        place = tmp_path / "disk"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        try:
            done = subprocess.run(command, capture_output=True, check=False).returncode == 0
        except OSError:
            done = False
        if not done:
            pytest.skip("needs the right to mount a small disk")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", str(place)], check=True)
