"""The REST interface of a worker: Connect's, path by path (Java: RestServer and its resources).

Handlers parse a request into one of ``core.messages`` and hand it to the worker; the answer comes back as a
``Reply``, or as ``Elsewhere``, and is then asked of that other worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

import httpx
from starlette.responses import Response

from penstock.core import messages as m
from penstock.http import bodies, connectors
from penstock.http.forwarding import Forwarding
from penstock.http.router import Call, Router

Submit = Callable[[m.Request], Future[m.Reply | m.Elsewhere]]
REQUEST_TIMEOUT_S = 90.0


def make_router(submit: Submit, client: httpx.AsyncClient, *, admin: bool = True) -> Router:
    """All paths of a listener; ``admin``: with those of ``/admin``. Requests are forwarded through ``client``."""
    forwarding = Forwarding(client)

    async def ask(call: Call, request: m.Request) -> m.Reply | Response:
        try:
            answer = await asyncio.wait_for(asyncio.wrap_future(submit(request)), REQUEST_TIMEOUT_S)
        except TimeoutError:
            raise m.Refused(500, "Request timed out") from None
        if isinstance(answer, m.Elsewhere):
            return await forwarding.to(answer.url, call.request)
        return answer

    async def root(call: Call) -> m.Reply | Response:
        return await ask(call, m.GetRoot())

    async def health(call: Call) -> m.Reply | Response:
        return await ask(call, m.GetHealth())

    async def plugins(call: Call) -> m.Reply | Response:
        everything = call.request.query_params.get("connectorsOnly", "true").lower() != "true"
        return await ask(call, m.ListPlugins(connectors_only=not everything))

    async def plugin_config(call: Call) -> m.Reply | Response:
        return await ask(call, m.GetPluginConfig(call.parts["plugin"]))

    async def validate(call: Call) -> m.Reply | Response:
        config = bodies.config(await bodies.document_as_text(call.request), "The configuration")
        return await ask(call, m.ValidateConfig(call.parts["plugin"], config))

    router = Router()
    router.add("GET", "/", root)
    router.add("GET", "/health", health)
    router.add("GET", "/connector-plugins", plugins)
    router.add("GET", "/connector-plugins/{plugin}/config", plugin_config)
    router.add("PUT", "/connector-plugins/{plugin}/config/validate", validate)
    connectors.add_routes(router, ask)
    if admin:
        _add_loggers(router, ask)
    return router


def _add_loggers(router: Router, ask: connectors.Ask) -> None:
    async def all_loggers(call: Call) -> m.Reply | Response:
        return await ask(call, m.ListLoggers())

    async def one_logger(call: Call) -> m.Reply | Response:
        return await ask(call, m.GetLogger(call.parts["logger"]))

    async def set_level(call: Call) -> m.Reply | Response:
        body = bodies.config(await bodies.document_as_text(call.request), "The request")
        level = body.get("level")
        if level is None:
            raise m.Refused(400, "Desired 'level' parameter was not specified in request.")
        name, scope = call.parts["logger"], call.request.query_params.get("scope", "worker").lower()
        if level.upper() not in LEVELS:
            raise m.Refused(404, f"invalid log level '{level}'.")
        if scope == "cluster":
            return await ask(call, m.SetClusterLogger(name, level.upper()))
        return await ask(call, m.SetLogger(name, level.upper()))

    router.add("GET", "/admin/loggers", all_loggers)
    router.add("GET", "/admin/loggers/{logger}", one_logger)
    router.add("PUT", "/admin/loggers/{logger}", set_level)


LEVELS = ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL")
