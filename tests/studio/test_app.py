"""Models, limits, errors and the page of the routes."""

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from elman.errors import InputError
from elman.studio.app import build
from elman.studio.limits import Limits
from elman.studio.questions import every_question
from elman.studio.served import Served, load_served

DOCS = Path(__file__).parents[2] / "docs" / "api.md"


def test_models_say_what_they_are_and_can(client: TestClient) -> None:
    words, network, letters = client.get("/v1/models").json()["data"]
    assert [words["id"], network["id"], letters["id"]] == ["words", "network", "letters"]
    assert words["kind"] == "ngram"
    assert words["parameters"] is None
    assert network["parameters"] > 0
    assert network["about"]["layers"] == [6, 6]
    assert {"embed", "inspect"} <= set(network["tasks"])
    assert not {"embed", "inspect", "tag"} & set(words["tasks"])
    assert letters["tokenizer"] == "characters"
    assert client.get("/v1/models/network").json() == network
    assert client.get("/v1/models/other").status_code == 404


def test_two_runs_of_one_name_are_told_apart(runs: Path) -> None:
    served = load_served([str(runs / "words"), str(runs / "words"), str(runs / "words")])
    assert [model.id for model in served] == ["words", "words-2", "words-3"]
    with pytest.raises(InputError, match="at least one run"):
        load_served([])


def test_limits_are_told_and_checked(client: TestClient) -> None:
    assert client.get("/v1/limits").json()["max_tokens"] == 1024
    with pytest.raises(InputError, match="rows is 0"):
        Limits(rows=0)
    with pytest.raises(InputError, match="samples is 16 but only 4 rows"):
        Limits(rows=4)


def test_nothing_is_said_of_the_inside_when_we_fail(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret/path/of/ours")

    monkeypatch.setattr("elman.tasks.language_modelling.trained.TrainedModel.suggest", broken)
    response = client.post("/v1/suggest", json={"text": "the"})
    assert response.status_code == 500
    assert response.json()["error"]["type"] == "server_error"
    assert "secret" not in response.text


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"1", b'"a"', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000,
     b'{"prompt": NaN}', b'{"temperature": NaN}', b'{"temperature": Infinity}',
     b'{"temperature": 1e999}', b'{"max_tokens": 1.5}', b'{"prompt": "\\ud800"}',
     b'{"model": "\\ud800"}', b'{"\\ud800": 1}', b'{"n": true}',
     b'{"seed": 1' + b"0" * 5000 + b"}"],
)  # fmt: skip
def test_odd_bodies_are_refused(client: TestClient, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    for path in ("/v1/completions", "/v1/suggest", "/tokenize", "/v1/distribution"):
        response = client.post(path, content=body, headers=headers)
        assert response.status_code in (400, 404), (path, body[:50], response.text)
        assert response.json()["error"]["message"]


def test_a_form_is_no_json(client: TestClient) -> None:
    headers = {"Content-Type": "text/plain"}
    response = client.post("/v1/suggest", content=b'{"text": "the"}', headers=headers)
    assert response.status_code == 400


def test_other_methods_are_refused_in_the_same_shape(client: TestClient) -> None:
    response = client.put("/v1/completions")
    assert response.status_code == 405
    assert response.json()["error"]["type"] == "invalid_request_error"


def test_the_page_of_the_routes_needs_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/docs").text
    for path in client.get("/openapi.json").json()["paths"]:
        assert path in page
    assert "softmax_alpha" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page
    assert "style=" not in page


def test_the_interface_is_documented_whole(client: TestClient) -> None:
    text = DOCS.read_text(encoding="utf-8")
    paths = client.get("/openapi.json").json()["paths"]
    assert len(paths) > 15
    for path in paths:
        assert re.sub(r"\{name(:path)?\}", "{", path).split("{")[0].rstrip("/") in text, path
    for question in every_question():
        assert f"/v1/{question}" in text


def test_threads_end_with_the_application(served: Served) -> None:
    import threading

    before = threading.active_count()
    with TestClient(build(served), base_url="http://127.0.0.1:8000") as client:
        for name in ("words", "network"):
            asked = {"model": name, "prompt": "the", "max_tokens": 2}
            assert client.post("/v1/completions", json=asked).status_code == 200
        names = {thread.name for thread in threading.enumerate()}
        assert {"rows of words", "rows of network"} <= names
    names = {thread.name for thread in threading.enumerate()}
    assert not {"rows of words", "rows of network"} & names
    assert threading.active_count() <= before + 2
