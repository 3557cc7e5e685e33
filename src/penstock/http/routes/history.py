"""``/penstock/v1/connectors/{name}/history``, ``…/events`` and ``…/rollback``: what happened to a connector, and the
way back.
"""

from __future__ import annotations

from starlette.responses import Response

from penstock.core.model import messages as m
from penstock.http.router import Ask, Call, Router

ONE = "/penstock/v1/connectors/{name}"
MOST_EVENTS = 500


def add_routes(router: Router, ask: Ask) -> None:
    async def versions(call: Call) -> m.Reply | Response:
        return await ask(call, m.ListVersions(call.name))

    async def version(call: Call) -> m.Reply | Response:
        return await ask(call, m.GetVersion(call.name, call.number("version")))

    async def compare(call: Call) -> m.Reply | Response:
        return await ask(call, m.CompareVersions(call.name, call.number("version"), number_in_query(call, "from")))

    async def events(call: Call) -> m.Reply | Response:
        limit = number_in_query(call, "limit")
        return await ask(call, m.ListEvents(call.name, MOST_EVENTS if limit is None else min(limit, MOST_EVENTS)))

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
    """None if it is not given. Raises Refused (400) for what is no number from 0 on."""
    text = call.query(key)
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > digits:
        raise m.Refused(400, f"The query parameter {key} must be a number, not {text}")
    return int(text)
