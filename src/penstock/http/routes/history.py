"""The past of a connector: ``/history``, ``/rollback``, ``/events`` and ``/logs`` below ``/penstock/v1/connectors``.

Log lines are those of the connector and its tasks on all workers that run them; ``/logs/stream`` follows them as
server-sent events. The worker that gets such a request asks the others with ``here=true``, and lists those that do not
answer with such lines, or are no members of the group any more, as unreachable.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.http.access.authentication.principals import client_of
from penstock.http.forwarding import Peers
from penstock.http.router import Ask, Call, Router
from penstock.observe import NUMBERS

ONE = "/penstock/v1/connectors/{name}"
MAX_EVENTS = 500


def add_routes(router: Router, ask: Ask) -> None:
    async def versions(call: Call) -> m.Reply | Response:
        return await ask(call, local.ListVersions(call.name))

    async def version(call: Call) -> m.Reply | Response:
        return await ask(call, local.GetVersion(call.name, call.number("version")))

    async def compare(call: Call) -> m.Reply | Response:
        return await ask(call, local.CompareVersions(call.name, call.number("version"), number_in_query(call, "from")))

    async def events(call: Call) -> m.Reply | Response:
        limit = number_in_query(call, "limit")
        return await ask(call, local.ListEvents(call.name, MAX_EVENTS if limit is None else min(limit, MAX_EVENTS)))

    async def roll_back(call: Call) -> m.Reply | Response:
        if await call.request.body():
            raise m.Refused(400, "A rollback has no body; its version is the query parameter version")
        return await ask(call, m.RollBack(call.name, number_in_query(call, "version")))

    router.add("GET", f"{ONE}/history", versions)
    router.add("GET", f"{ONE}/history/{{version}}", version)
    router.add("GET", f"{ONE}/history/{{version}}/diff", compare)
    router.add("GET", f"{ONE}/events", events)
    router.add("POST", f"{ONE}/rollback", roll_back)


def number_in_query(call: Call, key: str, digits: int = 9) -> int | None:
    """Return a number of the query; None if it is not given.

    Raises Refused (400) for anything but a number from 0 on.
    """
    text = call.query(key)
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > digits:
        raise m.Refused(400, f"The query parameter {key} must be a number, not {text}")
    return int(text)


MAX_LINES, LINES = 2000, 200
PAUSE_S, SILENCE_S = 1.0, 15.0
MAX_FOLLOWERS, MAX_STREAMS_OF_CLIENT = 100, 10
AFTER_DIGITS = 15
MAX_NUMBER = 10**AFTER_DIGITS - 1
MAX_LINE_LENGTH = 8000
LINE: Mapping[str, Any] = {
    "number": int,
    "time": str,
    "level": str,
    "logger": str,
    "task": int | None,
    "worker": str,
    "message": str,
}
"""Members of a line of the log, and their types."""
EVENTS = "text/event-stream"


@dataclass(slots=True)
class _Reading:
    """A request for lines; for a follower, how far it has read on each worker."""

    call: Call
    ask: Ask
    peers: Peers | None
    wanted: local.GetLogs
    after: dict[str, int] = field(default_factory=dict)

    async def read(self, status: Mapping[str, Any], here: bool = False) -> dict[str, Any]:
        """Read the lines of the workers that this status names; ``here`` for those of this worker only."""
        others = [] if here or self.peers is None else _workers(status, self.peers.id)
        urls = await self.peers.others() if others and self.peers is not None else {}
        answers = await asyncio.gather(self._own(), *(self._of(id, urls.get(id)) for id in others))
        places = ("", *others)
        found = {place: answer for place, answer in zip(places, answers, strict=True) if answer is not None}
        for place, answer in found.items():
            self.after[place] = int(answer["next"])
        lines = sorted((line for answer in found.values() for line in answer["lines"]), key=lambda line: line["time"])
        return {
            "connector": self.wanted.name,
            "lines": lines[-self.wanted.limit :] if self.wanted.limit else [],
            "unreachable": [id for id in others if id not in found],
        }

    async def _own(self) -> dict[str, Any] | None:
        answer = await self.ask(self.call, self._message(""))
        return answer.body if isinstance(answer, m.Reply) and answer.status == 200 else None

    async def _of(self, id: str, url: str | None) -> dict[str, Any] | None:
        if url is None or self.peers is None:  # no member of the group any more
            return None
        message = self._message(id)
        params = {"level": _level_name(message.level), "limit": message.limit, "after": message.after, "here": "true"}
        if message.task is not None:
            params["task"] = message.task
        path = self.call.request.scope["raw_path"].decode("latin-1").removesuffix("/stream")
        match await self.peers.ask(url, path, params, self.call.request):
            case {"lines": list(lines), "next": int(following)} if all(map(_is_line, lines)):
                kept = lines[-message.limit :] if message.limit else []
                known = [{**{name: line[name] for name in LINE}, "worker": id} for line in kept]
                return {"lines": known, "next": min(abs(following), MAX_NUMBER)}
        return None

    def _message(self, place: str) -> local.GetLogs:
        wanted = self.wanted
        return local.GetLogs(wanted.name, wanted.level, wanted.task, wanted.limit, self.after.get(place, wanted.after))


def _workers(status: Mapping[str, Any], own: str) -> list[str]:
    """Return the ids of the other workers that a status names."""
    named = {status["connector"]["worker_id"], *(task["worker_id"] for task in status["tasks"])}
    return sorted(id for id in named if id and id != own)


def _is_line(line: Any) -> bool:
    """Return whether this is a line of another worker's log as ``LogLines`` makes them."""
    if not isinstance(line, dict) or not line.keys() >= LINE.keys():
        return False
    texts = all(isinstance(line[name], LINE[name]) and not isinstance(line[name], bool) for name in LINE)
    return texts and all(len(line[name]) <= MAX_LINE_LENGTH for name in LINE if isinstance(line[name], str))


