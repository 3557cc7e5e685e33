"""``/``, ``/health`` and ``/metrics``: the worker itself (Java: RootResource; metrics are ours)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.responses import Response

from penstock.core.model import messages as m
from penstock.http.access.gate import VIEW, Gate
from penstock.http.router import Ask, Call, Router
from penstock.threads import in_thread

Metrics = Callable[[], bytes]
"""Returns all metrics in Prometheus' text format; called on a thread."""

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
NOT_IN_TIME = "Worker was unable to handle this request and may be unable to handle other requests."


def add_routes(router: Router, ask: Ask, ask_soon: Ask, metrics: Metrics | None, gate: Gate) -> None:
    """``ask_soon`` waits for the shorter time that ``/health`` allows."""

    async def root(call: Call) -> m.Reply | Response:
        return await ask(call, m.GetRoot())

    async def health(call: Call) -> m.Reply | Response:
        try:
            return await ask_soon(call, m.GetHealth())
        except m.Refused:
            return m.Reply(500, {"status": "unhealthy", "message": NOT_IN_TIME})

    router.add("GET", "/", root, consumes=False)
    router.add("GET", "/health", health, consumes=False)
    if metrics is not None:
        _add_metrics(router, metrics, gate)


def _add_metrics(router: Router, metrics: Metrics, gate: Gate) -> None:
    """Plugins say what their metrics are, and may hang: so it has a thread of its own, and never two of them."""
    rendering: asyncio.Future[bytes] | None = None

    async def render(call: Call) -> Response:
        nonlocal rendering
        gate.check(call.request, VIEW)
        if rendering is None or rendering.done():
            rendering = in_thread(metrics)
        return Response(await asyncio.shield(rendering), headers={"Content-Type": METRICS_TYPE})

    router.add("GET", "/metrics", render, consumes=False, produces="text/plain")
