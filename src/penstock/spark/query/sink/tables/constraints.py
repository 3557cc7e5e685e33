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
from penstock.spark.query.dataframes import full_text
from penstock.spark.query.sink.rows.plan import DELETED, PLACE, reported
from penstock.spark.query.sink.rows.refused import Refused, RefusedRow
from penstock.spark.query.sink.tables.delta import TableDescription, description_of, having, quoted
from penstock.spark.versions import attempted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

log = logging.getLogger(__name__)

_OF_TABLES = "DELTA_VIOLATE_CONSTRAINT|DELTA_NOT_NULL_CONSTRAINT|DELTA_EXCEED_CHAR_VARCHAR_LIMIT|EXCEED_LIMIT_LENGTH"
VIOLATED = re.compile(_OF_TABLES)
"""Conditions for a row that a table refuses."""
REFUSES = re.compile(
    f"{_OF_TABLES}|CAST_OVERFLOW|CAST_INVALID_INPUT|NUMERIC_VALUE_OUT_OF_RANGE|DIVIDE_BY_ZERO|ARITHMETIC_OVERFLOW|"
    "INVALID_ARRAY_INDEX|CANNOT_PARSE_TIMESTAMP"
)
"""The same, and conditions for a value that a type can not have, or with which SQL can't compute: that of a table's
column or constraint, or of the setting ``sql``.
"""
_GENERATED, _IDENTITY, _DEFAULT = "delta.generationexpression", "delta.identity.", "current_default"
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


def refused_rows(rows: DataFrame, settings: SinkSettings, most: int) -> Refused:
    """Return rows that the table refuses, at most this number; ``rows`` has the columns of CHANGE beside the table's.

    None are found in a table whose description can't be read, and none by a constraint that can't be evaluated with
    certainty. Raises Spark's errors of a target or an executor that fails.
    """
    table = description_of(rows.sparkSession, settings)
    if table is None:
        return {}
    try:
        # Spark would compute what two conditions share before both, outside of `attempted`.
        with having(rows.sparkSession, {"spark.sql.subexpressionElimination.enabled": "false"}):
            return _refused(rows, table, settings, most)
    except Exception as error:
        text = full_text(error)
        if not isinstance(error, AnalysisException) and (reported(text) or not REFUSES.search(text)):
            raise
        log.warning("Rows that %s refuses can't be found: %s", settings.target, str(error).partition("\n")[0])
        return {}


def _refused(rows: DataFrame, table: TableDescription, settings: SinkSettings, most: int) -> Refused:
    fitted = _fitted(rows.where(f"NOT {DELETED}"), table)
    checks = [check for check in _checks(rows, table) if _can_be_made(fitted, check)]
    if not checks:
        return {}
    first = f.coalesce(
        *(f.when(check.violated, f.struct(f.lit(i).alias("check"), check.text)) for i, check in enumerate(checks))
    )
    place = f.col(f"{PLACE}.topic"), f.col(f"{PLACE}.partition"), f.col(f"{PLACE}.offset")
    found = fitted.select(*place, first.alias("first")).where("first IS NOT NULL").limit(most).collect()
    refused: Refused = {}
    for topic, partition, offset, (number, text) in found:
        check = checks[number]
        row = RefusedRow(text, settings.target, check.column, check.state)
        refused.setdefault((topic, partition), {})[offset] = row
    return refused


def _can_be_made(rows: DataFrame, check: _Check) -> bool:
    """Return whether the rows have all columns of a check; they lack those whose values only Delta knows."""
    try:
        rows.select(check.violated, check.text)
    except AnalysisException as error:
        log.info("Rows can't be compared with a constraint of %s: %s", check.column, str(error).partition("\n")[0])
        return False
    return True


def _given(rows: DataFrame, field: t.StructField) -> str | None:
    """Return the rows' name of a table's column, or None if they lack it."""
    return next((name for name in rows.columns if name.casefold() == field.name.casefold()), None)


def _fitted(rows: DataFrame, table: TableDescription) -> DataFrame:
    """Return the rows with the columns of the table, and beside them those of the rows, to compare them with.

    Columns that the rows lack are null, or generated. Left out are those with an identity or a default: what they have
    depends on the statement that writes the rows.
    """
    columns, generated = [], {}
    for field in table.columns:
        metadata = {str(name).casefold(): value for name, value in (field.metadata or {}).items()}
        if (name := _given(rows, field)) is not None:
            columns.append(f.expr(_cast(rows, name, field)).alias(field.name))
        elif _GENERATED in metadata:
            generated[field.name] = f.expr(str(metadata[_GENERATED])).cast(field.dataType)
        elif not any(name.startswith(_IDENTITY) or name == _DEFAULT for name in metadata):
            columns.append(f.lit(None).cast(field.dataType).alias(field.name))
    before = f.struct(*(f.col(quoted(name)) for name in rows.columns if name not in (PLACE, DELETED))).alias(_BEFORE)
    fitted = rows.select(PLACE, before, *columns)
    try:
        return fitted.withColumns(generated)
    except AnalysisException:  # of a column that is left out
        return fitted


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
            # Unlike Spark, Delta counts spaces at the end too.
            yield _Check(f.length(f.col(quoted(field.name))) > int(found[1]), text, field.name, "22001")
    for name, sql in table.constraints.items():
        named = [field.name for field in table.columns if _names(sql, field.name)]
        values = f.to_json(f.struct(*map(quoted, named)), {"ignoreNullFields": "false"}) if named else f.lit("{}")
        text = f.concat(
            f.lit(f"CHECK constraint {name} ({sql}) violated by row with values: "), f.substring(values, 1, MAX_VALUES)
        )
        # As in Delta, a condition that is null is violated, and one that can't be computed.
        violated = ~f.coalesce(attempted(rows.sparkSession, sql), f.lit(False))
        yield _Check(violated, text, ", ".join(named), "23001")


def _names(sql: str, column: str) -> bool:
    """Return whether SQL may name a column, which may be within backticks."""
    return re.search(rf"(?<!\w){re.escape(column.replace('`', '``'))}(?!\w)", sql, re.IGNORECASE) is not None


def _required(columns: t.StructType, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of columns that are NOT NULL, also within structs, which must not be null then either."""
    for field in columns:
        if not field.nullable:
            yield (*above, field.name)
        if isinstance(field.dataType, t.StructType):
            yield from _required(field.dataType, (*above, field.name))
