"""The worker itself: ``/``, ``/health``, ``/metrics`` (Penstock's own), its plugins and its loggers.

Java: RootResource; ConnectorPluginsResource for ``/connector-plugins``, with plugins, their settings, and validation;
LoggingResource for ``/admin/loggers``, with levels of loggers on this worker or on all (KIP-495, KIP-976).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.responses import Response

from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.http import bodies
from penstock.http.access.gate import VIEW, RequestGate
from penstock.http.router import Ask, Call, Router
from penstock.observe import NUMBERS
from penstock.threads import in_thread

Metrics = Callable[[], bytes]
"""Returns all metrics in Prometheus' text format. Called on a thread."""

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
NOT_IN_TIME = "Worker was unable to handle this request and may be unable to handle other requests."
ALIVE = "Worker answers requests; GET /health says in which state it is."


def add_routes(router: Router, ask: Ask, ask_soon: Ask, metrics: Metrics | None, gate: RequestGate) -> None:
    """Add ``/``, ``/health`` and ``/metrics``. ``ask_soon`` waits for the shorter time that ``/health`` allows."""

    async def root(call: Call) -> m.Reply | Response:
        return await ask(call, local.GetRoot())

    async def health(call: Call) -> m.Reply | Response:
        try:
            answer = await ask_soon(call, m.GetHealth())
        except m.Refused as refused:
            if refused.status < 500:
                raise
            return m.Reply(500, {"status": "unhealthy", "message": NOT_IN_TIME})
        if call.flag("live") and isinstance(answer, m.Reply):
            return m.Reply(200, {"status": answer.body["status"], "message": ALIVE})
        return answer

    router.add("GET", "/", root, consumes=False)
    # A probe has no credentials, and the answer to it reveals nothing.
    router.add("GET", "/health", health, consumes=False, public=lambda http: Call(http, {}).flag("live"))
    if metrics is not None:
        _add_metrics(router, metrics, gate)


def _add_metrics(router: Router, metrics: Metrics, gate: RequestGate) -> None:
    """Add ``/metrics``. Plugins report their metrics and may hang, so one thread renders, and never two at a time."""
    rendering: asyncio.Future[bytes] | None = None

    async def render(call: Call) -> Response:
        nonlocal rendering
        gate.check(call.request, VIEW)
        if rendering is None or rendering.done():
            rendering = in_thread(metrics)
        return Response(await asyncio.shield(rendering), headers={"Content-Type": METRICS_TYPE})

    router.add("GET", "/metrics", render, consumes=False, produces="text/plain")


def add_plugin_routes(router: Router, ask: Ask) -> None:
    async def plugins(call: Call) -> m.Reply | Response:
        return await ask(call, local.ListPlugins(call.flag("connectorsOnly", default=True), call.flag("penstock")))

    async def plugin_config(call: Call) -> m.Reply | Response:
        versions = call.request.query_params.getlist("version")
        return await ask(call, local.GetPluginConfig(call.parts["plugin"], versions[0] if versions else None))

    async def validate(call: Call) -> m.Reply | Response:
        config = bodies.config(await bodies.document(call.request), "The configuration")
        return await ask(call, local.ValidateConfig(call.parts["plugin"], config, call.flag("penstock")))

    router.add("GET", "/connector-plugins", plugins)
    router.add("GET", "/connector-plugins/{plugin}/config", plugin_config)
    router.add("PUT", "/connector-plugins/{plugin}/config/validate", validate)


def add_logger_routes(router: Router, ask: Ask) -> None:
    async def all_loggers(call: Call) -> m.Reply | Response:
        return await ask(call, local.ListLoggers())

    async def one_logger(call: Call) -> m.Reply | Response:
        return await ask(call, local.GetLogger(call.parts["logger"]))

    async def set_level(call: Call) -> m.Reply | Response:
        body = bodies.config(await bodies.document(call.request), "The request")
        level = body.get("level")
        if level is None:
            raise m.Refused(400, "Desired 'level' parameter was not specified in request.")
        if not level:
            raise m.Refused(400, "Illegal null or empty Level name.")
        if level.strip().upper() not in NUMBERS:
            raise m.Refused(404, f"invalid log level '{level}'.")
        name = call.parts["logger"]
        if call.query("scope").lower() == "cluster":
            return await ask(call, m.SetClusterLogger(name, level))
        return await ask(call, local.SetLogger(name, level))

    router.add("GET", "/admin/loggers", all_loggers)
    router.add("GET", "/admin/loggers/{logger}", one_logger)
    router.add("PUT", "/admin/loggers/{logger}", set_level)
