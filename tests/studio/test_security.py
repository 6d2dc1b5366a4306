"""Access control: forged Hosts and Origins, tokens, path traversal, large bodies."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from forged import HOSTS, ORIGINS, traversals

from elman.studio.limits import Limits
from elman.studio.pages import STATIC
from elman.studio.security import Access, is_everywhere, is_loopback
from elman.studio.serving import choose_token

Open = Callable[..., TestClient]


def test_there_are_at_least_a_hundred_forged_ones() -> None:
    assert len(set(HOSTS)) >= 100
    assert len(set(ORIGINS)) >= 100


@pytest.mark.parametrize("path", ["/v1/models", "/", "/health", "/v1/completions", "/nothing"])
def test_no_forged_host_is_answered(client: TestClient, path: str) -> None:
    for host in HOSTS:
        response = client.get(path, headers={"Host": host})
        assert response.status_code == 403, host
        assert response.json()["error"]["type"] == "permission_error"


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "LOCALHOST:8000"]
)
def test_our_own_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/health", headers={"Host": host}).status_code == 200


def test_two_hosts_are_refused(client: TestClient) -> None:
    headers = [("Host", "127.0.0.1:8000"), ("Host", "evil.example")]
    assert client.get("/health", headers=headers).status_code == 403


def test_no_forged_origin_is_answered(client: TestClient) -> None:
    asked = {"model": "words", "prompt": "the", "max_tokens": 1}
    for origin in ORIGINS:
        headers = {"Origin": origin}
        assert client.post("/v1/completions", json=asked, headers=headers).status_code == 403, (
            origin
        )
        assert client.get("/v1/models", headers=headers).status_code == 403, origin
    own = {"Origin": "http://127.0.0.1:8000", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/v1/completions", json=asked, headers=own).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_browser_that_comes_from_elsewhere_is_refused(client: TestClient, site: str) -> None:
    assert client.get("/v1/models", headers={"Sec-Fetch-Site": site}).status_code == 403


def test_no_path_leads_outside(client: TestClient) -> None:
    assert len(set(traversals())) >= 200
    for path in traversals():
        response = client.get(path)
        assert response.status_code == 404, path
        assert "root:" not in response.text
        assert set(response.json()) == {"error"}


@pytest.mark.parametrize("field", ["model", "prompt"])
def test_what_a_client_names_is_never_opened(
    client: TestClient, field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    real = Path.open
    monkeypatch.setattr(
        Path, "open", lambda self, *a, **k: (opened.append(self), real(self, *a, **k))[1]
    )
    for name in ("/etc/passwd", str(tmp_path), "http://127.0.0.1:1/", "words/../words", "file:///"):
        client.post("/v1/completions", json={"model": "words", "prompt": "a", field: name})
        client.get("/v1/runs/" + name.lstrip("/"))
    assert not [path for path in opened if "etc" in str(path)]


def test_pages_and_answers_are_strict(client: TestClient) -> None:
    for response in (client.get("/v1/models"), client.get("/nothing"), client.get("/draw.js")):
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in response.headers


def test_a_token_is_asked_for_everywhere_but_on_the_page_itself(client_of: Open) -> None:
    token = "a-token-of-some-length"
    client = client_of(token=token)
    paths = ["/v1/models", "/metrics", "/v1/runs", "/tokenizer_info", "/v1/ladder", "/v1/limits"]
    for path in paths:
        response = client.get(path)
        assert response.status_code == 401, path
        assert response.headers["www-authenticate"] == "Bearer"
        for scheme in ("Bearer", "bearer", "BEARER"):
            headers = {"Authorization": f"{scheme} {token}"}
            assert client.get(path, headers=headers).status_code == 200
    for wrong in (
        "",
        "Bearer",
        f"Bearer {token[:-1]}",
        f"Bearer {token}x",
        token,
        f"Basic {token}",
    ):
        assert client.get("/v1/models", headers={"Authorization": wrong}).status_code == 401
    assert client.post("/v1/completions", json={"prompt": "a"}).status_code == 401
    assert client.post("/draw.js").status_code == 401
    assert client.get("/draw.js").status_code == 200


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("::", False),
     ("192.168.1.5", False), ("my-computer.local", False)],
)  # fmt: skip
def test_beyond_this_machine_a_token_is_drawn(host: str, loopback: bool) -> None:
    assert is_loopback(host) == loopback
    drawn = choose_token(host, None)
    assert (drawn is None) == loopback
    assert drawn is None or (len(drawn) >= 24 and drawn != choose_token(host, None))


def test_a_server_that_listens_everywhere_answers_to_the_address_it_was_reached_by() -> None:
    assert is_everywhere("0.0.0.0")
    assert is_everywhere("::")
    access = Access(host="0.0.0.0", port=9000, names=("my-computer.local",))
    assert access.hosts == {
        "127.0.0.1:9000", "localhost:9000", "[::1]:9000", "my-computer.local:9000",
        "my-computer.local",
    }  # fmt: skip


def test_health_needs_no_token_and_tells_strangers_nothing_more(client_of: Open) -> None:
    token = "a-token-of-some-length"
    client = client_of(token=token)
    assert client.get("/health").json() == {"status": "ok"}
    head = client.head("/health")
    assert (head.status_code, head.content) == (200, b"")
    assert client.post("/health").status_code == 401
    known = client.get("/health", headers={"Authorization": f"Bearer {token}"}).json()
    assert set(known["models"]) == {"words", "network", "letters"}


@pytest.mark.parametrize(
    ("name", "hosts"),
    [
        ("Example.org", {"example.org", "example.org:9000"}),
        ("example.org:8443", {"example.org:8443"}),
        ("example.org:443", {"example.org:443", "example.org"}),
        ("[::1]:8443", {"[::1]:8443"}),
    ],
)
def test_a_name_is_taken_with_or_without_a_port(name: str, hosts: set[str]) -> None:
    access = Access(port=9000, names=(name,))
    assert access.named_hosts == hosts
    assert access.hosts - hosts == {"127.0.0.1:9000", "localhost:9000", "[::1]:9000"}


def test_a_page_behind_tls_may_ask_by_the_name_of_the_server(client_of: Open) -> None:
    client = client_of(names=("example.org",))
    for host in ("example.org", "example.org:8000"):
        headers = {"Host": host, "Origin": f"https://{host}"}
        assert client.get("/v1/models", headers=headers).status_code == 200
    for origin in ("https://127.0.0.1:8000", "https://evil.example", "https://example.org:8000"):
        headers = {"Host": "example.org", "Origin": origin}
        assert client.get("/v1/models", headers=headers).status_code == 403
    assert client.get("/v1/models", headers={"Host": "example.org:81"}).status_code == 403


@pytest.mark.parametrize("path", ["/v1/models", "/elman/v1/models"])
def test_a_root_path_may_be_taken_off_by_the_proxy_or_left_on(client_of: Open, path: str) -> None:
    client = client_of(root_path="/elman/", token="a-token-of-some-length")
    assert client.get(path).status_code == 401
    headers = {"Authorization": "Bearer a-token-of-some-length"}
    assert client.get(path, headers=headers).status_code == 200
    for page in ("/", "/elman/", "/studio.js", "/elman/studio.js", "/elman/views/write.js"):
        assert client.get(page).status_code == 200, page
    moved = client.get("/elman", follow_redirects=False, headers=headers)
    assert (moved.status_code, moved.headers["location"]) == (307, "/elman/")
    assert client.get("/elmanx/v1/models", headers=headers).status_code == 404
    assert client.get("/openapi.json").json()["servers"] == [{"url": "/elman"}]


def test_addresses_of_the_page_are_relative(client: TestClient) -> None:
    """So it works under any path that a proxy shows it under."""
    for page in ("/", "/docs"):
        assert not re.findall(r"(?:href|src)=[\"']/", client.get(page).text), page


def test_a_body_that_is_too_large_is_refused(client_of: Open) -> None:
    client = client_of(Limits(body_bytes=1000))
    response = client.post("/v1/completions", json={"prompt": "a" * 2000})
    assert response.status_code == 413
    assert "1,000 bytes" in response.json()["error"]["message"]


def test_too_many_connections_are_refused(client_of: Open) -> None:
    client = client_of(Limits(connections=1))
    assert client.get("/health").status_code == 200
    client.app._open += 1
    response = client.get("/health")
    assert response.status_code == 429
    assert response.headers["retry-after"] == "1"
    client.app._open -= 1
    assert client.get("/health").status_code == 200


def test_every_file_of_the_page_is_served_as_what_it_is(client: TestClient) -> None:
    types = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
    files = [path for path in STATIC.rglob("*") if path.suffix in types]
    assert files
    for path in files:
        response = client.get(f"/{path.relative_to(STATIC).as_posix()}")
        assert response.content == path.read_bytes()
        assert response.headers["content-type"].startswith(types[path.suffix])
