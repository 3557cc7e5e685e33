"""Answer of one worker to ``GET /penstock/v1/attention``: the states of all connectors, which every worker has read,
and the rows that only it can know, those of the connectors that it runs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock import __version__
from penstock.core.attention.flapping import WINDOW_MS, Ends, flapping_rows
from penstock.core.attention.rows import NextStep, Row, ordered, parse
from penstock.core.attention.states import Part, Watched, state_rows
from penstock.core.config.attention import muted_in
from penstock.core.herder import Herder
from penstock.core.model.records import ConnectorStatus, TaskStatus
from penstock.core.model.state import ConfiguredConnector
from penstock.pipeline.trace import headline

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OwnRows:
    """The rows that one worker adds, and the sinks whose tasks on it have taken records lately."""

    rows: tuple[Row, ...] = ()
    busy: frozenset[str] = frozenset()


class Attention:
    """Called from any thread: what it reads is copied at once. ``own`` gives the rows of the sinks run here, each of
    ``more`` other rows that only this worker knows, ``ends`` the failures and losses since a time, ``polling`` the
    sources whose tasks here have had records lately.
    """

    def __init__(
        self,
        herder: Herder,
        own: Callable[[], OwnRows] = OwnRows,
        more: Sequence[Callable[[], Iterable[Row]]] = (),
        ends: Callable[[int], Ends] = lambda since_ms: {},
        polling: Callable[[], frozenset[str]] = frozenset,
        clock: Callable[[], float] = time.time,
        version: str = __version__,
    ) -> None:
        self._herder, self._own, self._more, self._ends, self._polling = herder, own, more, ends, polling
        self._clock, self._version = clock, version
        self._silent: dict[str, int] = {}
        """Times since which workers have not answered, by their ids."""

    def here(self) -> dict[str, Any]:
        """Return what the worker that answers asks of each worker, itself among them."""
        own = self._own()
        return {
            "worker_id": self._herder.settings.worker_id,
            "version": self._version,
            "rows": [row.to_json() for row in (*own.rows, *self._others())],
            "busy": sorted(own.busy | self._polling()),
        }

    def _others(self) -> Iterator[Row]:
        """Yield the rows of the other sources; one that fails hides none of the others."""
        for rows in self._more:
            try:
                yield from list(rows())
            except Exception as error:
                log.exception("Some rows of the attention list could not be made")
                why = f"Some problems that only worker {self._herder.settings.worker_id} knows could not be found: "
                step = NextStep("Look at the worker and its log", "penstock workers", "workers")
                yield Row("unknown", f"{why}{headline(error)}", step, worker=self._herder.settings.worker_id)

    def rows(self, answers: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return all rows as JSON; see ``found``."""
        return [row.to_json() for row in self.found(answers)]

    def found(self, answers: Mapping[str, Any]) -> list[Row]:
        """Return all rows, the most urgent first, from the answers of the members of the group to ``here``; None for
        one that has not answered.
        """
        now = int(self._clock() * 1000)
        found = {worker: _answer(worker, answer) for worker, answer in answers.items()}
        known = [each for each in found.values() if each is not None]
        silent = [worker for worker, each in found.items() if each is None]
        self._silent = {worker: self._silent.get(worker, now) for worker in silent}
        busy = {name for each in known for name in each.busy}
        watched = list(watched_connectors(self._herder))
        rows = [
            *flapping_rows(watched, self._ends(now - WINDOW_MS)),
            *state_rows(watched, answers.keys() if len(answers) > 1 or self._is_member() else (), now),
            *(_silent(worker, since) for worker, since in self._silent.items()),
            *(row for each in known for row in each.rows),
            *_versions({worker: each.version for worker, each in found.items() if each is not None}),
        ]
        rows = [row for row in rows if not self._is_muted(row)]
        return ordered(rows, busy.__contains__)

    def _is_muted(self, row: Row) -> bool:
        known = self._herder.state.connectors.get(row.connector or "")
        return known is not None and row.kind in muted_in(known.config)

    def _is_member(self) -> bool:
        return self._herder.membership.assignment is not None


def watched_connectors(herder: Herder) -> Iterator[Watched]:
    """Yield all connectors; called from any thread."""
    for name, connector in list(herder.state.connectors.items()):
        yield watched(herder, name, connector)


def watched(herder: Herder, name: str, connector: ConfiguredConnector) -> Watched:
    """Return a connector with its statuses; called from any thread."""
    state, own = herder.state, herder.statuses.connectors.get(name)
    of_tasks = [status for _, status in sorted(herder.statuses.tasks.get(name, {}).copy().items())]
    parts = tuple(_parts(herder, name, [*([] if own is None else [own]), *of_tasks]))
    tasks = len(connector.task_configs)
    return Watched(name, state.target_state(name), tasks, parts, state.target_times.get(name))


def _parts(herder: Herder, name: str, statuses: Iterable[ConnectorStatus | TaskStatus]) -> Iterator[Part]:
    for status in statuses:
        task = status.id.task if isinstance(status, TaskStatus) else None
        outlook = herder.restart_policy.outlook(name, task) if status.state == "FAILED" else None
        due = None if outlook is None else outlook.next_restart_ms
        yield Part(task, status.state or "", status.worker_id, status.trace, status.written_ms, due)


@dataclass(frozen=True, slots=True)
class _Answer:
    version: str
    rows: list[Row]
    busy: Collection[str]


def _answer(worker: str, answer: Any) -> _Answer | None:
    match answer:
        case {"worker_id": str(id), "version": str(version), "rows": rows, "busy": list(busy)} if id == worker:
            parsed = parse(rows)
            if parsed is not None and all(isinstance(name, str) for name in busy):
                return _Answer(version, parsed, busy)
    return None


def _silent(worker: str, since_ms: int) -> Row:
    why = (
        f"Worker {worker} does not answer, or is not of this version: what only it knows about its connectors, such as "
        "the lag of sinks, is missing here"
    )
    return Row(
        "unreachable",
        why,
        NextStep("Look at the worker and its log", "penstock workers", "workers"),
        None,
        (),
        worker,
        since_ms,
    )


def _versions(versions: Mapping[str, str]) -> Iterator[Row]:
    if len(set(versions.values())) > 1:
        listed = ", ".join(f"{worker} has {version}" for worker, version in sorted(versions.items()))
        yield Row(
            "versions",
            f"The workers have different versions: {listed}",
            NextStep("Upgrade the others", None, "workers"),
        )
