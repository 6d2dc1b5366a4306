"""`elman serve`: trained models over HTTP, and the studio page to try them on."""

import sys
from typing import Annotated

from cyclopts import Parameter

from elman.cli.arguments import Threads, WholeNumber


def serve(
    *run: Annotated[str, Parameter(help="Run folders.")],
    runs: str | None = None,
    host: str = "127.0.0.1",
    port: WholeNumber = 8000,
    name: tuple[str, ...] = (),
    token: Annotated[str | None, Parameter(env_var="ELMAN_TOKEN")] = None,
    threads: Threads = None,
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
    """
    from elman.studio.serving import serve as run_server
    from elman.tasks.machine import Machine

    Machine(threads=threads).prepare()
    run_server(
        run, host=host, port=port, names=name, token=token, folder=runs,
        ready=lambda address: print(f"{address} (Ctrl-C stops it)", file=sys.stderr, flush=True),
    )  # fmt: skip
