"""The worker's end of the channel: the admission of tasks, and the messages of those admitted.

Spark may start a task a second time, and a process that was given up may still be connecting. A process that presents
another run, attempt or key than the expected one is refused, and ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson

from penstock.spark.channel import (
    LIMIT,
    STRANGER_LIMIT,
    Message,
    MessageDecoder,
    RefusedError,
    decode,
    encode,
    frame_size,
    keep_alive,
    nonce,
    proof,
    proves,
)

log = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds that a connection has for the proof of its key."""
GRACE = 0.5
"""Seconds for reading what a task has said before its lease was found to have run out."""


class Link:
    """The channel to one admitted task."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, who: Message) -> None:
        self._reader, self._writer = reader, writer
        self.who = who
        self.heard = asyncio.get_running_loop().time()
        """When the lease was renewed last."""
        self._grace: float | None = None
        self._abandoned = False

    def send(self, message: Message) -> None:
        if not self._writer.is_closing():
            self._writer.write(encode(message))

    def abandon(self) -> None:
        """Let its lease run out: the process, which nothing else here can reach, ends by then."""
        self._abandoned = True

    async def messages(self, lease: float) -> AsyncIterator[Message]:
        """What the task says, until the channel closes. Raises TimeoutError when the lease runs out."""
        loop = asyncio.get_running_loop()
        coming: asyncio.Queue[Message | None] = asyncio.Queue()
        reading = asyncio.create_task(self._read(coming))
        try:
            while (message := await self._next(coming, lease)) is not None:
                if message["say"] == "beat" and self._abandoned:
                    continue
                if message["say"] == "beat":
                    self.heard, self._grace = loop.time(), None
                    self.send(message)
                else:
                    yield message
        finally:
            reading.cancel()
            self._writer.close()

    async def _read(self, coming: asyncio.Queue[Message | None]) -> None:
        # Ahead of the answers: one to a process that has ended breaks the connection, and what was not read is gone.
        frames = MessageDecoder(LIMIT)
        try:
            while data := await self._reader.read(1 << 16):
                for message in frames.feed(data):
                    coming.put_nowait(message)
        except OSError:
            pass
        finally:
            coming.put_nowait(None)

    async def _next(self, coming: asyncio.Queue[Message | None], lease: float) -> Message | None:
        try:
            async with asyncio.timeout_at(self.heard + lease):
                return await coming.get()
        except TimeoutError:
            # This process may have been frozen for so long: what was said meanwhile is still to be read.
            if self._grace is None:
                self._grace = asyncio.get_running_loop().time() + GRACE
            async with asyncio.timeout_at(self._grace):
                return await coming.get()


async def receive(reader: asyncio.StreamReader, limit: int) -> Message:
    header = await reader.readexactly(4)
    return decode(await reader.readexactly(frame_size(header, limit)))


async def welcome(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    key_of: Callable[[Message], str | None],
    ready: Callable[[Message], asyncio.Future[Any] | None],
    admit: Callable[[Message, Link], Message],
) -> None:
    """Admit a connection or refuse it. ``ready`` is awaited before, whatever its outcome; ``admit`` returns the message
    for the task, or raises RefusedError.
    """
    try:
        keep_alive(writer.get_extra_info("socket"))
        who, shown = await _presented(reader, writer, key_of)
        waited_for = ready(who)
        if waited_for is not None and not waited_for.done():
            await asyncio.wait({waited_for})
            # It has to be there still: its lease begins with what it says now.
            who, shown = await _presented(reader, writer, key_of)
        try:
            admitted = admit(who, Link(reader, writer, who))
        except RefusedError as refusal:
            log.info("Refused %s: %s", who, refusal)
            raise
        writer.write(encode({"admitted": admitted, "proof": shown}))
    except RefusedError as refusal:
        writer.write(encode({"refused": str(refusal)}))
        writer.close()
    except (OSError, asyncio.IncompleteReadError):
        writer.close()


async def _presented(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key_of: Callable[[Message], str | None]
) -> tuple[Message, str]:
    """Who it is, and the proof that this is its worker. Raises RefusedError if it can't prove who it is."""
    async with asyncio.timeout(PATIENCE):
        challenge = nonce()
        writer.write(encode({"challenge": challenge}))
        said = await receive(reader, STRANGER_LIMIT)
    presented, theirs = str(said.get("who")), str(said.get("nonce"))
    who = _identity(presented)
    key = key_of(who)
    if key is None or not proves(said.get("proof"), proof(key, "task", challenge, theirs, presented)):
        raise RefusedError("this worker does not expect this task, or it does not know its key")
    return who, proof(key, "worker", theirs, challenge, presented)


def _identity(presented: str) -> dict[str, Any]:
    try:
        who = orjson.loads(presented)
    except orjson.JSONDecodeError:
        who = None
    if not isinstance(who, dict):
        raise RefusedError("it does not say who it is")
    return who
