"""Memory that is kept between equal pieces of work."""

import platform
import subprocess
import sys

import pytest

from elman.allocator import keep_memory

COUNT_FAULTS = """
import resource
import numpy as np
from elman.allocator import keep_memory

keep_memory()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for turn in range(20):
    if turn == 10:
        before = faults()
    np.ones(6_000_000, dtype=np.float64)  # 48 MB, about 12,000 pages
print((faults() - before) // 10)
"""


def faults_per_block(keep: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", COUNT_FAULTS],
        env={"PATH": "", "ELMAN_KEEP_MEMORY": keep, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_blocks_of_the_same_size_cause_no_page_faults() -> None:
    kept, returned = faults_per_block("1"), faults_per_block("0")
    assert kept < 10
    assert returned > 50  # far fewer than 12,000 with huge pages


def test_the_environment_can_switch_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELMAN_KEEP_MEMORY", "0")
    assert not keep_memory()


def test_a_smaller_amount_does_not_replace_a_larger_one(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []

    class Library:
        gnu_get_libc_version = None

        @staticmethod
        def mallopt(name: int, value: int) -> int:
            told.append(value)
            return 1

    monkeypatch.setattr("elman.allocator.ctypes.CDLL", lambda name: Library)
    monkeypatch.setattr("elman.allocator._kept", 0)
    assert keep_memory(1 << 26)
    assert keep_memory(1 << 30)
    assert keep_memory(1 << 26)
    assert max(told) == told[4] == 1 << 30
    assert len(told) == 6


def test_other_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elman.allocator.ctypes.CDLL", lambda name: object())
    monkeypatch.setattr("elman.allocator._kept", 0)
    assert not keep_memory()
