"""Small models of each kind."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tiny import train_tiny, write_sentences

import elman
from elman.studio.app import build
from elman.studio.limits import Limits
from elman.studio.security import Access
from elman.studio.served import Served, load_served

ADDRESS = "http://127.0.0.1:8000"


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs words (n-grams), network (two layers of LSTM) and letters."""
    place = tmp_path_factory.mktemp("runs")
    data = write_sentences(place / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        elman.train("ngram", data=str(data), out=place / "words")
        elman.train("ngram-characters", data=str(data), out=place / "letters")
        train_tiny(data, place / "network", "model.num_layers=2")
    return place


@pytest.fixture(scope="session")
def served(runs: Path) -> Served:
    """The three of them."""
    return load_served([str(runs / name) for name in ("words", "network", "letters")])


@pytest.fixture
def client_of(served: Served, runs: Path) -> Iterator[Callable[..., TestClient]]:
    """A client of the application with limits and access of one's own."""
    clients = []

    def opening(limits: Limits | None = None, **access: Any) -> TestClient:
        app = build(served, access=Access(**access), limits=limits, runs=runs)
        client = TestClient(app, base_url=ADDRESS, raise_server_exceptions=False)
        client.__enter__()
        clients.append(client)
        return client

    yield opening
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture(scope="module")
def client(served: Served, runs: Path) -> Iterator[TestClient]:
    """A client of the application as it is by default, for all tests of a file."""
    app = build(served, access=Access(), runs=runs)
    with TestClient(app, base_url=ADDRESS, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def gives(client: TestClient) -> Callable[..., Any]:
    """The data of a request that must succeed."""

    def giving(path: str, **asked: Any) -> Any:
        response = client.post(path, json=asked)
        assert response.status_code == 200, response.text
        return response.json()

    return giving


@pytest.fixture
def refuses(client: TestClient) -> Callable[..., str]:
    """The message of a request that must be refused with 400."""

    def refusing(path: str, **asked: Any) -> str:
        response = client.post(path, json=asked)
        assert response.status_code == 400, response.text
        assert set(response.json()["error"]) == {"message", "type", "param", "code"}
        return response.json()["error"]["message"]

    return refusing


@pytest.fixture(scope="module")
def serving(runs: Path) -> Iterator[Callable[..., tuple[str, subprocess.Popen[str]]]]:
    """Start `elman serve` with arguments; gives the address that it prints, and the process."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **environment: str) -> tuple[str, subprocess.Popen[str]]:
        command = [sys.executable, "-m", "elman", "serve", *arguments, "--port", "0"]
        root = str(Path(elman.__file__).parent.parent)
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, cwd=runs,
            env={**os.environ, "PYTHONPATH": root, **environment},
        )  # fmt: skip
        started.append(process)
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            if line.startswith("http"):
                return line.split(" ")[0], process
            said += line
        raise AssertionError(said)

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()
