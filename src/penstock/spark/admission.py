"""The worker's end of the channel: the admission of tasks, and the messages of those admitted.

Spark may start a task a second time, and a process that was given up may still be connecting. A process that presents
another run, attempt or key than the expected one is refused, and ends.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from asyncio import sslproto
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.spark.channel import LIMIT, STRANGER_LIMIT, RefusedError, keep_alive, nonce, proof, proves
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
    Refusal,
    TaskHeartbeat,
    TaskIdentity,
    TaskReport,
    WorkerMessage,
)
from penstock.spark.tls import Identity
from penstock.wire.framing import FrameDecoder, frame, read_frame
from penstock.wire.messages import MessageError

log = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds that a connection has for TLS, and then for the proof of its key."""
STRANGERS = 256
"""Maximum number of connections that have proved nothing."""
RETRY = 0.1
"""Seconds before another attempt to accept a connection."""
GRACE = 0.5
"""Seconds for reading what a task sent before its lease was found to have run out."""

# asyncio gives each connection a buffer of 256 KB and each read another; a record of TLS has 16 KB.
sslproto.SSLProtocol.max_size = 1 << 15


class Link:
    """The channel to one admitted task."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, who: TaskIdentity) -> None:
        self._reader, self._writer = reader, writer
        self.who = who
        self.heard = asyncio.get_running_loop().time()
        """Time of the loop at which the lease was last renewed."""
        self._grace: float | None = None
        self._abandoned = False

    def send(self, message: WorkerMessage) -> None:
        if not self._writer.is_closing():
            self._writer.write(frame(FROM_WORKER.encode(message)))

    def abandon(self) -> None:
        """Let the lease run out, since nothing else reaches the process: it ends by then."""
        self._abandoned = True

    async def messages(self, lease: float) -> AsyncIterator[TaskReport]:
        """Yield the task's reports until the channel closes. Raises TimeoutError when the lease runs out."""
        coming: asyncio.Queue[TaskReport | None] = asyncio.Queue()
        reading = asyncio.create_task(self._read(coming))
        try:
            while (message := await self._next(coming, lease)) is not None:
                yield message
        finally:
            reading.cancel()
            self._writer.close()

    async def _read(self, coming: asyncio.Queue[TaskReport | None]) -> None:
        # Reads ahead: an answer to a process that has ended breaks the connection, and what was not read is lost.
        # Heartbeats, most of the messages of idle tasks, are answered here and renew the lease without a timer each.
        frames = FrameDecoder(LIMIT)
        try:
            while data := await self._reader.read(1 << 16):
                for body in frames.feed(data):
                    message = FROM_TASK.decode(body)
                    if not isinstance(message, TaskHeartbeat):
                        coming.put_nowait(message)
                    elif not self._abandoned:
                        self.heard, self._grace = asyncio.get_running_loop().time(), None
                        self.send(message)
        except MessageError as error:
            log.error("Run %d of task %s-%d has sent an invalid message; its channel is closed: %s",
                      self.who.run, self.who.connector, self.who.task, error)  # fmt: skip
        except OSError:
            pass
        finally:
            coming.put_nowait(None)

    async def _next(self, coming: asyncio.Queue[TaskReport | None], lease: float) -> TaskReport | None:
        while True:
            heard = self.heard
            try:
                async with asyncio.timeout_at(heard + lease if self._grace is None else self._grace):
                    return await coming.get()
            except TimeoutError:
                if self.heard != heard:
                    continue
                if self._grace is not None:
                    raise
                # This process may have been frozen itself: messages sent meanwhile are still to be read.
                self._grace = asyncio.get_running_loop().time() + GRACE


@dataclass(slots=True)
class Reception:
    """Accepts the connections of tasks, and admits or refuses each task.

    A connection that has not proved who it is may send ``STRANGER_LIMIT`` bytes and has ``PATIENCE`` seconds; when
    there are more than ``STRANGERS`` of them, the oldest is closed.
    """

    identity: Identity
    key_of: Callable[[TaskIdentity], str | None]
    ready: Callable[[TaskIdentity], asyncio.Future[Any] | None]
    """Returns what to wait for before the admission, whatever its outcome."""
    admit: Callable[[TaskIdentity, Link], AdmittedTask]
    """Returns what the task runs with, or raises RefusedError."""
    _strangers: dict[asyncio.Task[None], None] = field(default_factory=dict)
    _known: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, listening: socket.socket) -> None:
        """Accept connections until cancelled."""
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        try:
            while True:
                try:
                    connection, _ = await loop.sock_accept(listening)
                except OSError as error:
                    # Closed before it was accepted, or no descriptor for it.
                    log.debug("A task's connection could not be accepted: %s", error)
                    await asyncio.sleep(RETRY)
                    continue
                if len(self._strangers) >= STRANGERS:
                    oldest = next(iter(self._strangers))
                    del self._strangers[oldest]  # now: it ends only after the next one has been accepted
                    oldest.cancel()
                meeting = loop.create_task(self._meet(connection))
                self._strangers[meeting] = None
                meeting.add_done_callback(self._over)
                await asyncio.sleep(0)  # lets the cancelled one end
        finally:
            listening.close()

    async def _meet(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            keep_alive(connection)
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol,
                connection,
                ssl=self.identity.context,
                ssl_handshake_timeout=PATIENCE,
                ssl_shutdown_timeout=PATIENCE,
            )
        except OSError as error:
            connection.close()
            log.debug("A connection to the tasks' port did not agree on TLS: %s", error)
            return
        except BaseException:
            connection.close()
            raise
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            await self._welcome(reader, writer)
        except BaseException:
            transport.abort()
            raise

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            who, shown = await _presented(reader, writer, self.key_of)
            if (meeting := asyncio.current_task()) in self._strangers:
                del self._strangers[meeting]
                self._known.add(meeting)
            waited_for = self.ready(who)
            if waited_for is not None and not waited_for.done():
                await asyncio.wait({waited_for})
                # It must still be there: its lease begins with this presentation.
                who, shown = await _presented(reader, writer, self.key_of)
            try:
                admitted = self.admit(who, Link(reader, writer, who))
            except RefusedError as refusal:
                log.info("Refused %s: %s", who, refusal)
                raise
            _write(writer, Admission(shown, admitted))
        except RefusedError as refusal:
            _write(writer, Refusal(str(refusal)))
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            writer.close()

    def _over(self, meeting: asyncio.Task[None]) -> None:
        self._strangers.pop(meeting, None)
        self._known.discard(meeting)
        if not meeting.cancelled() and (error := meeting.exception()) is not None:
            log.error("The connection of a task was given up", exc_info=error)


async def _presented(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key_of: Callable[[TaskIdentity], str | None]
) -> tuple[TaskIdentity, str]:
    """Return who it is, and the proof that this is its worker. Raises RefusedError if it can't prove who it is."""
    async with asyncio.timeout(PATIENCE):
        challenge = nonce()
        _write(writer, Challenge(challenge))
        said = PRESENTATIONS.decode(await read_frame(reader, STRANGER_LIMIT))
    try:
        who = IDENTITIES.decode(said.identity.encode("utf-8", "replace"))
    except MessageError:
        raise RefusedError("it does not identify itself") from None
    key = key_of(who)
    if key is None or not proves(said.proof, proof(key, "task", challenge, said.nonce, said.identity)):
        raise RefusedError("this worker does not expect this task, or it does not know its key")
    return who, proof(key, "worker", said.nonce, challenge, said.identity)


def _write(writer: asyncio.StreamWriter, answer: AdmissionAnswer) -> None:
    writer.write(frame(ADMISSIONS.encode(answer)))
