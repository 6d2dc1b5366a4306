"""What docs/serving.md shows works: the systemd unit, the container file, metrics, limits.

The nginx block is tried in test_nginx.py.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from elman.studio.limits import Limits

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
TOKEN = "a-token-of-some-length"


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    unit = tmp_path / "elman.service"
    unit.write_text(block("ini").replace("/opt/elman/bin/elman", shutil.which("true") or "true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    if "Failed to" in done.stderr and "bus" in done.stderr:
        pytest.skip("needs a system that runs systemd")
    assert done.returncode == 0, done.stderr
    assert "elman.service" not in done.stderr, done.stderr


def test_the_command_of_the_unit_serves(serving: Any) -> None:
    (command,) = re.findall(r"ExecStart=(.+)", block("ini"))
    program, serve, _, *options = shlex.split(command)
    assert (Path(program).name, serve) == ("elman", "serve")
    place, process = serving("words", *options, ELMAN_TOKEN=TOKEN)
    headers = {"Host": "example.org", "Authorization": f"Bearer {TOKEN}"}
    assert httpx2.get(f"{place}elman/v1/models", headers=headers).status_code == 200
    process.terminate()
    assert process.wait(20) == 0


def test_the_commands_of_the_container_file_serve(serving: Any) -> None:
    """Its entry point, its health check and its signal, outside of a container."""
    file = block("dockerfile")
    (entry,) = re.findall(r"ENTRYPOINT (\[.+\])", file)
    (check,) = re.findall(r"HEALTHCHECK CMD (\[.+\])", file)
    assert "STOPSIGNAL SIGTERM" in file
    program, serve, *options = json.loads(entry)
    assert (program, serve) == ("elman", "serve")
    place, process = serving(*options, "words", ELMAN_TOKEN=TOKEN)
    port = re.findall(r":(\d+)/", place)[0]
    _, *code = [word.replace("8000", port) for word in json.loads(check)]
    assert subprocess.run([sys.executable, *code], check=False).returncode == 0
    process.terminate()
    assert process.wait(20) == 0
    assert subprocess.run([sys.executable, *code], capture_output=True, check=False).returncode


def test_every_metric_and_every_limit_of_the_page_is_there(client: TestClient) -> None:
    text = client.get("/metrics").text
    table = PAGE.partition("| metric |")[2].partition("\n\n")[0]
    shown = set(re.findall(r"`((?:elman|process)_\w+)`", table))
    assert shown == set(re.findall(r"# TYPE (\w+)", text))
    limits = PAGE.partition("| limit |")[2].partition("\n\n")[0]
    for names, values in re.findall(r"\| (`.+?`) \| (.+?) \|", limits):
        defaults = [float(value.split()[0]) for value in values.split(", ")]
        for name, value in zip(re.findall(r"`(\w+)`", names), defaults, strict=True):
            assert getattr(Limits(), name) == value, name
