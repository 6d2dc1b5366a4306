"""Long proofs of the server, on a network of 2 × 200 units over 10,000 words: pytest -m slow."""

import asyncio
import importlib.util
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

_BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "server.py"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    specification = importlib.util.spec_from_file_location("benchmark_of_the_server", _BENCHMARK)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def measured(
    benchmark: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    run = tmp_path_factory.mktemp("proofs") / "two-by-200"
    benchmark.save_model(run)
    with benchmark.Server(str(run)) as server:
        given = Namespace(clients=64, requests=2000, leavers=200)
        yield asyncio.run(benchmark.measure(server, given))


@pytest.mark.slow
def test_64_clients_at_once_get_three_times_the_tokens(measured: dict[str, Any]) -> None:
    assert set(measured["at once"]["answers"]) <= {200, 429}
    assert measured["times faster"] >= 3, measured


@pytest.mark.slow
def test_a_seed_says_the_same_alone_and_among_64(measured: dict[str, Any]) -> None:
    assert measured["same texts"] == 24


@pytest.mark.slow
def test_memory_stays_flat(measured: dict[str, Any]) -> None:
    sizes = measured["memory"]["megabytes"]
    assert measured["memory"]["requests"] == 2000
    assert max(sizes[2:]) < sizes[1] * 1.03, sizes  # the first tenth fills what is kept for ever


@pytest.mark.slow
def test_200_leavers_free_their_places_within_a_second(measured: dict[str, Any]) -> None:
    assert measured["leavers"]["clients"] == 200
    assert measured["leavers"]["slowest seconds until free"] < 1
