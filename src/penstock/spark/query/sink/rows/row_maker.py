"""Batches of records to Arrow batches of a table's columns, and Spark's Arrow batches to batches of records."""

from __future__ import annotations

import decimal
import json
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.api.batch import NO_HEADERS, Batch, SinkOrigin
from penstock.api.columns import Late, Table
from penstock.api.errors import DataError
from penstock.api.schema import SchemaType
from penstock.pipeline.errors import ErrorHandler, PipelineStage, Step
from penstock.spark.query.sink.orc import has_times, refuse_unwritable
from penstock.spark.query.sink.rows.columns import VALUE, columns_of, fitting, merged, nullable, text_of, texts
from penstock.spark.query.sink.rows.drift import drift
from penstock.spark.query.sink.rows.keys import deleted
from penstock.spark.query.sink.rows.plan import CHANGE, EXTRAS, RowPlan, RowsError
from penstock.spark.versions import arrow_schema

SINK_CLASS = "penstock.connectors.SparkSink"
_PLAIN: tuple[tuple[tuple[type[t.DataType], ...], set[type]], ...] = (
    ((t.ByteType, t.ShortType, t.IntegerType, t.LongType), {int}),
    ((t.FloatType, t.DoubleType), {int, float}),
    ((t.DecimalType,), {int, decimal.Decimal}),
    ((t.BooleanType,), {bool}),
    ((t.StringType,), {str}),
    ((t.BinaryType,), {bytes}),
)
"""Types of columns, and those of values that PyArrow leaves as they are."""
_UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError)


Finish = Callable[[pa.StructArray], pa.StructArray]
"""Makes rows of other columns of rows. Raises DataError and PyArrow's errors for rows that can't be made so."""


def columns_in(batch: Batch, exact: bool = False) -> t.StructType | None:
    """The columns that the values of a batch have; None if it has no values. ``exact`` as for ``spark_type``."""
    found = None
    for schema, kind in dict.fromkeys(zip(batch.value_schemas, map(type, batch.values), strict=True)):
        if kind is not type(None):
            columns = columns_of(schema, kind, exact)
            found = columns if found is None else merged(found, columns)
    return found


def _require_columns(batch: Batch) -> Batch:
    """Return the batch. Raises DataError for a value that no columns can hold, such as one that contains itself."""
    for schema, kind in _kinds(batch):
        if kind is not NoneType:
            columns_of(schema, kind)
    return batch


COLUMNS_STEP = Step(PipelineStage.TASK_PUT, SINK_CLASS, _require_columns)


def _kinds(batch: Batch) -> set[Any]:
    """Return the schemas of the values with the classes of these."""
    if isinstance(batch.value_column, Table):
        return {(schema, dict) for schema in set(batch.value_schemas)}
    return set(zip(batch.value_schemas, map(type, batch.values), strict=True))


