"""The source offsets of one task: the committed ones, and those that wait for the next commit.

Java: ``OffsetStorageReaderImpl``, ``OffsetStorageWriter``.
"""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from penstock.api.batch import SourceOrigin
from penstock.api.errors import DataError
from penstock.api.origin import IdentifiedDict, identity_of
from penstock.kafka.offsets.records import canonical, encode_key, encode_value, headers_of, validate_format
from penstock.pipeline.task import CommittedOffset, CommittedOffsets, TaskSpec
from penstock.values.no_offset import NoOffset

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """A source partition with the offset to store, and both as bytes of the offsets topic. Either may be null, as in
    Java; a null offset deletes what is stored.
    """

    partition: dict[str, Any] | None
    offset: dict[str, Any] | None
    key: bytes
    value: bytes | None
    identity: Mapping[str, Any] | None = None
    """The identity of the origin, for a header."""

    @property
    def headers(self) -> list[tuple[str, str | bytes | None]]:
        """The headers of the record."""
        return headers_of(self.identity)


class SourceTaskOffsets:
    """The task's ``OffsetReader``, and the offsets that are to be committed.

    A partition that was stored before is stored again under the same bytes, since Java's maps have no order of keys.
    One thread may commit while another polls, which reads and perhaps puts offsets.
    """

    def __init__(self, spec: TaskSpec) -> None:
        self._connector = spec.connector
        self._committed: dict[bytes, tuple[dict[str, Any] | None, dict[str, Any] | None]] = {}
        self._keys: dict[bytes, bytes] = {}
        self._pending: dict[bytes, tuple[dict[str, Any] | None, dict[str, Any] | None]] = {}
        self._lock = threading.Lock()
        self.urgent = False
        """Whether a pending offset is to be stored before the interval is over."""
        self.load(spec.offsets)

    def load(self, offsets: CommittedOffsets) -> None:
        """Take the committed offsets; called before the task starts."""
        for partition, offset, key, identity in starmap(CommittedOffset, offsets):
            name = canonical(partition)
            self._committed[name] = partition, _identified(offset, identity)
            if key is not None:
                self._keys[name] = base64.b64decode(key)

    def offset(self, partition: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return the committed offset; None, too, for an invalid source partition, which is logged as in Java."""
        try:
            validate_format(partition)
        except DataError as error:
            log.error("A source task of %s asks for an offset that can't be stored: %s", self._connector, error)
            return None
        known = self._committed.get(canonical(partition))
        return None if known is None else known[1]

    def offsets(self, partitions: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]

    def latest(self) -> Iterator[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]:
        """Yield source partitions with the last offset of each that was sent, or else committed; the latest first."""
        yield from reversed(self._pending.values())
        yield from (self._committed[name] for name in reversed(self._committed) if name not in self._pending)

    def sent(self, origin: SourceOrigin) -> None:
        """Note that records have been sent: the last offset of each partition becomes pending."""
        partitions, offsets = origin.partitions, origin.offsets
        if not len(partitions):
            return
        if partitions.count(partitions[0]) == len(partitions):
            self.put(partitions[0], offsets[-1])
            return
        last = {id(partition): i for i, partition in enumerate(partitions)}
        for i in sorted(last.values()):
            self.put(partitions[i], offsets[i])

    def put(self, partition: dict[str, Any] | None, offset: dict[str, Any] | None, urgent: bool = False) -> None:
        """Store this offset with the next commit; ``urgent``: commit soon."""
        name = canonical(partition)
        with self._lock:
            self._pending[name] = (partition, None if isinstance(offset, NoOffset) else offset)
            self.urgent = self.urgent or urgent

    def take(self, excluded: Collection[bytes] = ()) -> list[SourceOffset]:
        """Take the pending offsets, to be stored now. Those of ``excluded`` source partitions (canonical) stay pending.

        Raises DataError for one that can't be stored.
        """
        taken = []
        with self._lock:
            for name, (partition, offset) in self._pending.items():
                if name in excluded:
                    continue
                if name not in self._keys:
                    self._keys[name] = encode_key(self._connector, partition)
                identity = None if offset is None else identity_of(offset, partition)
                taken.append(SourceOffset(partition, offset, self._keys[name], encode_value(offset), identity))
            self._pending = {name: pending for name, pending in self._pending.items() if name in excluded}
        return taken

    def committed(self, taken: Iterable[SourceOffset]) -> None:
        with self._lock:
            self._committed.update(
                (canonical(each.partition), (each.partition, _identified(each.offset, each.identity))) for each in taken
            )
            self.urgent = self.urgent and bool(self._pending)

    def give_back(self, taken: Iterable[SourceOffset]) -> None:
        """Note that offsets could not be stored: they are pending again, unless a later one is."""
        with self._lock:
            for each in taken:
                self._pending.setdefault(canonical(each.partition), (each.partition, each.offset))


def _identified(offset: dict[str, Any] | None, identity: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return offset if offset is None or identity is None else IdentifiedDict(offset, identity)
