"""Java Connect's bytes in the group protocol: the metadata with which a worker joins, and its assignment.

Keeps the formats of ``ConnectProtocol`` (version 0, eager) and ``IncrementalCooperativeConnectProtocol`` (version 1,
and version 2, which is the same and says that requests between workers are signed, KIP-507), so that Java's workers
and ours can be in one group. Numbers are big-endian; before a string is its length in 2 bytes, before an array its
count in 4; -1 is null.

A connector and its tasks are written as one entry; in it the task number -1 stands for the connector itself. Java
writes these entries in the order of a hash set, we in that of the assignment; no reader depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct, error, pack, unpack_from

from penstock.core.group.membership import Assignment, Member
from penstock.core.model.tasks import TaskId

# The names by which members offer the versions to the broker, which picks the best that all support.
VERSIONS = {"sessioned": 2, "compatible": 1, "default": 0}
# What each value of the worker setting `connect.protocol` offers, best first.
OFFERED = {
    "sessioned": ("sessioned", "compatible", "default"),
    "compatible": ("compatible", "default"),
    "eager": ("default",),
}

CONNECTOR_TASK = -1

_SHORT = Struct(">h")
_INT = Struct(">i")
_LONG = Struct(">q")


def offers(protocol: str, url: str, offset: int, running: Assignment | None) -> list[tuple[str, bytes]]:
    """Return the protocol names and metadata that a worker of this ``connect.protocol`` sends when it joins, best
    first.
    """
    return [(name, encode_metadata(url, offset, running, VERSIONS[name])) for name in OFFERED[protocol]]


def encode_metadata(url: str, offset: int, running: Assignment | None, version: int) -> bytes:
    state = _SHORT.pack(version) + _string(url) + _LONG.pack(offset)
    if version == 0:
        return state
    if running is None:
        return state + _INT.pack(-1)
    allocation = encode_assignment(running, version)
    return state + _INT.pack(len(allocation)) + allocation


def decode_metadata(member_id: str, data: bytes) -> Member:
    """Raises ValueError if these are not the metadata of a Connect worker."""
    reader = _Reader(data, f"metadata of group member {member_id}")
    reader.version()
    url = reader.string()
    offset = reader.int64()
    allocation = reader.nullable_bytes()
    return Member(member_id, url, offset, None if allocation is None else decode_assignment(allocation))


def encode_assignment(assignment: Assignment, version: int) -> bytes:
    parts = [
        pack(">hh", version, assignment.error),
        _string(assignment.leader),
        _string(assignment.leader_url),
        _LONG.pack(assignment.offset),
        _entries(assignment.connectors, assignment.tasks),
    ]
    if version > 0:
        parts += [
            _entries(assignment.revoked_connectors, assignment.revoked_tasks),
            _INT.pack(assignment.delay_ms),
        ]
    return b"".join(parts)


def decode_assignment(data: bytes) -> Assignment:
    """Raises ValueError if this is not an assignment of a Connect leader."""
    reader = _Reader(data, "assignment")
    version = reader.version()
    error_code = reader.int16()
    leader = reader.string()
    leader_url = reader.string()
    offset = reader.int64()
    connectors, tasks = reader.entries()
    revoked_connectors, revoked_tasks = reader.entries()
    delay_ms = reader.int32() if reader.more() else 0
    return Assignment(
        tuple(connectors),
        tuple(tasks),
        tuple(revoked_connectors),
        tuple(revoked_tasks),
        delay_ms,
        leader,
        leader_url,
        offset,
        error_code,
        version,
    )


def _string(text: str) -> bytes:
    data = text.encode()
    return _SHORT.pack(len(data)) + data


def _entries(connectors: Iterable[str], tasks: Iterable[TaskId]) -> bytes:
    numbers: dict[str, list[int]] = {connector: [CONNECTOR_TASK] for connector in connectors}
    for connector, task in tasks:
        numbers.setdefault(connector, []).append(task)
    parts = [_INT.pack(len(numbers))]
    for connector, ids in numbers.items():
        parts += [_string(connector), pack(f">i{len(ids)}i", len(ids), *ids)]
    return b"".join(parts)


class _Reader:
    """Reads field after field. Fields missing at the end have their defaults, as in Java: version 0 has fewer."""

    def __init__(self, data: bytes, what: str) -> None:
        self.data = data
        self.at = 0
        self.what = what

    def more(self) -> bool:
        return self.at < len(self.data)

    def version(self) -> int:
        version = self.int16()
        if version < 0:
            raise ValueError(f"Unsupported version {version} in the {self.what}, expected 0 or higher")
        return version

    def int16(self) -> int:
        return self._number(_SHORT)

    def int32(self) -> int:
        return self._number(_INT)

    def int64(self) -> int:
        return self._number(_LONG)

    def _number(self, format: Struct) -> int:
        try:
            number: int = format.unpack_from(self.data, self.at)[0]
        except error:
            raise ValueError(f"The {self.what} ends after {len(self.data)} bytes, within a number") from None
        self.at += format.size
        return number

    def string(self) -> str:
        return self._take(self.int16()).decode()

    def nullable_bytes(self) -> bytes | None:
        length = self.int32() if self.more() else -1
        return None if length < 0 else self._take(length)

    def _take(self, length: int) -> bytes:
        taken = self.data[self.at : self.at + max(length, 0)]
        if len(taken) != length:
            raise ValueError(f"The {self.what} has a field of {length} bytes where {len(taken)} are left")
        self.at += length
        return taken

    def entries(self) -> tuple[list[str], list[TaskId]]:
        connectors: list[str] = []
        tasks: list[TaskId] = []
        for _ in range(self.int32() if self.more() else 0):
            connector = self.string()
            count = self.int32()
            numbers = unpack_from(f">{count}i", self._take(4 * count))
            for number in numbers:
                if number == CONNECTOR_TASK:
                    connectors.append(connector)
                else:
                    tasks.append(TaskId(connector, number))
        return connectors, tasks
