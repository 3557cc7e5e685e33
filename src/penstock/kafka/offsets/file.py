"""Source offsets in a file, for standalone mode: ``offset.storage.file.filename``, in Java's own format.

Java: ``FileOffsetBackingStore``. Unlike in Java the file is replaced as a whole, so that a crash leaves the old one or
the new one, if that is possible: not for a file that is mounted itself, or whose folder the worker may not write.

The identity of an offset's origin, a header in a topic, is an entry beside that of the offset here. It names the value
that it belongs to: a worker in Java may have written another one.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import os
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from penstock.api.errors import ConnectError, DataError
from penstock.api.origin import is_origin, origin_partition
from penstock.java import serialization
from penstock.kafka.log.progress import OnDone
from penstock.kafka.log.writer import Headers
from penstock.kafka.offsets import records
from penstock.kafka.offsets.entries import Change, OffsetEntries, StoredOffset

_NOT_REPLACEABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
"""A file that can't be made in its folder, or can't take the place of one that is mounted, as in containers."""


_OFFSET = "offset"
"""The kind of the entries with identities."""
_MARK = b'"%s"' % records.IDENTITY_HEADER.encode()


class OffsetFile:
    """An ``OffsetStore`` over one file, which no other process writes while it is open."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._entries = OffsetEntries()
        self._raw: dict[bytes | None, bytes | None] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Read the file; one that does not exist, or is empty, holds nothing. Raises ConnectError for any other."""
        try:
            content = self.path.read_bytes()
            pairs = serialization.load(content) if content else []
        except FileNotFoundError:
            return
        except (OSError, ValueError) as e:
            raise ConnectError(f"The offsets in `{self.path}` (offset.storage.file.filename) can't be read: {e}") from e
        self._raw = dict(pairs)
        self._entries.put(_records_of(self._raw))

    def close(self) -> None:
        """Nothing to do: every write is in the file when it returns."""

    def read_to_end(self, on_done: OnDone) -> None:
        on_done(None)

    def snapshot(self, connector: str) -> list[StoredOffset]:
        return self._entries.snapshot(connector)

    def partitions(self, connector: str) -> list[dict[str, Any]]:
        return self._entries.partitions(connector)

    def write(self, connector: str, changes: Sequence[Change], on_done: OnDone) -> None:
        encoded = self._entries.encode(connector, changes)
        try:
            with self._lock:
                raw = dict(self._raw)
                for key, value, *headers in encoded:
                    raw[key] = value
                    beside = _key_of_identity(connector, key)
                    raw.pop(beside, None)
                    if headers:
                        raw[beside] = _encoded_identity(value, headers[0])
                self._save(raw)
                self._raw = raw
                self._entries.put(encoded)
        except OSError as e:
            on_done(ConnectError(f"The offsets can't be written to `{self.path}` (offset.storage.file.filename): {e}"))
        else:
            on_done(None)

    def _save(self, raw: dict[bytes | None, bytes | None]) -> None:
        content = serialization.dump(list(raw.items()))
        place = self.path.resolve()  # a link stays one
        try:
            _replace(place, content)
        except OSError as error:
            if error.errno not in _NOT_REPLACEABLE or not place.is_file():
                raise
            _overwrite(place, content)


def _text(raw: bytes | None) -> str:
    return base64.b64encode(raw or b"").decode()


def _key_of_identity(connector: str, key: bytes) -> bytes:
    return records.encode_key(connector, origin_partition(_OFFSET, key=_text(key)))


def _encoded_identity(value: bytes | None, headers: Headers) -> bytes | None:
    return records.encode_value({_OFFSET: _text(value), **dict(headers)})


def _records_of(
    raw: Mapping[bytes | None, bytes | None],
) -> Iterator[tuple[bytes | None, bytes | None, list[tuple[str, str | bytes | None]]]]:
    """Yield keys and values of offsets, each with the headers that its record in a topic would have."""
    identities: dict[str, dict[str, Any]] = {}
    offsets = []
    for key, value in raw.items():
        stored = records.decode_key(key) if key is not None and _MARK in key else None
        if stored is None or not is_origin(stored.partition, _OFFSET):
            offsets.append((key, value))
        elif stored.partition is not None:
            with contextlib.suppress(DataError):
                identities[str(stored.partition.get("key"))] = records.decode_value(value) or {}
    for key, value in offsets:
        found = identities.get(_text(key), {})
        identity = found.get(records.IDENTITY_HEADER) if found.get(_OFFSET) == _text(value) else None
        yield key, value, [(records.IDENTITY_HEADER, identity)] if isinstance(identity, str) else []


def _replace(file: Path, content: bytes) -> None:
    beside = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        with beside.open("wb") as out:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(out.fileno(), stat.S_IMODE(file.stat().st_mode))
            _write(out, content)
        beside.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)  # half a file would keep a full disk full
        raise


def _overwrite(file: Path, content: bytes) -> None:
    with file.open("r+b") as out:
        _write(out, content)


def _write(out: BinaryIO, content: bytes) -> None:
    out.write(content)
    out.truncate()
    out.flush()
    os.fsync(out.fileno())
