"""An S3 server in a process of its own, and clients' settings for it."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
from pyarrow import fs

from penstock.embedded.ports import free_port
from penstock.spark.versions import release
from support.waiting import until

JARS = Path(__file__).parent / "spark" / f"hadoop-aws-{release().hadoop}.jars"
"""Hadoop's connector to S3, for the Spark that is installed."""
USER, SECRET = "penstock", "canary-s3-secret"
_SKIPPED = frozenset({"connection", "transfer-encoding", "date", "server", "content-length"})


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]

    @property
    def is_upload(self) -> bool:
        return self.method == "PUT" and "x-amz-copy-source" not in self.headers

    @property
    def is_copy(self) -> bool:
        return "x-amz-copy-source" in self.headers


@dataclass(frozen=True)
class Answer:
    """An answer in place of the server's; ``passed``: the server gets the request all the same. Without a status the
    connection is cut.
    """

    status: int = 0
    code: str = ""
    passed: bool = False


class S3:
    """A server with one bucket, behind a proxy that keeps its requests and may answer in its place."""

    bucket = "lake"

    def __init__(self, server: int) -> None:
        self._server = server
        self.requests: list[Request] = []
        self.answer: Callable[[Request], Answer | None] = lambda _: None
        self._front = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._front.daemon_threads = True
        threading.Thread(target=self._front.serve_forever, name="s3-front", daemon=True).start()
        self.files = fs.S3FileSystem(
            access_key=USER,
            secret_key=SECRET,
            endpoint_override=f"127.0.0.1:{server}",
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        )
        self.files.create_dir(self.bucket)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._front.server_port}"

    def settings(self) -> dict[str, str]:
        """Return the settings of Hadoop for this server."""
        return {
            "fs.s3a.endpoint": self.endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.connection.ssl.enabled": "false",
            "fs.s3a.access.key": USER,
            "fs.s3a.secret.key": SECRET,
        }

    def keys(self, folder: str = "") -> list[str]:
        """Return the names of all objects in a folder of the bucket, hidden ones too, relative to it."""
        start = f"{self.bucket}/{folder}".rstrip("/")
        found = self.files.get_file_info(fs.FileSelector(start, recursive=True, allow_not_found=True))
        return sorted(each.path[len(start) + 1 :] for each in found if each.type == fs.FileType.File)

    def rows(self, folder: str, format: str = "parquet") -> list[dict[str, Any]]:
        """Return the rows that a reader of a folder finds."""
        place = f"{self.bucket}/{folder}"
        if not [name for name in self.keys(folder) if not name.startswith((".", "_"))]:
            return []
        return ds.dataset(place, format=format, filesystem=self.files, partitioning="hive").to_table().to_pylist()

    def close(self) -> None:
        self._front.shutdown()
        self._front.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                with suppress(ConnectionError):
                    super().handle_one_request()

            def serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.casefold(): value for name, value in self.headers.items()}
                request = Request(self.command, self.path, headers)
                outer.requests.append(request)
                answer = outer.answer(request)
                if answer is not None and not answer.passed:
                    self._refuse(answer)
                    return
                status, given, content = outer._ask(request, body)
                if answer is not None:
                    self._refuse(answer)
                    return
                self.send_response(status)
                for name, value in given:
                    if name.casefold() not in _SKIPPED:
                        self.send_header(name, value)
                length = {name.casefold(): value for name, value in given}.get("content-length")
                self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve

            def _refuse(self, answer: Answer) -> None:
                if not answer.status:
                    self.close_connection = True
                    return
                text = f"<Error><Code>{answer.code}</Code><Message>{answer.code}</Message></Error>".encode()
                self.send_response(answer.status)
                self.send_header("Content-Type", "application/xml")
                self.send_header("Content-Length", str(0 if self.command == "HEAD" else len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    def _ask(self, request: Request, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._server)
        try:
            headers = {name: value for name, value in request.headers.items() if name not in ("expect", "connection")}
            connection.request(request.method, request.path, body or None, headers)
            response = connection.getresponse()
            return response.status, response.getheaders(), response.read()
        finally:
            connection.close()


@contextmanager
def serving() -> Iterator[S3]:
    """Start a server."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: _answers(server, port), "the S3 server")
        one = S3(port)
        try:
            yield one
        finally:
            one.close()
    finally:
        server.kill()
        server.wait()


def _answers(server: subprocess.Popen[bytes], port: int) -> bool:
    assert server.poll() is None, "the S3 server has ended"
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("GET", "/moto-api/data.json")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