class RowMaker:
    """Makes Arrow batches of the plan's columns. Raises RowsError for values that have others.

    With ``finish`` the batches are what it makes of rows of these columns.
    """

    def __init__(self, plan: RowPlan, finish: Finish | None = None) -> None:
        self.plan, self._finish = plan, finish
        self._columns = plan.value_type()
        self._records = t.StructType.fromJson(json.loads(plan.records)) if plan.records else self._columns
        self._fits = t.StructType.fromJson(json.loads(plan.fits)) if plan.fits else None
        self._arrow = pa.struct(list(arrow_schema(all_nullable(self._columns), plan.zone)))
        extras = t.StructType([EXTRAS[name] for name in plan.extras])
        self._extras = arrow_schema(extras, plan.zone)
        self._names = plan.row_type().names
        self._known: set[Any] = set()
        self._fit = fitting(self._columns)
        self._declared = DeclaredColumns(self._columns, self._arrow) if plan.declared else None
        self._checked = [field for field in self._arrow if has_times(field.type)] if plan.orc else []
        self._texts = not plan.declared and self._columns == t.StructType([t.StructField(VALUE, t.StringType())])
        self._loose = False
        """Whether values have to be made to fit."""
        self._step = Step(PipelineStage.TASK_PUT, SINK_CLASS, self._try)
        self._drift = Step(PipelineStage.TASK_PUT, SINK_CLASS, self._refuse_drift)
        self._unknown = Step(PipelineStage.TASK_PUT, SINK_CLASS, self._refuse_unknown)
        self._accepted: set[Any] = set()
        self._finished = pa.schema([])
        """The columns of what ``finish`` makes."""

    def rows(self, batch: Batch, errors: ErrorHandler) -> pa.RecordBatch | None:
        """The rows of a batch, of which ``errors`` handles those that do not fit; None if there are none."""
        if not self.plan.tombstones and not isinstance(batch.value_column, Table) and None in batch.values:
            batch = batch.select([i for i, value in enumerate(batch.values) if value is not None])
        if not len(batch):
            return None
        refuses = self.plan.accepted is not None or self._fits is not None
        if refuses and not _kinds(batch) <= self._accepted:
            batch = errors.run([self._drift], batch)
            if not len(batch):
                return None
        if not self.plan.declared and self._fits is None:
            try:
                self._check(batch)
            except DataError:
                batch = errors.run([COLUMNS_STEP], batch)
                if not len(batch):
                    return None
                self._check(batch)
        if self._finish is not None and not _kinds(batch) <= self._accepted:
            batch = errors.run([self._unknown], batch)
            if not len(batch):
                return None
        try:
            columns = self._all(batch)
        except (*_UNFIT, DataError):
            batch = errors.run([self._step], batch)
            if not len(batch):
                return None
            columns = self._all(batch)
        if self._finish is not None:
            return pa.RecordBatch.from_arrays(columns, schema=self._finished)
        if self.plan.keyed:
            columns += change(batch)
        return pa.RecordBatch.from_arrays(columns, names=self._names)

    def _check(self, batch: Batch) -> None:
        """Raise RowsError for columns that are not in the plan: Spark must know all before it writes the first row."""
        kinds = _kinds(batch)
        if kinds <= self._known:
            return
        found = columns_in(batch, self.plan.exact)
        if found is not None and merged(self._records, found) != self._records:
            raise RowsError(columns=found.json())
        self._known |= kinds

    def _refuse_drift(self, batch: Batch) -> Batch:
        """Raises DataError for records with columns that the table lacks. Returns the batch."""
        for kind in _kinds(batch) - self._accepted:
            columns = columns_of(kind[0], kind[1], self.plan.exact) if kind[1] is not NoneType else t.StructType()
            if self._fits is not None:
                self._refuse_unfit(columns, self._fits)
                self._accepted.add(kind)
                continue
            found = columns.names
            if more := [name for name in found if name.casefold() not in (self.plan.accepted or ())]:
                raise DataError(
                    f"{', '.join(more)}: not among the columns of {self.plan.target}, and schema.drift=dead-letter"
                )
            self._accepted.add(kind)
        return batch

    def _refuse_unfit(self, columns: t.StructType, table: t.StructType) -> None:
        if (why := drift(columns, table, ignores_case=self.plan.ignores_case).refused) is not None:
            raise DataError(f"{why} of {self.plan.target}, and schema.drift=dead-letter")

    def _refuse_unknown(self, batch: Batch) -> Batch:
        """Raises DataError for records that would be rows of nulls, as the table has a column for none of their fields.
        Returns the batch.
        """
        given = set(self._columns.names)
        for kind in _kinds(batch) - self._accepted:
            columns = columns_of(kind[0], kind[1]) if kind[1] is not NoneType else t.StructType()
            names = self._records.names if self.plan.declared else columns.names
            if names and not given & set(names):
                raise DataError(
                    f"{self.plan.target} has a column for no field of the record ({', '.join(names)}): change the "
                    "record by a transform, or add the columns to the table"
                )
            self._accepted.add(kind)
        return batch

    def _try(self, batch: Batch) -> Batch:
        self._all(batch)
        return batch

    def _all(self, batch: Batch) -> list[pa.Array]:
        """Return the columns of the values, and of what else rows have of their records."""
        if self._finish is not None:
            made = self._finish(self._array(batch))
            self._finished = pa.schema(list(made.type))
            return made.flatten()
        extras = (extra(name, batch, self._extras.field(name).type) for name in self.plan.extras)
        return [*self._array(batch).flatten(), *extras]

    def _array(self, batch: Batch) -> pa.StructArray:
        made = self._made(batch)
        for field in self._checked:
            refuse_unwritable(field.name, made.field(field.name))
        return made

    def _made(self, batch: Batch) -> pa.StructArray:
        if self._declared is not None:
            return self._declared.array(batch)
        if self._texts and not any(schema is not None and schema.fields for schema in set(batch.value_schemas)):
            # The common case of JSON without a schema.
            return pa.StructArray.from_arrays([pa.array(texts(batch.values), pa.string())], [VALUE])
        if not self._loose:
            try:
                made = self._of_table(batch)
                return pa.array(self._structs(batch), self._arrow) if made is None else made
            except _UNFIT:
                pass
        made = pa.array(list(map(self._fit, self._structs(batch))), self._arrow)
        # More such values will follow.
        self._loose = True
        return made

    def _of_table(self, batch: Batch) -> pa.StructArray | None:
        """None if the values are no table whose fields are the columns."""
        table = batch.value_column
        if not isinstance(table, Table) or None in batch.value_schemas:
            return None
        given, nulls = table.as_dict(), [None] * len(table)
        arrays = [pa.array(list(given.get(field.name, nulls)), field.type) for field in self._arrow]
        return _structs_of(arrays, self._arrow, len(batch))

    def _structs(self, batch: Batch) -> list[Any]:
        """The values as dicts of columns; what is no struct is the column ``value``."""
        kinds = {id(schema): schema for schema in batch.value_schemas}
        structs = {one for one, schema in kinds.items() if schema is not None and schema.type is SchemaType.STRUCT}
        if len(structs) == len(kinds):
            return batch.values
        return [
            value if value is None or id(schema) in structs else {VALUE: value}
            for value, schema in zip(batch.values, batch.value_schemas, strict=True)
        ]


