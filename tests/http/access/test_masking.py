"""Replies are masked by default: those of every request and path that one table does not exempt."""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import Future
from dataclasses import MISSING, dataclass, fields
from typing import Any, get_args

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from penstock.http.access.authentication.guard import Authentication
from penstock.http.access.authentication.principals import Principal
from penstock.http.access.files import ReloadedFile
from penstock.http.access.gate import RequestGate
from penstock.http.access.masking import UNMASKED, WHOLE, mask_json
from penstock.http.access.roles import ACTIONS, Roles
from penstock.http.app import make_router
from penstock.http.forwarding import Peers
from penstock.http.routes.workers import Workers

CANARY, NAME = "canary-7f3a", "orders-1"
CONFIG = {
    "connector.class": "FileStreamSource",
    "name": NAME,
    "topic": "t",
    "my.password": CANARY,
    "connection.url": f"jdbc:x://u:{CANARY}@host/db",
    "reference": f"${{file:/{CANARY}:key}}",
    "batch.size": CANARY,
}
NAMED = {name: value for name, value in CONFIG.items() if name not in ("connector.class", "batch.size")}
DIFFERENCE = {"added": CONFIG, "changed": {"my.password": [CANARY, "2"]}, "removed": NAMED}
DOCUMENT = {
    "name": NAME,
    "config": CONFIG,
    "info": {"config": CONFIG},
    "lines": [],
    "next": 0,
    "tasks": [{"id": {"connector": NAME, "task": 0}, "config": NAMED}],
    "versions": [{"version": 1, "difference": DIFFERENCE}],
    "difference": DIFFERENCE,
    "configs": [{"definition": {"type": "PASSWORD"}, "value": {"name": "my.password", "value": CANARY, "errors": []}}],
    "anything": [{"deep": [{"api.key": CANARY, "token": 5}, f"http://u:{CANARY}@host"]}],
}
"""An answer with everything that may need a mask: whole configurations, parts of them, secrets in objects and lists."""
ROLES = Roles.parse(f"rules: [{{users: [victor], actions: [{', '.join(set(ACTIONS) - {'view-config'})}]}}]")
WITHOUT_REQUEST = {
    "/metrics",
    "/openapi.json",
    "/penstock/v1/principal",
    "/penstock/v1/workers",
    "/ui",
    "/ui/{file}",
    "/ui/{folder}/{file}",
}
"""Paths that send no request to the worker: they show neither configurations nor other data of connectors."""
VALUES: dict[str, Any] = {
    "name": NAME,
    "plugin": "FileStreamSource",
    "config": {"name": NAME, "connector.class": "FileStreamSource"},
    "configs": (),
    "patch": {},
    "state": "PAUSED",
    "offsets": (),
    "spans": ((1, 1),),
    "signature": m.Signature(b"", None, None),
    "id": TaskId(NAME, 0),
    "level": "INFO",
}
BODIES = {
    "POST /connectors": {"name": NAME, "config": CONFIG},
    "PATCH /connectors/{name}/offsets": {"offsets": [{"partition": {}, "offset": {}}]},
    "PUT /admin/loggers/{logger}": {"level": "INFO"},
    "POST /penstock/v1/preview": {"name": NAME, "config": CONFIG},
    "POST /penstock/v1/check": {"name": NAME, "config": CONFIG},
    "POST /penstock/v1/connectors/{name}/dead-letters/replay": {},
    "POST /penstock/v1/connectors/{name}/offsets/plan": {"to": "latest"},
    "POST /penstock/v1/connectors/{name}/skips": {"topic": "t", "partition": 0, "offsets": [7]},
    "POST /penstock/v1/connectors/{name}/rollback": None,
    "POST /connectors/{name}/tasks": [],
}
PARTS = {"name": NAME, "logger": "x", "plugin": "FileStreamSource", "file": "page.js"}


@dataclass(frozen=True, slots=True)
class Invented(local.RequestBase):
    """A request that does not exist yet."""

    name: str


KINDS: tuple[Any, ...] = (*get_args(m.Request), Invented)


def made(kind: Any) -> Any:
    return kind(**{each.name: VALUES.get(each.name, 1) for each in fields(kind) if each.default is MISSING})


def reply_to(request: m.Request) -> m.Reply:
    if isinstance(request, m.CheckSignature):
        return m.Reply(204)
    return m.Reply(200, CONFIG if isinstance(request, m.GetConfig) else DOCUMENT)


def passwords(config: Any) -> set[str]:
    """Return the names of passwords: ``batch.size``, as if FileStreamSource defined it as one."""
    return {"batch.size"} if config.get("connector.class") == "FileStreamSource" else set()


def masking_gate(monkeypatch: pytest.MonkeyPatch) -> RequestGate:
    file: ReloadedFile[Roles] = ReloadedFile.__new__(ReloadedFile)
    monkeypatch.setattr(ReloadedFile, "content", lambda self: ROLES)
    return RequestGate(file, passwords)


