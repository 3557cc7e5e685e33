"""The current source offsets, from the records of an offsets topic or the entries of a file."""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.api.errors import DataError
from penstock.core.model.limits import shortened
from penstock.kafka.log.writer import Pair
from penstock.kafka.offsets import records

log = logging.getLogger(__name__)

Change = (
    tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]
    | tuple[Mapping[str, Any] | None, Mapping[str, Any] | None, Mapping[str, Any] | None]
)
"""A source partition and its new offset, and perhaps the identity of its origin; an offset of None: delete it."""
Read = (
    tuple[bytes | None, bytes | None]
    | tuple[bytes | None, bytes | None, Sequence[tuple[str, str | bytes | None]]]
    | tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]
)
"""Key and value of a record, and perhaps its headers."""


class StoredOffset(NamedTuple):
    partition: dict[str, Any] | None
    """The source reads the offset of its partition null; requests neither show nor reset it, as in Java."""
    offset: dict[str, Any]
    key: str
    """The bytes of the stored key, in base64. A new offset of the partition is written under the same bytes."""
    identity: dict[str, Any] | None = None
    """The identity of the origin, if it was stored with the offset."""


@dataclass(frozen=True, slots=True)
class _Entry:
    partition: dict[str, Any] | None
    value: bytes
    key: bytes
    identity: dict[str, Any] | None


class OffsetEntries:
    """Any thread may call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, dict[bytes, _Entry | None]] = {}
        """By connector and canonical partition; None for one that is deleted."""

    def put(self, read: Iterable[Read]) -> None:
        """Apply keys and values in their order; a value of None, or ``null``, deletes the key."""
        with self._lock:
            for key, value, *headers in read:
                decoded = records.decode_key(key)
                if decoded is None or key is None:
                    continue
                connector, partition = decoded
                entries = self._entries.setdefault(connector, {})
                if value is None or value == b"null":
                    entries[records.canonical(partition)] = None
                else:
                    entries[records.canonical(partition)] = _Entry(
                        partition, value, key, records.identity_in(headers[0] if headers else ())
                    )

    def snapshot(self, connector: str) -> list[StoredOffset]:
        """All source partitions of the connector that have an offset, but for those that can't be read: their source
        begins from the start there, as in Java.
        """
        stored = []
        for entry in self._of(connector):
            try:
                offset = records.decode_value(entry.value)
                records.validate_format(entry.partition)  # others than workers write to the topic, too
                records.validate_format(offset)
            except DataError as error:
                log.error(
                    "The offset of source partition %s of connector %s is left out: %s. The connector may read again "
                    "or skip what it stands for; a reset of the connector's offsets removes it",
                    shortened(records.canonical(entry.partition).decode(errors="replace")),
                    connector,
                    error,
                )
                continue
            if offset is not None:
                key = base64.b64encode(entry.key).decode()
                stored.append(StoredOffset(entry.partition, offset, key, entry.identity))
        return stored

    def partitions(self, connector: str) -> list[dict[str, Any]]:
        """Return the partitions that requests can reset: all but the partition null, including those with unreadable
        offsets.
        """
        return [entry.partition for entry in self._of(connector) if entry.partition is not None]

    def deleted(self, connector: str) -> frozenset[bytes]:
        """The partitions, as ``records.canonical``, whose offset has been deleted and not stored again."""
        with self._lock:
            return frozenset(place for place, e in self._entries.get(connector, {}).items() if e is None)

    def _of(self, connector: str) -> list[_Entry]:
        with self._lock:
            return [entry for entry in self._entries.get(connector, {}).values() if entry is not None]

    def encode(self, connector: str, changes: Sequence[Change]) -> list[Pair]:
        """Return keys and values, and headers if there are any, to be written for these changes.

        Raises DataError for what is no source offset.
        """
        with self._lock:
            stored = dict(self._entries.get(connector, {}))
        encoded: list[Pair] = []
        for partition, offset, *identity in changes:
            entry = stored.get(records.canonical(partition))
            key = records.encode_key(connector, partition) if entry is None else entry.key
            headers = records.headers_of(identity[0] if identity else None)
            pair = key, records.encode_value(offset)
            encoded.append((*pair, headers) if headers else pair)
        return encoded
