"""The REST interface of a worker: Connect's, path by path (Java: RestServer and its resources).

Handlers parse a request into one of ``core.messages`` and hand it to the worker; the answer comes back as a
``Reply``, or as ``Elsewhere``, and is then asked of that other worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

import httpx
from starlette.responses import Response

from penstock.core.model import messages as m
from penstock.http import bodies
from penstock.http.forwarding import Forwarding
from penstock.http.openapi import document
from penstock.http.router import Call, Guard, Router
from penstock.http.routes import connectors, loggers
from penstock.http.routes.health import Health

Submit = Callable[[m.Request], Future[m.Reply | m.Elsewhere]]
Metrics = Callable[[], bytes]
"""Gives everything that is measured in Prometheus' text format; called on a thread."""

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
NOT_IN_TIME = "Worker was unable to handle this request and may be unable to handle other requests."


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds."""

    request: float = 90.0
    health: float = 10.0


@dataclass(frozen=True, slots=True)
class Ask:
    """Has a request answered here or by another worker. Raises Refused (500) if that takes too long."""

    submit: Submit
    forwarding: Forwarding
    timeout: float

    async def __call__(self, call: Call, request: m.Request) -> m.Reply | Response:
        answer = asyncio.wrap_future(self.submit(request))
        done, _ = await asyncio.wait({answer}, timeout=self.timeout)  # which does not cancel what is late
        if not done:
            raise m.Refused(500, "Request timed out")
        match answer.result():
            case m.Elsewhere(url=url):
                return await self.forwarding.to(url, call.request)
            case reply:
                return reply


def make_router(
    submit: Submit,
    client: httpx.AsyncClient,
    *,
    admin: bool = True,
    regular: bool = True,
    guard: Guard | None = None,
    metrics: Metrics | None = None,
    health: Health | None = None,
    timeouts: Timeouts | None = None,
) -> Router:
    """All paths of a listener; ``admin``: those of ``/admin``, ``regular``: all others.

    Requests are forwarded through ``client``.
    """
    timeouts, forwarding = timeouts or Timeouts(), Forwarding(client)
    ask = Ask(submit, forwarding, timeouts.request)
    router = Router(guard)
    if regular:
        _add_root(router, ask, Ask(submit, forwarding, timeouts.health))
        _add_plugins(router, ask)
        connectors.add_routes(router, ask, health)
        if metrics is not None:
            _add_metrics(router, metrics)
    if admin:
        loggers.add_routes(router, ask)
    document.add_route(router)
    return router


def _add_root(router: Router, ask: Ask, ask_soon: Ask) -> None:
    async def root(call: Call) -> m.Reply | Response:
        return await ask(call, m.GetRoot())

    async def health(call: Call) -> m.Reply | Response:
        try:
            return await ask_soon(call, m.GetHealth())
        except m.Refused:
            return m.Reply(500, {"status": "unhealthy", "message": NOT_IN_TIME})

    router.add("GET", "/", root, consumes=False)
    router.add("GET", "/health", health, consumes=False)


def _add_plugins(router: Router, ask: Ask) -> None:
    async def plugins(call: Call) -> m.Reply | Response:
        return await ask(call, m.ListPlugins(call.flag("connectorsOnly", default=True)))

    async def plugin_config(call: Call) -> m.Reply | Response:
        versions = call.request.query_params.getlist("version")
        return await ask(call, m.GetPluginConfig(call.parts["plugin"], versions[0] if versions else None))

    async def validate(call: Call) -> m.Reply | Response:
        config = bodies.config(await bodies.document(call.request), "The configuration")
        return await ask(call, m.ValidateConfig(call.parts["plugin"], config))

    router.add("GET", "/connector-plugins", plugins)
    router.add("GET", "/connector-plugins/{plugin}/config", plugin_config)
    router.add("PUT", "/connector-plugins/{plugin}/config/validate", validate)


def _add_metrics(router: Router, metrics: Metrics) -> None:
    async def render(call: Call) -> Response:
        return Response(await asyncio.to_thread(metrics), headers={"Content-Type": METRICS_TYPE})

    router.add("GET", "/metrics", render, consumes=False, produces="text/plain")
