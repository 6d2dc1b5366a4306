"""`elman serve`: trained models over HTTP, and the studio page to try them on."""

import sys
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from cyclopts import Parameter

from elman.cli.arguments import Threads, WholeNumber
from elman.cli.output import print_json
from elman.errors import InputError
from elman.studio.limits import parse_limits
from elman.studio.serving import serve as run_server
from elman.training.machine import Machine


@Parameter(name="*")
@dataclass(kw_only=True)
class ServeFlags:
    """Where the server listens, who may ask, and how it ends."""

    runs: str | None = None
    "A folder that holds run folders: their trainings are shown with live curves."
    host: str = "127.0.0.1"
    "The address to listen on. Beyond this machine, clients need a token."
    port: WholeNumber = 8000
    "The port to listen on; 0 for any free port."
    name: tuple[str, ...] = ()
    (
        "A further name of this server, with or without a port, as it appears in a browser's "
        "address. May be given several times."
    )
    token: Annotated[str | None, Parameter(env_var="ELMAN_TOKEN")] = None
    (
        "The token that clients must send. Drawn and printed if it is not given and the server can "
        "be reached from other machines."
    )
    limit: tuple[str, ...] = ()
    (
        "Change a limit: max_tokens=4096, rows=128, deadline=30 … (GET /v1/limits names them all). "
        "May be given several times."
    )
    root_path: str = ""
    "The path under which a proxy shows the server, such as /elman."
    trusted_proxy: tuple[str, ...] = ()
    (
        "An address or network, such as 127.0.0.1 or 10.0.0.0/8, whose X-Forwarded-* headers are "
        "believed. May be given several times. Clients then need a token."
    )
    tls_cert: str | None = None
    "A certificate (PEM) to serve HTTPS with; needs --tls-key."
    tls_key: str | None = None
    "The key of the certificate (PEM)."
    grace: float = 30.0
    "Seconds that running requests may take to finish after SIGTERM or Ctrl-C."
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    "What to log to standard error; info adds a line for every request."


def serve(
    *run: Annotated[str, Parameter(help="Run folders.")],
    flags: ServeFlags | None = None,
    threads: Threads = None,
    json: Annotated[
        bool, Parameter(help="Print address and token as JSON when the server is ready.")
    ] = False,
) -> None:
    """Serve trained models: a page to try them on, and OpenAI's interface.

    For example:
      elman serve runs/ptb
      elman serve runs/kn5 runs/lstm runs/tagger --runs runs --port 8080
      elman serve runs/ptb --host 0.0.0.0 --name my-computer.local
      elman serve runs/ptb --name example.org --root-path /elman --trusted-proxy 127.0.0.1
    """
    given = flags or ServeFlags()
    tls = [file for file in (given.tls_cert, given.tls_key) if file is not None]
    if len(tls) == 1:
        raise InputError("--tls-cert and --tls-key belong together; give both")
    Machine(threads=threads).prepare()
    run_server(
        run,
        host=given.host,
        port=given.port,
        names=given.name,
        token=given.token,
        limits=parse_limits(given.limit),
        folder=given.runs,
        root_path=given.root_path,
        proxies=given.trusted_proxy,
        tls=(tls[0], tls[1]) if tls else None,
        grace=given.grace,
        log_level=given.log_level,
        ready=_say_as_json if json else partial(_say, is_known=given.token is not None),
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
