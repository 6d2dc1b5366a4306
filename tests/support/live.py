"""A server on a free port, in a thread of its own, for clients that need a real one."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from elman.studio.app import build
from elman.studio.limits import Limits
from elman.studio.security import Access
from elman.studio.served import Served


@contextmanager
def running(
    served: Served, limits: Limits | None = None, runs: Path | None = None, **access: Any
) -> Iterator[str]:
    """The address of a server that runs while inside."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = build(served, access=Access(port=port, **access), limits=limits, runs=runs)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
