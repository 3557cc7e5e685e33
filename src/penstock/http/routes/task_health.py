"""``?penstock=true`` with a connector's status: the health of its tasks, on all workers that run them.

Each worker knows the figures of its own tasks. The worker that gets the request asks the others (``?penstock=here``),
and lists those that don't answer in time as unreachable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.requests import Request

from penstock.http.routes.others import answer_of

Figures = Mapping[int, Mapping[str, Any]]
Restarts = Callable[[str, int | None], Mapping[str, Any] | None]
"""What the restart policy has done and will do about a task of a connector, or with None the connector itself."""
POLICY = "restart_policy"


@dataclass(frozen=True, slots=True)
class ConnectorHealth:
    """``own`` gives the figures of this worker's tasks of a connector; ``url`` is the worker's advertised URL.

    ``restarts`` is known to every worker of all tasks.
    """

    own: Callable[[str], Figures]
    url: str
    client: httpx.AsyncClient
    restarts: Restarts

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
        return self._with_restarts(status["name"], where, {"tasks": tasks, "unreachable": silent})

    def _with_restarts(self, name: str, tasks: Iterable[int], health: dict[str, Any]) -> dict[str, Any]:
        """With the field ``restart_policy`` for the connector and its tasks, also those without figures."""
        figures = {task["id"]: task for task in health["tasks"]}
        policy = {id: self.restarts(name, id) for id in tasks}
        shown = [
            {"id": id, **figures.get(id, {}), POLICY: restarts}
            for id, restarts in policy.items()
            if id in figures or restarts is not None
        ]
        return {"connector": {POLICY: self.restarts(name, None)}, **health, "tasks": shown}

    async def _ask(self, url: str, request: Request) -> Figures | None:
        target = url + request.scope["raw_path"].decode("latin-1")
        match await answer_of(self.client, target, {"penstock": "here"}, request):
            case {"penstock": {"tasks": list(tasks)}}:
                return {task["id"]: {key: value for key, value in task.items() if key != "id"} for task in tasks}
        return None
