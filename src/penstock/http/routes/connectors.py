"""``/connectors``: every request of a connector's life (Java: ConnectorsResource), and the requests of workers to the
leader (Java: InternalConnectResource).
"""

from __future__ import annotations

import base64
import binascii
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

from penstock.core.model import messages as m
from penstock.http import bodies
from penstock.http.access import audit
from penstock.http.access.authentication.principals import principal_of
from penstock.http.router import Ask, Call, Router
from penstock.http.routes.task_health import ConnectorHealth

INITIAL_STATES: dict[str, Any] = {"RUNNING": "STARTED", "PAUSED": "PAUSED", "STOPPED": "STOPPED"}
BLANKS = "".join(map(chr, range(33)))
"""Characters that Java's ``trim`` removes."""
CREATION = ("name", "config", "initial_state", "initial_offsets")
NO_OFFSETS = "Partitions / offsets need to be provided for an alter offsets request"


def add_routes(router: Router, ask: Ask, health: ConnectorHealth | None = None) -> None:
    """Add the routes below ``/connectors``. ``ask`` gets the reply from this worker or another one."""

    async def status(call: Call) -> m.Reply | Response:
        answer = await ask(call, m.GetStatus(call.name))
        wanted = call.query("penstock").lower()
        if health is None or wanted not in ("true", "here") or not isinstance(answer, m.Reply) or answer.status != 200:
            return answer
        figures = await health.of(answer.body, call.request, here=wanted == "here")
        return m.Reply(200, {**answer.body, "penstock": figures})

    async def listed(call: Call) -> m.Reply | Response:
        answer = await ask(call, m.ListConnectors(tuple(call.request.query_params.getlist("expand"))))
        wanted = call.query("penstock").lower()
        if health is None or wanted not in ("true", "here") or not isinstance(answer, m.Reply):
            return answer
        if not isinstance(answer.body, dict) or answer.status != 200:
            return answer
        return m.Reply(200, await health.listed(answer.body, call.request, here=wanted == "here"))

    def route(method: str, path: str, make: Callable[[Call], m.Request]) -> None:
        async def handler(call: Call) -> m.Reply | Response:
            return await ask(call, make(call))

        router.add(method, path, handler)

    def route_of_any_name(method: str, path: str, make: Callable[[Call], m.Request]) -> None:
        """Add a route that also replies for connectors that do not exist, unless the path is ambiguous."""

        async def handler(call: Call) -> m.Reply | Response:
            if call.ambiguous:
                known = await ask(call, m.GetConnector(call.name))
                if isinstance(known, m.Reply) and known.status == 404:
                    return known
            return await ask(call, make(call))

        router.add(method, path, handler)

    one = "/connectors/{name}"
    router.add("GET", "/connectors", listed)
    route("GET", one, lambda c: m.GetConnector(c.name))
    route("DELETE", one, lambda c: m.DeleteConnector(c.name))
    route("GET", f"{one}/config", lambda c: m.GetConfig(c.name))
    router.add("GET", f"{one}/status", status)
    route_of_any_name("GET", f"{one}/topics", lambda c: m.GetTopics(c.name))
    route_of_any_name("PUT", f"{one}/topics/reset", lambda c: m.ResetTopics(c.name))
    route("POST", f"{one}/restart", lambda c: m.RestartConnector(c.name, c.flag("includeTasks"), c.flag("onlyFailed")))
    route("PUT", f"{one}/pause", lambda c: m.SetTargetState(c.name, "PAUSED"))
    route("PUT", f"{one}/resume", lambda c: m.SetTargetState(c.name, "STARTED"))
    route("PUT", f"{one}/stop", lambda c: m.StopConnector(c.name))
    route("GET", f"{one}/tasks", lambda c: m.GetTasks(c.name))
    route("GET", f"{one}/tasks/{{task}}/status", lambda c: m.GetTaskStatus(c.name, c.number("task")))
    route("POST", f"{one}/tasks/{{task}}/restart", lambda c: m.RestartTask(c.name, c.number("task")))
    route("GET", f"{one}/offsets", lambda c: m.GetOffsets(c.name))
    route("DELETE", f"{one}/offsets", lambda c: m.ResetOffsets(c.name))
    _add_routes_with_bodies(router, ask)
    _add_routes_of_workers(router, ask)


