"""The source offsets of one task: what was committed, and what waits for the next commit.

Java: ``OffsetStorageReaderImpl``, ``OffsetStorageWriter``.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api.batch import SourceOrigin
from penstock.kafka.offsets.records import canonical, encode_key, encode_value
from penstock.pipeline.task import TaskSpec


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """One source partition with the offset to store, and both as bytes of the offsets topic."""

    partition: dict[str, Any]
    offset: dict[str, Any]
    key: bytes
    value: bytes | None


class SourceTaskOffsets:
    """Both an ``OffsetReader`` for the task and the list of what is to be committed.

    A partition that was stored before is stored again under the same bytes, since Java's maps have no order of keys.
    """

    def __init__(self, spec: TaskSpec) -> None:
        self._connector = spec.connector
        self._committed: dict[bytes, dict[str, Any]] = {}
        self._keys: dict[bytes, bytes] = {}
        self._pending: dict[bytes, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.urgent = False
        """Whether something that waits is to be stored without waiting for the interval."""
        for partition, offset, key in spec.offsets:
            name = canonical(partition)
            self._committed[name] = offset
            if key is not None:
                self._keys[name] = base64.b64decode(key)

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self._committed.get(canonical(partition))

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]

    def sent(self, origin: SourceOrigin) -> None:
        """These records are under way; of each partition the last offset counts."""
        partitions, offsets = origin.partitions, origin.offsets
        if not len(partitions):
            return
        if partitions.count(partitions[0]) == len(partitions):
            self.put(partitions[0], offsets[-1])
            return
        last = {id(partition): i for i, partition in enumerate(partitions)}
        for i in sorted(last.values()):
            self.put(partitions[i], offsets[i])

    def put(self, partition: dict[str, Any], offset: dict[str, Any], urgent: bool = False) -> None:
        """This offset is to be stored with the next commit, or at once."""
        self._pending[canonical(partition)] = (partition, offset)
        self.urgent = self.urgent or urgent

    def take(self, but: Collection[bytes] = ()) -> list[SourceOffset]:
        """All that waits, to be stored now, but for some source partitions (canonical), which wait on.

        Raises DataError for what can't be stored.
        """
        taken = []
        for name, (partition, offset) in self._pending.items():
            if name in but:
                continue
            if name not in self._keys:
                self._keys[name] = encode_key(self._connector, partition)
            taken.append(SourceOffset(partition, offset, self._keys[name], encode_value(offset)))
        self._pending = {name: pending for name, pending in self._pending.items() if name in but}
        return taken

    def committed(self, taken: Iterable[SourceOffset]) -> None:
        self._committed.update((canonical(each.partition), each.offset) for each in taken)
        self.urgent = self.urgent and bool(self._pending)

    def give_back(self, taken: Iterable[SourceOffset]) -> None:
        """These could not be stored: they wait for the next commit, unless a later offset does already."""
        for each in taken:
            self._pending.setdefault(canonical(each.partition), (each.partition, each.offset))
