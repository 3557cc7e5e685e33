"""Many records as columns: what flows through the pipeline.

A batch is made of lists of equal length, one entry a record. Columns are never changed in place: to change
values, make a new list and call ``batch.with_(values=...)``. Batches may therefore share columns, and a batch that
failed half-way can be processed again record by record.

Maps and structs that all have the same keys may come as a ``Table``, which has a column for each key: ``batch.values``
always gives the list of them, ``batch.value_column`` the table.

``origin`` says where each record came from; no transformation may change it. ``SourceOrigin`` and ``SinkOrigin`` are
its two forms; ``select`` and ``split`` keep it in step with the other columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import Field, dataclass, fields, replace
from itertools import chain
from typing import Any, Self

from penstock.api.columns import Late, SelectedRows, Table
from penstock.api.record import Header, SinkRecord, SourceRecord
from penstock.api.schema import Schema

NO_HEADERS: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceOrigin:
    """Per record, the source partition it belongs to and the source offset after it (see ``SourceRecord``).

    Records of one source partition may share one ``dict`` object; these dicts must not be changed.
    """

    partitions: Sequence[dict[str, Any]]
    offsets: Sequence[dict[str, Any]]

    def select(self, rows: Sequence[int]) -> SourceOrigin:
        offsets = self.offsets
        chosen = offsets.select(rows) if isinstance(offsets, SelectedRows) else [offsets[i] for i in rows]
        return SourceOrigin([self.partitions[i] for i in rows], chosen)


@dataclass(frozen=True, slots=True)
class SinkOrigin:
    """Per record, the topic, partition and offset it was read from, and the type of its timestamp.

    ``offsets`` may be a ``range``. ``timestamp_types`` holds ``CreateTime``, ``LogAppendTime`` or ``NoTimestampType``.
    """

    topics: list[str]
    partitions: list[int]
    offsets: Sequence[int]
    timestamp_type_column: list[str] | Late

    @property
    def timestamp_types(self) -> list[str]:
        column = self.timestamp_type_column
        return column.get() if isinstance(column, Late) else column

    def select(self, rows: Sequence[int]) -> SinkOrigin:
        return SinkOrigin(
            [self.topics[i] for i in rows],
            [self.partitions[i] for i in rows],
            [self.offsets[i] for i in rows],
            _selected(self.timestamp_type_column, rows),
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Columns of equal length. ``topics`` and ``values`` must be given to ``of``; the others have neutral defaults.

    ``partitions``: None lets the producer choose. ``timestamps``: milliseconds since 1970, or None.
    """

    topics: list[str]
    partitions: list[int | None]
    key_schemas: list[Schema | None]
    key_column: list[Any] | Table
    value_schemas: list[Schema | None]
    value_column: list[Any] | Table
    timestamp_column: list[int | None] | Late
    headers: list[tuple[Header, ...]]
    origin: SourceOrigin | SinkOrigin | None = None

    @property
    def keys(self) -> list[Any]:
        column = self.key_column
        return column.rows() if isinstance(column, Table) else column

    @property
    def values(self) -> list[Any]:
        column = self.value_column
        return column.rows() if isinstance(column, Table) else column

    @property
    def timestamps(self) -> list[int | None]:
        column = self.timestamp_column
        return column.get() if isinstance(column, Late) else column

    @classmethod
    def of(
        cls,
        topic: str | list[str],
        values: list[Any] | Table,
        *,
        value_schema: Schema | list[Schema | None] | None = None,
        keys: list[Any] | Table | None = None,
        key_schema: Schema | list[Schema | None] | None = None,
        partitions: list[int | None] | None = None,
        timestamps: list[int | None] | Late | None = None,
        headers: list[tuple[Header, ...]] | None = None,
        origin: SourceOrigin | SinkOrigin | None = None,
    ) -> Batch:
        """A batch of these values; a topic or schema that is not a list applies to every record."""
        n = len(values)
        return cls(
            topic if isinstance(topic, list) else [topic] * n,
            [None] * n if partitions is None else partitions,
            key_schema if isinstance(key_schema, list) else [key_schema] * n,
            [None] * n if keys is None else keys,
            value_schema if isinstance(value_schema, list) else [value_schema] * n,
            values,
            [None] * n if timestamps is None else timestamps,
            [NO_HEADERS] * n if headers is None else headers,
            origin,
        )

    @classmethod
    def of_source_records(cls, records: Iterable[SourceRecord]) -> Batch:
        rows = list(records)
        origin = SourceOrigin([r.source_partition for r in rows], [r.source_offset for r in rows])
        return cls._of_rows(rows, origin)

    @classmethod
    def of_sink_records(cls, records: Iterable[SinkRecord]) -> Batch:
        rows = list(records)
        origin = SinkOrigin(
            [r.original_topic or r.topic for r in rows],
            [r.original_partition if r.original_partition >= 0 else (r.partition or 0) for r in rows],
            [r.original_offset if r.original_offset >= 0 else r.offset for r in rows],
            [r.timestamp_type for r in rows],
        )
        return cls._of_rows(rows, origin)

    @classmethod
    def _of_rows(cls, rows: Sequence[SourceRecord] | Sequence[SinkRecord], origin: SourceOrigin | SinkOrigin) -> Batch:
        return cls(
            [r.topic for r in rows],
            [r.partition for r in rows],
            [r.key_schema for r in rows],
            [r.key for r in rows],
            [r.value_schema for r in rows],
            [r.value for r in rows],
            [r.timestamp for r in rows],
            [r.headers for r in rows],
            origin,
        )

    def __len__(self) -> int:
        return len(self.topics)

    def with_(self, **columns: Any) -> Self:
        """The same batch with these columns, each as long as the batch; ``keys`` and ``values`` may be tables."""
        return replace(self, **{_FIELDS.get(name, name): column for name, column in columns.items()})

    def select(self, rows: Sequence[int]) -> Batch:
        """The records at these indices, in the order given."""
        return Batch(
            [self.topics[i] for i in rows],
            [self.partitions[i] for i in rows],
            [self.key_schemas[i] for i in rows],
            _selected(self.key_column, rows),
            [self.value_schemas[i] for i in rows],
            _selected(self.value_column, rows),
            _selected(self.timestamp_column, rows),
            [self.headers[i] for i in rows],
            None if self.origin is None else self.origin.select(rows),
        )

    @staticmethod
    def concat(batches: Sequence[Batch]) -> Batch:
        """One batch of all records, in order; all must have the same kind of origin, and there must be at least one."""
        batches = [batch for batch in batches if len(batch)] or batches[:1]
        if len(batches) == 1:
            return batches[0]
        return batches[0]._concat(batches)

    def _concat(self, batches: Sequence[Batch]) -> Batch:
        columns = _joined(batches, [column for column in fields(Batch) if column.name != "origin"])
        return Batch(**columns, origin=self._joined_origin(batches))

    def _joined_origin(self, batches: Sequence[Batch]) -> SourceOrigin | SinkOrigin | None:
        if self.origin is None:
            return None
        return replace(self.origin, **_joined([batch.origin for batch in batches], fields(self.origin)))

    @staticmethod
    def of_rows(rows: Sequence[SourceRecord | SinkRecord]) -> Batch:
        if rows and isinstance(rows[0], SinkRecord):
            return Batch.of_sink_records(rows)  # type: ignore[arg-type]
        return Batch.of_source_records(rows)  # type: ignore[arg-type]

    def rows(self) -> Iterator[SourceRecord | SinkRecord]:
        """The records one by one. A batch without an origin gives source records."""
        common: dict[str, Sequence[Any]] = {
            "topic": self.topics,
            "partition": self.partitions,
            "key_schema": self.key_schemas,
            "key": self.keys,
            "value_schema": self.value_schemas,
            "value": self.values,
            "timestamp": self.timestamps,
            "headers": self.headers,
        }
        match self.origin:
            case SinkOrigin() as origin:
                read = {
                    "offset": origin.offsets,
                    "timestamp_type": origin.timestamp_types,
                    "original_topic": origin.topics,
                    "original_partition": origin.partitions,
                    "original_offset": origin.offsets,
                }
                return iter(SinkRecord.of_columns({**common, **read}))
            case SourceOrigin(partitions, offsets):
                position = {"source_partition": partitions, "source_offset": offsets}
            case None:
                position = {name: [{} for _ in self.topics] for name in ("source_partition", "source_offset")}
        return iter(SourceRecord.of_columns({**common, **position}))

    def row(self, i: int) -> SourceRecord | SinkRecord:
        return next(self.select((i,)).rows())


_FIELDS = {"keys": "key_column", "values": "value_column", "timestamps": "timestamp_column"}


def _selected(column: Any, rows: Sequence[int]) -> Any:
    """These entries of a column, in the same form: a list, a table, or late."""
    match column:
        case Table():
            return column.select(rows)
        case Late():
            return Late(lambda: _selected(column.get(), rows))
        case _:
            return [column[i] for i in rows]


def _joined(parts: Sequence[Any], columns: Iterable[Field[Any]]) -> dict[str, Any]:
    """These columns of all parts, concatenated."""
    return {c.name: list(chain.from_iterable(_whole(getattr(part, c.name)) for part in parts)) for c in columns}


def _whole(column: Any) -> Any:
    return column.get() if isinstance(column, Late) else column
