"""`elman serve`: serve trained models over HTTP, with the studio page."""

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
    """Address, access, limits and shutdown of the server."""

    runs: str | None = None
    "A folder with run folders; the page shows their training curves live."
    host: str = "127.0.0.1"
    "The address to listen on. Clients on other machines need a token."
    port: WholeNumber = 8000
    "The port to listen on; 0 for any free port."
    name: tuple[str, ...] = ()
    (
        "Another host name of this server, with or without a port, as in the address bar of a "
        "browser. Can be repeated."
    )
    token: Annotated[str | None, Parameter(env_var="ELMAN_TOKEN")] = None
    (
        "The token that clients must send. Default: a random token, printed at the start, if other "
        "machines can reach the server."
    )
    limit: tuple[str, ...] = ()
    (
        "Change a limit: max_tokens=4096, rows=128, deadline=30 … (GET /v1/limits lists all). Can "
        "be repeated."
    )
    root_path: str = ""
    "The path under which a proxy publishes the server, such as /elman."
    trusted_proxy: tuple[str, ...] = ()
    (
        "Trust the X-Forwarded-* headers of this address or network, such as 127.0.0.1 or "
        "10.0.0.0/8. Can be repeated. Clients then need a token."
    )
    tls_cert: str | None = None
    "Serve HTTPS with this certificate (PEM); requires --tls-key."
    tls_key: str | None = None
    "The private key of the certificate (PEM)."
    grace: float = 30.0
    "How many seconds running requests may take to finish after SIGTERM or Ctrl-C."
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    "The level of the log on standard error; info adds a line for every request."


def serve(
    *run: Annotated[str, Parameter(help="The run folders to serve.")],
    flags: ServeFlags | None = None,
    threads: Threads = None,
    json: Annotated[
        bool, Parameter(help="Print address and token as JSON when the server is ready.")
    ] = False,
) -> None:
    """Serve trained models over HTTP: a web page and an OpenAI-compatible API.

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
    # Browsers do not send the part after #, so the token is in no log. A token that the user gave
    # is shown only on a terminal, because standard error of a service is a log.
    is_shown = token and (not is_known or sys.stderr.isatty())
    opened = f"{address}#token={token}" if is_shown else address
    print(f"{opened} (Ctrl-C stops it)", file=sys.stderr, flush=True)


def _say_as_json(address: str, token: str | None) -> None:
    print_json({"address": address, "token": token})
    sys.stdout.flush()
