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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from operator import itemgetter
from typing import Any, Self

from penstock.api.columns import Late, SelectedRows, Table
from penstock.api.record import Header, SinkRecord, SourceRecord
from penstock.api.schema import Schema

NO_HEADERS: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Column:
    """A column of a batch, or of an origin: all that is known of it besides its type."""

    name: str = ""
    """The field of the class that has the column."""
    record_fields: tuple[str, ...]
    """The fields of a record that have its values; the first one is read when a batch is made of records."""
    public: str = ""
    """The attribute in which the column is a list."""
    default: Any = None
    """The value of records for which ``Batch.of`` was given no column."""
    repeats: bool = False
    """Whether ``Batch.of`` takes one value for all records."""
    part: str | None = None
    """``key``, ``value`` or ``headers``, of which a record's transforms and converters change one at a time."""


def _column(*record_fields: str, **more: Any) -> Any:
    return field(metadata={"column": Column(record_fields=record_fields, **more)})


def _columns_of(cls: type[Any]) -> tuple[Column, ...]:
    """The columns that a class declares, in order."""
    declared = [(each.name, each.metadata["column"]) for each in fields(cls) if "column" in each.metadata]
    return tuple(replace(column, name=name, public=column.public or name) for name, column in declared)


@dataclass(frozen=True, slots=True)
class SourceOrigin:
    """Per record, the source partition it belongs to and the source offset after it (see ``SourceRecord``).

    Records of one source partition may share one ``dict`` object; these dicts must not be changed.
    """

    partitions: Sequence[dict[str, Any]] = _column("source_partition")
    offsets: Sequence[dict[str, Any]] = _column("source_offset")

    def select(self, rows: Sequence[int]) -> SourceOrigin:
        """Return the origins of these rows, in the order given."""
        return SourceOrigin(**_selected(self, SOURCE_COLUMNS, rows))


@dataclass(frozen=True, slots=True)
class SinkOrigin:
    """Per record, the topic, partition and offset it was read from, and the type of its timestamp.

    ``offsets`` may be a ``range``. ``timestamp_types`` holds ``CreateTime``, ``LogAppendTime`` or ``NoTimestampType``.
    """

    topics: list[str] = _column("original_topic")
    partitions: list[int] = _column("original_partition")
    offsets: Sequence[int] = _column("original_offset", "offset")
    timestamp_type_column: list[str] | Late = _column("timestamp_type", public="timestamp_types")

    @property
    def timestamp_types(self) -> list[str]:
        """The types as a list; computed on first access."""
        column = self.timestamp_type_column
        return column.get() if isinstance(column, Late) else column

    def select(self, rows: Sequence[int]) -> SinkOrigin:
        """Return the origins of these rows, in the order given."""
        return SinkOrigin(**_selected(self, SINK_COLUMNS, rows))


@dataclass(frozen=True, slots=True)
class Batch:
    """Columns of equal length. ``topics`` and ``values`` must be given to ``of``; the others have neutral defaults.

    ``partitions``: None lets the producer choose. ``timestamps``: milliseconds since 1970, or None.
    """

    topics: list[str] = _column("topic", repeats=True)
    partitions: list[int | None] = _column("partition")
    key_schemas: list[Schema | None] = _column("key_schema", repeats=True, part="key")
    key_column: list[Any] | Table = _column("key", public="keys", part="key")
    value_schemas: list[Schema | None] = _column("value_schema", repeats=True, part="value")
    value_column: list[Any] | Table = _column("value", public="values", part="value")
    timestamp_column: list[int | None] | Late = _column("timestamp", public="timestamps")
    headers: list[tuple[Header, ...]] = _column("headers", default=NO_HEADERS, part="headers")
    origin: SourceOrigin | SinkOrigin | None = None

    @property
    def keys(self) -> list[Any]:
        """The keys as a list; maps and structs of a table are made on first access."""
        column = self.key_column
        return column.rows() if isinstance(column, Table) else column

    @property
    def values(self) -> list[Any]:
        """The values as a list; maps and structs of a table are made on first access."""
        column = self.value_column
        return column.rows() if isinstance(column, Table) else column

    @property
    def timestamps(self) -> list[int | None]:
        """The timestamps as a list; computed on first access."""
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
        """Make a batch of these values; a topic or schema that is not a list applies to every record."""
        n = len(values)
        given = (topic, partitions, key_schema, keys, value_schema, values, timestamps, headers)
        columns: dict[str, Any] = {
            name: each if isinstance(each, list) else [each] * n if repeats else [default] * n if each is None else each
            for each, (name, repeats, default) in zip(given, _FILLED, strict=True)
        }
        return cls(**columns, origin=origin)

    @classmethod
    def of_source_records(cls, records: Iterable[SourceRecord]) -> Batch:
        """Make a batch of source records, in their order."""
        rows = list(records)
        return cls(**_read(rows, COLUMNS), origin=SourceOrigin(**_read(rows, SOURCE_COLUMNS)))

    @classmethod
    def of_sink_records(cls, records: Iterable[SinkRecord]) -> Batch:
        """Make a batch of sink records, in their order.

        A record that does not say where it was read was read at its own topic, partition and offset.
        """
        rows = list(records)
        origin = SinkOrigin(
            [r.original_topic or r.topic for r in rows],
            [r.original_partition if r.original_partition >= 0 else (r.partition or 0) for r in rows],
            [r.original_offset if r.original_offset >= 0 else r.offset for r in rows],
            [r.timestamp_type for r in rows],
        )
        return cls(**_read(rows, COLUMNS), origin=origin)

    def __len__(self) -> int:
        return len(self.topics)

    def with_(self, **columns: Any) -> Self:
        """Return the batch with these columns in place of its own; ``keys`` and ``values`` may be tables.

        Each must be as long as the batch.
        """
        return replace(self, **{FIELDS.get(name, name): column for name, column in columns.items()})

    def select(self, rows: Sequence[int]) -> Batch:
        """Return the records at these indices, in the order given."""
        origin = None if self.origin is None else self.origin.select(rows)
        return Batch(**_selected(self, COLUMNS, rows), origin=origin)

    @staticmethod
    def concat(batches: Sequence[Batch]) -> Batch:
        """Make one batch of all records, in order.

        All must have the same kind of origin, and there must be at least one batch.
        """
        batches = [batch for batch in batches if len(batch)] or batches[:1]
        if len(batches) == 1:
            return batches[0]
        return batches[0]._concat(batches)

    def _concat(self, batches: Sequence[Batch]) -> Batch:
        return Batch(**_joined(batches, COLUMNS), origin=self._joined_origin(batches))

    def _joined_origin(self, batches: Sequence[Batch]) -> SourceOrigin | SinkOrigin | None:
        origins = [batch.origin for batch in batches]
        match self.origin:
            case SourceOrigin():
                return SourceOrigin(**_joined(origins, SOURCE_COLUMNS))
            case SinkOrigin():
                return SinkOrigin(**_joined(origins, SINK_COLUMNS))
            case None:
                return None

    @staticmethod
    def of_rows(rows: Sequence[SourceRecord | SinkRecord]) -> Batch:
        """Make a batch of records that are all of the same class."""
        if rows and isinstance(rows[0], SinkRecord):
            return Batch.of_sink_records(rows)  # type: ignore[arg-type]
        return Batch.of_source_records(rows)  # type: ignore[arg-type]

    def rows(self) -> Iterator[SourceRecord | SinkRecord]:
        """Return the records one by one. A batch without an origin gives source records."""
        match self.origin:
            case SinkOrigin() as origin:
                return iter(SinkRecord.of_columns(_by_field(self, _FIELDS) | _by_field(origin, _SINK_FIELDS)))
            case SourceOrigin() as origin:
                pass
            case None:
                origin = SourceOrigin([{} for _ in self.topics], [{} for _ in self.topics])
        return iter(SourceRecord.of_columns(_by_field(self, _FIELDS) | _by_field(origin, _SOURCE_FIELDS)))

    def row(self, i: int) -> SourceRecord | SinkRecord:
        """Return one record, by its index."""
        return next(self.select((i,)).rows())


