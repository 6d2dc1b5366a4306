"""`elman serve`: trained models over HTTP, and the studio page to try them on."""

import sys
from functools import partial
from typing import Annotated, Literal

from cyclopts import Parameter

from elman.cli.arguments import Json, Threads, WholeNumber
from elman.cli.output import print_json
from elman.errors import InputError
from elman.studio.limits import parse_limits
from elman.studio.serving import serve as run_server
from elman.training.machine import Machine


def serve(
    *run: Annotated[str, Parameter(help="Run folders.")],
    runs: str | None = None,
    host: str = "127.0.0.1",
    port: WholeNumber = 8000,
    name: tuple[str, ...] = (),
    token: Annotated[str | None, Parameter(env_var="ELMAN_TOKEN")] = None,
    limit: tuple[str, ...] = (),
    root_path: str = "",
    trusted_proxy: tuple[str, ...] = (),
    tls_cert: str | None = None,
    tls_key: str | None = None,
    grace: float = 30.0,
    log_level: Literal["debug", "info", "warning", "error"] = "warning",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Serve trained models: a page to try them on, and OpenAI's interface.

    For example:
      elman serve runs/ptb
      elman serve runs/kn5 runs/lstm runs/tagger --runs runs --port 8080
      elman serve runs/ptb --host 0.0.0.0 --name my-computer.local
      elman serve runs/ptb --name example.org --root-path /elman --trusted-proxy 127.0.0.1

    Parameters
    ----------
    runs
        A folder that holds run folders: their trainings are shown with live curves.
    host
        The address to listen on. Beyond this machine, clients need a token.
    port
        The port to listen on; 0 for any free port.
    name
        A further name of this server, with or without a port, as it appears in a browser's
        address. May be given several times.
    token
        The token that clients must send. Drawn and printed if it is not given and the server can
        be reached from other machines.
    limit
        Change a limit: max_tokens=4096, rows=128, deadline=30 … (GET /v1/limits names them all).
        May be given several times.
    root_path
        The path under which a proxy shows the server, such as /elman.
    trusted_proxy
        An address or network, such as 127.0.0.1 or 10.0.0.0/8, whose X-Forwarded-* headers are
        believed. May be given several times. Clients then need a token.
    tls_cert
        A certificate (PEM) to serve HTTPS with; needs --tls-key.
    tls_key
        The key of the certificate (PEM).
    grace
        Seconds that running requests may take to finish after SIGTERM or Ctrl-C.
    log_level
        What to log to standard error; info adds a line for every request.
    json
        Print address and token as JSON when the server is ready.
    """
    if (tls_cert is None) != (tls_key is None):
        raise InputError("--tls-cert and --tls-key belong together; give both")
    Machine(threads=threads).prepare()
    run_server(
        run,
        host=host,
        port=port,
        names=name,
        token=token,
        limits=parse_limits(limit),
        folder=runs,
        root_path=root_path,
        proxies=trusted_proxy,
        tls=(tls_cert, tls_key) if tls_cert and tls_key else None,
        grace=grace,
        log_level=log_level,
        ready=_say_as_json if json else partial(_say, is_known=token is not None),
    )


def _say(address: str, token: str | None, *, is_known: bool) -> None:
    # A browser keeps what stands after # to itself, so the token is in no log. A token that the
    # user gave is shown on a terminal only: standard error of a service is a log.
    is_shown = token and (not is_known or sys.stderr.isatty())
    opened = f"{address}#token={token}" if is_shown else address
    print(f"{opened} (Ctrl-C stops it)", file=sys.stderr, flush=True)


def _say_as_json(address: str, token: str | None) -> None:
    print_json({"address": address, "token": token})
    sys.stdout.flush()