def _structs_of(arrays: list[pa.Array], kind: pa.StructType, count: int) -> pa.StructArray:
    """Return ``count`` structs; PyArrow makes none of no columns."""
    return pa.StructArray.from_arrays(arrays, fields=list(kind)) if arrays else pa.array([{}] * count, kind)


def all_nullable(columns: t.StructType) -> t.StructType:
    """Return the columns without what they say about null, which is not for PyArrow and Spark to decide."""
    found = nullable(columns)
    assert isinstance(found, t.StructType)
    return found


class DeclaredColumns:
    """Values for the columns of the setting ``schema``; ``arrow`` has their types.

    PyArrow takes some values for others: the text of a list for its characters, one of bytes for its letters instead of
    base64, and a number with digits after the point for a whole one. So it gets only values of types that it leaves as
    they are, and all others are made to fit, or refused.
    """

    def __init__(self, columns: t.StructType, arrow: pa.StructType) -> None:
        self._arrow = arrow
        self._row = fitting(columns)
        self._columns = [_Column(field, kind.type) for field, kind in zip(columns, arrow, strict=True)]
        self._has_value = VALUE in columns.names

    def array(self, batch: Batch) -> pa.StructArray:
        """Raises DataError, and PyArrow's errors, for values that don't fit."""
        arrays = [made.array(values) for made, values in zip(self._columns, self._values(batch), strict=True)]
        return _structs_of(arrays, self._arrow, len(batch))

    def _values(self, batch: Batch) -> list[Sequence[Any]]:
        names = [field.name for field in self._arrow]
        if isinstance(table := batch.value_column, Table):
            given, nulls = table.as_dict(), [None] * len(table)
            return [given.get(name, nulls) for name in names]
        rows: list[dict[str, Any]] = []
        for row in batch.values:
            if not isinstance(row, dict) and self._has_value:
                rows.append({VALUE: row})
            elif row is None or isinstance(row, dict):
                rows.append(row or {})
            else:
                self._row(row)  # raises
        return [[row.get(name) for row in rows] for name in names]


