"""The HTTP server: uvicorn on a thread of its own, so that REST answers whatever else the worker does."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.parse
from dataclasses import dataclass

import httpx
import uvicorn

from penstock.http.app import Submit, make_router


@dataclass(frozen=True, slots=True)
class Listener:
    """One of the worker's ``listeners``; an empty host is every address of the machine, port 0 any that is free."""

    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Listener:
        """``http://host:port``. Raises ValueError with a sentence."""
        parts = urllib.parse.urlsplit(text.strip())
        try:
            port = parts.port
        except ValueError:
            port = None
        if parts.scheme.lower() not in ("http", "https") or port is None:
            raise ValueError(f"Listener '{text}' is not of the form http://host:port or https://host:port")
        return cls(parts.scheme.lower(), parts.hostname or "", port)


class ListenError(Exception):
    """A port could not be taken; the message is a sentence."""


class Server:
    """Serves one listener from ``start`` to ``stop``."""

    def __init__(self, listener: Listener, submit: Submit) -> None:
        self._submit = submit
        self._socket = _bind(listener)
        self.port: int = self._socket.getsockname()[1]
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(target=self._run, name=f"http-{self.port}", daemon=True)
        self._up = threading.Event()

    def start(self) -> None:
        self._thread.start()
        self._up.wait()

    def stop(self, timeout: float) -> None:
        if self._server is not None:
            self._server.should_exit = True
            self._thread.join(timeout)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        async with httpx.AsyncClient(timeout=95, limits=httpx.Limits(max_connections=50)) as client:
            config = uvicorn.Config(
                make_router(self._submit, client),
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=2,
            )
            self._server = uvicorn.Server(config)
            self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
            self._up.set()
            await self._server.serve(sockets=[self._socket])


def _bind(listener: Listener) -> socket.socket:
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    sock = socket.socket(family)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((listener.host, listener.port))
    except OSError as error:
        sock.close()
        raise ListenError(
            f"Listener {listener.scheme}://{listener.host}:{listener.port} cannot be used: {error.strerror}"
        ) from None
    sock.listen(1024)
    return sock
