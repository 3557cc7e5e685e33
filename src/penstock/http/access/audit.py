"""The audit log ``penstock.audit``: one line of JSON for every change and every refusal.

Members: ``time``, ``principal`` (for a wrong password, or a name without a proof, ``tried``), ``how`` (it was
authenticated), ``address``, ``action``, ``connector``, ``request``, ``outcome`` (``done``, ``refused``, ``failed``),
``status``, for configurations ``difference``, secrets masked, for skips ``records``, and for a bulk action and each of
its requests ``bulk``, its ID; names of a bulk action without a connector have one line, with their number as
``unknown``. A request that one worker forwards to another has two lines: at the worker where it takes
effect with ``via``, at the other with ``forwarded_to``. A change of this log's own level has a line before it is
carried out, too, whose outcome is ``asked`` and whose status is null: the change may switch the log off.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from penstock.core.config.secrets import MASK, masked
from penstock.http.access.authentication.principals import Principal
from penstock.observe import AUDIT

LOGGER = AUDIT
log = logging.getLogger(LOGGER)

Config = Mapping[str, str | None]
_MAX_LENGTH = 1000
MAX_SETTINGS = 5000
_lines: ContextVar[list[int | None] | None] = ContextVar("audit", default=None)
"""Statuses of the lines that have been written about the request of this context."""


def begin_request() -> list[int | None]:
    """Return a list that gets the status of each line written from now on in this context, that of one request."""
    found: list[int | None] = []
    _lines.set(found)
    return found


def outcome_of(status: int | None) -> str:
    if status is None:
        return "asked"
    return "done" if status < 400 else "refused" if status < 500 else "failed"


def write(
    principal: Principal,
    request: str,
    status: int | None,
    *,
    action: str | None = None,
    connector: str | None = None,
    difference: Mapping[str, Any] | None = None,
    forwarded_to: str | None = None,
    records: Mapping[str, Any] | None = None,
    bulk: str | None = None,
    unknown: int | None = None,
) -> None:
    line: dict[str, Any] = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "principal": principal.name,
        "how": principal.how,
        "address": principal.address,
        "action": action,
        "connector": connector and connector[:_MAX_LENGTH],
        "request": request[:_MAX_LENGTH],
        "outcome": outcome_of(status),
        "status": status,
    }
    if principal.tried is not None:
        line["tried"] = principal.tried
    if principal.via:
        line["via"] = principal.via
    if forwarded_to is not None:
        line["forwarded_to"] = forwarded_to
    if difference is not None:
        line["difference"] = difference
    if records is not None:
        line["records"] = records
    if bulk is not None:
        line["bulk"] = bulk
    if unknown is not None:
        line["unknown"] = unknown
    log.info("%s", json.dumps(line))
    if (lines := _lines.get()) is not None:
        lines.append(status)


def difference(
    before: Config, after: Config, passwords: Callable[[Config], Collection[str]] = lambda config: ()
) -> dict[str, Any]:
    """Return the settings added, changed (old and new value) and removed. A secret that has changed shows two masks.

    Of a configuration without measure only the number of settings is logged: this must not take long. ``passwords``
    gives the names of settings that plugins define as such.
    """
    if len(before) + len(after) > MAX_SETTINGS:
        return {"settings": [len(before), len(after)]}
    secret = {*passwords(before), *passwords(after)}
    old, new = masked(before, secret), masked(after, secret)
    return {
        "added": {name: new[name] for name in after if name not in before},
        "changed": {name: [old[name], new[name]] for name in after if name in before and before[name] != after[name]},
        "removed": {name: MASK if old[name] == MASK else old[name] for name in before if name not in after},
    }
