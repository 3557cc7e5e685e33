"""Events as Debezium's: the schemas of a table's topic, and the records that a change gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock import __version__
from penstock.api.record import Header
from penstock.api.schema import INT64, OPTIONAL_INT64, OPTIONAL_STRING, STRING, Schema, struct
from penstock.api.topic_names import topic_name
from penstock.connectors.postgres.catalog import PostgresTable, RelationName
from penstock.connectors.postgres.pgoutput import UNCHANGED, Row, RowChange
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.values.types import ColumnType, Types, column_type

OLD_KEY, NEW_KEY = "__debezium.oldkey", "__debezium.newkey"
_MARKS = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
_SOURCE = struct(
    ("version", STRING),
    ("connector", STRING),
    ("name", STRING),
    ("ts_ms", INT64),
    (
        "snapshot",
        STRING.with_(
            name="io.debezium.data.Enum", version=1, optional=True, default="false", parameters={"allowed": _MARKS}
        ),
    ),
    ("db", STRING),
    ("sequence", OPTIONAL_STRING),
    ("ts_us", OPTIONAL_INT64),
    ("ts_ns", OPTIONAL_INT64),
    ("schema", STRING),
    ("table", STRING),
    ("txId", OPTIONAL_INT64),
    ("lsn", OPTIONAL_INT64),
    ("xmin", OPTIONAL_INT64),
    ("origin", OPTIONAL_STRING),
    ("origin_lsn", OPTIONAL_INT64),
    name="io.debezium.connector.postgresql.Source",
    version=1,
)
_TRANSACTION = struct(
    ("id", STRING),
    ("total_order", INT64),
    ("data_collection_order", INT64),
    name="event.block",
    version=1,
    optional=True,
)


@dataclass(frozen=True, slots=True)
class ChangePlace:
    """Place and time of a change; ``time`` in microseconds since 1970."""

    time: int
    lsn: int
    xid: int | None
    commit: int | None
    """The position of the transaction's commit; None in a snapshot."""
    snapshot: str = "false"


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """One record, without its place in the source."""

    key_schema: Schema | None
    key: Any
    value_schema: Schema | None
    value: Any
    headers: tuple[Header, ...] = ()


def name_for_topic(settings: PostgresSettings, table: RelationName) -> str:
    """Return the name of a table of which ``topic_name`` makes its topic."""
    return f"{settings.prefix}.{table.schema}.{table.name}"


class TableEvents:
    """Makes the events of one table in one state of its columns."""

    def __init__(self, settings: PostgresSettings, table: PostgresTable, columns: list[ColumnType]) -> None:
        self.settings, self.table, self.columns = settings, table, columns
        self.topic = topic_name(name_for_topic(settings, table.name))
        self._value_schema = struct(
            *((each.name, each.schema) for each in self.columns), name=f"{self.topic}.Value", optional=True
        )
        self._schema = struct(
            ("before", self._value_schema),
            ("after", self._value_schema),
            ("source", _SOURCE),
            ("transaction", _TRANSACTION),
            ("op", STRING),
            ("ts_ms", OPTIONAL_INT64),
            ("ts_us", OPTIONAL_INT64),
            ("ts_ns", OPTIONAL_INT64),
            name=f"{self.topic}.Envelope",
            version=2,
        )
        by_place = {each.place: each for each in self.columns}
        self._key = [by_place[place] for place in self.table.key() if place in by_place]
        fields = ((each.name, each.schema) for each in self._key)
        self._key_schema = struct(*fields, name=f"{self.topic}.Key") if self._key else None

    @classmethod
    def of(cls, types: Types, settings: PostgresSettings, table: PostgresTable) -> TableEvents:
        found = (column_type(types, settings, table.name, column, place) for place, column in enumerate(table.columns))
        return cls(settings, table, [each for each in found if each is not None])

    def left_out(self) -> list[str]:
        """Columns whose types have no form in a record."""
        shown = {each.name for each in self.columns}
        return [column.name for column in self.table.columns if column.name not in shown]

    def read(self, row: Row, moment: ChangePlace, now: int) -> ChangeEvent:
        """Return the event of a row of a snapshot."""
        return self._event("r", None, row, moment, now)

    def truncated(self, moment: ChangePlace, now: int) -> Iterator[ChangeEvent]:
        if "t" not in self.settings.skipped:
            yield ChangeEvent(None, None, self._schema, self._envelope("t", None, None, moment, now))

    def changed(self, change: RowChange, moment: ChangePlace, now: int) -> Iterator[ChangeEvent]:
        if change.operation in self.settings.skipped:
            return
        old, new = change.old, change.new
        if new is None:
            assert old is not None
            yield from self._deleted(old, moment, now, ())
        elif old is None or self._key_of(old) == self._key_of(filled := _filled(new, old)):
            yield self._event(change.operation, old if change.old_is_full else None, new, moment, now)
        else:
            headers = (Header(NEW_KEY, self._key_schema, self._key_of(filled)),)
            yield from self._deleted(old, moment, now, headers)
            event = self._event("c", None, filled, moment, now)
            header = Header(OLD_KEY, self._key_schema, self._key_of(old))
            yield ChangeEvent(event.key_schema, event.key, event.value_schema, event.value, (header,))

    def _deleted(self, old: Row, moment: ChangePlace, now: int, headers: tuple[Header, ...]) -> Iterator[ChangeEvent]:
        key = self._key_of(old)
        envelope = self._envelope("d", self._values(old), None, moment, now)
        yield ChangeEvent(self._key_schema, key, self._schema, envelope, headers)
        if self.settings.tombstones:
            yield ChangeEvent(self._key_schema, key, None, None, headers)

    def _event(self, operation: str, old: Row | None, new: Row, moment: ChangePlace, now: int) -> ChangeEvent:
        before = None if old is None else self._values(old)
        envelope = self._envelope(
            operation, before, self._values(new if old is None else _filled(new, old)), moment, now
        )
        return ChangeEvent(self._key_schema, self._key_of(new), self._schema, envelope)

    def _key_of(self, row: Row) -> dict[str, Any] | None:
        return {each.name: each.value(row[each.place]) for each in self._key} if self._key else None

    def _values(self, row: Row) -> dict[str, Any]:
        return {each.name: each.value(row[each.place]) for each in self.columns}

    def _envelope(self, operation: str, before: Any, after: Any, moment: ChangePlace, now: int) -> dict[str, Any]:
        return {
            "before": before,
            "after": after,
            "source": self._source(moment),
            "transaction": None,
            "op": operation,
            "ts_ms": now // 1_000_000,
            "ts_us": now // 1000,
            "ts_ns": now,
        }

    def _source(self, moment: ChangePlace) -> dict[str, Any]:
        commit = "null" if moment.commit is None else f'"{moment.commit}"'
        return {
            "version": __version__,
            "connector": "postgresql",
            "name": self.settings.prefix,
            "ts_ms": moment.time // 1000,
            "snapshot": moment.snapshot,
            "db": self.settings.connection["dbname"],
            "sequence": f'[{commit},"{moment.lsn}"]',
            "ts_us": moment.time,
            "ts_ns": moment.time * 1000,
            "schema": self.table.name.schema,
            "table": self.table.name.name,
            "txId": moment.xid,
            "lsn": moment.lsn,
            "xmin": None,
            "origin": None,
            "origin_lsn": None,
        }


def _filled(new: Row, old: Sequence[str | None]) -> Row:
    """Fill in values that an update has not changed, from the row before."""
    return [old[i] if each is UNCHANGED and old[i] is not None else each for i, each in enumerate(new)]
