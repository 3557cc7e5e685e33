"""The REST interface of a worker (Java: RestServer and its resources).

A request passes ``access`` (headers, origins), the ``router`` (path, credentials, content types) and a handler of
``routes``, which makes a message of ``core.model.messages`` of it. ``AskWorker`` submits that to the worker; the result
is a ``Reply``, or ``Elsewhere``: then the request is forwarded to that other worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

import httpx
from starlette.responses import Response

from penstock.core.model import messages as m
from penstock.http.access.authentication.forwarded import Forwarded
from penstock.http.access.gate import RequestGate
from penstock.http.access.hosts import AllowedHosts
from penstock.http.access.limits import RestLimits
from penstock.http.bulk import BulkActions, CandidateSource
from penstock.http.forwarding import Forwarding, Peers
from penstock.http.openapi import document
from penstock.http.router import Call, Guard, Router, render
from penstock.http.routes import attention as attention_routes
from penstock.http.routes import (
    bulk,
    checks,
    connectors,
    history,
    offset_plans,
    records,
    skips,
    topic_records,
    ui,
    worker,
)
from penstock.http.routes.attention import AttentionSource
from penstock.http.routes.task_health import ConnectorHealth
from penstock.http.routes.worker import Metrics
from penstock.http.routes.workers import Workers

Submit = Callable[[m.Request], Future[m.Reply | m.Elsewhere]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Time limits of requests, in seconds."""

    request: float = 90.0
    health: float = 10.0


@dataclass(frozen=True, slots=True)
class AskWorker:
    """Gets the reply to a request from this worker or another one. Raises Refused (500) if that takes too long."""

    submit: Submit
    forwarding: Forwarding
    timeout: float
    gate: RequestGate

    async def __call__(self, call: Call, request: m.Request) -> m.Reply | Response:
        answer = await self.gate(call.request, request, lambda message: self._ask(call, message))
        if call.ambiguous and isinstance(answer, m.Reply) and answer.status == 404 and "name" in call.parts:
            known = await self._ask(call, m.GetConnector(call.name))
            if isinstance(known, m.Reply) and known.status == 200:
                return render(answer)  # something else is not there: the router leaves it as it is
        return answer

    async def _ask(self, call: Call, request: m.Request) -> m.Reply | Response:
        answer = asyncio.wrap_future(self.submit(request))
        done, _ = await asyncio.wait({answer}, timeout=self.timeout)  # this does not cancel a late answer
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
    page: bool = True,
    guard: Guard | None = None,
    gate: RequestGate | None = None,
    forwarded: Forwarded | None = None,
    peers: Peers | None = None,
    metrics: Metrics | None = None,
    health: ConnectorHealth | None = None,
    workers: Workers | None = None,
    attention: AttentionSource | None = None,
    candidates: CandidateSource | None = None,
    timeouts: Timeouts | None = None,
    max_body: int = RestLimits().max_body,
    clean: Callable[[str], str] = str,
    hosts: AllowedHosts | None = None,
) -> Router:
    """Return a router with the paths of a listener; ``admin``: those of ``/admin``, ``regular``: all others; ``page``:
    ``/ui`` among them. ``clean`` removes secrets from the messages of errors.

    Requests are forwarded through ``client``.
    """
    timeouts, forwarding = timeouts or Timeouts(), Forwarding(client, forwarded or Forwarded())
    gate = gate or RequestGate()
    ask = AskWorker(submit, forwarding, timeouts.request, gate)
    router = Router(guard, max_body, clean, hosts)
    if regular:
        worker.add_routes(router, ask, AskWorker(submit, forwarding, timeouts.health, gate), metrics, gate)
        worker.add_plugin_routes(router, ask)
        connectors.add_routes(router, ask, health)
        history.add_routes(router, ask)
        records.add_preview_route(router, ask)
        checks.add_routes(router, ask)
        records.add_dead_letter_routes(router, ask)
        skips.add_skip_routes(router, ask)
        offset_plans.add_route(router, ask)
        topic_records.add_route(router, ask)
        if workers is not None:
            workers.add_route(router, gate)
        if attention is not None and peers is not None:
            attention_routes.add_route(router, gate, attention, peers)
        if candidates is not None and peers is not None:
            bulk.add_routes(router, BulkActions(ask, gate, candidates, clean), peers)
        ui.add_principal(router, gate)
        if page:
            ui.add_routes(router)
        history.add_log_routes(router, ask, peers)
    if admin:
        worker.add_logger_routes(router, ask)
    document.add_route(router)
    return router
