"""`elman serve`: trained models over HTTP, and the studio page to try them on."""

import sys
from typing import Annotated

from cyclopts import Parameter

from elman.cli.arguments import Json, Threads, WholeNumber
from elman.cli.output import print_json


def serve(
    *run: Annotated[str, Parameter(help="Run folders.")],
    runs: str | None = None,
    host: str = "127.0.0.1",
    port: WholeNumber = 8000,
    name: tuple[str, ...] = (),
    token: Annotated[str | None, Parameter(env_var="ELMAN_TOKEN")] = None,
    limit: tuple[str, ...] = (),
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Serve trained models: a page to try them on, and the interface of OpenAI for programs.

    For example:
      elman serve runs/ptb
      elman serve runs/kn5 runs/lstm runs/tagger --runs runs --port 8080
      elman serve runs/ptb --host 0.0.0.0 --name my-computer.local

    Parameters
    ----------
    runs
        A folder that holds run folders: their trainings are shown with live curves.
    host
        Where to listen. Beyond this machine, a token is asked for.
    port
        Where to listen; 0 for any port that is free.
    name
        A further name that leads here, as it stands in a browser's address. May be given several
        times.
    token
        What clients must know; drawn and printed if it is not given and the server listens beyond
        this machine.
    limit
        Change how much may be asked for: max_tokens=4096, rows=128, deadline=30 … (GET /v1/limits
        names them all). May be given several times.
    json
        Print address and token as JSON when the server is ready.
    """
    from elman.studio.limits import parse_limits
    from elman.studio.serving import serve as run_server
    from elman.tasks.machine import Machine

    Machine(threads=threads).prepare()
    run_server(
        run,
        host=host,
        port=port,
        names=name,
        token=token,
        limits=parse_limits(limit),
        folder=runs,
        ready=_say_as_json if json else _say,
    )


def _say(address: str, token: str | None) -> None:
    # A browser keeps what stands after # to itself, so the token is in no log.
    opened = f"{address}#token={token}" if token else address
    print(f"{opened} (Ctrl-C stops it)", file=sys.stderr, flush=True)


def _say_as_json(address: str, token: str | None) -> None:
    print_json({"address": address, "token": token})
    sys.stdout.flush()
