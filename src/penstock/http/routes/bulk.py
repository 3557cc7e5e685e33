"""``/penstock/v1/bulk``: an action on many connectors at once, with a preview and its progress."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from penstock.api.errors import ConfigError
from penstock.core.bulk.selection import TYPES, Selection, Selector, is_pattern
from penstock.core.config.secrets import MASK
from penstock.core.model import messages as m
from penstock.core.model.urgency import STATES
from penstock.core.status.overall import ACTIONS
from penstock.http import bodies
from penstock.http.access.authentication.principals import principal_of
from penstock.http.access.gate import BULK_ID, VIEW, demand
from penstock.http.access.masking import VIEW_CONFIG
from penstock.http.bulk import BulkAction, BulkActions, BulkRequest, BulkRow
from penstock.http.forwarding import Peers
from penstock.http.router import Call, Router

PATH = "/penstock/v1/bulk"
SELECTION = ("connectors", "labels", "states", "classes", "types", "of")
MEMBERS = ("action", *SELECTION, "exact", "settings", "only_failed", "wait_seconds", "dry_run")
MAX_NAMES, MAX_WAIT_S = 10_000, 3600
MAX_PATTERNS = 300
"""Maximum number of patterns of names and classes: each is compared with all connectors."""
MAX_CHARACTERS = 1_000_000
"""Maximum characters of a list of a selection."""


def add_routes(router: Router, bulk: BulkActions, peers: Peers) -> None:
    async def begin(call: Call) -> m.Reply:
        request = await bodies.read(call.request, parse)
        may = bulk.gate.lister(call.request)
        if request.dry_run:
            rows = await bulk.preview(call.request, request)
            return m.Reply(200, _shown(None, request, rows, may, own=True))
        made = await bulk.start(call, request)
        return m.Reply(202, _shown(made, request, made.rows, may, own=True))

    async def progress(call: Call) -> m.Reply:
        id, may = call.parts["id"], bulk.gate.lister(call.request)
        made = bulk.known.get(id)
        if made is not None:
            own = principal_of(call.request).name == made.principal.name
            return m.Reply(200, _shown(made, made.request, made.rows, may, own))
        found = None if call.flag("here") or not BULK_ID.fullmatch(id) else await _of_others(call, peers, id)
        if found is None:
            raise m.Refused(
                404,
                f"No worker that answers knows the progress of a bulk action {id}: it is kept until its worker ends",
            )
        return m.Reply(200, found)

    router.add("POST", PATH, begin)
    router.add("GET", f"{PATH}/{{id}}", progress)


async def _of_others(call: Call, peers: Peers, id: str) -> dict[str, Any] | None:
    others = await peers.others()
    asked = (peers.ask(url, f"{PATH}/{id}", {"here": "true"}, call.request) for url in others.values())
    for answer in await asyncio.gather(*asked):
        match answer:
            case {"id": known, "action": str(action), "ended": bool(ended), "connectors": list(rows)} if known == id:
                if all(map(_is_row, rows)):
                    return {"id": id, "action": action, "dry_run": False, "ended": ended, "connectors": rows}
    return None


def _is_row(row: Any) -> bool:
    """Return whether this is a row of another worker as ``BulkRow.to_json`` makes it."""
    match row:
        case {
            "connector": str(),
            "state": str() | None,
            "result": str(),
            "what": str(),
            "cause": str() | None,
            **others,
        }:
            return not others
    return False


def _shown(
    made: BulkAction | None, request: BulkRequest, rows: list[BulkRow], may: Callable[[str, str], bool], own: bool
) -> dict[str, Any]:
    """``own``: whether the user has asked for the action: names without a state may be secrets of that user."""
    right, _ = demand(request.message("x"))

    def seen(row: BulkRow) -> bool:
        return own if row.state is None else may(VIEW, row.connector) or may(right, row.connector)

    def text(row: BulkRow) -> bool:
        return own or request.action != "set" or row.result != "failed" or may(VIEW_CONFIG, row.connector)

    return {
        "id": None if made is None else made.id,
        "action": request.action,
        "dry_run": made is None,
        "ended": made is None or made.ended,
        "connectors": [row.to_json(may(VIEW, row.connector), text(row)) for row in rows if seen(row)],
    }


def parse(document: Any) -> BulkRequest:
    """Raises Refused (400)."""
    given = bodies.members(document, "A bulk action", *MEMBERS)
    for name, value in given.items():
        if value is None:
            raise m.Refused(400, f"'{name}' is null; leave it out, or give it a value")
    action, settings = given.get("action"), given.get("settings")
    if action not in ACTIONS:
        raise m.Refused(400, f"'action' must be one of {', '.join(ACTIONS)}")
    selection = _selection(given)
    if selection.is_empty():
        raise m.Refused(400, f"A bulk action must select connectors by one of {', '.join(SELECTION)}")
    if selection.exact and not selection.names:
        raise m.Refused(400, "'exact' takes 'connectors' as names, and not as patterns; there are none")
    if selection.of is not None and action != "resume":
        raise m.Refused(400, f"'of' selects what a bulk action has paused or stopped, to resume it, not to {action} it")
    if (settings is not None) != (action == "set"):
        raise m.Refused(400, "'settings' is needed by the action set, and by no other")
    changes = {} if settings is None else bodies.config(settings, "'settings'")
    if action == "set" and not changes:
        raise m.Refused(400, "'settings' is empty; give the settings to change, and null for those to remove")
    for key, value in changes.items():
        if value is not None and MASK in value:
            raise m.Refused(400, f"The value of '{key}' in 'settings' has a mask in place of a secret")
    only_failed, dry_run = _flag(given, "only_failed"), _flag(given, "dry_run")
    if only_failed and action != "restart":
        raise m.Refused(400, f"'only_failed' is for the action restart, not for {action}")
    return BulkRequest(action, selection, changes, only_failed, _wait(given), dry_run)


def _selection(given: dict[str, Any]) -> Selection:
    labels, of = given.get("labels"), given.get("of")
    selector = None
    if labels is not None:
        if not _is_text(labels):
            raise m.Refused(400, "'labels' must be a text such as team=billing,env!=prod")
        try:
            selector = Selector.parse(labels)
            selector.check_values()
        except ConfigError as error:
            raise m.Refused(400, str(error)) from None
    if of is not None and not (_is_text(of) and BULK_ID.fullmatch(of)):
        raise m.Refused(400, "'of' must be the ID of a bulk action, 12 hexadecimal digits")
    names, classes, exact = _texts(given, "connectors"), _texts(given, "classes"), _flag(given, "exact")
    patterns = len(classes) + (0 if exact else sum(map(is_pattern, names)))
    if patterns > MAX_PATTERNS:
        raise m.Refused(400, f"There are {patterns} patterns and classes; {MAX_PATTERNS} are accepted")
    return Selection(
        tuple(names),
        selector,
        frozenset(_known(given, "states", STATES)),
        tuple(classes),
        frozenset(_known(given, "types", TYPES)),
        of,
        exact,
    )


def _texts(given: dict[str, Any], name: str) -> list[str]:
    value = given.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not 0 < len(value) <= MAX_NAMES or not all(map(_is_text, value)):
        raise m.Refused(400, f"'{name}' must be a list of 1 to {MAX_NAMES} texts")
    if (length := sum(map(len, value))) > MAX_CHARACTERS:
        raise m.Refused(400, f"'{name}' has {length} characters; {MAX_CHARACTERS} are accepted")
    return value


def _known(given: dict[str, Any], name: str, known: tuple[str, ...]) -> list[str]:
    found = _texts(given, name)
    for each in found:
        if each not in known:
            raise m.Refused(400, f"'{name}' has {each[:100]}; there are {', '.join(known)}")
    return found


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, bodies.Number) and value != ""


def _flag(given: dict[str, Any], name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise m.Refused(400, f"'{name}' must be true or false")
    return value


def _wait(given: dict[str, Any]) -> float:
    value = given.get("wait_seconds", bodies.Number("60"))
    seconds = value.value() if isinstance(value, bodies.Number) else 0
    if not 0 < seconds <= MAX_WAIT_S:
        raise m.Refused(
            400, f"'wait_seconds' must be a number above 0, up to {MAX_WAIT_S}: the time for each connector"
        )
    return float(seconds)
