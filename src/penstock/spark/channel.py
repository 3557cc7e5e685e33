"""The channel between a task and its worker: messages (``spark.messages.task``) in frames over TLS.

The task knows its worker by the certificate. Both sides first prove that they know the key of this run of the task.
Nothing is ever unpickled.

The worker holds the *lease* of a task: every heartbeat of the task renews it, and each heartbeat is sent back. So the
task knows of a moment at which the lease certainly held (when it sent the last one that came back), and ends before the
worker may give up on it, however the network failed. Java's tasks are threads of the worker and need none of this.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import os
import secrets
import select
import socket
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from typing import assert_never

from penstock.spark.messages.task import (
    ADMISSIONS,
    FROM_TASK,
    FROM_WORKER,
    IDENTITIES,
    PRESENTATIONS,
    Admission,
    AdmissionAnswer,
    AdmittedTask,
    Challenge,
    LostReport,
    Presentation,
    Refusal,
    TaskHeartbeat,
    TaskIdentity,
    TaskMessage,
    WorkerCommand,
)
from penstock.spark.tls import SecuredConnection
from penstock.wire.framing import HEADER_BYTES, FrameDecoder, frame, frame_size
from penstock.wire.messages import MessageError

log = logging.getLogger(__name__)

LIMIT = 256 * 1024 * 1024
"""Maximum bytes of one message: the offsets of a source may be many."""
STRANGER_LIMIT = 64 * 1024
"""Maximum bytes of one message while the other side has proved nothing."""
BEAT = 1.5
"""Seconds between heartbeats; less if the lease is short."""
PATIENCE = 0.2
"""Maximum seconds that a heartbeat waits for what another thread sends."""
_MOMENTS = 6
"""Common moments for the heartbeats of all tasks, between two heartbeats of one."""

ADMISSION = 150.0
"""Seconds that a worker may take to admit a task that has presented itself."""
LEAVE_AT = 0.6
"""The part of the lease after which a task without a heartbeat of its worker stops and commits nothing more."""
EXIT_AT = 0.9
"""The part of the lease after which the process ends whatever the task does."""


class RefusedError(Exception):
    """The worker refuses this process, which must end without having done anything; the message says why."""


def beat_after(now: float, every: float) -> float:
    """Return when the next heartbeat is due.

    The heartbeats of all tasks of a machine are at common moments, so that the worker wakes up for several at a time.
    """
    between = every / _MOMENTS
    return (now + every) // between * between


def nonce() -> str:
    return secrets.token_hex(32)


def proof(key: str, side: str, theirs: str, ours: str, identity: str) -> str:
    """Return a text that only a process that knows the key can make.

    ``side`` keeps a proof from being sent back as the other side's own.
    """
    text = "\n".join((side, theirs, ours, identity))
    return hmac.new(bytes.fromhex(key), text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def proves(claimed: str, expected: str) -> bool:
    return hmac.compare_digest(claimed.encode("utf-8", "surrogatepass"), expected.encode())


def keep_alive(connection: socket.socket) -> None:
    """Let the system detect that the other machine is gone, and send messages without delay."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


