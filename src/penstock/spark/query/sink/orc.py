"""Dates and times in ORC as Spark writes it: through Java's calendar, and in the time zone of the executors' Java.

Java's calendar is Julian before 15 October 1582. On request ORC's writer converts such days to those of ISO 8601, but
only in the first 1,024 rows of a file that Spark writes: its vectors keep the note that they are converted when the
next rows come. So they are refused. Instants are kept as local times, so that one of two hours is lost when clocks are
set back: a zone where this happens is refused too. So are instants of the last second before 1970: ORC's writer rounds
their seconds to 0, and readers add the fraction to that.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.api.errors import ConnectError, DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FIRST_DAY, _FIRST_INSTANT = dt.date(1582, 10, 15), dt.datetime(1582, 10, 16, tzinfo=dt.UTC)
"""The first day of ISO 8601 in Java's calendar, and the first instant that is later than its begin in all zones."""
_LAST_SECOND = dt.datetime(1969, 12, 31, 23, 59, 59, 1000, dt.UTC), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
"""Instants that ORC moves by a second: from the first one to before the second one."""
_ZONE = re.compile(r"-Duser\.timezone=(\S+)")


def has_times(type: pa.DataType) -> bool:
    """Whether values of this type have dates or instants. Times without a zone are mere numbers in ORC."""
    if pa.types.is_nested(type):
        return any(has_times(type.field(i).type) for i in range(type.num_fields))
    return pa.types.is_date32(type) or (pa.types.is_timestamp(type) and type.tz is not None)


def refuse_unwritable(column: str, array: pa.Array) -> None:
    """Raise DataError if values have days or instants that would be others in a file."""
    if pa.types.is_nested(array.type):
        for part in array.flatten() if pa.types.is_struct(array.type) else (array.values,):
            refuse_unwritable(column, part)
        return
    if not has_times(array.type):
        return
    first = _FIRST_INSTANT if pa.types.is_timestamp(array.type) else _FIRST_DAY
    if pc.any(pc.less(array, pa.scalar(first, array.type))).as_py():
        raise DataError(
            f"column {column} has a value before {first:%d %B %Y}, which Spark may write as another day in files of "
            "format=orc: use format=parquet, or send it as text"
        )
    if pa.types.is_timestamp(array.type) and _any_between(
        array, *(pa.scalar(at, pa.timestamp("us", "UTC")).cast(array.type) for at in _LAST_SECOND)
    ):
        raise DataError(
            f"column {column} has an instant of the last second before 1970, which files of format=orc have one "
            "second later: use format=parquet, or send it as text"
        )


def _any_between(array: pa.Array, start: pa.Scalar, end: pa.Scalar) -> bool:
    return bool(pc.any(pc.and_(pc.greater_equal(array, start), pc.less(array, end))).as_py())


def check_zone(frame: DataFrame, format: str) -> None:
    """Raise ConnectError if Java's zone of the executors would lose an hour of instants that are written as ORC."""
    if format == "orc" and _has_instants(frame.schema):
        context = frame.sparkSession.sparkContext
        jvm: Any = context._jvm
        java = jvm.java.time.ZoneId
        zone = str(java.systemDefault().getId())
        if not re.match(r"local(\[|$)", str(context.master)):
            options = " ".join(
                context.getConf().get(f"spark.executor.{kind}JavaOptions", "") or "" for kind in ("default", "extra")
            )
            zone = found[-1] if (found := _ZONE.findall(options)) else zone
        if not java.of(zone, java.SHORT_IDS).getRules().isFixedOffset():
            raise ConnectError(
                f"Java of Spark's executors has the time zone {zone}, whose clocks are set back now and then. "
                "format=orc keeps instants as local times, and would take one hour for the other: "
                "leave out -Duser.timezone of spark.executor.extraJavaOptions, or use format=parquet"
            )


def _has_instants(type: t.DataType) -> bool:
    match type:
        case t.StructType():
            return any(_has_instants(field.dataType) for field in type.fields)
        case t.ArrayType():
            return _has_instants(type.elementType)
        case t.MapType():
            return _has_instants(type.keyType) or _has_instants(type.valueType)
    return isinstance(type, t.TimestampType)
