"""A receiver of a webhook: an HTTP or HTTPS server that keeps the messages it accepts."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class Receiver:
    """``status``: the status of its answers; requests that are answered with 200 are accepted."""

    def __init__(self, identity: Path | None = None, status: int = 200) -> None:
        """``identity``: a file with key and certificate, for HTTPS."""
        self.status = status
        self.accepted: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.attempts = 0
        self.refuse: Callable[[dict[str, Any]], int | None] = lambda message: None
        """Returns the status for a message; None for ``status``."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.attempts += 1
                status = receiver.refuse(json.loads(body)) or receiver.status
                if status == 200:
                    receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
                    receiver.accepted.append(json.loads(body))
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("location", self.path)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        if identity is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(identity)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.url = f"https://localhost:{self.server.server_port}"

    def said(self, connector: str | None = None) -> list[tuple[str, str]]:
        """Return event and kind of the messages about a connector, in the order in which they were accepted."""
        return [(each["event"], each["kind"]) for each in self.accepted if connector in (None, each["connector"])]

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.server.shutdown()
        self.server.server_close()
