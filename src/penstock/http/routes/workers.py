"""``/penstock/v1/workers``: the workers of the group: who leads, in which generation each is, its Spark applications.

A worker knows itself; the leader knows all others, and those know the leader. The worker that gets the request asks all
that it hears of (``here=true``), and lists those that don't answer in time as unreachable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.requests import Request

from penstock.core.model import messages as m
from penstock.http.access.gate import VIEW, RequestGate
from penstock.http.forwarding import answer_of
from penstock.http.router import Call, Router

PATH = "/penstock/v1/workers"
About = Callable[[], Mapping[str, Any]]
"""Returns the worker's description of itself: ``worker_id``; ``leader`` and the workers that it ``knows``, as URLs;
other members are shown.
"""


@dataclass(frozen=True, slots=True)
class Workers:
    about: About
    client: httpx.AsyncClient

    def add_route(self, router: Router, gate: RequestGate) -> None:
        async def workers(call: Call) -> m.Reply:
            gate.check(call.request, VIEW)
            own = dict(self.about())
            leader = own.pop("leader")
            found: dict[str, Mapping[str, Any] | None] = {own["worker_id"]: own}
            while not call.flag("here") and (others := _not_in(found)):
                answers = await asyncio.gather(*(self._ask(url, call.request) for url in others.values()))
                found |= dict(zip(others, answers, strict=True))
            return m.Reply(
                200,
                {
                    "leader": None if leader is None else _id(leader),
                    "workers": [found[id] for id in sorted(found) if found[id] is not None],
                    "unreachable": sorted(id for id, each in found.items() if each is None),
                },
            )

        router.add("GET", PATH, workers)

    async def _ask(self, url: str, request: Request) -> Mapping[str, Any] | None:
        body = await answer_of(self.client, url.rstrip("/") + PATH, {"here": "true"}, request)
        match body:
            case {"workers": [{"worker_id": str(), "knows": list(knows)} as found]}:
                return found if all(isinstance(each, str) for each in knows) else None
        return None  # also of a worker of Java, or of another version


def _not_in(found: Mapping[str, Mapping[str, Any] | None]) -> dict[str, str]:
    """Return the URLs of workers that those found know and that are not found yet, by id."""
    known = {_id(url): url for each in found.values() if each is not None for url in each["knows"]}
    return {id: url for id, url in known.items() if id not in found}


def _id(url: str) -> str:
    return url.partition("://")[2].strip("/")
