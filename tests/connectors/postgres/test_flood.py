"""A poll ends, so that the task can be stopped and the slot confirmed, though the server sends without a pause."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.connectors.postgres.monitoring import Heartbeats
from penstock.connectors.postgres.progress import StreamPosition, StreamProgress
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.task import PostgresSourceTask
from support.waiting import until

GIVEN = {
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "d",
    "topic.prefix": "p",
    "status.update.interval.ms": "1000",
}


class Flood:
    """Transactions of a table that is not captured, without end."""

    streams = True

    def __init__(self) -> None:
        self.confirmed: list[int] = []
        self._lsns = count(1)

    def messages(self) -> Iterator[tuple[bytes, int]]:
        for lsn in self._lsns:
            yield b"", lsn

    def confirm(self, lsn: int) -> None:
        self.confirmed.append(lsn)


class Stream:
    open = False

    def __init__(self, progress: StreamProgress) -> None:
        self._progress = progress

    def records(self, data: bytes, lsn: int) -> Iterator[Any]:
        self._progress.finished(lsn)
        return iter(())


def test_a_poll_ends_though_changes_of_other_tables_come_without_end() -> None:
    task: Any = PostgresSourceTask()
    offsets = MemoryOffsets()
    task.context = MemorySourceContext(GIVEN, offsets)
    task._settings, task._partition = PostgresSettings.of(GIVEN), {"server": "p"}
    task._heartbeats = Heartbeats(task._settings)
    task._progress = StreamProgress(StreamPosition(0))
    task._replication, task._stream = Flood(), Stream(task._progress)

    def confirmed_twice() -> bool:
        assert task.poll() is None
        offsets.pairs += task.uncarried_offsets()
        task.commit()
        return len(set(task._replication.confirmed) - {0}) >= 2

    until(confirmed_twice, "two positions are confirmed")
    assert task._replication.confirmed == sorted(task._replication.confirmed)


class Failover(PostgresSourceTask):
    """While the committed position is looked up, ``poll`` finds that it is not one in the log of the server."""

    def abandon(self) -> None:
        with self._lock:
            self._abandoned, self._progress = StreamPosition(100), StreamProgress(StreamPosition(0))

    def _committed(self) -> StreamPosition | None:
        found = super()._committed()
        self.poll_thread = threading.Thread(target=self.abandon)
        self.poll_thread.start()
        self.poll_thread.join(0.2)
        return found


def test_a_position_of_another_log_is_not_confirmed_by_a_commit_during_a_poll() -> None:
    task: Any = Failover()
    offsets = MemoryOffsets()
    task.context, task._partition = MemorySourceContext(GIVEN, offsets), {"server": "p"}
    offsets.pairs += [(task._partition, StreamPosition(100).offset())]
    task._progress = StreamProgress(StreamPosition(100))
    task.commit()
    task.poll_thread.join()
    assert task._progress.confirmable() == 0
    task.commit()
    assert task._progress.confirmable() == 0