COLUMNS = _columns_of(Batch)
SOURCE_COLUMNS, SINK_COLUMNS = _columns_of(SourceOrigin), _columns_of(SinkOrigin)
FIELDS = {column.public: column.name for column in COLUMNS}
"""The field of a batch for each name of ``with_``."""
_FILLED = tuple((column.name, column.repeats, column.default) for column in COLUMNS)


def _reader(name: str) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function that reads this field of records; ``attrgetter`` would take half as much time again."""
    read: Callable[[Sequence[Any]], list[Any]] = eval(f"lambda records: [record.{name} for record in records]")
    return read


_READERS = {each: _reader(each.record_fields[0]) for each in (*COLUMNS, *SOURCE_COLUMNS)}


def _read(records: Sequence[Any], columns: Iterable[Column]) -> dict[str, list[Any]]:
    """Read these columns of records; returns them by name."""
    return {column.name: _READERS[column](records) for column in columns}


def _fields_of(columns: Iterable[Column]) -> tuple[tuple[str, str], ...]:
    return tuple((name, column.public) for column in columns for name in column.record_fields)


_FIELDS, _SOURCE_FIELDS, _SINK_FIELDS = map(_fields_of, (COLUMNS, SOURCE_COLUMNS, SINK_COLUMNS))


def _by_field(whole: Any, fields: Iterable[tuple[str, str]]) -> dict[str, Sequence[Any]]:
    """The columns as lists, by the fields of records."""
    return {name: getattr(whole, public) for name, public in fields}


def _selected(whole: Any, columns: Iterable[Column], rows: Sequence[int]) -> dict[str, Any]:
    """Return these entries of the columns, by name."""
    pick = _picker(rows)
    found = [(column.name, getattr(whole, column.name)) for column in columns]
    return {name: pick(column) if type(column) is list else selected(column, rows) for name, column in found}


def selected(column: Any, rows: Sequence[int]) -> Any:
    """Return these entries of a column in the same form: a list, a table, or late."""
    match column:
        case Table() | SelectedRows():
            return column.select(rows)
        case Late():
            return Late(lambda: selected(column.get(), rows))
        case _:
            return _picker(rows)(column)


def _picker(rows: Sequence[int]) -> Callable[[Any], list[Any]]:
    """Return a function that takes these entries of a list."""
    if len(rows) < 2:
        return lambda column: [column[row] for row in rows]
    pick = itemgetter(*rows)
    return lambda column: [*pick(column)]


def _joined(parts: Sequence[Any], columns: Iterable[Column]) -> dict[str, list[Any]]:
    """The columns of all parts, concatenated, by their names."""
    return {
        column.name: list(chain.from_iterable(_entries(getattr(part, column.name)) for part in parts))
        for column in columns
    }


def _entries(column: Any) -> Any:
    return column.get() if isinstance(column, Late) else column
