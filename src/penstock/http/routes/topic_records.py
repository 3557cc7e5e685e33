"""Records of the topics of a connector: ``GET /penstock/v1/connectors/{name}/records``."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import Future
from datetime import UTC, datetime

from starlette.responses import Response

from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.http.router import Ask, Call, Router
from penstock.http.routes.history import ONE, number_in_query

RECORDS, MAX_RECORDS = 50, 500
SECONDS, MAX_SECONDS = 10, 30
MAX_SEARCH = 1000
"""Characters of a text that is searched for."""
TOPIC = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}")
ENDS = ("earliest", "latest")
OFFSETS = re.compile(r"\d{1,9}:\d{1,18}(?:,\d{1,9}:\d{1,18}){0,199}", re.ASCII)


def add_route(router: Router, ask: Ask) -> None:
    async def listed(call: Call) -> m.Reply | Response:
        request = _request(call)
        watching = asyncio.create_task(_watch(call, request.left))
        try:
            return await ask(call, request)
        finally:
            watching.cancel()

    router.add("GET", f"{ONE}/records", listed)


async def _watch(call: Call, left: Future[None] | None) -> None:
    """Report that the client has closed its connection, so that the search for it ends."""
    try:
        while (await call.request.receive())["type"] != "http.disconnect":
            pass
    except m.Refused:  # a body, which has no meaning here, is too large
        return
    if left is not None:
        left.set_result(None)


def _request(call: Call) -> local.ListRecords:
    """Raises Refused (400)."""
    limit, seconds = number_in_query(call, "limit"), number_in_query(call, "seconds")
    search = call.query("search") or None
    if search is not None and len(search) > MAX_SEARCH:
        raise m.Refused(400, f"The query parameter search may have {MAX_SEARCH} characters")
    topic, partition = call.query("topic") or None, number_in_query(call, "partition")
    if topic is not None and TOPIC.fullmatch(topic) is None:
        raise m.Refused(400, "The query parameter topic must be a name that a topic of Kafka can have")
    start, offsets = _start(call.query("from", "latest"))
    if partition is not None and offsets and all(each != partition for each, _ in offsets):
        raise m.Refused(400, f"The query parameter from names no offset of partition {partition}, which is requested")
    return local.ListRecords(
        call.name,
        topic,
        partition,
        start,
        offsets,
        min(max(RECORDS if limit is None else limit, 1), MAX_RECORDS),
        search,
        min(max(SECONDS if seconds is None else seconds, 1), MAX_SECONDS),
        left=Future(),
    )


def _start(text: str) -> tuple[str | int, tuple[tuple[int, int], ...]]:
    """Return where to begin, and the offsets of partitions if these are given."""
    if text in ENDS:
        return text, ()
    if OFFSETS.fullmatch(text):
        pairs = [each.split(":") for each in text.split(",")]
        return "earliest", tuple((int(partition), int(offset)) for partition, offset in pairs)
    try:
        time = datetime.fromisoformat(text)
        ms = int(time.replace(tzinfo=time.tzinfo or UTC).timestamp() * 1000)
    except (ValueError, OverflowError):
        ms = -1
    if ms < 0:
        raise m.Refused(
            400,
            "The query parameter from must be latest, earliest, a time such as 2026-11-30T08:00:00Z, or offsets of "
            "partitions such as 0:1200,1:1180",
        )
    return ms, ()
