"""Behind a real nginx with TLS and a root path, configured as docs/serving.md says."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from browser import Watched, opened_browser
from reverse_proxy import certificate, documented_block, free_port, nginx

NAME = "elman.localhost"
TOKEN = "a-token-of-some-length"
OWN = {"Authorization": f"bearer {TOKEN}"}


@pytest.fixture(scope="module", params=["taken off", "left on"])
def proxied(
    request: pytest.FixtureRequest, serving: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """The address behind nginx, and the one in front of it; with both ways to pass a path."""
    port = free_port()
    place, _ = serving(
        "words", "network", "--name", f"{NAME}:{port}", "--root-path", "/elman",
        "--trusted-proxy", "127.0.0.1", "--token", TOKEN, "--threads", "1",
    )  # fmt: skip
    upstream = place.rstrip("/")
    block = documented_block()
    if request.param == "left on":
        block = block.replace(
            "proxy_pass http://127.0.0.1:8000/;", "proxy_pass http://127.0.0.1:8000;"
        )
    folder = tmp_path_factory.mktemp("nginx")
    with nginx(folder, port, upstream, NAME, block) as address:
        yield address, upstream


@pytest.fixture
def client(proxied: tuple[str, str]) -> Iterator[httpx2.Client]:
    address, _ = proxied
    host = re.findall(r"//([^/]+)/", address)[0]
    local = address.replace(NAME, "127.0.0.1")
    with httpx2.Client(base_url=local, verify=False, headers={**OWN, "Host": host}) as client:
        yield client


def test_requests_pass(client: httpx2.Client, proxied: tuple[str, str]) -> None:
    assert client.get("/health").status_code == 200
    origin = proxied[0].removesuffix("/elman")
    asked = {"prompt": "the cat", "max_tokens": 3}
    done = client.post("/v1/completions", json=asked, headers={"Origin": origin})
    assert done.status_code == 200
    assert done.json()["usage"]["completion_tokens"] == 3


def test_wrong_hosts_and_origins_are_still_refused(client: httpx2.Client) -> None:
    for host in ("evil.example", NAME, f"{NAME}:1"):
        assert client.get("/v1/models", headers={"Host": host}).status_code == 403
    for origin in ("https://evil.example", f"https://{NAME}", f"http://{NAME}"):
        assert client.get("/v1/models", headers={"Origin": origin}).status_code == 403
    assert client.get("/v1/models", headers={"X-Forwarded-Host": "evil.example"}).status_code == 403
    assert client.get("/v1/models", headers={"Authorization": ""}).status_code == 401


def test_streams_are_not_buffered(client: httpx2.Client, proxied: tuple[str, str]) -> None:
    """The first event is here while the server still writes."""
    asked = {"model": "network", "prompt": "the", "max_tokens": 400, "n": 2, "stream": True}
    with client.stream("POST", "/v1/completions", json=asked) as response:
        lines = (line for line in response.iter_lines() if line)
        assert json.loads(next(lines).removeprefix("data: "))["choices"]
        health = httpx2.get(f"{proxied[1]}/health", headers=OWN).json()
        assert health["models"]["network"]["writing"] > 0
        assert list(lines)[-1] == "data: [DONE]"


def test_the_page_works_under_its_root_path(proxied: tuple[str, str]) -> None:
    address, _ = proxied
    with opened_browser() as browser:
        watched = Watched(browser, address, ignore_https_errors=True)
        page = watched.open(f"token={TOKEN}")
        page.get_by_label("Your text").fill("the cat ")
        for model in ("words", "network"):
            page.locator(f'.card[data-model="{model}"] .suggestion').nth(2).wait_for()
        page.goto(f"{address}/docs")
        assert "POST /v1/completions" in page.inner_text("main")
        assert page.evaluate("getComputedStyle(document.body).fontFamily") != "Times New Roman"
        watched.context.close()
        assert watched.complaints == []
        assert watched.elsewhere == []


def test_tls_without_a_proxy(serving: Any, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    place, _ = serving("words", "--tls-cert", str(cert), "--tls-key", str(key), "--name", NAME)
    assert place.startswith("https://127.0.0.1:")
    with httpx2.Client(base_url=place, verify=False) as client:
        assert client.get("/v1/models").status_code == 200
        own = {"Origin": place.rstrip("/")}
        assert client.get("/v1/models", headers=own).status_code == 200
        plain = {"Origin": place.rstrip("/").replace("https", "http")}
        assert client.get("/v1/models", headers=plain).status_code == 403
    with pytest.raises(httpx2.TransportError):
        httpx2.get(place.replace("https", "http") + "health")
