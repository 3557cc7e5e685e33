"""The history of connectors on this worker: read by every worker, written by the leader.

A standalone worker keeps it in memory, so that it begins when the worker starts. So does a worker that cannot use the
history topic, which is no reason to stop working.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Self

from penstock.core.attention.alerts import StoredEntry
from penstock.core.attention.flapping import WINDOW_MS, End
from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.core.model.events import LoopEvent
from penstock.core.status.losses import STARTED_AGAIN
from penstock.history.entries import ConnectorVersion, Entry, HistoryEvent, difference
from penstock.history.recorder import Recorder
from penstock.kafka.storage.history import SETTING, HistoryStore
from penstock.settings import WorkerSettings

log = logging.getLogger(__name__)

KEEP_S = 10.0
"""Seconds to wait until what is to be kept has been read back."""
RETENTION = "penstock.history.retention.ms"
HistoryRequest = local.ListVersions | local.GetVersion | local.CompareVersions | local.ListEvents
Submit = Callable[[local.LocalRequest | m.HerderRequest], Future[m.Reply | m.Elsewhere]]
NO_HISTORY = f"This worker keeps no history: {SETTING} is empty"


def now_ms() -> int:
    return int(time.time() * 1000)


class History:
    """``observe`` is called by the worker's loop; everything else by any thread."""

    def __init__(self, retention_ms: int, is_leader: Callable[[], bool] = lambda: True, on: bool = True) -> None:
        """Keep the history in memory; see ``of``."""
        self._recorder = Recorder(retention_ms)
        self._lock = threading.Lock()
        self._is_leader, self._on = is_leader, on
        self._has_read = self._writing = False
        self._problem: str | None = None
        """Why entries are only kept in memory."""
        self._store: HistoryStore | None = None
        self._watch: Callable[[Sequence[StoredEntry]], None] = lambda entries: None

    @classmethod
    def of(cls, settings: WorkerSettings, is_leader: Callable[[], bool]) -> Self:
        """Return the history as the worker's settings define it."""
        retention_ms = settings.values[RETENTION]
        on = bool(settings.config.get(SETTING, "by default").strip())
        history = cls(retention_ms, is_leader, on)
        if on and settings.distributed:
            history._store = HistoryStore(
                settings.config,
                retention_ms,
                history._read,
                on_caught_up=history._caught_up,
                on_failed=history._failed,
            )
        return history

    def start(self) -> None:
        if self._store is not None:
            self._store.start()

    def close(self) -> None:
        if self._store is not None:
            self._store.close()

    def observe(self, event: LoopEvent) -> None:
        """Take any event of the loop, in order; the leader writes what is missing."""
        if not self._on:
            return
        with self._lock:
            self._recorder.observe(event, now_ms())
            in_memory = self._store is None or self._problem is not None
            if not in_memory and (self._writing or not self._has_read or not self._is_leader()):
                return
            due = self._recorder.due()
            if in_memory:
                self._recorder.replay(due, now_ms())
                return
            self._writing = bool(due)
        if due and self._store is not None:
            self._store.append(due, self._written)

    # -- what alerts keep in the same topic

    def watch(self, take: Callable[[Sequence[StoredEntry]], None]) -> None:
        """Have what ``keep`` stores, here or on another worker, given to ``take``. Called before the start."""
        self._watch = take

    @property
    def is_ready(self) -> bool:
        """Return whether everything that the topic had at the start has been read."""
        return self._has_read or self._store is None or self._problem is not None

    def keep(self, entries: Sequence[StoredEntry]) -> bool:
        """Store entries and wait until they have been read back; return whether they are in the topic, or in memory
        where there is none.
        """
        if not entries:
            return True
        if self._store is None or self._problem is not None:
            self._watch(entries)
            return self._store is None
        done, problems = threading.Event(), list[BaseException | None]()

        def finished(error: BaseException | None) -> None:
            problems.append(error)
            done.set()

        self._store.append(entries, finished)
        problem = problems[0] if done.wait(KEEP_S) else TimeoutError(f"no answer within {KEEP_S:g} s")
        if problem is not None:
            log.warning("What alerts have to remember could not be written to the history topic: %s", problem)
        return problem is None

    def _read(self, entries: Sequence[Entry | StoredEntry]) -> None:
        with self._lock:
            self._recorder.replay([each for each in entries if not isinstance(each, StoredEntry)], now_ms())
        if stored := [each for each in entries if isinstance(each, StoredEntry)]:
            self._watch(stored)

    def _caught_up(self) -> None:
        self._has_read = True

    def _written(self, error: BaseException | None) -> None:
        """Continue after a write; entries that could not be written are due again."""
        if error is not None:
            log.warning("The history could not be written: %s", error)
        with self._lock:
            self._writing = False

    def _failed(self, error: Exception) -> None:
        log.error("The history topic can't be used, so this worker keeps history only in memory: %s", error)
        self._problem = str(error)

    def ends(self, since_ms: int) -> dict[tuple[str, int | None], list[End]]:
        """Return the failures and losses of connectors and tasks since this time, oldest first."""
        return self._ends(since_ms, _is_end)

    def failures_since(self, since_ms: int) -> dict[tuple[str, int | None], list[End]]:
        """Return the failures of connectors and tasks since this time, without losses, oldest first."""
        return self._ends(since_ms, lambda event: event.state == "FAILED")

    def _ends(self, since_ms: int, is_end: Callable[[HistoryEvent], bool]) -> dict[tuple[str, int | None], list[End]]:
        found: dict[tuple[str, int | None], list[End]] = {}
        with self._lock:
            for event in self._recorder.books.since(since_ms):
                if event.kind == "state" and is_end(event):
                    ends = found.setdefault((event.connector, event.task), [])
                    ends.append(End(event.time_ms, event.reason or ""))
        return found

    def failures(self) -> dict[str, int] | None:
        """Return how often the part of each connector that did so most has failed or was lost within an hour; None
        without a history.
        """
        if not self._on:
            return None
        found: dict[str, int] = {}
        for (connector, _), ends in self.ends(now_ms() - WINDOW_MS).items():
            found[connector] = max(found.get(connector, 0), len(ends))
        return found

    # -- requests

    def answer(self, request: HistoryRequest) -> Any:
        """Return the body of the reply. Raises Refused."""
        if not self._on:
            raise m.Refused(404, NO_HISTORY)
        with self._lock:
            match request:
                case local.ListVersions(name):
                    versions = self._versions(name)
                    pairs = zip([None, *versions], versions, strict=False)
                    listed = [_with_difference(before, version) for before, version in pairs]
                    return {"connector": name, "kept": self._kept(), "versions": listed[::-1]}
                case local.GetVersion(name, number):
                    version = self._version(name, number)
                    config = None if version.config is None else dict(version.config)
                    return {"connector": name, **version.summary(), "config": config}
                case local.CompareVersions(name, number, before):
                    return self._comparison(name, number, before)
                case local.ListEvents(name, limit):
                    events = self._recorder.books.events(name)
                    shown = [event.to_json() for event in events[len(events) - min(limit, len(events)) :]]
                    return {"connector": name, "kept": self._kept(), "events": shown[::-1]}

    def submit(self, request: m.Request, submit: Submit) -> Future[m.Reply | m.Elsewhere]:
        """Submit a request as it is, or in place of a ``RollBack`` the ``PutConfig`` that it means."""
        if not isinstance(request, m.RollBack):
            return submit(request)
        try:
            return submit(self._rolled_back(request))
        except m.Refused as refused:
            answer: Future[m.Reply | m.Elsewhere] = Future()
            answer.set_result(refused.reply())
            return answer

    def _rolled_back(self, request: m.RollBack) -> m.PutConfig:
        if not self._on:
            raise m.Refused(404, NO_HISTORY)
        with self._lock:
            if request.number is not None:
                version = self._version(request.name, request.number)
            else:
                version = self._before(request.name)
        if version.config is None:
            raise m.Refused(409, f"In version {version.number} connector {request.name} is deleted")
        return m.PutConfig(request.name, dict(version.config), principal=request.principal)

    def _kept(self) -> str:
        return "in memory" if self._store is None or self._problem is not None else "in a topic"

    def _versions(self, name: str) -> list[ConnectorVersion]:
        versions = self._recorder.versions(name)
        if not versions:
            raise m.Refused(404, f"There is no history of connector {name}")
        return versions

    def _version(self, name: str, number: int | None) -> ConnectorVersion:
        versions = self._versions(name)
        if number is None:
            return versions[-1]
        for version in versions:
            if version.number == number:
                return version
        raise m.Refused(
            404,
            f"Connector {name} has no version {number} in its history; there are {versions[0].number} to "
            f"{versions[-1].number}",
        )

    def _before(self, name: str) -> ConnectorVersion:
        versions = self._versions(name)
        for version in reversed(versions):
            if version.config is not None and version.config != versions[-1].config:
                return version
        raise m.Refused(409, f"The history of connector {name} has no other configuration than its present one")

    def _comparison(self, name: str, number: int, before: int | None) -> dict[str, Any]:
        new = self._version(name, number)
        if before is None:
            older = [version for version in self._versions(name) if version.number < number]
            old = older[-1] if older else None
        else:
            old = self._version(name, before)
        return {
            "connector": name,
            "from": None if old is None else old.number,
            "to": new.number,
            "state": [None if old is None else old.state, new.state],
            "difference": difference(None if old is None else old.config, new.config),
        }


def _is_end(event: HistoryEvent) -> bool:
    return event.state == "FAILED" or (event.state == "UNASSIGNED" and STARTED_AGAIN in (event.reason or ""))


def _with_difference(before: ConnectorVersion | None, version: ConnectorVersion) -> dict[str, Any]:
    changed = difference(None if before is None else before.config, version.config)
    return {**version.summary(), "difference": changed}