def add_log_routes(router: Router, ask: Ask, peers: Peers | None) -> None:
    followers = Followers()

    async def status_of(call: Call) -> m.Reply | Response:
        return await ask(call, m.GetStatus(call.name))

    async def logs(call: Call) -> m.Reply | Response:
        reading = _Reading(call, ask, peers, _wanted(call))
        if call.flag("here"):
            return await ask(call, reading.wanted)
        status = await status_of(call)
        if not isinstance(status, m.Reply) or status.status != 200:
            return status
        return m.Reply(200, await reading.read(status.body))

    async def stream(call: Call) -> m.Reply | Response:
        reading = _Reading(call, ask, peers, _wanted(call))
        status = await status_of(call)
        if not isinstance(status, m.Reply) or status.status != 200:
            return status
        if call.request.method == "HEAD":
            return StreamingResponse(_none(), media_type=EVENTS)
        return FollowedLog(followers, client_of(call.request), _followed(reading, status.body, call.flag("here")))

    router.add("GET", f"{ONE}/logs", logs)
    router.add("GET", f"{ONE}/logs/stream", stream, consumes=False, produces=EVENTS)


async def _none() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for each in nothing:
        yield each


async def _followed(reading: _Reading, status: Mapping[str, Any], here: bool) -> AsyncIterator[bytes]:
    """Yield the last lines and those that follow, as events, until the client leaves or the connector is deleted."""
    silent = 0.0
    while True:
        found = await reading.read(status, here)
        reading.wanted = replace(reading.wanted, limit=MAX_LINES)
        for line in found["lines"]:
            yield f"data: {json.dumps(line)}\n\n".encode()
        silent = 0.0 if found["lines"] else silent + PAUSE_S
        if silent >= SILENCE_S:
            silent = 0.0
            yield b": still here\n\n"
        await asyncio.sleep(PAUSE_S)
        answer = await reading.ask(reading.call, m.GetStatus(reading.wanted.name))
        if not isinstance(answer, m.Reply) or answer.status != 200:
            yield b"event: end\ndata: \n\n"
            return
        status = answer.body


@dataclass(slots=True)
class Followers:
    """Clients that follow logs, each with the number of its streams."""

    streams: Counter[str] = field(default_factory=Counter)

    def add(self, client: str) -> None:
        """Raises Refused: 429 if this client follows as many logs as one may, 503 if all follow too many."""
        if self.streams.total() >= MAX_FOLLOWERS:
            raise m.Refused(503, f"{MAX_FOLLOWERS} clients follow logs here already, the maximum")
        if self.streams[client] >= MAX_STREAMS_OF_CLIENT:
            raise m.Refused(429, f"{client} follows {MAX_STREAMS_OF_CLIENT} logs here already, the maximum")
        self.streams[client] += 1

    def remove(self, client: str) -> None:
        self.streams[client] -= 1
        if not self.streams[client]:
            del self.streams[client]


class FollowedLog(StreamingResponse):
    """A stream that counts for its client until it has ended. Raises Refused if there is no room for it."""

    def __init__(self, followers: Followers, client: str, events: AsyncIterator[bytes]) -> None:
        followers.add(client)
        super().__init__(events, media_type=EVENTS)
        self._followers, self._client = followers, client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._followers.remove(self._client)


def _wanted(call: Call) -> local.GetLogs:
    level = call.query("level", "ALL").upper()
    if level not in NUMBERS:
        raise m.Refused(400, f"The query parameter level must be one of {', '.join(NUMBERS)}, not {level}")
    limit = number_in_query(call, "limit")
    return local.GetLogs(
        call.name,
        NUMBERS[level],
        number_in_query(call, "task"),
        LINES if limit is None else min(limit, MAX_LINES),
        number_in_query(call, "after", AFTER_DIGITS) or 0,
    )


def _level_name(number: int) -> str:
    return next(name for name, known in NUMBERS.items() if known == number)
