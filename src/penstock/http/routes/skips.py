"""Skips: records that a sink leaves out because it fails for them, below ``/penstock/v1/connectors/{name}/skips``."""

from __future__ import annotations

import re
from typing import Any

from starlette.responses import Response

from penstock.core.model import messages as m
from penstock.core.model.skips import SKIP_TARGETS
from penstock.http import bodies
from penstock.http.router import Ask, Call, Router
from penstock.http.routes.history import ONE

SKIP = ("topic", "partition", "offsets", "to", "restart")
MAX_SPANS = 100
_SPAN = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


def add_skip_routes(router: Router, ask: Ask) -> None:
    async def listed(call: Call) -> m.Reply | Response:
        return await ask(call, m.ListSkips(call.name))

    async def skip(call: Call) -> m.Reply | Response:
        return await ask(call, _skip(call.name, await bodies.document(call.request)))

    async def cancel(call: Call) -> m.Reply | Response:
        return await ask(call, m.CancelSkips(call.name))

    router.add("GET", f"{ONE}/skips", listed)
    router.add("POST", f"{ONE}/skips", skip)
    router.add("DELETE", f"{ONE}/skips", cancel)


def _skip(name: str, document: Any) -> m.SkipRecords:
    """Raises Refused (400)."""
    given = bodies.members(document, "A skip", *SKIP)
    topic, partition, offsets = given.get("topic"), given.get("partition"), given.get("offsets")
    to, restart = given.get("to"), given.get("restart", True)
    if not isinstance(topic, str) or isinstance(topic, bodies.Number) or not 0 < len(topic) <= 249:
        raise m.Refused(400, "'topic' must be the name of a topic")
    if not isinstance(partition, bodies.Number) or not partition.isdecimal() or not int(partition) < 2**31:
        raise m.Refused(400, "'partition' must be the number of a partition")
    if not isinstance(offsets, list) or not 0 < len(offsets) <= MAX_SPANS:
        raise m.Refused(400, f"'offsets' must be a list of 1 to {MAX_SPANS} offsets and ranges, as in [7, \"10-12\"]")
    if to is not None and to not in SKIP_TARGETS:
        raise m.Refused(400, f"'to' must be one of {', '.join(SKIP_TARGETS)}")
    if not isinstance(restart, bool):
        raise m.Refused(400, "'restart' must be true or false")
    return m.SkipRecords(name, topic, int(partition), _apart(map(_span, offsets)), to, restart)


def _span(offset: Any) -> tuple[int, int]:
    found = _SPAN.fullmatch(offset) if isinstance(offset, str) else None
    first, last = (0, -1) if found is None else (int(found[1]), int(found[2] or found[1]))
    if last < first:
        raise m.Refused(400, "Each of 'offsets' must be an offset such as 7, or a range such as \"10-12\"")
    return first, last


def _apart(spans: Any) -> tuple[tuple[int, int], ...]:
    """Return spans in order, those that overlap or touch each other as one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return tuple(found)
