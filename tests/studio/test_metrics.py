"""/metrics: the Prometheus text format, and correct counts."""

import re
from typing import Any

from fastapi.testclient import TestClient

from elman.studio.metrics import Histogram, Metrics

_LINE = re.compile(r'[a-z_]+(\{[a-z]+="(\\.|[^"\\])*"(,[a-z]+="(\\.|[^"\\])*")*\})? [0-9.e+-]+')


def numbers(client: TestClient) -> dict[str, float]:
    response = client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert response.text.endswith("\n")
    lines = response.text.splitlines()
    for line in lines:
        assert line.startswith(("# HELP ", "# TYPE ")) or _LINE.fullmatch(line), line
    described = re.findall(r"# TYPE (\w+) (?:counter|gauge|histogram)", response.text)
    assert len(set(described)) == len(described)
    values = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    for name, _, _ in values:
        bare = re.sub(r"(_bucket|_sum|_count)?(\{.*)?$", "", name)
        assert bare in described, name
    return {name: float(value) for name, _, value in values}


def test_requests_are_counted_by_route_and_status(client: TestClient) -> None:
    before = numbers(client)
    client.get("/v1/models/words")
    client.get("/v1/models/letters")
    client.get("/v1/models/nothing")
    client.get("/no/such/route")
    client.get("/health", headers={"Host": "evil.example"})
    client.post("/v1/suggest", json={"tex": 1})
    after = numbers(client)

    def more(method: str, route: str, status: int) -> float:
        key = f'elman_requests_total{{method="{method}",route="{route}",status="{status}"}}'
        return after.get(key, 0) - before.get(key, 0)

    assert more("GET", "/v1/models/{name}", 200) == 2
    assert more("GET", "/v1/models/{name}", 404) == 1
    assert more("GET", "other", 404) == 1
    assert more("GET", "other", 403) == 1  # refused before it was routed
    assert more("POST", "/v1/suggest", 400) == 1
    assert after["elman_request_seconds_count"] - before["elman_request_seconds_count"] == 7
    assert after["elman_requests_open"] == 1  # this one


def test_tokens_steps_and_the_first_token_are_measured(client: TestClient, gives: Any) -> None:
    before = numbers(client)
    gives("/v1/completions", model="network", prompt="the cat", max_tokens=5, n=3)
    after = numbers(client)

    def more(name: str) -> float:
        return after[name] - before[name]

    assert more('elman_tokens_total{model="network",kind="prompt"}') == 2
    assert more('elman_tokens_total{model="network",kind="generated"}') == 15
    assert more('elman_tokens_total{model="words",kind="generated"}') == 0
    assert more('elman_batch_size_count{model="network"}') == 5  # steps
    assert more('elman_batch_size_sum{model="network"}') == 15
    assert more('elman_batch_size_bucket{model="network",le="2"}') == 0
    assert more('elman_batch_size_bucket{model="network",le="4"}') == 5
    assert more('elman_first_token_seconds_count{model="network"}') == 1
    assert 0 < more('elman_first_token_seconds_sum{model="network"}') < 60
    assert after['elman_rows_writing{model="network"}'] == 0
    assert after['elman_rows_waiting{model="network"}'] == 0
    assert after["process_resident_memory_bytes"] > 50e6
    assert after["elman_jobs"] == 0


def test_a_histogram_by_hand() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.observe(value)
    assert list(histogram.lines("h", {})) == [
        'h_bucket{le="1"} 2', 'h_bucket{le="2"} 3', 'h_bucket{le="+Inf"} 4',
        "h_sum 12", "h_count 4",
    ]  # fmt: skip


def test_names_of_models_are_escaped() -> None:
    text = Metrics().text({'a"b\\c\nd': {"writing": 1, "waiting": 0}}, 0, 0)
    assert 'elman_rows_writing{model="a\\"b\\\\c\\nd"} 1' in text
