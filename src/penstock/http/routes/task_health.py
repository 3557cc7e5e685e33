"""``?penstock=true`` with a connector's status: the health of its tasks, on all workers that run them; with the list of
connectors the few figures that show which are in trouble.

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

from penstock.http.forwarding import answer_of

Figures = Mapping[int, Mapping[str, Any]]
Restarts = Callable[[str, int | None], Mapping[str, Any] | None]
"""Returns what the restart policy has done and will do about a task of a connector, or with None the connector itself.
"""
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
    in_short: Callable[[], Mapping[str, Figures]] = dict
    """Returns the figures of this worker's tasks for a list, by connector."""

    async def of(self, status: Mapping[str, Any], request: Request, here: bool) -> dict[str, Any]:
        """Return the field for a connector with this status; ``here`` for the tasks on this worker only."""
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

    async def listed(self, shown: Mapping[str, Any], request: Request, here: bool) -> dict[str, Any]:
        """Return connectors with their statuses, as a list shows them; ``here`` for those with tasks on this worker
        only.
        """
        scheme, _, me = self.url.rstrip("/").partition("://")
        own, known = self.in_short(), {name: each["status"] for name, each in shown.items() if "status" in each}
        if here:
            known = {name: status for name, status in known.items() if name in own}
        workers = {task["worker_id"] for status in known.values() for task in status["tasks"]}
        others = [] if here else sorted(worker for worker in workers if worker and worker != me)
        answers = await asyncio.gather(*(self._ask_all(f"{scheme}://{worker}", request) for worker in others))
        found: dict[str, Mapping[str, Figures] | None] = {me: own, **dict(zip(others, answers, strict=True))}

        def health(status: Mapping[str, Any]) -> dict[str, Any]:
            where = {task["id"]: task["worker_id"] for task in status["tasks"]}
            figures = {id: (found.get(worker) or {}).get(status["name"], {}) for id, worker in where.items()}
            silent = sorted({worker for worker in where.values() if found.get(worker, {}) is None})
            tasks = [{"id": id, **figures[id][id]} for id in where if id in figures[id]]
            return {"tasks": tasks, "unreachable": silent}

        with_health = {name: {"status": {**status, "penstock": health(status)}} for name, status in known.items()}
        return with_health if here else {name: each | with_health.get(name, {}) for name, each in shown.items()}

    def _with_restarts(self, name: str, tasks: Iterable[int], health: dict[str, Any]) -> dict[str, Any]:
        """Add the field ``restart_policy`` for the connector and its tasks, also for those without figures."""
        figures = {task["id"]: task for task in health["tasks"]}
        policy = {id: self.restarts(name, id) for id in tasks}
        shown = [
            {"id": id, **figures.get(id, {}), POLICY: restarts}
            for id, restarts in policy.items()
            if id in figures or restarts is not None
        ]
        return {"connector": {POLICY: self.restarts(name, None)}, **health, "tasks": shown}

    async def _ask_all(self, url: str, request: Request) -> Mapping[str, Figures] | None:
        params = {"expand": "status", "penstock": "here"}
        answer = await answer_of(self.client, f"{url}/connectors", params, request)
        return _by_connector(answer) if isinstance(answer, dict) else None

    async def _ask(self, url: str, request: Request) -> Figures | None:
        target = url + request.scope["raw_path"].decode("latin-1")
        match await answer_of(self.client, target, {"penstock": "here"}, request):
            case {"penstock": {"tasks": list(tasks)}}:
                return _by_id(tasks)
        return None


def _by_connector(answer: Mapping[str, Any]) -> dict[str, Figures]:
    """Return figures by connector; none for a worker that does not know such figures, such as Java's."""
    statuses = {name: shown.get("status", {}) for name, shown in answer.items()}
    return {name: _by_id(status["penstock"]["tasks"]) for name, status in statuses.items() if "penstock" in status}


def _by_id(tasks: Iterable[Mapping[str, Any]]) -> Figures:
    return {task["id"]: {key: value for key, value in task.items() if key != "id"} for task in tasks}
