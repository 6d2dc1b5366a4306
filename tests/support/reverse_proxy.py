"""A real nginx with the configuration that the docs show; tests are skipped where there is none."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PAGE = Path(__file__).parents[2] / "docs" / "serving.md"
_AROUND = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{server}
}}
"""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate and its key, as PEM files."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    paths = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=elman.localhost", "-out", str(paths[0]), "-keyout", str(paths[1])]
    subprocess.run(command, check=True, capture_output=True)
    return paths


def documented_block() -> str:
    """The server block of the docs."""
    (block,) = re.findall(r"```nginx\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return block


@contextmanager
def nginx(folder: Path, port: int, upstream: str, name: str, block: str) -> Iterator[str]:
    """nginx in front of a server; gives the address of its root path."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("needs nginx: apt-get install nginx")
    paths = certificate(folder)
    for shown, real in [
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("server_name example.org", f"server_name {name}"),
        ("/etc/ssl/example.org.pem", str(paths[0])),
        ("/etc/ssl/example.org.key", str(paths[1])),
        ("http://127.0.0.1:8000", upstream),
    ]:
        assert shown in block, shown
        block = block.replace(shown, real)
    (folder / "nginx.conf").write_text(_AROUND.format(folder=folder, server=block))
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield f"https://{name}:{port}/elman"
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert process.poll() is None, "nginx did not start"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("nginx does not listen")
