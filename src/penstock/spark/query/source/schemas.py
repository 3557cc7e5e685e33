"""Conversion of a Spark table's columns to Connect's data, the reverse of ``columns``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.api import schema as s
from penstock.api.batch import Batch, SourceOrigin
from penstock.api.columns import Table
from penstock.api.errors import ConfigError, DataError
from penstock.api.record import Header

PRIMITIVES: dict[type[t.DataType], s.Schema] = {
    t.ByteType: s.INT8,
    t.ShortType: s.INT16,
    t.IntegerType: s.INT32,
    t.LongType: s.INT64,
    t.FloatType: s.FLOAT32,
    t.DoubleType: s.FLOAT64,
    t.BooleanType: s.BOOLEAN,
    t.StringType: s.STRING,
    t.CharType: s.STRING,
    t.VarcharType: s.STRING,
    t.BinaryType: s.BYTES,
    t.DateType: s.DATE,
    t.TimestampType: s.TIMESTAMP,
    t.TimestampNTZType: s.TIMESTAMP,  # as if it were UTC
}

MALFORMED, FILE = "__penstock_malformed", "__penstock_file"
"""Columns of the text of a record that does not fit the schema, null for all others, and of the record's file."""
FILE_HEADER = "penstock.file"
"""The header with the file of a malformed record, by which ``refuse_malformed`` knows it."""
MAX_SHOWN = 200
"""Characters of a record that messages show."""
_TEXT = s.STRING.with_(name="penstock.MalformedRecord")


def shown(record: str) -> str:
    """Return a record as messages show it."""
    return record if len(record) <= MAX_SHOWN else record[: MAX_SHOWN - 3] + "..."


def refuse_malformed(batch: Batch) -> Batch:
    """Return the batch. Raises DataError if its last record is malformed: those come after all others."""
    if len(batch) and batch.value_schemas[-1] is _TEXT:
        file = batch.headers[-1][0].value
        raise DataError(f"A record of {file} does not fit the schema: {shown(str(batch.values[-1]))}")
    return batch


def connect_schema(kind: t.DataType, name: str, nullable: bool = False) -> s.Schema:
    """Return the schema for a type. Raises DataError, with the column's name, for types that Connect does not have."""
    match kind:
        case t.StructType():
            fields = [(each.name, connect_schema(each.dataType, f"{name}.{each.name}", each.nullable)) for each in kind]
            if len({field for field, _ in fields}) < len(fields):
                raise DataError(f"{name} has several columns of one name: {', '.join(kind.names)}")
            return s.struct(*fields, optional=nullable)
        case t.ArrayType():
            return s.array(connect_schema(kind.elementType, f"{name}[]", kind.containsNull), optional=nullable)
        case t.MapType():
            keys = connect_schema(kind.keyType, f"{name} (key)")
            return s.map_of(
                keys, connect_schema(kind.valueType, f"{name}{{}}", kind.valueContainsNull), optional=nullable
            )
        case t.DecimalType():
            return s.decimal(kind.scale, optional=nullable)
    found = PRIMITIVES.get(type(kind))
    if found is None:
        raise DataError(f"Connect has nothing like {kind.simpleString()}, the type of {name}: CAST it by `sql`")
    return found.with_(optional=nullable)


class Records:
    """Keys and values of records from rows. Raises DataError or ConfigError where these columns can't be sent."""

    def __init__(self, columns: t.StructType, key: Sequence[str]) -> None:
        self.value_schema = connect_schema(columns, "value")
        self._key = tuple(key)
        if missing := [name for name in key if name not in columns.names]:
            problem = f"there is no column {', '.join(missing)}, but {', '.join(columns.names)}"
            raise ConfigError("key.columns", ",".join(key), problem)
        fields = [(name, connect_schema(columns[name].dataType, name, columns[name].nullable)) for name in key]
        self.key_schema = None if not key else fields[0][1] if len(key) == 1 else s.struct(*fields)

    def of(self, rows: pa.RecordBatch) -> tuple[list[Any] | Table, Table]:
        """Return the keys and the values of at least one row."""
        columns = [column.to_pylist(maps_as_pydicts="strict") for column in rows.columns]
        values = Table(rows.schema.names, columns)
        match self._key:
            case ():
                return [None] * len(values), values
            case (one,):
                return list(values.column(one)), values
            case several:
                return Table(several, [values.column(name) for name in several]), values


@dataclass(frozen=True, slots=True)
class TopicRecordMaker:
    """Makes records for one topic of rows, all with one source partition and offset; sent to Spark's processes too."""

    topic: str
    columns: Records
    partition: dict[str, Any]
    offset: dict[str, Any]

    def __call__(self, rows: pa.RecordBatch) -> Batch:
        if MALFORMED not in rows.schema.names:
            return self._records(rows)
        texts = rows.column(MALFORMED)
        bad = rows.filter(pc.is_valid(texts))
        good = rows.filter(pc.is_null(texts)).drop_columns([MALFORMED, FILE])
        return Batch.concat(
            [*([self._records(good)] if len(good) else []), *([self._refused(bad)] if len(bad) else [])]
        )

    def _refused(self, rows: pa.RecordBatch) -> Batch:
        """Return records that ``refuse_malformed`` refuses: they are the texts."""
        texts, files = (rows.column(name).to_pylist() for name in (MALFORMED, FILE))
        return Batch.of(
            self.topic,
            texts,
            value_schema=_TEXT,
            headers=[(Header(FILE_HEADER, s.STRING, file),) for file in files],
            origin=SourceOrigin([self.partition] * len(texts), [self.offset] * len(texts)),
        )

    def _records(self, rows: pa.RecordBatch) -> Batch:
        keys, values = self.columns.of(rows)
        return Batch.of(
            self.topic,
            values,
            value_schema=self.columns.value_schema,
            keys=keys,
            key_schema=self.columns.key_schema,
            origin=SourceOrigin([self.partition] * len(values), [self.offset] * len(values)),
        )
