"""Ports of this machine: finding a free one, and asking what listens there whether it is a broker."""

from __future__ import annotations

import contextlib
import random
import socket
import struct

from penstock.embedded.home import EmbeddedError
from penstock.embedded.server import port_taken


def ports(wanted: int) -> tuple[int, int]:
    """The broker's port (``wanted``, or a free one for 0) and a free one for the controller. Raises EmbeddedError."""
    with socket.socket() as ours:
        # As Java does on POSIX: connections of a predecessor that are not quite over are no hindrance.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            ours.bind(("127.0.0.1", wanted or free_port()))
            ours.listen()
        except PermissionError as e:
            raise EmbeddedError(f"Port {wanted} is reserved for the system: choose one above 1023.") from e
        except OverflowError as e:
            raise EmbeddedError(
                f"There is no port {wanted}: choose one from 1024 to 65535, or 0 for a free one."
            ) from e
        except OSError as e:
            raise EmbeddedError(port_taken(wanted)) from e
        return ours.getsockname()[1], free_port()


def free_port() -> int:
    """A free one below those that systems give to outgoing connections: such a one could be taken before it is used."""
    for _ in range(1000):
        port = random.randrange(15_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise EmbeddedError("No port from 15000 to 32000 of this machine is free.")


def listens(port: int) -> bool:
    """Whether anything on ``port`` of this machine accepts connections."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def answers(port: int) -> bool:
    """Whether a broker on ``port`` of this machine answers a metadata request and names at least one live broker."""
    # Api 3 (Metadata), version 0, correlation id 1, no client id, one topic filter: a name that nobody creates.
    name = b"penstock.not.a.topic/"
    body = struct.pack(">hhihih", 3, 0, 1, -1, 1, len(name)) + name
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            answer = connection.recv(12, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(answer) == 12 and struct.unpack(">iii", answer)[2] > 0
