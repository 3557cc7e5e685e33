"""The foundation of a standalone worker: logs in memory, a file of offsets, and a group with this member alone.

The same herder decides as in a cluster; what it appends is read back at once (Java: StandaloneHerder with its
in-memory stores).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from penstock.api.errors import ConnectError
from penstock.core.group.membership import Assignment, ClusterConfigSnapshot, Joined, Owners
from penstock.core.model.events import CaughtUp, ConfigRead, Event, StatusRead
from penstock.core.model.records import ConfigRecord, ConfigTopicRecord, StatusTopicRecord
from penstock.core.model.tasks import TaskId
from penstock.kafka.offsets.file import OffsetFile
from penstock.settings import WorkerSettings

Done = Callable[[BaseException | None], None]


class MemoryFoundation:
    """Called by the worker's loop only; what it delivers is handled by the loop afterwards."""

    def __init__(self, settings: WorkerSettings, rest_url: str, deliver: Callable[[Event], None]) -> None:
        assert settings.offset_file is not None
        self._deliver, self._url = deliver, rest_url
        self._appended = 0
        self._generation = 0
        self._snapshot = ClusterConfigSnapshot(0)
        self.offset_store = OffsetFile(settings.offset_file)

    def revocation_left(self) -> float:
        """Nothing is ever revoked."""
        return math.inf

    def open(self) -> None:
        """Raises ConnectError if the file of offsets can't be read, or its folder is not there."""
        if not self.offset_store.path.absolute().parent.is_dir():
            raise ConnectError(
                f"There is no folder for the offsets in `{self.offset_store.path}` (offset.storage.file.filename): "
                "create it, or name a file in another one"
            )
        self.offset_store.start()
        self._deliver(CaughtUp())

    def leave(self) -> None:
        pass

    def close(self) -> None:
        self.offset_store.close()

    def append_config(self, records: tuple[ConfigTopicRecord, ...], as_leader: bool, done: Done) -> None:
        entries = tuple(ConfigRecord(self._appended + i, record) for i, record in enumerate(records))
        self._appended += len(records)
        self._deliver(ConfigRead(entries))
        done(None)

    def read_config_to_end(self, done: Done) -> None:
        done(None)

    def claim(self, done: Done) -> None:
        done(None)

    def append_status(self, records: Sequence[StatusTopicRecord]) -> None:
        self._deliver(StatusRead(tuple(records)))

    def join(self) -> None:
        self._assign()

    def publish(self, snapshot: ClusterConfigSnapshot) -> None:
        self._snapshot = snapshot

    def rejoin(self, reason: str) -> None:
        self._assign()

    def leave_for_now(self, reason: str, keeps_work: bool) -> None:
        pass  # there is no group, and nothing that could not be read

    def confirm(self, done: Callable[[bool], None]) -> None:
        done(True)

    def tick(self) -> None:
        pass

    def _assign(self) -> None:
        """Everything, to the only member."""
        self._generation += 1
        connectors = self._snapshot.connectors
        tasks = tuple(TaskId(name, i) for name, count in connectors.items() for i in range(count))
        everything = Assignment(
            tuple(connectors), tasks, leader="standalone", leader_url=self._url, offset=self._snapshot.offset
        )
        self._deliver(Joined(self._generation, "standalone", 2, everything, True, Owners()))