class _Column:
    def __init__(self, field: t.StructField, kind: pa.DataType) -> None:
        plain = next((types for kinds, types in _PLAIN if isinstance(field.dataType, kinds)), None)
        self._plain = None if plain is None else {*plain, NoneType}
        self._kind, self._fit = kind, fitting(field.dataType, f"{VALUE}.{field.name}")

    def array(self, values: Sequence[Any]) -> pa.Array:
        if self._plain is not None and self._plain.issuperset(map(type, values)):
            try:
                made = pa.array(values, self._kind)
                if self._kind != pa.float32() or not _overflows(made, values):
                    return made
            except (pa.ArrowException, OverflowError):
                pass  # as of a decimal with more digits than the column has
        return pa.array(list(map(self._fit, values)), self._kind)


def _overflows(made: pa.FloatArray, values: Sequence[Any]) -> bool:
    """Return whether PyArrow has made numbers infinite that are too large for 32 bits, or zero that are too small."""
    edges = pc.or_(pc.is_inf(made), pc.equal(made, 0))
    if not pc.any(edges).as_py():
        return False
    exact = pa.array(values, pa.float64())
    return bool(pc.any(pc.xor(edges, pc.or_(pc.is_inf(exact), pc.equal(exact, 0)))).as_py())


def extra(name: str, batch: Batch, kind: pa.DataType) -> pa.Array:
    origin = batch.origin
    assert isinstance(origin, SinkOrigin)
    match name:
        case "_topic":
            return pa.array(batch.topics, kind)
        case "_partition":
            return pa.array(origin.partitions, kind)
        case "_offset":
            return pa.array(origin.offsets, kind)
        case "_timestamp":
            return pa.array(batch.timestamps, pa.int64()).cast(pa.timestamp("ms", tz="UTC")).cast(kind)
        case "_key":
            return pa.array(texts(batch.keys), kind)
        case _:
            return pa.array([[{"key": h.key, "value": text_of(h.value)} for h in row] for row in batch.headers], kind)


def change(batch: Batch) -> list[pa.Array]:
    """The columns of CHANGE."""
    origin = batch.origin
    assert isinstance(origin, SinkOrigin)
    place, flag = arrow_schema(CHANGE, "UTC")
    parts = zip((origin.offsets, origin.partitions, batch.topics), place.type, strict=True)
    places = pa.StructArray.from_arrays([pa.array(each, part.type) for each, part in parts], fields=list(place.type))
    return [places, pa.array(deleted(batch), flag.type)]


_TYPES = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}


def raw_batch(arrow: pa.RecordBatch) -> Batch:
    """The columns ``writer.RECORDS`` as columns of bytes; headers are pairs of name and bytes."""
    topics = arrow["topic"].to_pylist()
    partitions, offsets = arrow["partition"].to_pylist(), arrow["offset"].to_pylist()
    return Batch.of(
        topics,
        arrow["value"].to_pylist(),
        keys=arrow["key"].to_pylist(),
        partitions=partitions,
        timestamps=Late(lambda: _milliseconds(arrow["timestamp"])),
        headers=_headers(arrow["headers"]),
        origin=SinkOrigin(topics, partitions, offsets, Late(lambda: _types(arrow["timestampType"]))),
    )


def _headers(lists: pa.Array) -> list[Any] | None:
    """Return the headers, from lists of keys and values in turn; None if no record has any."""
    if not len(lists.flatten()):
        return None
    return [
        tuple(zip(map(bytes.decode, row[::2]), row[1::2], strict=True)) if row else NO_HEADERS
        for row in lists.to_pylist()
    ]


def _milliseconds(times: pa.Array) -> list[int | None]:
    return times.cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64()).to_pylist()


def _types(numbers: pa.Array) -> list[str]:
    return [_TYPES[number] for number in numbers.to_pylist()]
