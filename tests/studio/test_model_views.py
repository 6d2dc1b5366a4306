"""The views of inspect for each model, and cancelled requests."""

import asyncio
from typing import Any

import pytest
from fastapi.testclient import TestClient

from elman.studio.completions import unless_gone
from elman.studio.errors import Refused


def names(client: TestClient, model: str | None = None) -> list[str]:
    asked = {} if model is None else {"model": model}
    return [view["id"] for view in client.get("/v1/inspect", params=asked).json()["data"]]


def test_only_what_shows_something_is_listed(client: TestClient) -> None:
    of_network = names(client, "network")
    assert {"gradient-flow", "jacobians", "units", "training"} <= set(of_network)
    assert "attention" in names(client)
    assert "attention" not in of_network  # it has none
    assert of_network == names(client, "network")


def test_what_is_listed_can_be_seen(client: TestClient) -> None:
    for view in names(client, "network"):
        asked = {"model": "network", "text": "the cat likes a dog .", "view": view}
        assert client.post("/v1/inspect", json=asked).status_code == 200, view


def test_models_without_an_inside_are_refused(client: TestClient) -> None:
    assert client.get("/v1/inspect", params={"model": "words"}).status_code == 400
    assert client.get("/v1/inspect", params={"model": "other"}).status_code == 404


def test_a_client_that_goes_away_is_no_failure_of_ours() -> None:
    class Left:
        async def receive(self) -> dict[str, Any]:
            return {"type": "http.disconnect"}

    async def work() -> None:
        with pytest.raises(Refused, match="disconnected"):
            await unless_gone(Left(), asyncio.sleep(60))  # type: ignore[arg-type]

    asyncio.run(work())
