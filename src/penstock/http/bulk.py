"""Bulk actions: one action on many connectors, each a request of its own in the name of the user who asked for all.

A request of a bulk action is the single one, such as ``PUT /connectors/orders/pause``, with the ID of the bulk action
as the query parameter ``bulk``. It passes the gate and is forwarded as any other, so it needs the same right, and is in
the audit log with the ID. A pause or a stop takes the ID into the config topic, so that a resume can select what it has
changed, at any worker and after any restart. Progress is known to the worker that carries the action out, in memory.

Each connector has its own time limit, which begins with its request. Requests wait for places, but one that hangs gives
its place up after some seconds.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from penstock.core.bulk.outcome import SETTLED_S, outcome
from penstock.core.bulk.results import ENDED, Result
from penstock.core.bulk.selection import Candidate, Selection, select
from penstock.core.config.secrets import masked
from penstock.core.model import messages as m
from penstock.core.status.overall import Action, effect, overall
from penstock.http.access import audit
from penstock.http.access.authentication.principals import Principal, client_of, principal_of
from penstock.http.access.gate import BULK, VIEW, RequestGate, demand, refusal
from penstock.http.access.masking import VIEW_CONFIG
from penstock.http.client import MOMENTARILY
from penstock.http.router import Ask, Call
from penstock.observe import beginning
from penstock.threads import in_thread

log = logging.getLogger(__name__)

MAX_UNDER_WAY, MAX_KEPT = 10, 100
MAX_KEPT_CHARACTERS = 16 * 2**20
"""Maximum characters of names and texts of all actions that are kept."""
PLACES, PLACE_S = 16, 5.0
"""Requests at a time, and seconds for which an unanswered one counts among them."""
LOOK_S, RETRY_S = 0.3, 1.0
MAX_MESSAGE = 2000
HIDDEN = "Shown to the user who has begun the action, and to those with view-config"


class CandidateSource(Protocol):
    def all(self) -> dict[str, Candidate]:
        """Return all connectors; called on a thread."""

    def one(self, name: str) -> Candidate | None: ...


@dataclass(frozen=True, slots=True)
class BulkRequest:
    action: Action
    selection: Selection
    settings: Mapping[str, str | None] = field(default_factory=dict)
    only_failed: bool = False
    wait_s: float = 60.0
    dry_run: bool = False

    def message(self, name: str) -> m.Request:
        """Return the request for one connector."""
        match self.action:
            case "pause":
                return m.SetTargetState(name, "PAUSED")
            case "resume":
                return m.SetTargetState(name, "STARTED")
            case "stop":
                return m.StopConnector(name)
            case "restart":
                return m.RestartConnector(name, include_tasks=True, only_failed=self.only_failed)
            case "delete":
                return m.DeleteConnector(name)
            case "set":
                return m.PatchConfig(name, dict(self.settings))

    def http(self, name: str) -> tuple[str, str, dict[str, str], bytes]:
        """Return method, path, query and body of the same request."""
        match self.action:
            case "pause" | "resume" | "stop":
                return "PUT", f"/{self.action}", {}, b""
            case "restart":
                flags = {"includeTasks": "true"} | ({"onlyFailed": "true"} if self.only_failed else {})
                return "POST", "/restart", flags, b""
            case "delete":
                return "DELETE", "", {}, b""
            case "set":
                return "PATCH", "/config", {}, json.dumps(dict(self.settings)).encode()


@dataclass(slots=True)
class BulkRow:
    """One connector of a bulk action."""

    connector: str
    state: str | None
    """Overall state before the action; None for a connector that the user may not know."""
    result: Result
    text: str
    cause: str = ""
    status: int = 0
    """Status with which the single action would be refused, of a refused row."""
    exists: bool = True
    """Whether there was a connector of this name, whether or not the user may know it."""

    def end(self, result: Result, text: str, cause: str = "") -> None:
        self.result, self.text, self.cause = result, text, cause

    def to_json(self, view: bool, text: bool) -> dict[str, Any]:
        """``view``: whether the user may view the connector, and so the cause of a failure; ``text``: whether also what
        a failed change of settings was answered with, which may repeat settings.
        """
        cause = self.cause if view else ""
        what = self.text if text else HIDDEN
        shown = {"connector": self.connector, "state": self.state, "result": self.result, "what": what}
        return {**shown, "cause": cause or None}


@dataclass(slots=True)
class BulkAction:
    id: str
    request: BulkRequest
    rows: list[BulkRow]
    principal: Principal
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def ended(self) -> bool:
        return all(row.result in ENDED for row in self.rows)

    @property
    def characters(self) -> int:
        return sum(len(row.connector) + len(row.text) + len(row.cause) for row in self.rows)


@dataclass(slots=True)
class BulkActions:
    """The bulk actions of this worker; used by one event loop. ``clean`` removes secrets from messages."""

    ask: Ask
    gate: RequestGate
    candidates: CandidateSource
    clean: Callable[[str], str] = str
    known: dict[str, BulkAction] = field(default_factory=dict)
    _beginning: int = 0
    """Actions whose connectors are being selected; they count among those under way."""
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PLACES))

    async def preview(self, http: Request, request: BulkRequest) -> list[BulkRow]:
        """Return the connectors that are selected, with the effect of the action on each."""
        may = self.gate.lister(http)

        def rows() -> list[BulkRow]:
            everything = self.candidates.all()
            needs_view = request.selection.needs_view
            seen, hidden = dict[str, Candidate](), set[str]()
            for name, each in everything.items():
                if may(VIEW, name):
                    seen[name] = each
                elif may(demand(request.message(name))[0], name):
                    # Labels and classes select nothing here, or a user without `view` could spell them out.
                    hidden.add(name) if needs_view else seen.setdefault(name, each)
            chosen = [name for name in select(request.selection, seen) if name not in hidden]
            made = [self._previewed(http, request, may, name, seen.get(name)) for name in chosen]
            for row in made:
                row.exists = row.connector in everything
            return made

        return await in_thread(rows)

    def _previewed(
        self,
        http: Request,
        request: BulkRequest,
        may: Callable[[str, str], bool],
        name: str,
        known: Candidate | None,
    ) -> BulkRow:
        right, _ = demand(request.message(name))
        state = None if known is None else overall(known.watched)
        if not may(right, name):
            return BulkRow(name, state, "refused", refusal(principal_of(http), right, name), status=403)
        if known is None:
            return BulkRow(name, None, "refused", f"Connector {name} not found", status=404)
        found = effect(request.action, known.watched, request.only_failed)
        if request.action == "set":
            return self._set(request, name, known, found.text, may(VIEW_CONFIG, name))
        return BulkRow(name, state, "change" if found.changes else "none", found.text)

    def _set(self, request: BulkRequest, name: str, known: Candidate, text: str, sees: bool) -> BulkRow:
        """Return the row of a change of settings. Present values are shown to those who may see configurations."""
        state = overall(known.watched)
        if not sees:
            return BulkRow(name, state, "change", f"{text}: sets {', '.join(request.settings)}")
        if self._has(known, request.settings):
            return BulkRow(name, state, "none", "It has these settings already")
        secret = self.gate.passwords(known.config)
        old, new = masked(known.config, secret), masked(request.settings, secret)
        changes = [
            f"{key} from {old.get(key, 'none')} to {'none' if value is None else value}"
            for key, value in new.items()
            if known.config.get(key) != request.settings[key] or value != request.settings[key]
        ]
        return BulkRow(name, state, "change", f"{text}: {', '.join(changes)}")

    def _has(self, known: Candidate, settings: Mapping[str, str | None]) -> bool:
        """Return whether a connector has these settings already. Secrets count as changes: nobody can test guesses."""
        if any(known.config.get(key) != value for key, value in settings.items()):
            return False
        return masked(settings, self.gate.passwords(known.config)) == settings

    def _unchanged(self, http: Request, request: BulkRequest, present: Candidate) -> str | None:
        """Return why the action would change nothing of a connector now; None if it would, or the user may not know."""
        if not request.selection.of_matches(present):
            return "It has been resumed, paused or stopped by another request since"
        if request.action == "set" and VIEW_CONFIG in self.gate.actions(principal_of(http), present.watched.name):
            return "It has these settings already" if self._has(present, request.settings) else None
        found = effect(request.action, present.watched, request.only_failed)
        return None if found.changes else found.text

    async def start(self, call: Call, request: BulkRequest) -> BulkAction:
        """Begin the action on all connectors that are selected. Raises Refused (429) where too many are under way."""
        if self._beginning + sum(not each.ended for each in self.known.values()) >= MAX_UNDER_WAY:
            raise m.Refused(429, f"{MAX_UNDER_WAY} bulk actions are under way at this worker; try again later")
        principal = principal_of(call.request)
        self._beginning += 1
        try:
            made = BulkAction(secrets.token_hex(6), request, await self.preview(call.request, request), principal)
            self._keep(made)
        finally:
            self._beginning -= 1
        rows = made.rows
        asked = f"{call.request.method} {call.request.url.path} {request.action}"
        audit.write(principal, asked, 202, action=request.action, bulk=made.id)
        log.info(
            "%s has begun bulk action %s: %s of %d connectors",
            client_of(call.request),
            made.id,
            request.action,
            len(rows),
        )
        right, _ = demand(request.message("x"))
        # One line for all names without a connector: a user may invent thousands.
        unknown = Counter(row.status for row in rows if not row.exists)
        for status, number in unknown.items():
            audit.write(principal, asked, status, action=right, unknown=number, bulk=made.id)
        for row in rows:
            if row.result == "refused" and row.exists:
                audit.write(principal, asked, row.status, action=right, connector=row.connector, bulk=made.id)
            elif row.result == "change":
                row.result, row.text = "waiting", ""
                task = asyncio.create_task(self._guarded(made, row, call.request))
                made.tasks.add(task)
                task.add_done_callback(made.tasks.discard)
        return made

    def _keep(self, made: BulkAction) -> None:
        """Add an action to those that are known; the oldest that have ended are forgotten. Raises Refused (429)."""
        size = made.characters + sum(each.characters for each in self.known.values())
        for each in [each for each in self.known.values() if each.ended]:
            if len(self.known) < MAX_KEPT and size <= MAX_KEPT_CHARACTERS:
                break
            size -= each.characters
            del self.known[each.id]
        if size > MAX_KEPT_CHARACTERS:
            raise m.Refused(429, "The bulk actions under way at this worker have too many connectors; try again later")
        self.known[made.id] = made

    async def _guarded(self, bulk: BulkAction, row: BulkRow, http: Request) -> None:
        try:
            await self._carry_out(bulk, row, http)
        except Exception as error:
            log.exception("Bulk action %s failed for connector %s", bulk.id, row.connector)
            row.end("failed", beginning(str(error) or repr(error), MAX_MESSAGE, self.clean))

    async def _carry_out(self, bulk: BulkAction, row: BulkRow, http: Request) -> None:
        request, name, clock = bulk.request, row.connector, time.monotonic
        async with self._places:
            before = self.candidates.one(name)
            if before is None:
                row.end("failed", "It was deleted meanwhile")
                return
            if (unchanged := await in_thread(lambda: self._unchanged(http, request, before))) is not None:
                row.end("none", unchanged)
                return
            row.result = "under way"
            limit = clock() + request.wait_s
            # It goes on when the time is over: it may take effect later, and has its line in the audit log.
            sent = asyncio.create_task(self._send(bulk, row, http))
            await asyncio.wait({sent}, timeout=min(PLACE_S, request.wait_s))
        await asyncio.wait({sent}, timeout=max(0.0, limit - clock()))
        if not sent.done():
            why = row.text or "The request has not been answered yet"
            row.end("late", f"After {request.wait_s:g} s: {why}")
            await sent
        elif (problem := sent.result()) is not None:
            row.end("failed", problem)
        else:
            await self._read_back(request, row, before, limit)

    async def _read_back(self, request: BulkRequest, row: BulkRow, before: Candidate, limit: float) -> None:
        """Wait until the state is reached, cannot be reached, or the time is over."""
        settings, name = request.settings, row.connector
        last, since = None, time.monotonic()
        while True:
            found = outcome(request.action, before, self.candidates.one(name), settings, request.only_failed)
            now = time.monotonic()
            if found != last:
                last, since = found, now
            row.text = found.text
            if found.result != "under way" and (found.certain or now - since >= SETTLED_S):
                return row.end(found.result, found.text, found.cause)
            if now >= limit:
                return row.end("late", f"After {request.wait_s:g} s: {found.text}", found.cause)
            await asyncio.sleep(LOOK_S)

    async def _send(self, bulk: BulkAction, row: BulkRow, http: Request) -> str | None:
        """Send the request of one connector, again while the group rebalances. Return why it was refused, if so."""
        while True:
            status, problem = await self._sent_once(bulk, row.connector, http)
            if status < 400:
                return None
            if status != 409 or not problem.startswith(MOMENTARILY):
                return problem
            if row.result in ENDED:
                return problem
            row.text = problem
            await asyncio.sleep(RETRY_S)

    async def _sent_once(self, bulk: BulkAction, name: str, http: Request) -> tuple[int, str]:
        call = Call(_derived(http, bulk, name), {"name": name})
        try:
            answer = await self.ask(call, bulk.request.message(name))
        except m.Refused as refused:
            answer = refused.reply()
        status = answer.status_code if isinstance(answer, Response) else answer.status
        if status < 400:
            return status, ""
        body = json.loads(bytes(answer.body) or b"null") if isinstance(answer, Response) else answer.body
        said = body.get("message") if isinstance(body, dict) else None
        return status, beginning(str(said or f"It was answered with {status}"), MAX_MESSAGE, self.clean)


def _derived(http: Request, bulk: BulkAction, name: str) -> Request:
    """Return the request of one connector in the name of the principal of the bulk action's request."""
    method, rest, query, body = bulk.request.http(name)
    escaped = quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")
    path = f"/connectors/{escaped}{rest}"
    headers = [(key, value) for key, value in http.scope["headers"] if key in (b"authorization", b"host")]
    state = {key: value for key, value in http.scope.get("state", {}).items() if key != "forwarded_to"}
    scope = {
        **http.scope,
        "method": method,
        "path": f"/connectors/{name}{rest}",
        "raw_path": path.encode(),
        "query_string": urlencode({**query, BULK: bulk.id}).encode(),
        "headers": [*headers, (b"content-type", b"application/json")],
        "state": state,
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(scope, receive)
