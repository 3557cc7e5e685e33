"""Conversion of records to Arrow batches of rows for tables, each row with the number of its shape."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import Schema
from penstock.connectors.jdbc.columns import ColumnKind, RecordPart, RowShape, SinkColumn, moment_of
from penstock.connectors.jdbc.records import shape_of
from penstock.connectors.jdbc.sink_settings import COORDINATES, JdbcSinkSettings
from penstock.pipeline.errors import ErrorHandler, PipelineStage, Step
from penstock.spark.query.jdbc.plan import PassPlan
from penstock.spark.query.sink.progress import Partition
from penstock.spark.versions import arrow_schema

SINK_CLASS = "io.confluent.connect.jdbc.JdbcSinkConnector"
_UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError, DataError)
_NEW = -1
"""The number of shapes that are not in the plan."""
_Group = tuple[str, Schema | None, Schema | None, bool, bool]


class TableRowMaker:
    """Makes the rows of one pass. ``stops`` has the partitions in which it met a shape that is not in the plan."""

    def __init__(self, settings: JdbcSinkSettings, plan: PassPlan) -> None:
        self._settings, self._plan = settings, plan
        self._numbers = {shape: number for number, shape in enumerate(plan.shapes)}
        self._schema = arrow_schema(plan.row_type(), "UTC")
        self._groups: dict[_Group, int | str] = {}
        """The number of the shape of such records, or why they have none."""
        self._check = Step(PipelineStage.TASK_PUT, SINK_CLASS, self._checked)
        self.stops: dict[Partition, int] = {}
        self.new: set[RowShape] = set()

    def rows(self, batch: Batch, errors: ErrorHandler) -> pa.RecordBatch | None:
        """Return the rows of a batch up to its stops; ``errors`` handles records that have no place in a table."""
        if not len(batch):
            return None
        try:
            batch, numbers = self._known(batch)
            return self._made(batch, numbers)
        except _UNFIT:
            batch, numbers = self._known(errors.run([self._check], batch))
            return self._made(batch, numbers)

    def _checked(self, batch: Batch) -> Batch:
        numbers = self._numbered(batch)
        if len(batch) > 1 or numbers != [_NEW]:
            known = [i for i, number in enumerate(numbers) if number != _NEW]
            self._made(batch.select(known), [numbers[i] for i in known])
        return batch

    def _numbered(self, batch: Batch) -> list[int]:
        """Return the number of each record's shape. Raises DataError if a record has none."""
        values: Any = [True] * len(batch) if isinstance(batch.value_column, Table) else None
        keys: Any = [True] * len(batch) if isinstance(batch.key_column, Table) else None
        valued = values or [value is not None for value in batch.values]
        keyed = keys or [key is not None for key in batch.keys]
        columns: list[list[Any]] = [batch.topics, batch.key_schemas, batch.value_schemas, keyed, valued]
        groups: list[_Group] = list(zip(*(column[:1] for column in columns), strict=True))
        if all(column.count(column[0]) == len(column) for column in columns if column):
            # Nearly always, and quicker than a group for each record.
            return self._numbers_of(groups) * len(batch)
        return self._numbers_of(list(zip(*columns, strict=True)))

    def _numbers_of(self, groups: list[_Group]) -> list[int]:
        for group in set(groups) - self._groups.keys():
            self._groups[group] = self._number_of(group)
        found = list(map(self._groups.__getitem__, groups))
        for number in found:
            if isinstance(number, str):
                raise DataError(number)
        return found  # type: ignore[return-value]

    def _number_of(self, group: _Group) -> int | str:
        topic, key, value, keyed, valued = group
        try:
            shape = shape_of(self._settings, topic, key, value, keyed=keyed, valued=valued)
        except DataError as error:
            return str(error)
        if (drifted := self._plan.drifted.get(shape)) is not None:
            return drifted
        number = self._numbers.get(shape, _NEW)
        if number == _NEW:
            self.new.add(shape)
        return number

    def _known(self, batch: Batch) -> tuple[Batch, list[int]]:
        """Return the records up to the stops, with the numbers of their shapes."""
        numbers = self._numbered(batch)
        if _NEW not in numbers:
            return batch, numbers
        origin = batch.origin
        assert isinstance(origin, SinkOrigin)
        kept = []
        for i, number in enumerate(numbers):
            place = origin.topics[i], origin.partitions[i]
            if number == _NEW:
                self.stops.setdefault(place, origin.offsets[i])
            elif place not in self.stops:
                kept.append(i)
        return batch.select(kept), [numbers[i] for i in kept]

    def _made(self, batch: Batch, numbers: Sequence[int]) -> pa.RecordBatch | None:
        if not len(batch):
            return None
        origin = batch.origin
        assert isinstance(origin, SinkOrigin)
        head = [
            pa.array(numbers, pa.int32()),
            pa.array(origin.topics, pa.string()),
            pa.array(origin.partitions, pa.int32()),
            pa.array(origin.offsets, pa.int64()),
        ]
        structs = [self._struct(batch, numbers, number) for number in range(len(self._plan.shapes))]
        return pa.RecordBatch.from_arrays([*head, *structs], schema=self._schema)

    def _struct(self, batch: Batch, numbers: Sequence[int], number: int) -> pa.Array:
        """Return the structs of one shape: null in the rows of others."""
        kind = self._schema.field(f"s{number}").type
        rows = [i for i, each in enumerate(numbers) if each == number]
        if not rows:
            return pa.nulls(len(numbers), kind)
        part = batch if len(rows) == len(numbers) else batch.select(rows)
        shape = self._plan.shapes[number]
        columns = [self._column(part, column, kind.field(i).type) for i, column in enumerate(shape.columns)]
        made = pa.StructArray.from_arrays(columns, fields=list(kind))
        if part is batch:
            return made
        places: list[int | None] = [None] * len(numbers)
        for place, row in enumerate(rows):
            places[row] = place
        return made.take(pa.array(places, pa.int32()))

    def _column(self, batch: Batch, column: SinkColumn, kind: pa.DataType) -> pa.Array:
        values = self._values(batch, column)
        match column.kind:
            case ColumnKind.DECIMAL:
                return pa.array([None if value is None else format(value, "f") for value in values], pa.string())
            case ColumnKind.DATE:
                return pa.array(values, pa.date32()).cast(pa.int32())
            case ColumnKind.TIME:
                if zoned := next((value for value in values if value is not None and value.tzinfo is not None), None):
                    raise DataError(f"{zoned.isoformat()} of column {column.name} has a zone, and a Time has none")
                return pa.array(values, pa.time32("ms")).cast(pa.int32())
            case ColumnKind.TIMESTAMP:
                return pa.array(list(map(_milliseconds, values)), pa.int64())
            case ColumnKind.MICROS | ColumnKind.NANOS:
                texts = [None if value is None else str(moment_of(value, column.kind)) for value in values]
                return pa.array(texts, pa.string())
        return pa.array(values, kind)

    def _values(self, batch: Batch, column: SinkColumn) -> Sequence[Any]:
        if column.part is RecordPart.KAFKA:
            origin = batch.origin
            assert isinstance(origin, SinkOrigin)
            return (origin.topics, origin.partitions, origin.offsets)[COORDINATES.index(column.field or "")]
        of_key = column.part is RecordPart.KEY
        given = batch.key_column if of_key else batch.value_column
        schemas = batch.key_schemas if of_key else batch.value_schemas
        name = column.field
        if name is None:
            values: Sequence[Any] = list(given)
        elif isinstance(given, Table):
            values = list(given.as_dict().get(name) or [None] * len(batch))
        else:
            values = [value.get(name) for value in given]
        if not self._settings.defaults or column.default is None or None not in values:
            return values
        return [
            _default(schema, name) if value is None else value for value, schema in zip(values, schemas, strict=True)
        ]


def _default(schema: Schema | None, name: str | None) -> Any:
    assert schema is not None
    field = schema if name is None else schema.field(name)
    inner = field if isinstance(field, Schema) or field is None else field.schema
    return None if inner is None else inner.default


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND = dt.timedelta(milliseconds=1)


def _milliseconds(value: dt.datetime | None) -> int | None:
    if value is None:
        return None
    return ((value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)) - _EPOCH) // _MILLISECOND
