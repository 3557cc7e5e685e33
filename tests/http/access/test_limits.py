"""Limits that keep clients from stopping the REST API by large, slow or frequent requests: real sockets, small
limits.
"""

from __future__ import annotations

import asyncio.constants
import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.core.model import messages as m
from penstock.http.access.limits import BODIES_AT_ONCE, Bodies, RestLimits
from penstock.http.access.listeners import RestSettingError
from penstock.http.server import RestServer
from support.certificates import Authority

LOCAL = {"listeners": "http://127.0.0.1:0"}
AUTHORITY = Authority.make().certificate_pem
"""A trust store of the system that takes long to read."""
JSON = {"Content-Type": "application/json"}


@contextlib.contextmanager
def serving(**config: str) -> Iterator[tuple[str, int]]:
    """URL and port of a server that answers every request with 200 and its name."""

    def submit(request: m.Request) -> Future[m.Reply | m.Elsewhere]:
        future: Future[m.Reply | m.Elsewhere] = Future()
        future.set_result(m.Reply(200, type(request).__name__))
        return future

    trusted = {} if any("ssl." in key for key in config) else {"ssl.truststore.certificates": AUTHORITY}
    server = RestServer(LOCAL | trusted | config, submit, environment={})
    server.start()
    try:
        yield server.advertised_url, server.listeners[0].port
    finally:
        server.stop(5)


def connected(port: int, sent: bytes = b"") -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=900)
    sock.sendall(sent)
    return sock


def config_of(size: int) -> bytes:
    return json.dumps({"connector.class": "x" * (size - 23)}).encode()


def head(length: int, method: str = "PUT") -> bytes:
    lines = [f"{method} /connectors/x/config HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


def test_a_large_body_is_refused() -> None:
    with serving(**{"penstock.rest.max.body.bytes": "100000"}) as (url, port):
        put = lambda body: httpx.put(f"{url}connectors/x/config", content=body, headers=JSON, timeout=900, verify=False)  # noqa: E731
        assert put(config_of(100_000)).json() == "PutConfig"
        assert put(config_of(100_001)).status_code == 413
        streamed = put(iter([config_of(60_000), b" " * 60_000]))
        assert streamed.json() == {
            "error_code": 413,
            "message": "The request's body is larger than 100000 bytes (`penstock.rest.max.body.bytes`)",
        }
        with closing(connected(port, head(10**12))) as sock:  # before anything of it is sent
            assert sock.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_the_default_is_16_mib() -> None:
    with serving() as (url, _):
        for size, status in ((16 * 2**20, 200), (16 * 2**20 + 1, 413)):
            answer = httpx.put(
                f"{url}connectors/x/config", content=config_of(size), headers=JSON, timeout=900, verify=False
            )
            assert answer.status_code == status


def test_all_bodies_together_are_bounded() -> None:
    bodies = Bodies(1000)
    for _ in range(BODIES_AT_ONCE):
        bodies.take(1000, 1000)
    with pytest.raises(m.Refused) as refused:
        bodies.take(1, 1)
    assert refused.value.status == 503
    bodies.give_back(1000)
    bodies.take(1, 1)


def test_memory_of_bodies_is_released() -> None:
    with serving(**{"penstock.rest.max.body.bytes": "2000"}) as (url, port):
        for _ in range(BODIES_AT_ONCE * 2):
            assert httpx.put(
                f"{url}connectors/x/config", content=config_of(2000), headers=JSON, timeout=900, verify=False
            ).is_success
            connected(port, head(2000) + b"x" * 1500).close()
        assert httpx.put(
            f"{url}connectors/x/config", content=config_of(2000), headers=JSON, timeout=900, verify=False
        ).is_success


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HT",
        head(1000) + b"{",
    ],
    ids=["nothing", "headers", "second headers", "body"],
)
def test_slow_senders_are_disconnected(sent: bytes) -> None:
    """A byte now and then does not prolong the time."""
    times = {"penstock.rest.header.timeout.ms": "1000", "penstock.rest.body.timeout.ms": "1000"}
    with serving(**times) as (_, port), closing(connected(port, sent)) as sock:
        sock.settimeout(0.2)
        deadline, closed = time.monotonic() + 900, False
        while not closed and time.monotonic() < deadline:
            try:
                if sent:
                    sock.sendall(b" ")
                closed = sock.recv(65536) == b""
            except TimeoutError:
                continue
            except OSError:
                closed = True
        assert closed, "the connection is still open"


def test_idle_connections_stay() -> None:
    """Between two requests a connection may rest: the time for headers starts with their first byte."""
    with serving(**{"penstock.rest.header.timeout.ms": "500"}) as (_, port), closing(connected(port)) as sock:
        for _ in range(2):
            sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            found = b""
            while b"GetRoot" not in found:
                received = sock.recv(65536)
                assert received, "the connection is closed"
                found += received
            time.sleep(1.5)


def test_a_crowd_leaves_room() -> None:
    """Clients that send nothing, half a header or half a body take no room from others."""
    with serving(**{"penstock.rest.max.connections": "20"}) as (url, port), contextlib.ExitStack() as stack:
        for sent in [b"", b"GET /connectors HTTP/1.1\r\n", head(1000) + b"{"] * 20:
            with contextlib.suppress(ConnectionError):
                stack.enter_context(closing(connected(port, sent)))
            assert httpx.get(url, timeout=900, verify=False).json() == "GetRoot"


