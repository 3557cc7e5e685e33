"""The records of the mirror's own topics, byte for byte as Java's: offset syncs, checkpoints, heartbeats.

Numbers are big-endian; a text is its length in two bytes and its UTF-8. Values of checkpoints and heartbeats begin with
a version, which is 0. Java: ``OffsetSync``, ``Checkpoint``, ``Heartbeat``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Self

from penstock.api.errors import DataError
from penstock.api.sink import TopicPartition

VERSION = 0


@dataclass(frozen=True, slots=True)
class OffsetSync:
    """The record at ``upstream`` of a source partition is the one at ``downstream`` of the mirrored partition."""

    topic_partition: TopicPartition
    upstream: int
    downstream: int

    def key(self) -> bytes:
        return _text(self.topic_partition.topic) + struct.pack(">i", self.topic_partition.partition)

    def value(self) -> bytes:
        return struct.pack(">qq", self.upstream, self.downstream)

    @classmethod
    def read(cls, key: bytes | None, value: bytes | None) -> Self:
        """Decode an offset sync. Raises DataError for other bytes."""
        rest = _Reader(key)
        topic_partition = TopicPartition(rest.text(), rest.int32())
        rest = _Reader(value)
        return cls(topic_partition, rest.int64(), rest.int64())


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A group that is at ``upstream`` of the source partition is at ``downstream`` of the mirrored one."""

    group: str
    topic_partition: TopicPartition
    upstream: int
    downstream: int
    metadata: str

    def key(self) -> bytes:
        return _text(self.group) + _text(self.topic_partition.topic) + struct.pack(">i", self.topic_partition.partition)

    def value(self) -> bytes:
        return struct.pack(">hqq", VERSION, self.upstream, self.downstream) + _text(self.metadata)

    def source_partition(self) -> dict[str, Any]:
        return {"partition": self.topic_partition.partition, "topic": self.topic_partition.topic, "group": self.group}

    @classmethod
    def read(cls, key: bytes | None, value: bytes | None) -> Self:
        """Decode a checkpoint. Raises DataError for other bytes."""
        rest = _Reader(key)
        group, topic_partition = rest.text(), TopicPartition(rest.text(), rest.int32())
        rest = _Reader(value)
        if (version := rest.int16()) != VERSION:
            raise DataError(f"A checkpoint of version {version} is not understood; it should be {VERSION}")
        return cls(group, topic_partition, rest.int64(), rest.int64(), rest.text())


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The connector was alive at this time, in milliseconds since 1970."""

    source: str
    target: str
    timestamp: int

    def key(self) -> bytes:
        return _text(self.source) + _text(self.target)

    def value(self) -> bytes:
        return struct.pack(">hq", VERSION, self.timestamp)

    def source_partition(self) -> dict[str, Any]:
        return {"sourceClusterAlias": self.source, "targetClusterAlias": self.target}


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


class _Reader:
    def __init__(self, data: bytes | None) -> None:
        self._data, self._at = data or b"", 0

    def text(self) -> str:
        size = self.int16()
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise DataError(f"A text of {size} bytes goes beyond the end of a record of {len(self._data)} bytes")
        value = self._data[self._at : end].decode("utf-8", "replace")
        self._at = end
        return value

    def int16(self) -> int:
        return self._number(">h", 2)

    def int32(self) -> int:
        return self._number(">i", 4)

    def int64(self) -> int:
        return self._number(">q", 8)

    def _number(self, form: str, size: int) -> int:
        try:
            value: int = struct.unpack_from(form, self._data, self._at)[0]
        except struct.error as error:
            raise DataError(f"A record of {len(self._data)} bytes ends within a number: {error}") from error
        self._at += size
        return value
