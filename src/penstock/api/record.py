"""Single records, for plugins that don't work with batches.

``SourceRecord`` and ``SinkRecord`` are Java's classes of these names. They are immutable; a transformation returns
``record.with_(value=...)``. The runtime itself moves whole batches (see ``batch``) and makes records only for
plugins that need them, by setting their slots: the ``__init__`` of a frozen class takes five times as long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import repeat
from typing import Any, NamedTuple, Self

from penstock.api.schema import Schema


class Header(NamedTuple):
    """A header: several of one record may have the same key; their order counts."""

    key: str
    schema: Schema | None
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Base of source and sink records. ``timestamp`` is in milliseconds since 1970, None if unknown."""

    topic: str
    partition: int | None = None
    key_schema: Schema | None = None
    key: Any = None
    value_schema: Schema | None = None
    value: Any = None
    timestamp: int | None = None
    headers: tuple[Header, ...] = ()

    def with_(self, **changes: Any) -> Self:
        """Return the same record with these fields changed."""
        setters = _SETTERS.get(type(self))
        if setters is None or not changes.keys() <= setters.keys():
            return replace(self, **changes)  # of a plugin's own class; or raises TypeError
        new = object.__new__(type(self))
        for name, set_field in setters.items():
            set_field(new, changes[name] if name in changes else getattr(self, name))
        return new

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Any]]) -> list[Self]:
        """Make the records whose fields are in these columns: one for each field of the class, all of equal length."""
        count = len(columns["topic"])
        records = list(map(object.__new__, repeat(cls, count)))
        for name, set_field in _SETTERS[cls].items():
            column = columns[name]
            if len(column) != count:
                raise ValueError(f"The batch has {count} topics, but its column {name} has {len(column)} entries")
            deque(map(set_field, records, column), maxlen=0)
        return records


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord(Record):
    """A record on its way into Kafka, and the position in the source from which reading resumes after it.

    ``source_partition`` says which part of the source it came from (a file, a table), ``source_offset`` where reading
    resumes after this record; both map strings to strings, numbers, booleans or None.
    """

    source_partition: dict[str, Any] = field(default_factory=dict)
    source_offset: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkRecord(Record):
    """A record on its way out of Kafka.

    The ``original_*`` fields say where it was read, whatever transforms have changed.
    """

    offset: int = -1
    timestamp_type: str = "NoTimestampType"
    original_topic: str = ""
    original_partition: int = -1
    original_offset: int = -1


_SETTERS: dict[type, dict[str, Callable[[Any, Any], None]]] = {
    record: {each.name: getattr(record, each.name).__set__ for each in fields(record)}
    for record in (SourceRecord, SinkRecord)
}
"""The setter of each field, by class."""
