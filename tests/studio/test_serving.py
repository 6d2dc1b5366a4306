"""`elman serve`: addresses, output, shutdown."""

import re
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from elman.cli import run
from elman.errors import InputError
from elman.studio.serving import address, choose_token, listen


def test_it_serves_and_stops_at_a_signal(serving: Any) -> None:
    token = "a-token-of-some-length"
    place, process = serving("words", "letters", "--runs", ".", ELMAN_TOKEN=token)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", place)  # without the token: this may be a log
    assert httpx2.get(f"{place}v1/models").status_code == 401
    with httpx2.Client(base_url=place, headers={"Authorization": f"Bearer {token}"}) as client:
        models = client.get("/v1/models").json()["data"]
        assert [model["id"] for model in models] == ["words", "letters"]
        assert len(client.get("/v1/runs").json()["data"]) == 3
        done = client.post("/v1/completions", json={"prompt": "the", "max_tokens": 3})
        assert done.status_code == 200
        assert "server" not in done.headers
    process.send_signal(signal.SIGINT)
    assert process.wait(20) in (0, 130)
    assert "Traceback" not in process.stderr.read()


def test_beyond_this_machine_it_asks_for_the_token_that_it_prints(serving: Any) -> None:
    place, _ = serving("words", "--host", "0.0.0.0")
    found = re.fullmatch(r"http://0\.0\.0\.0:(\d+)/#token=([\w-]{32,})", place)
    assert found, place
    url = f"http://127.0.0.1:{found[1]}/v1/models"
    assert httpx2.get(url).status_code == 401
    assert httpx2.get(url, headers={"Authorization": f"Bearer {found[2]}"}).status_code == 200
    assert httpx2.get(url, headers={"Host": f"evil.example:{found[1]}"}).status_code == 403


def test_wrong_input_is_one_line(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = listen("127.0.0.1", 0)
    taken.listen()
    port = str(taken.getsockname()[1])
    words = str(runs / "words")
    for arguments, message in [
        ([], "at least one run"),
        (["nothing", "--port", "0"], "no such run"),
        ([words, "--port", port], "cannot listen there"),
        ([words, "--port", "70000"], "from 0 to 65535"),
        ([words, "--port", "0", "--token", "short"], "at least 16"),
        ([words, "--port", "0", "--runs", "nowhere"], "no such folder"),
        ([words, "--host", "no.such.name.invalid"], "cannot listen there"),
        ([words, "--port", "0", "--threads", "0"], "--threads 0"),
        ([words, "--limit", "max_token=3"], "unknown setting limit.max_token; did you mean"),
        ([words, "--limit", "rows=none"], "limit.rows='none': expected a whole number"),
        ([words, "--limit", "rows=0"], "rows is 0"),
        ([words, "--port", "0", "--name", "https://example.org/"], "such as example.org"),
        ([words, "--port", "0", "--root-path", "/a b"], "such as /elman"),
        ([words, "--port", "0", "--trusted-proxy", "nginx"], "an address or a network"),
        ([words, "--port", "0", "--tls-cert", "cert.pem"], "give both"),
        ([words, "--port", "0", "--tls-cert", words, "--tls-key", words], "cannot be used"),
        ([words, "--port", "0", "--grace", "-1"], "0 or more"),
    ]:
        assert run(["serve", *arguments]) == 2, arguments
        said = capsys.readouterr().err
        assert message in said
        assert said.count("\n") == 1
    taken.close()


def test_addresses_and_tokens() -> None:
    assert address("::1", 80) == "http://[::1]:80/"
    assert address("10.0.0.1", 8000) == "http://10.0.0.1:8000/"
    assert address("10.0.0.1", 8000, tls=True) == "https://10.0.0.1:8000/"
    assert choose_token("127.0.0.1", None) is None
    assert choose_token("127.0.0.1", None, is_public=True) is not None
    assert choose_token("127.0.0.1", "x" * 16) == "x" * 16
    for token in ("x" * 15, "ü" * 20, "a\n" * 20):
        with pytest.raises(InputError):
            choose_token("127.0.0.1", token)
