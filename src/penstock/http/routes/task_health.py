"""``?penstock=true`` with a connector's status: the health of its tasks, on all workers that run them.

Each worker knows the figures of its own tasks. The worker that gets the request asks the others (``?penstock=here``),
and lists those that don't answer in time as unreachable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.requests import Request

Figures = Mapping[int, Mapping[str, Any]]
PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class ConnectorHealth:
    """``own`` gives the figures of this worker's tasks of a connector; ``url`` is the worker's advertised URL."""

    own: Callable[[str], Figures]
    url: str
    client: httpx.AsyncClient

    async def of(self, status: Mapping[str, Any], request: Request, here: bool) -> dict[str, Any]:
        """The field for a connector with this status; ``here`` for the tasks on this worker only."""
        scheme, _, me = self.url.rstrip("/").partition("://")
        where = {task["id"]: task["worker_id"] for task in status["tasks"]}
        others = [] if here else sorted({worker for worker in where.values() if worker and worker != me})
        answers = await asyncio.gather(*(self._ask(f"{scheme}://{worker}", request) for worker in others))
        figures_of: dict[str, Figures | None] = {
            me: self.own(status["name"]),
            **dict(zip(others, answers, strict=True)),
        }
        tasks = [
            {"id": id, **figures[id]} for id, worker in where.items() if id in (figures := figures_of.get(worker) or {})
        ]
        silent = [worker for worker, answer in figures_of.items() if answer is None]
        return {"tasks": tasks, "unreachable": silent}

    async def _ask(self, url: str, request: Request) -> Figures | None:
        headers = {key: request.headers[key] for key in ("authorization",) if key in request.headers}
        target = url + request.scope["raw_path"].decode("latin-1")
        try:
            answer = await self.client.get(target, params={"penstock": "here"}, headers=headers, timeout=PATIENCE_S)
            tasks = answer.json()["penstock"]["tasks"] if answer.is_success else None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, LookupError, TypeError):
            return None
        if tasks is None:
            return None
        return {task["id"]: {key: value for key, value in task.items() if key != "id"} for task in tasks}
