"""Origins of a JDBC source's offsets: the database's server or file, as it is stored with the offsets."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from penstock.api.origin import identity_of

_HERE = -100
"""AT_FDCWD."""
_CREATED = 0x800
"""STATX_BTIME."""
_NANOS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class DatabaseServer:
    """A server, by the id that its physical copies share."""

    id: str

    def __str__(self) -> str:
        return self.id

    def members(self) -> dict[str, Any]:
        return {"system": self.id}

    def is_same(self, other: DatabaseServer | DatabaseFile) -> bool:
        return self == other


@dataclass(frozen=True, slots=True)
class DatabaseFile:
    """A file, by its inode and its time of creation: a new file often gets the inode of a deleted one."""

    inode: int
    created: int | None
    """In nanoseconds since 1970; None where the kernel, the C library or the file system does not tell it."""

    @classmethod
    def at(cls, path: str) -> Self:
        """Return the file at a path. Raises OSError."""
        inode = os.stat(path).st_ino
        buffer = ctypes.create_string_buffer(256)
        try:
            failed = ctypes.CDLL(None).statx(_HERE, os.fsencode(path), 0, _CREATED, buffer)
        except (AttributeError, OSError):  # not Linux, or a C library without it
            failed = -1
        if failed or not struct.unpack_from("=I", buffer)[0] & _CREATED:
            return cls(inode, None)
        seconds, nanoseconds = struct.unpack_from("=qI", buffer, 80)
        return cls(inode, seconds * _NANOS + nanoseconds)

    def __str__(self) -> str:
        if self.created is None:
            return f"inode {self.inode}"
        seconds, nanoseconds = divmod(self.created, _NANOS)
        created = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{nanoseconds:09}Z"
        return f"inode {self.inode}, created at {created}"

    def members(self) -> dict[str, Any]:
        return {"inode": self.inode} | ({} if self.created is None else {"created": self.created})

    def is_same(self, other: DatabaseServer | DatabaseFile) -> bool:
        """Return whether it is the same file, as far as is known: one of them may have no time of creation."""
        if not isinstance(other, DatabaseFile) or self.inode != other.inode:
            return False
        return None in (self.created, other.created) or self.created == other.created


DatabaseOrigin = DatabaseServer | DatabaseFile


def database_origin_of(offset: Mapping[str, Any] | None) -> DatabaseOrigin | None:
    """Return the origin that was stored with an offset, if any."""
    members = identity_of(offset) or {}
    system, inode, created = members.get("system"), members.get("inode"), members.get("created")
    if isinstance(system, str):
        return DatabaseServer(system)
    if isinstance(inode, int):
        return DatabaseFile(inode, created if isinstance(created, int) else None)
    return None
