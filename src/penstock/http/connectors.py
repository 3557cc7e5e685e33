"""``/connectors``: every request of a connector's life (Java: ConnectorsResource, InternalConnectResource)."""

from __future__ import annotations

import base64
import binascii
import urllib.parse
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import Response

from penstock.core import messages as m
from penstock.http import bodies
from penstock.http.router import Call, Router

Ask = Callable[[Call, m.Request], Awaitable[m.Reply | Response]]
INITIAL_STATES: dict[str, Any] = {"RUNNING": "STARTED", "PAUSED": "PAUSED", "STOPPED": "STOPPED"}
NO_OFFSETS = "Partitions / offsets need to be provided for an alter offsets request"


def add_routes(router: Router, ask: Ask) -> None:
    """``ask`` answers a request here or has it answered by another worker."""

    def route(method: str, path: str, make: Callable[[Call], m.Request]) -> None:
        async def handler(call: Call) -> m.Reply | Response:
            return await ask(call, make(call))

        router.add(method, path, handler)

    async def create(call: Call) -> m.Reply | Response:
        request = creation(await bodies.document_as_text(call.request))
        return with_location(call, await ask(call, request), request.name)

    async def put_config(call: Call) -> m.Reply | Response:
        config = bodies.config(await bodies.document_as_text(call.request), "The configuration")
        return with_location(call, await ask(call, m.PutConfig(call.name, named(call.name, config))), call.name)

    async def patch_config(call: Call) -> m.Reply | Response:
        patch = bodies.config(await bodies.document_as_text(call.request), "The patch")
        return await ask(call, m.PatchConfig(call.name, patch))

    async def alter_offsets(call: Call) -> m.Reply | Response:
        body = bodies.members(await bodies.document(call.request), "The request", "offsets")
        pairs = bodies.offset_pairs(body.get("offsets"))
        if pairs is None:
            raise m.Refused(400, NO_OFFSETS)
        return await ask(call, m.AlterOffsets(call.name, pairs))

    async def put_task_configs(call: Call) -> m.Reply | Response:
        sent = await bodies.document_as_text(call.request)
        if not isinstance(sent, list):
            raise m.Refused(400, "The request must be a list of task configurations")
        configs = [bodies.config(config, "A task configuration") for config in sent]
        texts = tuple({k: v for k, v in config.items() if v is not None} for config in configs)
        return await ask(call, m.PutTaskConfigs(call.name, texts, await signature(call)))

    async def fence(call: Call) -> m.Reply | Response:
        return await ask(call, m.FenceTasks(call.name, await signature(call)))

    one = "/connectors/{name}"
    route("GET", "/connectors", lambda c: m.ListConnectors(tuple(c.request.query_params.getlist("expand"))))
    router.add("POST", "/connectors", create)
    route("GET", one, lambda c: m.GetConnector(c.name))
    route("DELETE", one, lambda c: m.DeleteConnector(c.name))
    route("GET", f"{one}/config", lambda c: m.GetConfig(c.name))
    router.add("PUT", f"{one}/config", put_config)
    router.add("PATCH", f"{one}/config", patch_config)
    route("GET", f"{one}/status", lambda c: m.GetStatus(c.name))
    route("GET", f"{one}/topics", lambda c: m.GetTopics(c.name))
    route("PUT", f"{one}/topics/reset", lambda c: m.ResetTopics(c.name))
    route("POST", f"{one}/restart", lambda c: m.RestartConnector(c.name, c.flag("includeTasks"), c.flag("onlyFailed")))
    route("PUT", f"{one}/pause", lambda c: m.SetTargetState(c.name, "PAUSED"))
    route("PUT", f"{one}/resume", lambda c: m.SetTargetState(c.name, "STARTED"))
    route("PUT", f"{one}/stop", lambda c: m.StopConnector(c.name))
    route("GET", f"{one}/tasks", lambda c: m.GetTasks(c.name))
    router.add("POST", f"{one}/tasks", put_task_configs)
    route("GET", f"{one}/tasks/{{task}}/status", lambda c: m.GetTaskStatus(c.name, c.number("task")))
    route("POST", f"{one}/tasks/{{task}}/restart", lambda c: m.RestartTask(c.name, c.number("task")))
    route("GET", f"{one}/offsets", lambda c: m.GetOffsets(c.name))
    router.add("PATCH", f"{one}/offsets", alter_offsets)
    route("DELETE", f"{one}/offsets", lambda c: m.ResetOffsets(c.name))
    router.add("PUT", f"{one}/fence", fence)


def creation(body: Any) -> m.CreateConnector:
    """What ``POST /connectors`` asks for. Names are trimmed; ``initial_offsets`` is KIP-995."""
    given = bodies.members(body, "The request", "name", "config", "initial_state", "initial_offsets")
    name = (bodies.text(given.get("name"), "'name'") or "").strip()
    config = bodies.config(given.get("config"), "'config'")
    state = bodies.text(given.get("initial_state"), "'initial_state'")
    if state is not None and state.upper() not in INITIAL_STATES:
        raise m.Refused(400, f"Unknown initial_state '{state}'; it may be {', '.join(INITIAL_STATES)}")
    pairs = bodies.offset_pairs(given.get("initial_offsets"))
    return m.CreateConnector(name, named(name, config), INITIAL_STATES[state.upper()] if state else None, pairs)


def named(name: str, config: dict[str, str | None]) -> dict[str, str | None]:
    """The configuration with the connector's name in it. Raises Refused if it has another."""
    own = config.get("name")
    if "name" in config and own != name:
        shown = "null" if own is None else own
        raise m.Refused(400, f"Connector name configuration ({shown}) doesn't match connector name in the URL ({name})")
    return {**config, "name": name}


def with_location(call: Call, answer: m.Reply | Response, name: str) -> m.Reply | Response:
    """201 says where the new connector is."""
    if isinstance(answer, m.Reply) and answer.status == 201:
        path = urllib.parse.quote(name, safe="/:@!$&'()*+,;=-._~")
        location = f"{str(call.request.base_url).rstrip('/')}/connectors/{path}"
        return m.Reply(201, answer.body, {**answer.headers, "Location": location})
    return answer


async def signature(call: Call) -> m.Signature:
    header, algorithm = call.request.headers.get(m.SIGNATURE_HEADER), call.request.headers.get(m.ALGORITHM_HEADER)
    try:
        signed = None if header is None else base64.b64decode(header, validate=True)
    except binascii.Error:
        raise m.Refused(400, "Internal request signature is not valid Base64") from None
    return m.Signature(await call.request.body(), signed, algorithm)
