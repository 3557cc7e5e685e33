"""The rows of a batch that a Delta table refuses, found by the constraints of the table.

Delta ends the whole write at the first such row and does not say which record it was made of. So once it has refused a
batch, its constraints are evaluated here on all rows, beside the places of their records.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import functions as f
from pyspark.sql import types as t

from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.spark.query.sink.rows.plan import DELETED, PLACE
from penstock.spark.query.sink.rows.refused import Refused, RefusedRow
from penstock.spark.query.sink.tables.delta import TableDescription, description_of, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

log = logging.getLogger(__name__)

_OF_TABLES = "DELTA_VIOLATE_CONSTRAINT|DELTA_NOT_NULL_CONSTRAINT|DELTA_EXCEED_CHAR_VARCHAR_LIMIT|EXCEED_LIMIT_LENGTH"
VIOLATED = re.compile(_OF_TABLES)
"""Conditions for a row that a table refuses."""
REFUSES = re.compile(f"{_OF_TABLES}|CAST_OVERFLOW|CAST_INVALID_INPUT|NUMERIC_VALUE_OUT_OF_RANGE")
"""The same, and conditions for a value that a type can not have: a table's, or one in the setting ``sql``."""
_GENERATED = ("delta.generationexpression", "current_default")
_LENGTH = re.compile(r"(?:var)?char\((\d+)\)", re.IGNORECASE)
_LENGTHS = "__CHAR_VARCHAR_TYPE_STRING"
MAX_VALUES = 1_000
"""Maximum number of characters of a row's values in a message."""


_BEFORE = "__penstock_before"
"""A column with the rows before their values were converted to the types of the table."""


class _Check(NamedTuple):
    violated: Column
    text: Column
    """The message."""
    column: str
    state: str
    """Delta's SQLSTATE of such a violation."""


def refused_rows(rows: DataFrame, settings: SinkSettings) -> Refused:
    """Return the rows that the table refuses; ``rows`` has the columns of CHANGE beside the table's.

    None are found in a table whose description can't be read.
    """
    table = description_of(rows.sparkSession, settings)
    if table is None:
        return {}
    try:
        return _refused(rows, table, settings.target)
    except AnalysisException as error:
        log.warning("Rows that %s refuses can't be found: %s", settings.target, str(error).partition("\n")[0])
        return {}


def _refused(rows: DataFrame, table: TableDescription, target: str) -> Refused:
    fitted = _fitted(rows.where(f"NOT {DELETED}"), table)
    checks = list(_checks(rows, table))
    if not checks:
        return {}
    first = f.coalesce(
        *(f.when(check.violated, f.struct(f.lit(i).alias("check"), check.text)) for i, check in enumerate(checks))
    )
    place = f.col(f"{PLACE}.topic"), f.col(f"{PLACE}.partition"), f.col(f"{PLACE}.offset")
    found = fitted.select(*place, first.alias("first")).where("first IS NOT NULL").collect()
    refused: Refused = {}
    for topic, partition, offset, (number, text) in found:
        check = checks[number]
        row = RefusedRow(text, target, check.column, check.state)
        refused.setdefault((topic, partition), {})[offset] = row
    return refused


def _given(rows: DataFrame, field: t.StructField) -> str | None:
    """Return the rows' name of a table's column, or None if they lack it."""
    return next((name for name in rows.columns if name.casefold() == field.name.casefold()), None)


def _fitted(rows: DataFrame, table: TableDescription) -> DataFrame:
    """Return the rows with all columns of the table, and beside them those of the rows, to compare them with."""
    columns, generated = [], {}
    for field in table.columns:
        metadata = {str(name).casefold(): value for name, value in (field.metadata or {}).items()}
        made = next((metadata[name] for name in _GENERATED if name in metadata), None)
        if (name := _given(rows, field)) is not None:
            columns.append(f.expr(_cast(rows, name, field)).alias(field.name))
        else:
            columns.append(f.lit(None).cast(field.dataType).alias(field.name))
            if made is not None:
                generated[field.name] = f.expr(str(made)).cast(field.dataType)
    before = f.struct(*(f.col(quoted(name)) for name in rows.columns if name not in (PLACE, DELETED))).alias(_BEFORE)
    return rows.select(PLACE, before, *columns).withColumns(generated)


def _cast(rows: DataFrame, name: str, field: t.StructField) -> str:
    return (
        f"try_cast({quoted(name)} AS {field.dataType.simpleString()})" if _changes(rows, name, field) else quoted(name)
    )


def _changes(rows: DataFrame, name: str, field: t.StructField) -> bool:
    """Return whether values of a row's column are converted to the type of the table's."""
    type = rows.schema[name].dataType
    return type != field.dataType and not isinstance(field.dataType, t.StructType | t.ArrayType | t.MapType)


def _checks(rows: DataFrame, table: TableDescription) -> Iterator[_Check]:
    for field in table.columns:
        if (name := _given(rows, field)) is None or not _changes(rows, name, field):
            continue
        before = f.col(f"{_BEFORE}.{quoted(name)}")
        text = f.concat(
            f.lit("The value "),
            before.cast("string"),
            f.lit(f" does not fit column {field.name} of the type {field.dataType.simpleString()}."),
        )
        yield _Check(f.col(quoted(field.name)).isNull() & before.isNotNull(), text, field.name, "22003")
    for path in _required(table.columns):
        name = ".".join(path)
        violated = f.col(".".join(map(quoted, path))).isNull()
        yield _Check(violated, f.lit(f"NOT NULL constraint violated for column: {name}."), name, "23502")
    for field in table.columns:
        if found := _LENGTH.fullmatch(str((field.metadata or {}).get(_LENGTHS, ""))):
            text = f.lit(f"Value exceeds char/varchar type length limitation of column {field.name}: {found[0]}.")
            length = f.length(f.rtrim(f.col(quoted(field.name))))
            yield _Check(length > int(found[1]), text, field.name, "22001")
    for name, sql in table.constraints.items():
        named = [field.name for field in table.columns if re.search(rf"\b{re.escape(field.name)}\b", sql, re.I)]
        values = f.to_json(f.struct(*map(quoted, named)), {"ignoreNullFields": "false"}) if named else f.lit("{}")
        text = f.concat(
            f.lit(f"CHECK constraint {name} ({sql}) violated by row with values: "), f.substring(values, 1, MAX_VALUES)
        )
        # As in Delta, a condition that is null is violated.
        yield _Check(~f.coalesce(f.expr(f"({sql})"), f.lit(False)), text, ", ".join(named), "23001")


def _required(columns: t.StructType, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of columns that are NOT NULL, also within structs that are."""
    for field in columns:
        if field.nullable:
            continue
        yield (*above, field.name)
        if isinstance(field.dataType, t.StructType):
            yield from _required(field.dataType, (*above, field.name))
