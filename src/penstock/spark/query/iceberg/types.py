"""Types of Spark's columns as Iceberg's, and back; partition fields."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from pyiceberg import types as i
from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyspark.sql import types as t

from penstock.api.errors import ConnectError
from penstock.connectors.spark.iceberg_settings import PartitionTerm

_PRIMITIVES: dict[type[t.DataType], Any] = {
    t.ByteType: i.IntegerType(),
    t.ShortType: i.IntegerType(),
    t.IntegerType: i.IntegerType(),
    t.LongType: i.LongType(),
    t.FloatType: i.FloatType(),
    t.DoubleType: i.DoubleType(),
    t.BooleanType: i.BooleanType(),
    t.StringType: i.StringType(),
    t.BinaryType: i.BinaryType(),
    t.DateType: i.DateType(),
    t.TimestampType: i.TimestamptzType(),
    t.TimestampNTZType: i.TimestampType(),
}
_OF_SPARK: dict[Any, t.DataType] = {
    i.IntegerType: t.IntegerType(),
    i.LongType: t.LongType(),
    i.FloatType: t.FloatType(),
    i.DoubleType: t.DoubleType(),
    i.BooleanType: t.BooleanType(),
    i.StringType: t.StringType(),
    i.BinaryType: t.BinaryType(),
    i.FixedType: t.BinaryType(),
    i.DateType: t.DateType(),
    i.TimeType: t.IntegerType(),  # milliseconds since midnight, as Connect keeps it
    i.TimestamptzType: t.TimestampType(),
    i.TimestampType: t.TimestampNTZType(),
    i.UUIDType: t.StringType(),
}
_TRANSFORMS = {
    "identity": IdentityTransform,
    "year": YearTransform,
    "month": MonthTransform,
    "day": DayTransform,
    "hour": HourTransform,
}


def iceberg_type(kind: t.DataType, ids: Iterator[int], path: str) -> Any:
    """Return Iceberg's type for values of a Spark type. Raises ConnectError if it has none."""
    match kind:
        case t.StructType():
            if not kind.fields:
                column = f"Column {path.removeprefix('.')} is a struct" if path else "The records are structs"
                raise ConnectError(
                    f"{column} without fields, for which Parquet has no columns: leave it out by ReplaceField, or put "
                    "another value in its place by a transform"
                )
            fields = [(next(ids), each) for each in kind]
            return i.StructType(
                *(
                    i.NestedField(
                        id,
                        each.name,
                        iceberg_type(each.dataType, ids, f"{path}.{each.name}"),
                        required=not each.nullable,
                    )
                    for id, each in fields
                )
            )
        case t.ArrayType():
            id = next(ids)
            return i.ListType(
                id, iceberg_type(kind.elementType, ids, f"{path}[]"), element_required=not kind.containsNull
            )
        case t.MapType():
            key, value = next(ids), next(ids)
            return i.MapType(
                key,
                iceberg_type(kind.keyType, ids, f"{path} (key)"),
                value,
                iceberg_type(kind.valueType, ids, f"{path}{{}}"),
                value_required=not kind.valueContainsNull,
            )
        case t.DecimalType():
            return i.DecimalType(kind.precision, kind.scale)
    if (found := _PRIMITIVES.get(type(kind))) is None:
        raise ConnectError(f"Column {path} has the type {kind.simpleString()}, which Iceberg does not have")
    return found


def schema_of(columns: t.StructType, required: Sequence[str]) -> Schema:
    """Return the schema of a new table; ``required`` are the columns that identify a row. Raises ConnectError."""
    ids = itertools.count(1)
    struct = iceberg_type(columns, ids, "").fields
    names = [each.name for each in struct]
    if lacking := [name for name in required if name not in names]:
        raise ConnectError(f"{', '.join(lacking)}: among the id columns of the table, but no field of the records")
    fields = [
        i.NestedField(each.field_id, each.name, each.field_type, required=each.required or each.name in required)
        for each in struct
    ]
    identifiers = [each.field_id for each in fields if each.name in required]
    try:
        return Schema(*fields, identifier_field_ids=identifiers)
    except ValueError as error:
        if required:
            raise ConnectError(f"The id columns {', '.join(required)} can't identify a row: {error}") from error
        raise ConnectError(f"The fields of the records can't be the columns of one table: {error}") from error


def spark_columns(schema: Any) -> t.StructType:
    """Return the columns of a table as Spark's types. Raises ConnectError for a type that no value is made for."""
    found = _spark_type(i.StructType(*schema.fields), "")
    assert isinstance(found, t.StructType)
    return found


def _spark_type(kind: Any, path: str) -> t.DataType:
    if isinstance(kind, i.StructType):
        if not kind.fields and path:
            raise ConnectError(
                f"Column {path.rstrip('.')} of the table is a struct without fields, which Parquet has not: drop it or "
                "give it a field"
            )
        return t.StructType(
            [
                t.StructField(each.name, _spark_type(each.field_type, f"{path}{each.name}."), nullable=each.optional)
                for each in kind.fields
            ]
        )
    if isinstance(kind, i.ListType):
        return t.ArrayType(_spark_type(kind.element_type, path), containsNull=not kind.element_required)
    if isinstance(kind, i.MapType):
        return t.MapType(
            _spark_type(kind.key_type, path),
            _spark_type(kind.value_type, path),
            valueContainsNull=not kind.value_required,
        )
    if isinstance(kind, i.DecimalType):
        return t.DecimalType(kind.precision, kind.scale)
    if (found := _OF_SPARK.get(type(kind))) is None:
        raise ConnectError(
            f"Column {path.rstrip('.')} of the table has the type {kind}, which records have no values for"
        )
    return found


def partition_spec(schema: Any, terms: Sequence[PartitionTerm]) -> PartitionSpec:
    """Return the partition spec of a new table. Raises ConnectError for a column that can't be partitioned so."""
    fields = []
    for number, term in enumerate(terms):
        try:
            source = schema.find_field(term.column)
        except ValueError:
            raise ConnectError(f"partition-by names {term.column}, which is no field of the records") from None
        transform: Any = (
            _TRANSFORMS[term.transform]()
            if term.transform in _TRANSFORMS
            else (BucketTransform if term.transform == "bucket" else TruncateTransform)(term.size)
        )
        if not transform.can_transform(source.field_type):
            raise ConnectError(
                f"partition-by: {term.transform} can't be computed of {term.column}, {source.field_type}"
            )
        name = term.field_name
        if name in schema.column_names and not (term.transform == "identity" and name == term.column):
            raise ConnectError(
                f"partition-by: the partition field of {term.transform}({term.column}) is called {name}, as a column "
                "of the records is: rename that by a transform, or partition by another column"
            )
        fields.append(PartitionField(source.field_id, PARTITION_FIELD_ID_START + number, transform, name))
    return PartitionSpec(*fields)
