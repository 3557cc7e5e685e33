"""``/penstock/v1/workers``: the workers of the group: who leads, in which generation each is, its Spark applications.

A worker knows itself. The worker that gets the request asks the other members of the group (``here=true``), and lists
those that don't describe themselves in time as unreachable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from penstock.core.model import messages as m
from penstock.http.access.authentication.forwarded import id_of
from penstock.http.access.gate import VIEW, RequestGate
from penstock.http.forwarding import Peers
from penstock.http.router import Call, Router

PATH = "/penstock/v1/workers"
About = Callable[[], Mapping[str, Any]]
"""Returns the worker's description of itself: ``worker_id``; ``leader`` and the workers that it ``knows``, as URLs;
other members are shown.
"""


@dataclass(frozen=True, slots=True)
class Workers:
    about: About
    peers: Peers

    def add_route(self, router: Router, gate: RequestGate) -> None:
        async def workers(call: Call) -> m.Reply:
            gate.check(call.request, VIEW)
            own = dict(self.about())
            leader = own.pop("leader")
            found: dict[str, Mapping[str, Any] | None] = {own["worker_id"]: own}
            if not call.flag("here"):
                others = await self.peers.others()
                answers = await asyncio.gather(*(self._ask(id, url, call.request) for id, url in others.items()))
                found |= {id: answer for id, answer in zip(others, answers, strict=True) if id not in found}
            return m.Reply(
                200,
                {
                    "leader": None if leader is None else id_of(leader),
                    "workers": [found[id] for id in sorted(found) if found[id] is not None],
                    "unreachable": sorted(id for id, each in found.items() if each is None),
                },
            )

        router.add("GET", PATH, workers)

    async def _ask(self, id: str, url: str, request: Request) -> Mapping[str, Any] | None:
        match await self.peers.ask(url, PATH, {"here": "true"}, request):
            case {"workers": [dict(found)]} if found.get("worker_id") == id:
                return _described(found)
        return None  # also of a worker of Java, or of another version


def _described(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what another worker says of itself; None if it is not of the form of ours. Unknown members are dropped."""
    match found:
        case {
            "worker_id": str(id),
            "generation": int() | None as generation,
            "knows": list(knows),
            "spark": list(spark),
        } if all(isinstance(each, str) for each in knows) and all(map(_is_application, spark)):
            sparks = [{name: each[name] for name in _APPLICATION} for each in spark]
            return {"worker_id": id, "generation": generation, "knows": knows, "spark": sparks}
    return None


_APPLICATION = ("application", "running", "ended", "heap_bytes")


def _is_application(each: Any) -> bool:
    match each:
        case {"application": str(), "running": bool(), "ended": int(), "heap_bytes": int() | None}:
            return True
    return False
