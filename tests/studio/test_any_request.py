"""Requests of any shape, made from the OpenAPI description: none is answered with a 5xx."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from elman.studio.limits import Limits

_TOKENS = 8  # so that a thousand requests take no longer than they must


def call_everything(client: TestClient, calls: int) -> Counter[int]:
    """So many calls over all routes, each route in turn; how often each status came."""
    schemathesis = pytest.importorskip("schemathesis", reason="needs: pip install schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings

    description = client.get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(description)
    every = [result.ok() for result in schema.get_all_operations()]
    operations = [one for one in every if one.body or one.query or one.path_parameters]
    statuses: Counter[int] = Counter()
    for operation in operations:
        made = -(-calls // len(operations))

        @settings(
            max_examples=made, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck), derandomize=True,
        )  # fmt: skip
        @given(case=operation.as_strategy())
        def call(case: Any) -> None:
            parts = case.as_transport_kwargs(base_url="http://127.0.0.1:8000")
            if isinstance(parts.get("json"), dict) and statuses.total() % 4:
                parts["json"].pop("model", None)  # of any name there is none
            response = client.request(
                parts["method"], parts["url"], json=parts.get("json"), params=parts.get("params")
            )
            statuses[response.status_code] += 1
            assert response.status_code < 500, (parts, response.text)
            if response.status_code >= 400:
                assert response.json()["error"]["message"]

        call()
    return statuses


def test_a_few_requests_of_any_shape(client_of: Callable[..., TestClient]) -> None:
    statuses = call_everything(client_of(Limits(max_tokens=_TOKENS)), calls=60)
    assert statuses[200] > 5
    assert statuses[400] > 5


@pytest.mark.slow
def test_two_thousand_requests_of_any_shape(client_of: Callable[..., TestClient]) -> None:
    statuses = call_everything(client_of(Limits(max_tokens=_TOKENS)), calls=2000)
    assert sum(statuses.values()) >= 2000
    assert not [status for status in statuses if status >= 500]
