"""Locks: one process at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from elman.errors import InputError
from elman.runs.lock import only_writer


def test_one_process_trains_a_run_at_a_time(tmp_path: Path) -> None:
    message = "is being trained by another process"
    with only_writer(tmp_path), pytest.raises(InputError, match=message), only_writer(tmp_path):
        pass
    with only_writer(tmp_path):  # free again
        pass
