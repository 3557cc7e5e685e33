"""``/penstock/v1/attention``: what needs attention, the most urgent first, each with the next step.

The worker that gets the request asks the other members of the group (``here=true``) for the rows that only they know.
A user gets the rows of the connectors that they may view, without actions that they may not take, and those about the
whole group.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from penstock.core.model import messages as m
from penstock.http.access.gate import OPERATE, VIEW, RequestGate
from penstock.http.forwarding import Peers
from penstock.http.router import Call, Router
from penstock.threads import in_thread

PATH = "/penstock/v1/attention"
CHANGES = ("restart-failed", "restart", "resume")
"""Actions of rows that need ``operate``."""


class AttentionSource(Protocol):
    """Both may block, and are called on threads."""

    def here(self) -> Mapping[str, Any]:
        """Return what this worker knows alone; ``rows`` of it have their ``connector``."""

    def rows(self, answers: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the rows from the answers of all members by their ids; None for one that has not answered."""


def add_route(router: Router, gate: RequestGate, attention: AttentionSource, peers: Peers) -> None:
    async def listed(call: Call) -> m.Reply:
        may = gate.lister(call.request)

        def shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [_allowed(row, may) for row in rows if row["connector"] is None or may(VIEW, row["connector"])]

        own = await in_thread(attention.here)
        if call.flag("here"):
            busy = [name for name in own["busy"] if may(VIEW, name)]
            return m.Reply(200, {**own, "rows": shown(own["rows"]), "busy": busy})
        others = await peers.others()
        asked = (peers.ask(url, PATH, {"here": "true"}, call.request) for url in others.values())
        answers = {peers.id: own, **dict(zip(others, await asyncio.gather(*asked), strict=True))}
        rows = await in_thread(lambda: attention.rows(answers))
        return m.Reply(200, {"rows": shown(rows)})

    router.add("GET", PATH, listed)


def _allowed(row: dict[str, Any], may: Callable[[str, str], bool]) -> dict[str, Any]:
    if row["next"]["action"] not in CHANGES or may(OPERATE, row["connector"]):
        return row
    return {**row, "next": {**row["next"], "action": None}}