class TaskChannel:
    """The task's end. ``send`` may be called by any thread; ``attend`` is run by one."""

    def __init__(self, connection: SecuredConnection, renewed: float) -> None:
        self._socket = connection
        self._frames = FrameDecoder(LIMIT)
        self._sending = threading.Lock()
        self._renewed = renewed
        self._given_up = False
        _channels.add(self)

    @classmethod
    def connect(
        cls, address: tuple[str, int], fingerprint: str, key: str, identity: TaskIdentity, timeout: float = 10.0
    ) -> tuple[TaskChannel, AdmittedTask]:
        """Connect to the worker, prove this task's identity and return the channel once admitted.

        The worker may ask for the proof again, if it has something to do before the admission. ``fingerprint`` is that
        of the worker's certificate. Raises RefusedError, OSError.
        """
        plain = socket.create_connection(address, timeout)
        try:
            keep_alive(plain)
            connection = SecuredConnection(plain, fingerprint)
            channel = cls(connection, time.monotonic())
            presented, expected = IDENTITIES.encode(identity).decode(), nonce()
            while isinstance(answer := channel._answer(), Challenge):
                challenge, ours = answer.nonce, nonce()
                said = Presentation(presented, ours, proof(key, "task", challenge, ours, presented))
                expected = proof(key, "worker", ours, challenge, presented)
                channel._renewed = time.monotonic()
                connection.sendall(frame(PRESENTATIONS.encode(said)))
                connection.settimeout(ADMISSION)
            match answer:
                case Refusal():
                    raise RefusedError(answer.reason)
                case Admission():
                    if not proves(answer.proof, expected):
                        raise RefusedError(
                            f"{address[0]}:{address[1]} is not the worker of this task: it does not know its key"
                        )
                case _:
                    assert_never(answer)
            connection.settimeout(None)
        except BaseException:
            plain.close()
            raise
        return channel, answer.task

    def send(self, message: TaskMessage) -> None:
        """Send a message; block while the worker does not read.

        A message that can't be sent is lost; ``attend`` sees that the worker is gone.
        """
        if self._given_up:
            return
        data = frame(FROM_TASK.encode(message))
        with self._sending, contextlib.suppress(OSError):
            self._socket.sendall(data)

    def give_up(self) -> None:
        """Send nothing more and close the socket. Called in a forked process.

        Its messages would break TLS for its parent, and its open socket would hide its parent's end from the worker.
        """
        self._given_up = True
        self._socket.close()

    def close(self) -> None:
        """Send nothing more; ``attend`` ends when the worker has read everything and closes its end.

        For tasks whose process does not end when they do.
        """
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def holds(self, lease: float) -> bool:
        """Return whether the worker has answered a heartbeat lately; if not, the task must stop.

        ``attend`` may not know it yet if the process was frozen.
        """
        return time.monotonic() - self._renewed < lease * LEAVE_AT

    def attend(
        self, obey: Callable[[WorkerCommand], None], leave: Callable[[], None], end: Callable[[], None], lease: float
    ) -> None:
        """Pass the worker's commands to ``obey`` until the process ends.

        ``leave`` is called once when contact is lost, with time left to end in good order; ``end`` when that time is
        over. Either may end this loop and the connection by SystemExit instead of ending the process.
        """
        try:
            self._attend(obey, leave, end, lease)
        except Exception:
            traceback.print_exc()
            end()  # nobody would see the lease run out
        finally:
            self._socket.close()

    def _attend(
        self, obey: Callable[[WorkerCommand], None], leave: Callable[[], None], end: Callable[[], None], lease: float
    ) -> None:
        every = min(BEAT, lease / 6)
        next_beat, left = 0.0, False
        while True:
            now = time.monotonic()
            if now >= next_beat:
                # Other threads send, too; one that waits for a worker that does not read is not waited for.
                sent = self._say_now(TaskHeartbeat(now), min(PATIENCE, lease / 20))
                next_beat = beat_after(now, every) if sent else now + every / 4
            silence = now - self._renewed
            if silence >= lease * LEAVE_AT and not left:
                left = True
                reason = f"No heartbeat of the worker for {silence:.1f} s: one of the two was frozen or cut off"
                self._say_now(LostReport(reason), lease / 20)
                leave()
            if silence >= lease * EXIT_AT:
                end()
            # An idle task wakes up for its heartbeats alone.
            until = min(next_beat, self._renewed + lease * (EXIT_AT if left else LEAVE_AT))
            wait = max(0.0, until - time.monotonic())
            if not self._socket.buffered and not self._ready(select.POLLIN, wait):
                continue
            try:
                data = self._socket.recv_now(1 << 16)
                for body in self._frames.feed(data or b""):
                    message = FROM_WORKER.decode(body)
                    if isinstance(message, TaskHeartbeat):
                        self._renewed = message.at
                    else:
                        obey(message)
            except MessageError as error:
                log.error("The worker has sent an invalid message; the task ends: %s", error)
                data = None
            except OSError:
                data = None
            if data is None:
                if not left:
                    leave()
                time.sleep(max(0.0, self._renewed + lease * EXIT_AT - time.monotonic()))
                end()

    def _say_now(self, message: TaskMessage, patience: float) -> bool:
        """Send a message, unless that needs more than ``patience`` seconds; return whether it has been sent.

        Does not wait for a worker that does not read: the lease may run out meanwhile.
        """
        if not self._sending.acquire(timeout=patience):
            return False
        try:
            if not self._ready(select.POLLOUT, patience):
                return False
            self._socket.sendall(frame(FROM_TASK.encode(message)))
        except OSError:
            return False
        finally:
            self._sending.release()
        return True

    def _ready(self, event: int, seconds: float) -> bool:
        """Return whether the socket is ready or broken; ``select.select`` would refuse descriptors above 1023."""
        poll = select.poll()
        poll.register(self._socket, event)
        return bool(poll.poll(seconds * 1000))

    def _answer(self) -> AdmissionAnswer:
        return ADMISSIONS.decode(self._exactly(frame_size(self._exactly(HEADER_BYTES), LIMIT)))

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the worker closed the connection")
            data += part
        return bytes(data)


_channels: weakref.WeakSet[TaskChannel] = weakref.WeakSet()
"""The open channels of this process."""


def _forked() -> None:
    for channel in list(_channels):
        channel.give_up()


os.register_at_fork(after_in_child=_forked)
