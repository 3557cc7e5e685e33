"""Plan of a reset of a sink's offsets: ``POST /penstock/v1/connectors/{name}/offsets/plan``.

It changes nothing: its ``offsets`` are in the form of ``PATCH /connectors/{name}/offsets``, which carries it out.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.http import bodies
from penstock.http.router import Ask, Call, Router
from penstock.http.routes.history import ONE

PLAN = ("to", "topics")
ENDS = ("earliest", "latest")
MAX_TOPICS = 1000


def add_route(router: Router, ask: Ask) -> None:
    async def plan(call: Call) -> m.Reply | Response:
        return await ask(call, _plan(call.name, await bodies.document(call.request)))

    router.add("POST", f"{ONE}/offsets/plan", plan)


def _plan(name: str, document: Any) -> local.PlanOffsets:
    """Raises Refused (400)."""
    given = bodies.members(document, "A plan of offsets", *PLAN)
    topics = given.get("topics", [])
    if not isinstance(topics, list) or len(topics) > MAX_TOPICS or not all(map(_is_topic, topics)):
        raise m.Refused(400, f"'topics' must be a list of up to {MAX_TOPICS} names of topics; without it all are reset")
    return local.PlanOffsets(name, _to(given.get("to")), tuple(dict.fromkeys(topics)))


def _is_topic(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, bodies.Number) and 0 < len(value) <= 249


def _to(value: Any) -> str | int:
    if value in ENDS:
        return str(value)
    if isinstance(value, str) and not isinstance(value, bodies.Number):
        try:
            time = datetime.fromisoformat(value)
            ms = int(time.replace(tzinfo=time.tzinfo or UTC).timestamp() * 1000)
        except (ValueError, OverflowError):
            ms = -1
        if ms >= 0:
            return ms
    raise m.Refused(400, "'to' must be earliest, latest, or a time such as 2026-11-30T08:00:00Z")
