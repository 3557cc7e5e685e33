"""Topics of the simulated cluster: the positions of their readers, and permission to write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.core.group.leadership import Fenced
from penstock.core.model import actions as a
from penstock.core.model import events as e
from penstock.core.model.records import ConfigRecord, StatusTopicRecord, TopicStatus
from simulation import descriptions
from simulation.worker import Worker


class Topics:
    """``post`` is called with a worker, a channel and an event."""

    def __init__(
        self,
        workers: dict[str, Worker],
        post: Callable[[Worker, str, Any], None],
        trace: Callable[[str], None],
        fenced_writes: bool,
    ) -> None:
        self._workers, self._post, self._trace, self._fenced_writes = workers, post, trace, fenced_writes
        self.config: list[Any] = []
        self.status: list[StatusTopicRecord] = []
        self._privileged: str | None = None
        """Worker that has claimed the config topic last (exactly once)."""
        self._blocked: set[str] = set()
        """Workers that get no more records of the config topic."""
        self._unread: dict[str, list[int]] = {}
        """Tokens of those that wait for the end of the topic, for these workers."""
        self._missed: dict[str, list[Any]] = {}
        self._compacted: set[int] = set()
        """Positions of records of the config topic that compaction has removed."""

    def of_a_start(self) -> tuple[e.ConfigRead, e.StatusRead, e.CaughtUp]:
        """Return the events of a worker that reads the topics when it starts."""
        there = enumerate(self.config)
        entries = tuple(ConfigRecord(i, record) for i, record in there if i not in self._compacted)
        return e.ConfigRead(entries), e.StatusRead(tuple(self.status)), e.CaughtUp()

    def compact(self) -> None:
        """Remove all records of the config topic but the last of each key."""
        last = {_key(record): i for i, record in enumerate(self.config)}
        self._compacted = set(range(len(self.config))) - set(last.values())

    def block_reading(self, name: str) -> None:
        self._blocked.add(name)

    def unblock_reading(self, name: str) -> None:
        self._blocked.discard(name)
        worker = self._workers[name]
        for event in self._missed.pop(name, []):
            self._post(worker, "config", event)
        for token in self._unread.pop(name, []):
            self._post(worker, "config", e.Completed(token))

    def read_config_to_end(self, worker: Worker, token: int) -> None:
        if worker.id in self._blocked:
            self._unread.setdefault(worker.id, []).append(token)
        else:
            self._post(worker, "config", e.Completed(token))

    def claim_config(self, worker: Worker, token: int) -> None:
        self._privileged = worker.id
        self._post(worker, f"ask {token}", e.Completed(token))

    def append_config(self, worker: Worker, action: a.AppendConfig) -> None:
        if action.as_leader and self._fenced_writes and self._privileged != worker.id:
            self._post(worker, "config", e.Completed(action.token, error=Fenced("another worker writes")))
            return
        for record in action.records:
            self._trace(f"config: {record}")
            read = e.ConfigRead((ConfigRecord(len(self.config), record),))
            for each in self._workers.values():
                if each.id in self._blocked:
                    self._missed.setdefault(each.id, []).append(read)
                else:
                    self._post(each, "config", read)
            self.config.append(record)
        self._post(worker, "config", e.Completed(action.token))

    def append_status(self, records: tuple[StatusTopicRecord, ...], now: int) -> None:
        for record in records:
            self._trace(f"status: {descriptions.status(record)}")
            if not isinstance(record, TopicStatus):
                record = replace(record, written_ms=now)
            self.status.append(record)
            for each in self._workers.values():
                self._post(each, "status", e.StatusRead((record,)))


def _key(record: Any) -> tuple[Any, ...]:
    """Return what stands for the key of a record of the config topic."""
    names = (getattr(record, name, None) for name in ("id", "name", "connector"))
    return type(record), *names
