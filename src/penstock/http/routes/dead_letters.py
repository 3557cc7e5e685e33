"""``/penstock/v1/connectors/{name}/dead-letters``: the records that a connector could not process, and their replay."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from penstock.core.model import messages as m
from penstock.http import bodies
from penstock.http.router import Ask, Call, Router, not_found
from penstock.http.routes.history import ONE, number_in_query

MOST_LETTERS, LETTERS = 500, 50
MOST_RECORDS = 500
MEMBERS = ("records", "topic", "dry_run")


def add_routes(router: Router, ask: Ask) -> None:
    async def listed(call: Call) -> m.Reply | Response:
        limit = number_in_query(call, "limit")
        return await ask(call, m.ListDeadLetters(call.name, LETTERS if limit is None else min(limit, MOST_LETTERS)))

    async def one(call: Call) -> m.Reply | Response:
        offset = call.parts["offset"]
        if not offset.isascii() or not offset.isdecimal() or len(offset) > 18 or call.number("partition") < 0:
            raise not_found()
        return await ask(call, m.GetDeadLetter(call.name, call.number("partition"), int(offset), call.flag("decoded")))

    async def replay(call: Call) -> m.Reply | Response:
        return await ask(call, _replay(call.name, await bodies.document(call.request)))

    router.add("GET", f"{ONE}/dead-letters", listed)
    router.add("POST", f"{ONE}/dead-letters/replay", replay)
    router.add("GET", f"{ONE}/dead-letters/{{partition}}/{{offset}}", one)


def _replay(name: str, document: Any) -> m.ReplayDeadLetters:
    """Raises Refused (400)."""
    given = bodies.members(document, "A replay", *MEMBERS)
    records, topic, dry_run = given.get("records"), given.get("topic"), given.get("dry_run", False)
    if records is not None and not (isinstance(records, list) and records and all(map(_is_text, records))):
        raise m.Refused(400, "'records' must be a list of records, each as TOPIC-PARTITION-OFFSET; without it all are")
    if records is not None and len(records) > MOST_RECORDS:
        raise m.Refused(400, f"'records' has {len(records)} records; {MOST_RECORDS} are accepted")
    if topic is not None and not (_is_text(topic) and topic):
        raise m.Refused(400, "'topic' must be the name of a topic")
    if not isinstance(dry_run, bool):
        raise m.Refused(400, "'dry_run' must be true or false")
    return m.ReplayDeadLetters(name, tuple(records or ()), topic, dry_run)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, bodies.Number)
