"""``?penstock=true`` with a connector's status: the health of its tasks, on all workers that run them; with the list of
connectors the few figures that show which are in trouble.

Each worker knows the figures of its own tasks. The worker that gets the request asks the other members of the group
that run some (``?penstock=here``). It lists as unreachable those that don't answer in time, answer what is no health,
or are no members any more. Figures of kinds that it does not know are passed on.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import Request

from penstock.http.forwarding import Peers

Figures = Mapping[int, Mapping[str, Any]]
Restarts = Callable[[str, int | None], Mapping[str, Any] | None]
"""Returns what the restart policy has done and will do about a task of a connector, or with None the connector itself.
"""
POLICY = "restart_policy"
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class ConnectorHealth:
    """``own`` gives the figures of this worker's tasks of a connector. ``restarts`` is known to every worker of all
    tasks.
    """

    own: Callable[[str], Figures]
    peers: Peers
    restarts: Restarts
    in_short: Callable[[], Mapping[str, Figures]] = dict
    """Returns the figures of this worker's tasks for a list, by connector."""

    async def of(self, status: Mapping[str, Any], request: Request, here: bool) -> dict[str, Any]:
        """Return the field for a connector with this status; ``here`` for the tasks on this worker only."""
        where = {task["id"]: task["worker_id"] for task in status["tasks"]}

        async def ask(url: str) -> Figures | None:
            path = request.scope["raw_path"].decode("latin-1")
            match await self.peers.ask(url, path, {"penstock": "here"}, request):
                case {"penstock": {"tasks": tasks}}:
                    return _by_id(tasks)
            return None

        figures_of: dict[str, Figures | None] = {
            self.peers.id: self.own(status["name"]),
            **await self._asked([] if here else where.values(), ask),
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
        own, known = self.in_short(), {name: each["status"] for name, each in shown.items() if "status" in each}
        if here:
            known = {name: status for name, status in known.items() if name in own}
        workers = [task["worker_id"] for status in known.values() for task in status["tasks"]]

        async def ask(url: str) -> Mapping[str, Figures] | None:
            params = {"expand": "status", "penstock": "here"}
            return _by_connector(await self.peers.ask(url, "/connectors", params, request))

        found: dict[str, Mapping[str, Figures] | None] = {
            self.peers.id: own,
            **await self._asked([] if here else workers, ask),
        }

        def health(status: Mapping[str, Any]) -> dict[str, Any]:
            where = {task["id"]: task["worker_id"] for task in status["tasks"]}
            figures = {id: (found.get(worker) or {}).get(status["name"], {}) for id, worker in where.items()}
            silent = sorted({worker for worker in where.values() if found.get(worker, {}) is None})
            tasks = [{"id": id, **figures[id][id]} for id in where if id in figures[id]]
            return {"tasks": tasks, "unreachable": silent}

        with_health = {name: {"status": {**status, "penstock": health(status)}} for name, status in known.items()}
        return with_health if here else {name: each | with_health.get(name, {}) for name, each in shown.items()}

    async def _asked(
        self, workers: Collection[str], ask: Callable[[str], Awaitable[_Answer | None]]
    ) -> dict[str, _Answer | None]:
        """Ask the workers with these ids, but for this one; None for those that give no answer or are no members."""
        wanted = sorted({worker for worker in workers if worker and worker != self.peers.id})
        urls = await self.peers.others() if wanted else {}
        answers = await asyncio.gather(*(ask(urls[worker]) for worker in wanted if worker in urls))
        found: dict[str, _Answer | None] = dict.fromkeys(wanted)
        return found | dict(zip([each for each in wanted if each in urls], answers, strict=True))

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


def _by_connector(answer: Any) -> dict[str, Figures] | None:
    """Return figures by connector, none for a worker that does not know such figures, such as Java's; None for what is
    no such list.
    """
    if not isinstance(answer, dict):
        return None
    found: dict[str, Figures] = {}
    for name, shown in answer.items():
        match shown:
            case {"status": {"penstock": {"tasks": tasks}}}:
                figures = _by_id(tasks)
                if figures is None:
                    return None
                found[name] = figures
            case {"status": {"penstock": _}}:
                return None
    return found


def _by_id(tasks: Any) -> Figures | None:
    """Return the figures of another worker's tasks by their numbers; None if they are not of the form of ours."""
    if not isinstance(tasks, list) or not all(isinstance(task, dict) and _is_whole(task.get("id")) for task in tasks):
        return None
    for task in tasks:
        if any(not is_valid(task[name]) for name, is_valid in _FORMS.items() if task.get(name) is not None):
            return None
    return {task["id"]: {key: value for key, value in task.items() if key != "id"} for task in tasks}


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_place(value: Any) -> bool:
    return isinstance(value, dict) and all(
        is_valid(value[name]) for name, is_valid in _FORMS_OF_PLACE.items() if value.get(name) is not None
    )


_FORMS_OF_PLACE: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("direction", "topic", "source", "unit"), _is_text),
    **dict.fromkeys(("partition", "records", "end", "behind", "per_second"), _is_number),
}


_FORMS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("records", "records_waiting", "records_behind", "restarts"), _is_whole),
    **dict.fromkeys(("records_per_second", "seconds_behind", "newest_record_age_seconds"), _is_number),
    **dict.fromkeys(("batch_ms_avg", "batch_ms_max"), _is_number),
    **dict.fromkeys(("retrying", "stalled"), _is_flag),
    **dict.fromkeys(("slowest_stage", "sent_by"), _is_text),
    "stages": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    "places": lambda value: isinstance(value, list) and all(map(_is_place, value)),
    "last_error": lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
}
"""Forms of the figures that commands and the page read; each may be null."""
