"""The source offsets of records that a source task of a jar has returned, which stay in the JVM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self, overload

from penstock.api.columns import SelectedRows
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm
from penstock.values.no_offset import NoOffset


class PolledOffsets(SelectedRows[dict[str, Any]]):
    """The source offsets of a batch in the JVM: the last of each source partition are here, the others are fetched
    together when one of them is read.
    """

    __slots__ = ("_stored",)

    def __init__(self, stored: Stored, rows: Sequence[int]) -> None:
        self._stored, self.rows = stored, rows

    def select(self, rows: Sequence[int]) -> Self:
        return type(self)(self._stored, [self.rows[row] for row in rows])

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, row: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, row: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return [self._stored.get(each) for each in self.rows[row]]
        return self._stored.get(self.rows[row])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self._stored.get, self.rows)


class Stored:
    """What is known of a batch's offsets. ``batch``: as polled, which must stay in the JVM as long as this does."""

    __slots__ = ("_jvm", "_known", "batch")

    batch: Any

    def __init__(self, jvm: TaskJvm, known: dict[int, dict[str, Any] | None]) -> None:
        self._jvm, self._known = jvm, _told_apart(known)

    def get(self, row: int) -> dict[str, Any]:
        if row not in self._known:
            self._fetch()
        return self._known[row]

    def _fetch(self) -> None:
        args = {"input": {"batch": self.batch.number}, "free": self._jvm.take_free()}
        found = self._jvm.session.call("batch.offsets", args, lane=self._jvm.lane).result
        self._known = {**_told_apart(dict(enumerate(found))), **self._known}


def _told_apart(offsets: dict[int, dict[str, Any] | None]) -> dict[int, dict[str, Any]]:
    return {row: NoOffset() if offset is None else offset for row, offset in offsets.items()}
