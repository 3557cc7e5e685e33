from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from faults.proxy import Proxy
from penstock.embedded.ports import free_port
from support.waiting import until


@pytest.fixture
def echo() -> Iterator[int]:
    """Port of a server that sends back what it receives."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(1000):
                    connection.sendall(data)
            except ConnectionResetError:
                pass

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    listener.close()


@pytest.fixture
def proxy(echo: int) -> Iterator[Proxy]:
    with Proxy(echo) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: Proxy) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=900) as client:
        assert asked(client) < 5
        yield client


def asked(client: socket.socket) -> float:
    """Return the seconds until the answer arrives."""
    begun = time.monotonic()
    client.sendall(b"hello")
    assert client.recv(5, socket.MSG_WAITALL) == b"hello"
    return time.monotonic() - begun


def test_it_passes_on_both_ways_and_ends_with_either_side(proxy: Proxy, client: socket.socket) -> None:
    client.shutdown(socket.SHUT_WR)
    assert client.recv(1) == b""


def test_a_delay_holds_up_both_ways_for_a_while(proxy: Proxy, client: socket.socket) -> None:
    proxy.delay(seconds=60, late=0.2)
    assert asked(client) >= 0.4
    proxy.delay(seconds=0, late=0.2)
    until(lambda: asked(client) < 0.4, "an answer without the delay")


def test_a_cut_lets_nothing_pass_on_old_and_new_connections(proxy: Proxy, client: socket.socket) -> None:
    begun = time.monotonic()
    proxy.cut(seconds=1)
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=900) as late:
        late.sendall(b"hello")
        asked(client)
        assert late.recv(5, socket.MSG_WAITALL) == b"hello"
    assert time.monotonic() - begun >= 1


def test_a_reset_breaks_all_connections_and_new_ones_work(proxy: Proxy, client: socket.socket) -> None:
    assert proxy.reset() == 1
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=900) as new:
        asked(new)


def test_requests_of_groups_are_held_and_others_pass(proxy: Proxy) -> None:
    heartbeat, fetch = (struct.pack(">ihhi", 8, key, 0, 1) for key in (12, 1))
    with (
        socket.create_connection(("127.0.0.1", proxy.port), timeout=900) as member,
        socket.create_connection(("127.0.0.1", proxy.port), timeout=900) as other,
    ):
        with proxy.hold_groups():
            member.sendall(heartbeat)
            other.sendall(fetch)
            assert other.recv(12, socket.MSG_WAITALL) == fetch
            member.settimeout(0.2)
            with pytest.raises(TimeoutError):
                member.recv(1)
        member.settimeout(900)
        assert member.recv(12, socket.MSG_WAITALL) == heartbeat


def test_who_connects_to_a_target_that_is_not_there_is_refused() -> None:
    # The reset may come before ``connect`` has returned.
    with Proxy(free_port()) as proxy, pytest.raises(ConnectionResetError):
        socket.create_connection(("127.0.0.1", proxy.port), timeout=900).recv(1)
