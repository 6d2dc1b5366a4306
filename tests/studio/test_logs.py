"""The log: one line per request at level info, never with the token."""

import re
from typing import Any

import httpx2

TOKEN = "a-token/with+odd characters"


def ask_and_stop(place: str, process: Any) -> str:
    own = {"Authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(base_url=place) as client:
        assert client.get("/v1/models", headers=own).status_code == 200
        for path in (
            f"/v1/models?token={TOKEN}",
            f"/{TOKEN}",
            "/a%0a2026 INFO forged",
            f"/{'a' * 190}{TOKEN}",
        ):
            assert client.get(path, headers=own).status_code in (200, 404)
        asked = {"prompt": "a secret prompt", "max_tokens": 1}
        assert client.post("/v1/completions", json=asked, headers=own).status_code == 200
        assert client.get("/v1/models").status_code == 401
    process.terminate()
    said: str = process.stderr.read()
    process.wait(20)
    assert TOKEN not in place + said
    return said


def test_every_request_has_a_line_without_secrets(serving: Any) -> None:
    said = ask_and_stop(*serving("words", "--log-level", "info", ELMAN_TOKEN=TOKEN))
    lines = [line for line in said.splitlines() if " elman.studio.access " in line]
    assert len(lines) == 7
    form = (
        r'[\d-]+ [\d:,]+ INFO elman\.studio\.access 127\.0\.0\.1 "[A-Z]+ /\S*" \d{3} \d+\.\d{3} s'
    )
    for line in lines:
        assert re.fullmatch(form, line.replace("(a path of 218 characters)", "/")), line
    assert '"GET /v1/models" 200' in lines[0]
    assert '"GET /v1/models" 401' in lines[-1]
    for secret in (TOKEN, "a-token%2Fwith", "odd%20characters", "secret prompt", "token="):
        assert secret not in said
    assert "\n2026 INFO forged" not in said


def test_it_is_quiet_unless_asked(serving: Any) -> None:
    assert ask_and_stop(*serving("words", ELMAN_TOKEN=TOKEN)) == ""