def answered(gate: RequestGate, request: m.Request) -> str:
    """Return the body of the reply to a user who may do everything except see secrets."""
    http = Request({
        "type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [], "server": ("x", 80),
        "state": {"principal": Principal("victor")},
    })  # fmt: skip

    async def ask(request: m.Request) -> m.Reply | Response:
        return reply_to(request)

    async def reply() -> m.Reply | Response:
        return await gate(http, request, ask)

    found = asyncio.run(reply())
    assert isinstance(found, m.Reply)
    return json.dumps(found.body)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_secret_in_a_reply_is_masked_unless_the_request_is_declared(
    monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    shown = answered(masking_gate(monkeypatch), made(kind))
    assert (CANARY in shown) is (kind in UNMASKED), shown
    assert kind is not Invented or "[hidden]" in shown


def test_only_requests_that_there_are_can_be_declared() -> None:
    assert {*UNMASKED, *WHOLE} <= set(KINDS)
    assert not set(UNMASKED) & set(WHOLE)
    assert all(UNMASKED.values())


def router(monkeypatch: pytest.MonkeyPatch, asked: list[m.Request], leader: Any = None) -> Any:
    """Return the router of a worker that answers every request with ``DOCUMENT``, or with the leader's URL."""

    def submit(request: m.Request) -> Future[m.Reply | m.Elsewhere]:
        asked.append(request)
        found: Future[m.Reply | m.Elsewhere] = Future()
        elsewhere = leader is not None and not isinstance(request, m.ReadRequest)
        found.set_result(m.Elsewhere("http://leader/") if elsewhere else reply_to(request))
        return found

    client = httpx.AsyncClient(transport=httpx.ASGITransport(leader) if leader else None)

    async def guard(request: Any) -> None:
        request.scope.setdefault("state", {})["principal"] = Principal("victor")

    return make_router(
        submit,
        client,
        guard=guard,
        gate=masking_gate(monkeypatch),
        metrics=lambda: b"up 1\n",
        workers=Workers(lambda: {"worker_id": "x:1", "leader": None, "knows": []}, Peers("http://x:1", client)),
    )


def sent(app: Any, method: str, path: str, body: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x:8083") as client:
            return await client.request(method, path, **({} if body is None else {"json": body}))

    return asyncio.run(send())


def test_no_path_shows_a_secret_unless_its_request_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[m.Request] = []
    app = router(monkeypatch, asked)
    without_request = set()
    for pattern, methods in app.paths():
        found = pattern.replace("{folder}/{file}", "connector/logs.js")
        path = re.sub(r"\{(\w+)\}", lambda part: PARTS.get(part[1], "0"), found)
        for method in methods:
            asked.clear()
            body = BODIES.get(f"{method} {pattern}", CONFIG if method in ("PUT", "PATCH") else None)
            if pattern.endswith("/stream"):  # its lines are those of GetLogs, page by page
                continue
            answer = sent(app, method, path, body)
            assert answer.status_code in (200, 201, 204), (method, pattern, answer.text)
            if not asked:
                without_request.add(pattern)
            elif not any(type(request) in UNMASKED for request in asked):
                assert CANARY not in answer.text, (method, pattern, answer.text)
    assert without_request == WITHOUT_REQUEST


def test_replies_of_other_workers_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader may be a Java worker, which has no roles."""
    leader = Starlette(routes=[Route("/{path:path}", lambda request: JSONResponse(DOCUMENT), methods=["PATCH"])])
    answer = sent(router(monkeypatch, [], leader), "PATCH", f"/connectors/{NAME}/config", {"topic": "u"})
    assert answer.status_code == 200
    assert answer.json()["config"]["topic"] == "t"
    assert CANARY not in answer.text


def test_a_document_is_masked_wherever_a_secret_is() -> None:
    shown = mask_json(DOCUMENT, passwords, connector=NAME)
    assert CANARY not in json.dumps({**shown, "configs": None})
    assert shown["anything"] == [{"deep": [{"api.key": "[hidden]", "token": "[hidden]"}, "http://[hidden]@host"]}]
    assert (shown["name"], shown["config"]["topic"], shown["versions"][0]["version"]) == (NAME, "t", 1)
    assert mask_json({"name": "a${b}", "x": [None, True, 1.5]}, passwords, connector="a${b}") == {
        "name": "a${b}",
        "x": [None, True, 1.5],
    }


def test_a_password_with_the_name_value_is_masked_beside_a_name() -> None:
    config = {"name": "orders", "connector.class": "X", "value": "hunter2"}
    shown = mask_json({"name": "orders", "config": config}, lambda config: {"value"}, connector="orders")
    assert shown == {"name": "orders", "config": {**config, "value": "[hidden]"}}


def test_without_roles_nothing_is_masked() -> None:
    assert CANARY in answered(RequestGate(), m.GetConfig(NAME))
    assert not Authentication().is_required
