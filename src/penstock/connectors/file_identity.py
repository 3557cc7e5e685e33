"""The identity of a file that is read line by line, and the search for it under other names after a rotation.

A file is recognized by its first bytes up to a position and the last bytes before it. All that was read is compared for
positions up to ``HEAD``; a file that was restored from a copy, and is the same up to the position, is the same.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from penstock.api.errors import ConnectError

HEAD, TAIL = 256, 256
"""Numbers of bytes at the beginning of a file and before a position that are compared."""
MAX_CANDIDATES = 1000
"""Maximum number of files of a folder that are looked at."""
_NUMBERED = re.compile(r"(.*)\.([1-9][0-9]{0,5})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """The identity of a file up to a position: checksums of what it begins with, and of what is before the position.

    ``inode`` is only a hint where to look first: a new file often gets the number of a deleted one.
    """

    position: int
    head: str
    tail: str
    inode: int

    @classmethod
    def of(cls, position: int, head: bytes, tail: bytes, inode: int) -> FileIdentity:
        """``head`` and ``tail``: at least the bytes that are compared for this position."""
        begin = max(len(tail) - min(TAIL, position), 0)
        return cls(position, _checksum(head[: min(HEAD, position)]), _checksum(tail[begin:]), inode)

    @classmethod
    def stored(cls, members: Mapping[str, Any] | None, position: int) -> FileIdentity | None:
        """Return the identity in these members; None for none, and for one of another position or form."""
        if members is None or members.get("position") != position or position <= 0:
            return None
        head, tail, inode = members.get("head"), members.get("tail"), members.get("inode")
        if not isinstance(head, str) or not isinstance(tail, str):
            return None
        return cls(position, head, tail, inode if isinstance(inode, int) else 0)

    def members(self) -> dict[str, Any]:
        return {"position": self.position, "head": self.head, "tail": self.tail, "inode": self.inode}

    def change(self, file: BinaryIO) -> str | None:
        """Return why a file is another one, as the end of a sentence that begins with its name; None if it is the same.

        Raises OSError.
        """
        size = os.fstat(file.fileno()).st_size
        if size < self.position:
            return f"has {size} bytes, and the connector's position is {self.position}: it was truncated or replaced"
        head, tail = first_bytes(file, self.position), last_bytes(file, self.position)
        if FileIdentity.of(self.position, head, tail, self.inode) == self:
            return None
        return f"is not what the connector has read up to its position {self.position}: it was replaced or rewritten"


@dataclass(slots=True)
class ReadFile:
    """The part of a file before a position, by which it is recognized."""

    position: int
    head: bytes
    tail: bytes
    inode: int

    @classmethod
    def opened(cls, file: BinaryIO, position: int) -> ReadFile:
        """Raises OSError."""
        return cls(position, first_bytes(file, position), last_bytes(file, position), os.fstat(file.fileno()).st_ino)

    def add(self, first: bytes, last: bytes, position: int) -> None:
        """Take bytes that follow, up to this position: at least ``HEAD`` of the first and ``TAIL`` of the last, or all
        of them.
        """
        if not self._whole:
            self.position = position
            return
        if len(self.head) < HEAD:
            self.head = (self.head + first)[:HEAD]
        self.position, self.tail = position, (self.tail + last)[-TAIL:]

    def identity(self) -> dict[str, Any] | None:
        """Return the identity to store with the position; None if the file was shorter than that."""
        if not self._whole:
            return None
        return FileIdentity.of(self.position, self.head, self.tail, self.inode).members()

    @property
    def _whole(self) -> bool:
        """Whether the file had bytes up to the position when it was opened."""
        return len(self.head) >= min(HEAD, self.position) and len(self.tail) >= min(TAIL, self.position)

    def same(self, file: BinaryIO) -> bool:
        """Return whether the file is as it was up to the position. Raises OSError."""
        return first_bytes(file, self.position) == self.head and last_bytes(file, self.position) == self.tail


def first_bytes(file: BinaryIO, position: int) -> bytes:
    """Return the bytes at the beginning that are compared for a position. Raises OSError."""
    return os.pread(file.fileno(), min(HEAD, position), 0)


def last_bytes(file: BinaryIO, position: int, count: int = TAIL) -> bytes:
    """Return so many of the bytes before a position, or all of them. Raises OSError."""
    count = min(count, position)
    return os.pread(file.fileno(), count, position - count)


def _checksum(part: bytes) -> str:
    return hashlib.blake2b(part, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class MovedFile:
    """A file under another name, which is opened, and the paths of those that were written after it, in their order."""

    path: str
    file: BinaryIO
    later: list[str]


def find_moved(path: str, identity: FileIdentity, opened: Callable[[str], BinaryIO]) -> MovedFile | None:
    """Return the file with this identity that a rotation has moved, beside the path or what it links to."""
    real = os.path.realpath(path)
    return _find_beside(path, identity, opened) or (_find_beside(real, identity, opened) if real != path else None)


def _find_beside(path: str, identity: FileIdentity, opened: Callable[[str], BinaryIO]) -> MovedFile | None:
    """Return the file with this identity if it was renamed or copied beside its old name, as log rotation does; None if
    it is not there, or one of those between it and the file of the old name is missing.

    The names are those of rotations: ``app.log.1``, ``app.log-20261129``, ``app-2026-11-29.log``, ``app.log.old``.
    ``opened`` opens a path; it raises OSError or ConnectError.
    """
    rotated = _rotated(path)
    for name in sorted(rotated, key=lambda name: (rotated[name].st_ino != identity.inode, -rotated[name].st_mtime_ns)):
        if rotated[name].st_size < identity.position:
            continue
        candidate = os.path.join(os.path.dirname(path), name)
        try:
            file = opened(candidate)
        except (OSError, ConnectError):
            continue
        try:
            later = None if identity.change(file) is not None else _later(name, rotated)
        except OSError:
            later = None
        if later is not None:
            return MovedFile(candidate, file, [os.path.join(os.path.dirname(path), each) for each in later])
        file.close()
    return None


def _rotated(path: str) -> dict[str, os.stat_result]:
    """Return the files beside a path with names that a rotation gives."""
    folder, base = os.path.split(path)
    stem = os.path.splitext(base)[0] or base
    found: dict[str, os.stat_result] = {}
    try:
        with os.scandir(folder or ".") as entries:
            for entry in entries:
                rest = entry.name[len(stem) :]
                if entry.name == base or not entry.name.startswith(stem) or rest[:1].isalnum():
                    continue  # app10.csv and apples-1.csv are no rotations of app1.csv and app.csv
                if any(each.isdigit() for each in rest) or rest.endswith(".old"):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        found[entry.name] = status
                if len(found) == MAX_CANDIDATES:
                    break
    except OSError:
        pass
    return found


def _later(name: str, rotated: Mapping[str, os.stat_result]) -> list[str] | None:
    """Return the files that were rotated after this one, in the order in which they were written; None if there is a
    gap between them.
    """
    if numbered := _NUMBERED.fullmatch(name):
        later = [f"{numbered[1]}.{number}" for number in range(int(numbered[2]) - 1, 0, -1)]
        first = f"{numbered[1]}.0"
        if not all(each in rotated for each in later):
            return None
        return [*later, first] if first in rotated else later
    shape, since = re.sub("[0-9]+", "0", name), rotated[name].st_mtime_ns
    alike = [each for each in rotated if re.sub("[0-9]+", "0", each) == shape and each != name]
    after = [each for each in alike if (rotated[each].st_mtime_ns, each) > (since, name)]
    return sorted(after, key=lambda each: (rotated[each].st_mtime_ns, each))
