"""The ids of the members that the tasks of a Connect cluster have been in the groups of their consumers.

Two clusters may have sinks of the same name, whose consumers have the same group and the same ``client.id``. A member
is known to be an earlier run of a task only by its id, which the coordinator gives once. The ids are kept beside the
source offsets, under a name that no connector has and Java's workers do not ask for, with the cluster's ``group.id``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Any, Protocol

from penstock.api.origin import origin_partition
from penstock.kafka.background import await_done
from penstock.kafka.offsets.topic import OffsetStore

log = logging.getLogger(__name__)

_NOBODY = ""
"""The name in place of a connector's: a sink has no records of its own in the offsets topic."""
MAX_IDS = 16
"""Maximum number of ids that are kept of a task: those of its last runs and rebalances."""
_SECONDS = 30.0
"""Time limit for one access to the store."""


class MemberLog(Protocol):
    """The ids of members by connector and task; any thread may call it."""

    def add(self, connector: str, task: int, member: str) -> None:
        """Keep the id of a member that has joined; return at once."""

    def ids(self, connector: str, task: int) -> frozenset[str]:
        """Return the ids of the task's members. May block; raises if they can't be read."""


class MemberMemory:
    """A ``MemberLog`` of what one process has seen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: dict[tuple[str, int], list[str]] = {}

    def add(self, connector: str, task: int, member: str) -> None:
        with self._lock:
            self._ids[connector, task] = _added(self._ids.get((connector, task), []), [member])

    def ids(self, connector: str, task: int) -> frozenset[str]:
        with self._lock:
            return frozenset(self._ids.get((connector, task), []))


class StoredMembers:
    """A ``MemberLog`` in the worker's store of source offsets. What can't be written is logged and left out."""

    def __init__(self, store: OffsetStore, cluster: str) -> None:
        """``cluster``: the ``group.id`` of the workers; empty in standalone mode."""
        self._store, self._cluster = store, cluster
        self._lock = threading.Lock()
        self._new: dict[tuple[str, int], list[str]] = {}
        self._writing = False

    def add(self, connector: str, task: int, member: str) -> None:
        with self._lock:
            self._new.setdefault((connector, task), []).append(member)
            if self._writing:
                return
            self._writing = True
        threading.Thread(target=self._write, name="member-log", daemon=True).start()

    def ids(self, connector: str, task: int) -> frozenset[str]:
        with self._lock:
            new = list(self._new.get((connector, task), []))
        await_done(self._store.read_to_end, "read to the end of the offsets topic", _SECONDS)
        return frozenset([*self._stored(connector, task), *new])

    def _write(self) -> None:
        while True:
            with self._lock:
                if not self._new:
                    self._writing = False
                    return
                place = next(iter(self._new))
                new = list(self._new[place])
            try:
                self._put(*place, new)
            except Exception as error:
                log.warning("The group member of task %s-%d could not be noted: %s", *place, error)
                with self._lock:
                    self._writing = False  # The next member is the occasion to try again.
                return
            with self._lock:
                left = self._new[place][len(new) :]
                if left:
                    self._new[place] = left
                else:
                    del self._new[place]

    def _put(self, connector: str, task: int, new: list[str]) -> None:
        ids = "\n".join(_added(self._stored(connector, task), new))
        change = (self._place(connector, task), {"ids": ids})
        await_done(lambda done: self._store.write(_NOBODY, [change], done), "write the ids of members", _SECONDS)

    def _stored(self, connector: str, task: int) -> list[str]:
        place = self._place(connector, task)
        found = [each.offset.get("ids") for each in self._store.snapshot(_NOBODY) if each.partition == place]
        return [id for ids in found if isinstance(ids, str) for id in ids.split("\n")]

    def _place(self, connector: str, task: int) -> Mapping[str, Any]:
        return origin_partition("member", cluster=self._cluster, connector=connector, task=task)


def _added(ids: list[str], new: list[str]) -> list[str]:
    return [*(id for id in ids if id not in new), *new][-MAX_IDS:]
