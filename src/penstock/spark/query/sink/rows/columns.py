"""From Connect's data to the columns of a Spark table: which columns there are, and the values in them.

A struct's fields are the columns. Other values are one column, ``value``; those without a schema that are maps or lists
are JSON in it, unless the connector's ``schema`` says what they hold. Where records of one topic have several schemas,
the table has the columns of all, and a record has nulls in those that its own lacks.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson
from pyspark.sql import types as t

from penstock.api import schema as s
from penstock.api.drift import check_case
from penstock.api.errors import ConfigError, DataError
from penstock.api.exact import double, has_infinite, milliseconds, moment

VALUE = "value"

_WHOLE = (t.ByteType(), t.ShortType(), t.IntegerType(), t.LongType())
BITS: dict[type[t.DataType], int] = {type(kind): 8 << i for i, kind in enumerate(_WHOLE)}
PRIMITIVES: dict[s.Type, t.DataType] = {
    s.Type.INT8: t.ByteType(),
    s.Type.INT16: t.ShortType(),
    s.Type.INT32: t.IntegerType(),
    s.Type.INT64: t.LongType(),
    s.Type.FLOAT32: t.FloatType(),
    s.Type.FLOAT64: t.DoubleType(),
    s.Type.BOOLEAN: t.BooleanType(),
    s.Type.STRING: t.StringType(),
    s.Type.BYTES: t.BinaryType(),
}
LOGICAL: dict[str, t.DataType] = {
    s.DATE_NAME: t.DateType(),
    s.TIME_NAME: t.IntegerType(),  # milliseconds since midnight, as Connect keeps it
    s.TIMESTAMP_NAME: t.TimestampType(),
}
SCHEMALESS: dict[type, t.DataType] = {
    bool: t.BooleanType(),
    int: t.LongType(),
    float: t.DoubleType(),
    bytes: t.BinaryType(),
    decimal.Decimal: t.DecimalType(38, 18),
    dt.date: t.DateType(),
    dt.datetime: t.TimestampType(),
    dt.time: t.IntegerType(),
}
_DIGITS = decimal.Context(prec=38)
"""The precision of Spark's decimals, ten digits more than Python's default."""
_FITTING: tuple[type[t.DataType], ...] = (
    *BITS,
    t.FloatType,
    t.DoubleType,
    t.DecimalType,
    t.BooleanType,
    t.StringType,
    t.BinaryType,
    t.DateType,
    t.TimestampType,
    t.TimestampNTZType,
)
"""The primitive types of columns that the setting ``schema`` may name."""
_EPOCH = dt.date(1970, 1, 1)
_ZERO = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def spark_type(schema: s.Schema, exact: bool = False) -> t.DataType:
    """The Spark type whose values can be all that this schema describes. Raises DataError for one without an end.

    ``exact``: it says that what is required is never null; otherwise everything may be.
    """
    if (place := s.path_to_itself(schema)) is not None:
        raise DataError(
            f"Column {place} would contain itself ({schema.name or schema.type.value}), which no type of a table can: "
            f"leave {place.partition('.')[0].rstrip('[]{}')} out by ReplaceField, or make a text of it by a transform"
        )
    return _spark_type(schema, exact)


def _spark_type(schema: s.Schema, exact: bool) -> t.DataType:
    if schema.name == s.DECIMAL_NAME:
        return t.DecimalType(38, min(max(int(schema.parameters["scale"]), 0), 38))
    if schema.name in LOGICAL:
        return LOGICAL[schema.name]
    match schema.type:
        case s.Type.STRUCT:
            return t.StructType(
                [
                    t.StructField(each.name, _spark_type(each.schema, exact), not exact or each.schema.optional)
                    for each in schema.fields
                ]
            )
        case s.Type.ARRAY:
            assert schema.value_schema is not None
            return t.ArrayType(_spark_type(schema.value_schema, exact), not exact or schema.value_schema.optional)
        case s.Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            values = schema.value_schema
            return t.MapType(
                _spark_type(schema.key_schema, exact), _spark_type(values, exact), not exact or values.optional
            )
        case primitive:
            return PRIMITIVES[primitive]


def _check_case(kind: t.DataType, path: str) -> None:
    """Raise DataError for columns that Spark, which does not mind the case of names, takes for one."""
    match kind:
        case t.StructType():
            check_case([path + each.name for each in kind], "", "tables of Spark take")
            for each in kind:
                _check_case(each.dataType, f"{path}{each.name}.")
        case t.ArrayType():
            _check_case(kind.elementType, path)
        case t.MapType():
            _check_case(kind.valueType, path)


def columns_of(schema: s.Schema | None, kind: type, exact: bool = False) -> t.StructType:
    """The columns for a value of this schema, or without one, of this Python type; ``exact`` as for ``spark_type``."""
    if schema is None:
        return t.StructType([t.StructField(VALUE, SCHEMALESS.get(kind, t.StringType()))])
    found = spark_type(schema, exact)
    _check_case(found, "")
    return found if isinstance(found, t.StructType) else t.StructType([t.StructField(VALUE, found)])


def merged(one: t.StructType, other: t.StructType) -> t.StructType:
    """Merge columns in the order of their first appearance. Raises DataError where they contradict each other."""
    fields = {field.name: field for field in one}
    given = {field.name for field in other}
    for field in other:
        known = fields.get(field.name)
        kind = field.dataType if known is None else _wider(known.dataType, field.dataType, field.name)
        nullable = known is None or known.nullable or field.nullable
        fields[field.name] = t.StructField(field.name, kind, nullable)
    return t.StructType(
        [t.StructField(name, each.dataType, each.nullable or name not in given) for name, each in fields.items()]
    )


def nullable(kind: t.DataType) -> t.DataType:
    """Return a type of which everything may be null."""
    match kind:
        case t.StructType():
            return t.StructType([t.StructField(each.name, nullable(each.dataType)) for each in kind])
        case t.ArrayType():
            return t.ArrayType(nullable(kind.elementType))
        case t.MapType():
            return t.MapType(kind.keyType, nullable(kind.valueType))
    return kind


def _wider(one: t.DataType, other: t.DataType, name: str) -> t.DataType:
    if one == other:
        return one
    match one, other:
        case t.StructType(), t.StructType():
            return merged(one, other)
        case t.ArrayType(), t.ArrayType():
            return t.ArrayType(_wider(one.elementType, other.elementType, name), one.containsNull or other.containsNull)
        case t.MapType(), t.MapType() if one.keyType == other.keyType:
            nulls = one.valueContainsNull or other.valueContainsNull
            return t.MapType(one.keyType, _wider(one.valueType, other.valueType, name), nulls)
        case (t.FloatType(), t.DoubleType()) | (t.DoubleType(), t.FloatType()):
            return t.DoubleType()
    if one in _WHOLE and other in _WHOLE:
        return max(one, other, key=_WHOLE.index)
    raise DataError(
        f"Column {name} is {one.simpleString()} in some records and {other.simpleString()} in others: "
        "give them one type by a transform, or write their topics by connectors of their own"
    )


def check_declared(columns: t.StructType, schema: str) -> None:
    """Raise ConfigError for columns of the setting ``schema`` whose types no value of a record can be made to fit."""
    for name, kind in _unfit(columns, ""):
        problem = "only tables have" if isinstance(kind, t.CharType | t.VarcharType) else "records have no values for"
        possible = ", ".join(each().simpleString().partition("(")[0].upper() for each in _FITTING)
        raise ConfigError(
            "schema",
            schema,
            f"column {name} has the type {kind.simpleString()}, which {problem}: declare STRING, or one of "
            f"{possible}, and STRUCT, ARRAY and MAP of them",
        )


def _unfit(kind: t.DataType, name: str) -> Iterator[tuple[str, t.DataType]]:
    """Yield the places and the types of columns, and of what is in them, that are not among those of ``fitting``."""
    match kind:
        case t.StructType():
            for field in kind:
                yield from _unfit(field.dataType, f"{name}.{field.name}" if name else field.name)
        case t.ArrayType():
            yield from _unfit(kind.elementType, f"{name}[]")
        case t.MapType():
            yield from _unfit(kind.keyType, f"{name} (key)")
            yield from _unfit(kind.valueType, f"{name}{{}}")
        case _ if not isinstance(kind, _FITTING):
            yield name, kind


Fit = Callable[[Any], Any]


def fitting(kind: t.DataType, name: str = VALUE) -> Fit:
    """A function that makes values fit a column of this type, as far as that is what they mean. It raises DataError."""
    inner = _fit(kind, name)

    def fit(value: Any) -> Any:
        if value is None:
            return None
        try:
            return inner(value)
        except (ValueError, TypeError, OverflowError, ArithmeticError) as error:
            text = repr(value)
            shown = text if len(text) <= 80 else text[:77] + "..."
            raise DataError(f"{shown} does not fit column {name} of type {kind.simpleString()}") from error

    return fit


def _fit(kind: t.DataType, name: str) -> Fit:
    match kind:
        case t.StructType():
            inside = [(field.name, fitting(field.dataType, f"{name}.{field.name}")) for field in kind]
            return lambda value: {key: fit(value.get(key)) for key, fit in inside} if _is(value, dict) else None
        case t.ArrayType():
            item = fitting(kind.elementType, f"{name}[]")
            return lambda value: [item(each) for each in value] if _is(value, list) else None
        case t.MapType():
            keys, values = fitting(kind.keyType, f"{name} (key)"), fitting(kind.valueType, f"{name}{{}}")
            return lambda value: [(keys(k), values(v)) for k, v in value.items()] if _is(value, dict) else None
        case t.StringType():
            return _text
        case t.BinaryType():
            return _bytes
        case t.TimestampType() | t.TimestampNTZType():
            return _moment if isinstance(kind, t.TimestampType) else _time_in_utc
        case t.DateType():
            return _day
        case t.DecimalType():
            return _number(kind)
        case t.FloatType():
            return _single
        case t.DoubleType():
            return _float
        case t.BooleanType():
            return lambda value: value if _is(value, bool) else None
    return _whole_of(BITS[type(kind)])


def _is(value: Any, kinds: type | tuple[type, ...]) -> bool:
    if not isinstance(value, kinds):
        raise TypeError(type(value).__name__)
    return True


def _is_no_flag(value: Any) -> bool:
    """Booleans are whole numbers to Python alone."""
    return not isinstance(value, bool) or _is(value, ())


def _number(kind: t.DecimalType) -> Fit:
    """Return what makes decimals of the digits of a column. It raises ValueError if these are too few."""
    step, limit = decimal.Decimal(1).scaleb(-kind.scale), decimal.Decimal(1).scaleb(kind.precision - kind.scale)

    def fit(value: Any) -> decimal.Decimal:
        number = decimal.Decimal(str(value))
        found = number.quantize(step, context=_DIGITS)
        if found != number or found.copy_abs() >= limit:
            raise ValueError
        return found

    return fit


def _whole_of(bits: int) -> Fit:
    limit = 1 << bits - 1

    def fit(value: Any) -> Any:
        number = _whole(value)
        if not -limit <= number < limit:
            raise OverflowError
        return number

    return fit


def _text(value: Any) -> str | None:
    """Convert as ``text_of``, but refuse bytes that are no UTF-8."""
    return value.decode() if isinstance(value, bytes) else _text_of(value)


def _float(value: Any) -> float | None:
    return double(value) if _is(value, (int, float, decimal.Decimal)) and _is_no_flag(value) else None


def _single(value: Any) -> float | None:
    """Return a number that Arrow rounds to a 32-bit float. Integers have to be exactly one."""
    number = _float(value)
    (rounded,) = struct.unpack("<f", struct.pack("<f", number))  # raises OverflowError if it is too large
    if rounded != number and (rounded == 0 or isinstance(value, int)):
        raise ValueError
    return number


def _bytes(value: Any) -> bytes:
    """Convert Base64 and bytes. Numbers are refused, of which ``bytes`` would make so many zeros."""
    if isinstance(value, str):
        return base64.b64decode(value, validate=True)
    return bytes(value) if _is(value, (bytes, bytearray, memoryview)) else b""


def _whole(value: Any) -> Any:
    if isinstance(value, dt.time):
        return milliseconds(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if _is(value, int) and _is_no_flag(value) else None


def _moment(value: Any) -> dt.datetime:
    """Text in ISO 8601, without a zone taken as UTC; numbers are milliseconds since 1970, as everywhere in Kafka."""
    if isinstance(value, str):
        return moment(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _ZERO + dt.timedelta(milliseconds=value)
    _is(value, dt.datetime)
    return value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)


def _time_in_utc(value: Any) -> dt.datetime:
    """Return a moment as the time in UTC without its zone."""
    return _moment(value).astimezone(dt.UTC).replace(tzinfo=None)


def _day(value: Any) -> dt.date:
    if isinstance(value, str):
        return dt.date.fromisoformat(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _EPOCH + dt.timedelta(days=value)
    if isinstance(value, dt.datetime):
        utc = _moment(value).astimezone(dt.UTC)
        if utc.time() != dt.time():
            raise ValueError  # its time of day would be lost
        return utc.date()
    return value if _is(value, dt.date) else _EPOCH


def text_of(value: Any) -> str | None:
    """Text as it is, bytes as UTF-8, decimals, dates and times as JSON has them but without quotes, everything else as
    JSON. Raises DataError for what JSON does not have.
    """
    try:
        return _text_of(value)
    except ValueError as error:
        raise DataError(f"The value becomes a text of JSON: {error}") from error


def _text_of(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    text = orjson.dumps(value, _jsonable, orjson.OPT_NON_STR_KEYS)
    if b"null" in text and has_infinite(value):
        raise ValueError("JSON has no NaN and no infinity")
    return text.decode()


def _jsonable(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def texts(values: Iterable[Any]) -> list[str | None]:
    return [text_of(value) for value in values]
