"""A server between a converter and a real registry: TLS, credentials, a proxy, and every kind of failure."""

from __future__ import annotations

import base64
import json
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from penstock.embedded.ports import free_port

JSON = "application/vnd.schemaregistry.v1+json"


@dataclass(frozen=True)
class Answer:
    """An answer that replaces the registry's, for requests whose path contains ``path``."""

    status: int
    body: bytes
    path: str = ""

    @classmethod
    def error(cls, status: int, code: int, message: str, path: str = "") -> Answer:
        return cls(status, json.dumps({"error_code": code, "message": message}).encode(), path)


@dataclass
class RegistryFront:
    """The server; ``url`` replaces the registry's. Attributes apply from the next request on."""

    registry: str
    context: ssl.SSLContext | None = None
    authorization: str | None = None
    """Required value of this header; other requests get 401."""
    answer: Answer | None = None
    delay: float = 0.0
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """Method, target and headers of each request, the headers' names in lower case."""
    tokens: dict[str, str] = field(default_factory=dict)
    """Tokens that ``/token`` issues, by ID and secret of a client."""
    port: int = 0
    _server: ThreadingHTTPServer | None = None
    _thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        scheme = "http" if self.context is None else "https"
        return f"{scheme}://localhost:{self.port}{urlsplit(self.registry).path}"

    @property
    def origin(self) -> str:
        return f"{'http' if self.context is None else 'https'}://localhost:{self.port}"

    def up(self) -> None:
        """Start the server again on the port that it had before."""
        front, client = self, httpx.Client(timeout=900)

        class Handler(BaseHTTPRequestHandler):
            def serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                front.requests.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
                time.sleep(front.delay)
                status, answer = front.reply(self.command, self.path, dict(self.headers.items()), body, client)
                self.send_response(status)
                self.send_header("Content-Type", JSON)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PUT = do_DELETE = serve

            def do_CONNECT(self) -> None:
                front.requests.append(("CONNECT", self.path, {k.lower(): v for k, v in self.headers.items()}))
                host, _, port = self.path.rpartition(":")
                with socket.create_connection((host, int(port))) as other:
                    self.send_response(200)
                    self.end_headers()
                    _relay(self.connection, other)
                self.close_connection = True

            def log_message(self, *arguments: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *arguments: Any) -> None:
                """Log nothing: tests provoke clients that disconnect, or that TLS refuses."""

        # Not an ephemeral port: while the server is down, a connection could get it.
        self.port = self.port or free_port()
        self._server = Server(("127.0.0.1", self.port), Handler, bind_and_activate=False)
        self._server.allow_reuse_address = True
        self._server.server_bind()
        self._server.server_activate()
        if self.context is not None:
            # The connection's own thread does the handshake.
            self._server.socket = self.context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def down(self) -> None:
        if self._server is not None:
            assert self._thread is not None
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = None

    def reply(
        self, method: str, target: str, headers: dict[str, str], body: bytes, client: httpx.Client
    ) -> tuple[int, bytes]:
        url = urlsplit(target)
        if url.path == "/token":
            return self._token(headers, body)
        if self.answer is not None and self.answer.path in url.path:
            return self.answer.status, self.answer.body
        given = next((value for name, value in headers.items() if name.lower() == "authorization"), None)
        if self.authorization is not None and given != self.authorization:
            refused = Answer.error(401, 40101, "Unauthorized")
            return refused.status, refused.body
        origin = urlsplit(self.registry)
        query = f"?{url.query}" if url.query else ""
        answer = client.request(
            method, f"{origin.scheme}://{origin.netloc}{url.path}{query}", content=body, headers={"Content-Type": JSON}
        )
        return answer.status_code, answer.content

    def _token(self, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        """Answer a token request of OAuth 2.0's client credentials grant, with ID and secret in the header or the
        form.
        """
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        sent = next((value for name, value in headers.items() if name.lower() == "authorization"), None)
        client = f"{form.get('client_id')}:{form.get('client_secret')}"
        if sent is not None:
            client = base64.b64decode(sent.removeprefix("Basic ")).decode()
        if form.get("grant_type") == "client_credentials" and client in self.tokens:
            token = {"access_token": self.tokens[client], "token_type": "Bearer", "expires_in": 3600}
            return 200, json.dumps(token | {"scope": form.get("scope")}).encode()
        return 401, b'{"error":"invalid_client"}'


def _relay(one: socket.socket, other: socket.socket) -> None:
    """Relay data in both directions until one side ends."""
    while True:
        ready, _, _ = select.select([one, other], [], [], 30)
        if not ready:
            return
        for source in ready:
            data = source.recv(65536)
            if not data:
                return
            (other if source is one else one).sendall(data)


@contextmanager
def running_front(registry: str, **options: Any) -> Iterator[RegistryFront]:
    front = RegistryFront(registry, **options)
    front.up()
    try:
        yield front
    finally:
        front.down()
