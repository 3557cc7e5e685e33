"""Records: previews of configurations, the dead letters of connectors, and their replay.

``POST /penstock/v1/preview`` tries a configuration, or a change of one, on real records. Below
``/penstock/v1/connectors/{name}/dead-letters`` are the records that a connector could not process.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.http import bodies
from penstock.http.router import Ask, Call, Router, not_found
from penstock.http.routes.history import ONE, number_in_query

MAX_LETTERS, LETTERS = 500, 50
MAX_REPLAYED = 500
REPLAY = ("records", "topic", "dry_run")


def add_dead_letter_routes(router: Router, ask: Ask) -> None:
    async def listed(call: Call) -> m.Reply | Response:
        limit = number_in_query(call, "limit")
        return await ask(call, local.ListDeadLetters(call.name, LETTERS if limit is None else min(limit, MAX_LETTERS)))

    async def one(call: Call) -> m.Reply | Response:
        offset = call.parts["offset"]
        if not offset.isascii() or not offset.isdecimal() or len(offset) > 18 or call.number("partition") < 0:
            raise not_found()
        return await ask(
            call, local.GetDeadLetter(call.name, call.number("partition"), int(offset), call.flag("decoded"))
        )

    async def replay(call: Call) -> m.Reply | Response:
        return await ask(call, _replay(call.name, await bodies.document(call.request)))

    router.add("GET", f"{ONE}/dead-letters", listed)
    router.add("POST", f"{ONE}/dead-letters/replay", replay)
    router.add("GET", f"{ONE}/dead-letters/{{partition}}/{{offset}}", one)


def _replay(name: str, document: Any) -> local.ReplayDeadLetters:
    """Raises Refused (400)."""
    given = bodies.members(document, "A replay", *REPLAY)
    records, topic, dry_run = given.get("records"), given.get("topic"), given.get("dry_run", False)
    if records is not None and not (isinstance(records, list) and records and all(map(_is_text, records))):
        raise m.Refused(400, "'records' must be a list of records, each as TOPIC-PARTITION-OFFSET; without it all are")
    if records is not None and len(records) > MAX_REPLAYED:
        raise m.Refused(400, f"'records' has {len(records)} records; {MAX_REPLAYED} are accepted")
    if topic is not None and not (_is_text(topic) and topic):
        raise m.Refused(400, "'topic' must be the name of a topic")
    if not isinstance(dry_run, bool):
        raise m.Refused(400, "'dry_run' must be true or false")
    return local.ReplayDeadLetters(name, tuple(records or ()), topic, dry_run)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, bodies.Number)


MAX_PREVIEWED, PREVIEWED = 100, 5
PREVIEW = ("name", "config", "patch", "limit", "partition", "offset", "poll")


def add_preview_route(router: Router, ask: Ask) -> None:
    async def preview(call: Call) -> m.Reply | Response:
        return await ask(call, preview_request(await bodies.document(call.request)))

    router.add("POST", "/penstock/v1/preview", preview)


def preview_request(document: Any) -> local.Preview:
    """Raises Refused (400)."""
    given = bodies.members(document, "A preview", *PREVIEW)
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
    limit = _number(given, "limit", 1, MAX_PREVIEWED)
    return local.Preview(
        name,
        config,
        patch,
        PREVIEWED if limit is None else limit,
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
