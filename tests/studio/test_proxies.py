"""Trusted proxies and forwarded headers."""

from typing import Any

import httpx2
import pytest

from elman.errors import InputError
from elman.studio.proxies import Proxies, clean_root_path, under_root


def scope(client: str, **headers: str) -> dict[str, Any]:
    coded = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"client": (client, 5), "scheme": "http", "path": "/", "headers": coded}


FORWARDED = {"x_forwarded_for": "203.0.113.7", "x_forwarded_proto": "https"}


@pytest.mark.parametrize(
    ("client", "believed"),
    [("10.0.0.9", True), ("::1", True), ("::ffff:10.0.0.9", True), ("11.0.0.9", False),
     ("testclient", False), ("", False)],
)  # fmt: skip
def test_only_trusted_addresses_are_believed(client: str, believed: bool) -> None:
    seen = Proxies(["10.0.0.0/8", "::1"]).as_sent(scope(client, **FORWARDED))
    wanted = ("203.0.113.7", "https") if believed else (client, "http")
    assert (seen["client"][0], seen["scheme"]) == wanted


@pytest.mark.parametrize(
    ("chain", "client"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("1.2.3.4, 203.0.113.7, 10.0.0.3", "203.0.113.7"),  # 1.2.3.4 may be made up
        ("10.0.0.2, 10.0.0.3", "10.0.0.2"),
        ("2001:db8::1", "2001:db8::1"),
        ("<script>", "10.0.0.9"),
        ("", "10.0.0.9"),
    ],
)
def test_the_client_is_the_nearest_address_that_is_no_proxy(chain: str, client: str) -> None:
    seen = Proxies(["10.0.0.0/8"]).as_sent(scope("10.0.0.9", x_forwarded_for=chain))
    assert seen["client"][0] == client


def test_a_made_up_scheme_is_ignored() -> None:
    for scheme in ("ftp", "https, http", "HTTPS"):
        seen = Proxies(["10.0.0.9"]).as_sent(scope("10.0.0.9", x_forwarded_proto=scheme))
        assert seen["scheme"] == "http"


def test_root_paths() -> None:
    assert clean_root_path("") == clean_root_path("/") == ""
    assert clean_root_path("elman/") == clean_root_path("/elman") == "/elman"
    for wrong in ("/a b", "/a?b", "//a", "/<a>"):
        with pytest.raises(InputError):
            clean_root_path(wrong)
    for path, below in [
        ("/v1", "/v1"),
        ("/elman/v1", "/v1"),
        ("/elman", ""),
        ("/elmanx", "/elmanx"),
    ]:
        seen, found = under_root({"path": path}, "/elman")
        assert (found, seen["path"]) == (below, f"/elman{below}")


@pytest.mark.parametrize(("trusted", "believed"), [("127.0.0.1", True), ("10.9.9.9", False)])
def test_forwarded_headers_over_a_socket(serving: Any, trusted: str, believed: bool) -> None:
    token = "a-token-of-some-length"
    arguments = ["--trusted-proxy", trusted, "--name", "example.org", "--log-level", "info"]
    place, process = serving("words", *arguments, "--token", token)
    url = f"{place}v1/models"
    own = {"Authorization": f"Bearer {token}"}
    forwarded = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Host": "evil.example"}
    status = httpx2.get(url, headers={**own, **forwarded}).status_code
    assert status == (403 if believed else 200)  # the name that the proxy tells is checked, too
    forwarded["X-Forwarded-Host"] = "example.org"
    forwarded["X-Forwarded-Proto"] = "https"
    status = httpx2.get(
        url, headers={**own, **forwarded, "Origin": "https://example.org"}
    ).status_code
    assert status == (200 if believed else 403)
    process.terminate()
    log = process.stderr.read()
    assert ("203.0.113.7" in log) == believed
