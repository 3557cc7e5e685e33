"""``POST /penstock/v1/preview``: a configuration, or a change of one, tried on real records."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from penstock.core.model import messages as m
from penstock.http import bodies
from penstock.http.router import Ask, Call, Router

MOST_RECORDS, RECORDS = 100, 5
MEMBERS = ("name", "config", "patch", "limit", "partition", "offset", "poll")


def add_routes(router: Router, ask: Ask) -> None:
    async def preview(call: Call) -> m.Reply | Response:
        return await ask(call, request(await bodies.document(call.request)))

    router.add("POST", "/penstock/v1/preview", preview)


def request(document: Any) -> m.Preview:
    """Raises Refused (400)."""
    given = bodies.members(document, "A preview", *MEMBERS)
    name = given.get("name")
    if not isinstance(name, str) or isinstance(name, bodies.Number) or not name:
        raise m.Refused(400, "A preview needs the name of the connector, which need not exist, in 'name'")
    if "config" in given and "patch" in given:
        raise m.Refused(400, "A preview has 'config' or 'patch', not both")
    patch = "config" not in given
    poll = given.get("poll", False)
    if not isinstance(poll, bool):
        raise m.Refused(400, "'poll' must be true or false")
    config = bodies.config(given.get("patch" if patch else "config", {}), "'patch'" if patch else "'config'")
    if config.get("name") not in (None, name):
        raise m.Refused(400, f"The configuration is of connector {config['name']}, the preview of {name}")
    limit = _number(given, "limit", 1, MOST_RECORDS)
    return m.Preview(
        name,
        config,
        patch,
        RECORDS if limit is None else limit,
        _number(given, "partition", 0, 2**31 - 1),
        _number(given, "offset", 0, 2**53),
        poll,
    )


def _number(given: dict[str, Any], member: str, least: int, most: int) -> int | None:
    value = given.get(member)
    if value is None:
        return None
    if isinstance(value, bodies.Number) and value.isdecimal() and least <= int(value) <= most:
        return int(value)
    raise m.Refused(400, f"'{member}' must be a number from {least} to {most}")