def _add_routes_with_bodies(router: Router, ask: Ask) -> None:
    async def create(call: Call) -> m.Reply | Response:
        request = await bodies.read(call.request, creation)
        return with_location(call, await ask(call, request), request.name)

    async def put_config(call: Call) -> m.Reply | Response:
        config = bodies.config(await bodies.document(call.request), "The configuration")
        return with_location(call, await ask(call, m.PutConfig(call.name, named(call.name, config))), call.name)

    async def patch_config(call: Call) -> m.Reply | Response:
        body = await bodies.document(call.request, required=False)
        if body is None:  # an unknown connector takes precedence over a missing patch
            known = await ask(call, m.GetConnector(call.name))
            if isinstance(known, m.Reply) and known.status == 404:
                return known
        return await ask(call, m.PatchConfig(call.name, bodies.config(body, "The patch")))

    async def alter_offsets(call: Call) -> m.Reply | Response:
        return await ask(call, m.AlterOffsets(call.name, await bodies.read(call.request, alteration)))

    router.add("POST", "/connectors", create)
    router.add("PUT", "/connectors/{name}/config", put_config)
    router.add("PATCH", "/connectors/{name}/config", patch_config)
    router.add("PATCH", "/connectors/{name}/offsets", alter_offsets)


def alteration(body: Any) -> bodies.Pairs:
    """Return the changes that a body of ``PATCH …/offsets`` requests."""
    pairs = bodies.offset_pairs(bodies.members(body, "The request", "offsets").get("offsets"))
    if pairs is None:
        raise m.Refused(400, NO_OFFSETS)
    return pairs


def creation(body: Any) -> m.CreateConnector:
    """Return the request of a body of ``POST /connectors``. Names are trimmed; ``initial_offsets`` is KIP-995."""
    given = bodies.members(body, "The request", *CREATION)
    name = (bodies.text(given.get("name"), "'name'") or "").strip(BLANKS)
    config = bodies.config(given.get("config"), "'config'")
    return m.CreateConnector(name, named(name, config), *beginning(given))


def beginning(given: Mapping[str, Any]) -> tuple[Any, bodies.Pairs | None]:
    """Return the initial state and offsets of a body, if it has them. Raises Refused."""
    state = bodies.text(given.get("initial_state"), "'initial_state'")
    if state is not None and state.upper() not in INITIAL_STATES:
        raise m.Refused(400, f"Unknown initial_state '{state}'; it may be {', '.join(INITIAL_STATES)}")
    pairs = bodies.offset_pairs(given.get("initial_offsets"))
    return INITIAL_STATES[state.upper()] if state else None, pairs


def named(name: str, config: dict[str, str | None]) -> dict[str, str | None]:
    """Return the configuration with the connector's name in it. Raises Refused if it has another name."""
    own = config.get("name")
    if own is not None and own != name:
        raise m.Refused(400, f"Connector name configuration ({own}) doesn't match connector name in the URL ({name})")
    return {**config, "name": name}


def with_location(call: Call, answer: m.Reply | Response, name: str) -> m.Reply | Response:
    """Add the URL of the new connector to a reply with 201, on this worker even if another one created it."""
    if isinstance(answer, Response):
        if answer.status_code == 201:
            answer.headers["Location"] = location(call, name)
        return answer
    return m.Reply(201, answer.body, {"Location": location(call, name)}) if answer.status == 201 else answer


def location(call: Call, name: str) -> str:
    path = urllib.parse.quote(name, safe=":@!$&'()*+,=-._~")
    return f"{str(call.request.base_url).rstrip('/')}/connectors/{path}"


def _add_routes_of_workers(router: Router, ask: Ask) -> None:
    """Add requests that are signed, and not forwarded as users' requests are (KIP-507, KIP-618).

    The signature is over the body's bytes, whatever their content type. It is checked before the body is parsed, and
    again when the request is carried out.
    """

    async def put_task_configs(call: Call) -> m.Reply | Response:
        signed = await signature(call)
        checked = await ask(call, m.CheckSignature(signed))
        if not isinstance(checked, m.Reply) or checked.status != 204:
            return checked
        sent = await bodies.parsed(signed.body, halves=True)  # as in the name of a file that is no UTF-8
        if not isinstance(sent, list):
            raise m.Refused(400, "The request must be a list of task configurations")
        configs = [bodies.config(config, "A task configuration") for config in sent]
        texts = tuple({k: v for k, v in config.items() if v is not None} for config in configs)
        return await ask(call, m.PutTaskConfigs(call.name, texts, signed))

    async def fence(call: Call) -> m.Reply | Response:
        return await ask(call, m.FenceTasks(call.name, await signature(call)))

    router.add("POST", "/connectors/{name}/tasks", put_task_configs, consumes=False, guarded=False)
    router.add("PUT", "/connectors/{name}/fence", fence, consumes=False, guarded=False)


async def signature(call: Call) -> m.Signature:
    headers = call.request.headers
    # Several of a kind are one text with commas, as in Java, and so no signature.
    header, algorithm = (
        ",".join(given) if (given := headers.getlist(name)) else None
        for name in (m.SIGNATURE_HEADER, m.ALGORITHM_HEADER)
    )
    try:
        signed = None if header is None else base64.b64decode(header, validate=True)
    except (binascii.Error, ValueError):
        audit.write(principal_of(call.request), f"{call.request.method} {call.request.url.path}", 400)
        raise m.Refused(400, "Internal request signature is not valid Base64") from None
    return m.Signature(await call.request.body(), signed, algorithm)
