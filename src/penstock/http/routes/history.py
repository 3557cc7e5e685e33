"""The past of a connector: ``/history``, ``/rollback``, ``/events`` and ``/logs`` below ``/penstock/v1/connectors``.

Log lines are those of the connector and its tasks on all workers that run them; ``/logs/stream`` follows them as
server-sent events. The worker that gets such a request asks the others with ``here=true``, and lists those that do not
answer as unreachable.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from penstock.core.model import messages as m
from penstock.http.forwarding import answer_of
from penstock.http.router import Ask, Call, Router
from penstock.observe import NUMBERS

ONE = "/penstock/v1/connectors/{name}"
MAX_EVENTS = 500


def add_routes(router: Router, ask: Ask) -> None:
    async def versions(call: Call) -> m.Reply | Response:
        return await ask(call, m.ListVersions(call.name))

    async def version(call: Call) -> m.Reply | Response:
        return await ask(call, m.GetVersion(call.name, call.number("version")))

    async def compare(call: Call) -> m.Reply | Response:
        return await ask(call, m.CompareVersions(call.name, call.number("version"), number_in_query(call, "from")))

    async def events(call: Call) -> m.Reply | Response:
        limit = number_in_query(call, "limit")
        return await ask(call, m.ListEvents(call.name, MAX_EVENTS if limit is None else min(limit, MAX_EVENTS)))

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
MAX_FOLLOWERS = 20
AFTER_DIGITS = 15
EVENTS = "text/event-stream"


@dataclass(slots=True)
class Peers:
    """The other workers of the cluster; ``url`` is this one's advertised URL."""

    url: str
    client: httpx.AsyncClient
    followers: int = 0

    def others(self, status: Mapping[str, Any]) -> list[str]:
        scheme, _, me = self.url.rstrip("/").partition("://")
        workers = {status["connector"]["worker_id"], *(task["worker_id"] for task in status["tasks"])}
        return [f"{scheme}://{worker}" for worker in sorted(workers) if worker and worker != me]

    async def logs(self, url: str, path: str, params: Mapping[str, Any], request: Request) -> dict[str, Any] | None:
        """Return the log lines of another worker; None if it does not reply with lines."""
        body = await answer_of(self.client, url + path, {**params, "here": "true"}, request)
        return body if isinstance(body, dict) and "lines" in body else None


@dataclass(slots=True)
class _Reading:
    """A request for lines; for a follower, how far it has read on each worker."""

    call: Call
    ask: Ask
    peers: Peers | None
    wanted: m.GetLogs
    after: dict[str, int] = field(default_factory=dict)

    async def read(self, others: list[str]) -> dict[str, Any]:
        answers = await asyncio.gather(self._own(), *map(self._of, others))
        places = ("", *others)
        found = {place: answer for place, answer in zip(places, answers, strict=True) if answer is not None}
        for place, answer in found.items():
            self.after[place] = int(answer["next"])
        lines = sorted((line for answer in found.values() for line in answer["lines"]), key=lambda line: line["time"])
        return {
            "connector": self.wanted.name,
            "lines": lines[-self.wanted.limit :] if self.wanted.limit else [],
            "unreachable": [url.partition("://")[2] for url in others if url not in found],
        }

    async def _own(self) -> dict[str, Any] | None:
        answer = await self.ask(self.call, self._message(""))
        return answer.body if isinstance(answer, m.Reply) and answer.status == 200 else None

    async def _of(self, url: str) -> dict[str, Any] | None:
        assert self.peers is not None
        message = self._message(url)
        params = {"level": _level_name(message.level), "limit": message.limit, "after": message.after}
        if message.task is not None:
            params["task"] = message.task
        path = self.call.request.scope["raw_path"].decode("latin-1").removesuffix("/stream")
        return await self.peers.logs(url, path, params, self.call.request)

    def _message(self, place: str) -> m.GetLogs:
        wanted = self.wanted
        return m.GetLogs(wanted.name, wanted.level, wanted.task, wanted.limit, self.after.get(place, wanted.after))


def add_log_routes(router: Router, ask: Ask, peers: Peers | None) -> None:
    async def begun(call: Call) -> tuple[_Reading, list[str]] | m.Reply | Response:
        """Return what to read and from which other workers, or the reply that there is no such connector."""
        reading = _Reading(call, ask, peers, _wanted(call))
        status = await ask(call, m.GetStatus(call.name))
        if not isinstance(status, m.Reply) or status.status != 200:
            return status
        here = peers is None or call.flag("here")
        return reading, [] if here or peers is None else peers.others(status.body)

    async def logs(call: Call) -> m.Reply | Response:
        if call.flag("here"):
            return await ask(call, _wanted(call))
        match await begun(call):
            case (reading, others):
                return m.Reply(200, await reading.read(others))
            case answer:
                return answer

    async def stream(call: Call) -> m.Reply | Response:
        match await begun(call):
            case (reading, others):
                if peers is not None and peers.followers >= MAX_FOLLOWERS:
                    raise m.Refused(503, f"{MAX_FOLLOWERS} clients follow logs here already, the maximum")
                events = _none() if call.request.method == "HEAD" else _followed(reading, others)
                return StreamingResponse(events, media_type=EVENTS)
            case answer:
                return answer

    router.add("GET", f"{ONE}/logs", logs)
    router.add("GET", f"{ONE}/logs/stream", stream, consumes=False, produces=EVENTS)


async def _none() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for each in nothing:
        yield each


async def _followed(reading: _Reading, others: list[str]) -> AsyncIterator[bytes]:
    """Yield the last lines and those that follow, as events, until the client leaves or the connector is deleted."""
    peers = reading.peers
    if peers is not None:
        peers.followers += 1
    try:
        silent = 0.0
        while True:
            found = await reading.read(others)
            reading.wanted = replace(reading.wanted, limit=MAX_LINES)
            for line in found["lines"]:
                yield f"data: {json.dumps(line)}\n\n".encode()
            silent = 0.0 if found["lines"] else silent + PAUSE_S
            if silent >= SILENCE_S:
                silent = 0.0
                yield b": still here\n\n"
            await asyncio.sleep(PAUSE_S)
            status = await reading.ask(reading.call, m.GetStatus(reading.wanted.name))
            if not isinstance(status, m.Reply) or status.status != 200:
                yield b"event: end\ndata: \n\n"
                return
            others = [] if peers is None else peers.others(status.body)
    finally:
        if peers is not None:
            peers.followers -= 1


def _wanted(call: Call) -> m.GetLogs:
    level = call.query("level", "ALL").upper()
    if level not in NUMBERS:
        raise m.Refused(400, f"The query parameter level must be one of {', '.join(NUMBERS)}, not {level}")
    limit = number_in_query(call, "limit")
    return m.GetLogs(
        call.name,
        NUMBERS[level],
        number_in_query(call, "task"),
        LINES if limit is None else min(limit, MAX_LINES),
        number_in_query(call, "after", AFTER_DIGITS) or 0,
    )


def _level_name(number: int) -> str:
    return next(name for name, known in NUMBERS.items() if known == number)