@pytest.mark.security
def test_a_crowd_makes_room_itself() -> None:
    """Connections of the address that has most are closed before others that have rested for longer."""
    with serving(**{"penstock.rest.max.connections": "20"}) as (_, port), contextlib.ExitStack() as stack:
        quiet = stack.enter_context(closing(connected(port)))
        request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
        reply = quiet.makefile("rb")

        def asked() -> bytes:
            quiet.sendall(request)
            lines = iter(reply.readline, b"\r\n")
            length = next(int(line.split()[1]) for line in list(lines) if line.startswith(b"content-length"))
            return reply.read(length)

        assert asked() == b'"GetRoot"'
        for _ in range(60):
            with contextlib.suppress(ConnectionError):
                source = ("127.0.0.2", 0)
                crowd = socket.create_connection(("127.0.0.1", port), timeout=900, source_address=source)
                stack.enter_context(closing(crowd))
        time.sleep(0.5)
        assert asked() == b'"GetRoot"'


@pytest.fixture
def https(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, str], ssl.SSLContext]:
    """Settings of a server, and what its clients trust. asyncio itself ends no handshake."""
    monkeypatch.setattr(asyncio.constants, "SSL_HANDSHAKE_TIMEOUT", 10_000.0)
    ca = Authority.make()
    own = ca.identity("localhost")
    (tmp_path / "own.pem").write_text(own.key_pem() + own.certificate_pem)
    location = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(tmp_path / "own.pem")}
    return {"listeners": "https://127.0.0.1:0"} | location, ssl.create_default_context(cadata=ca.certificate_pem)


def test_connections_count_before_their_handshake(https: tuple[dict[str, str], ssl.SSLContext]) -> None:
    config, context = https
    with (
        serving(**config, **{"penstock.rest.max.connections": "20"}) as (url, port),
        contextlib.ExitStack() as stack,
        httpx.Client(verify=context, timeout=900) as client,
    ):
        silent = [stack.enter_context(closing(connected(port))) for _ in range(60)]
        for sock in silent[:40]:
            with contextlib.suppress(ConnectionError):
                assert sock.recv(1) == b"", "nothing is sent"
        assert client.get(url).json() == "GetRoot"
        more = [stack.enter_context(closing(connected(port))) for _ in range(15)]
        assert client.get(url).json() == "GetRoot"
        more[-1].settimeout(0.2)
        with pytest.raises(TimeoutError):
            more[-1].recv(1)


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01"])
def test_a_handshake_that_does_not_end(https: tuple[dict[str, str], ssl.SSLContext], sent: bytes) -> None:
    config, context = https
    with serving(**config, **{"penstock.rest.header.timeout.ms": "3000"}) as (url, port):
        with closing(connected(port, sent)) as sock, contextlib.suppress(ConnectionError):
            assert sock.recv(1) == b""
        assert httpx.get(url, verify=context, timeout=900).json() == "GetRoot"


def test_a_client_that_does_not_read_is_cut_off() -> None:
    with serving(**{"penstock.rest.body.timeout.ms": "1000"}) as (_, port), closing(connected(port)) as sock:
        requests = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        sock.sendall(requests * 5000)  # the answers fill the buffers of both sides
        deadline, closed = time.monotonic() + 900, False
        while not closed and time.monotonic() < deadline:
            try:
                sock.sendall(requests[:1])
                time.sleep(0.1)
            except ConnectionError:
                closed = True
        assert closed, "the connection is still open"


def test_a_request_with_both_lengths_is_refused_and_its_connection_closed() -> None:
    """Otherwise the rest could be another client's request behind a proxy that counts by the other header."""
    lines = [
        "POST /connectors HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
    ]
    sent = "\r\n".join(
        [*lines, "Content-Length: 5", "", "0", "", "GET /connectors HTTP/1.1", "Host: localhost", "", ""]
    )
    with serving() as (_, port), closing(connected(port, sent.encode())) as sock:
        answer = sock.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"Transfer-Encoding or Content-Length, not both" in answer


def test_depth_and_numbers_are_bounded() -> None:
    with serving() as (url, _):

        def patch(offset: str) -> Any:
            body = f'{{"offsets": [{{"partition": {{"a": {offset}}}, "offset": {{}}}}]}}'
            return httpx.patch(
                f"{url}connectors/x/offsets", content=body, headers=JSON, timeout=900, verify=False
            ).json()

        assert patch("[" * 90 + "]" * 90) == "AlterOffsets"
        assert patch("[" * 200 + "]" * 200)["message"].startswith("The request's body is nested too deeply")
        assert patch("[" * 1_000_000)["error_code"] == 400
        assert patch("1" * 1000) == "AlterOffsets"
        assert "a number has 1001 characters; 1000 are accepted" in patch("1" * 1001)["message"]


def test_others_are_answered_while_large_bodies_are_parsed() -> None:
    """Six clients send 2 MB each; the answers to others come between."""
    body = json.dumps({str(number): "x" for number in range(150_000)}).encode()
    with serving() as (url, _):
        statuses: list[int] = []

        def send() -> None:
            answer = httpx.put(f"{url}connectors/x/config", content=body, headers=JSON, timeout=900, verify=False)
            statuses.append(answer.status_code)

        threads = [threading.Thread(target=send) for _ in range(6)]
        for thread in threads:
            thread.start()
        asked = 0
        while any(thread.is_alive() for thread in threads):
            assert httpx.get(url, timeout=900, verify=False).json() == "GetRoot"
            asked += 1
        assert statuses == [400] * 6  # too many settings are refused, after all have been parsed
        assert asked > 1


def test_settings() -> None:
    assert RestLimits.of({}) == RestLimits(16 * 2**20, 30.0, 60.0, 512)
    with pytest.raises(RestSettingError, match=r"`penstock\.rest\.max\.connections=many` must be a number, at least 1"):
        RestLimits.of({"penstock.rest.max.connections": "many"})
