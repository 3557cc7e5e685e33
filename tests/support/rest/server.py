"""An ASGI application that listens at a port, for tests of what speaks HTTP."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn


@contextmanager
def serve(app: Any, certificate: Path | None = None) -> Iterator[str]:
    """Serve the application within the ``with`` statement, and yield its URL.

    ``certificate`` is a file with a key and its certificate, for https.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=1, ssl_certfile=certificate
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.002)
        yield f"http{'' if certificate is None else 's'}://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
