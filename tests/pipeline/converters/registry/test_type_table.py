"""The table of types holds: extreme values of every type are read by foreign readers as they were written, and what is
beyond the range that it says is refused.
"""

from __future__ import annotations

import base64
import datetime as dt
import functools
import io
import json
import math
import struct as binary
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock.api.errors import DataError
from penstock.api.schema import (
    DATE,
    DATE_NAME,
    DECIMAL_NAME,
    TIME,
    TIME_NAME,
    TIMESTAMP,
    TIMESTAMP_NAME,
    Schema,
    SchemaType,
    decimal,
    struct,
)
from penstock.pipeline.converters import AvroConverter, JsonSchemaConverter, ProtobufConverter
from penstock.pipeline.converters.registry.mapping.type_table import FORMATS, TypeRow
from penstock.pipeline.converters.registry.protobuf.files import parse, pool_of
from penstock.pipeline.converters.registry.protobuf.options import TYPE
from pipeline.converters.registry.registry_double import RegistryDouble, running_double
from soak.drawing import values

fastavro = pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")
message_factory = pytest.importorskip("google.protobuf.message_factory")
jsonschema = pytest.importorskip("jsonschema")

SCALE = 4
KINDS: dict[str, Any] = {"Avro": AvroConverter, "Protobuf": ProtobufConverter, "JSON Schema": JsonSchemaConverter}
ROWS = [(format, row) for format, rows in FORMATS.items() for row in rows]
WRITTEN = [(format, row) for format, row in ROWS if row.written or format == "Protobuf"]
RANGED = [(format, row) for format, row in WRITTEN if row.bounds is not None]
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def name_of(case: Any) -> str | None:
    if isinstance(case, TypeRow):
        return f"{case.foreign}-{case.logical or case.type.value}".replace("org.apache.kafka.connect.data.", "")
    return None


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryDouble]:
    with running_double() as double:
        yield double


def schema_of(format: str, row: TypeRow) -> Schema:
    match row.logical:
        case str() if row.logical == DECIMAL_NAME:
            return decimal(SCALE)
        case str() if row.logical == DATE_NAME:
            return DATE
        case str() if row.logical == TIME_NAME:
            return TIME
        case str() if row.logical == TIMESTAMP_NAME:
            return TIMESTAMP
    return Schema(row.type, parameters={} if row.written or format != "Protobuf" else {TYPE: row.foreign})


def values_of(row: TypeRow) -> st.SearchStrategy[Any]:
    if row.bounds is not None:
        low, high = row.bounds
        return st.sampled_from((low, high, max(low, -1), 0, 1)) | st.integers(low, high)
    match row.logical:
        case str() if row.logical == DECIMAL_NAME:
            return st.integers(-(10**60), 10**60).map(lambda unscaled: scaled(unscaled, SCALE))
        case str() if row.logical == DATE_NAME:
            return st.dates()
        case str() if row.logical == TIME_NAME:
            return st.times().map(in_milliseconds)
        case str() if row.logical == TIMESTAMP_NAME:
            return st.datetimes(timezones=st.just(dt.UTC)).map(in_milliseconds)
    return {
        SchemaType.BOOLEAN: st.booleans(),
        SchemaType.FLOAT32: st.floats(width=32),
        SchemaType.FLOAT64: st.floats(),
        SchemaType.STRING: st.text(st.characters(exclude_categories=["Cs"])),
        SchemaType.BYTES: st.binary(),
    }[row.type]


def scaled(unscaled: int, scale: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def in_milliseconds(moment: Any) -> Any:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return binary.pack("<d", one) == binary.pack("<d", other) or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and bool(one == other)


# -- foreign readers


def by_fastavro(row: TypeRow, text: str, payload: bytes) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(payload), avro_schema(text))["v"]


@functools.cache
def avro_schema(text: str) -> Any:
    return fastavro.parse_schema(json.loads(text))


@functools.cache
def json_schema(text: str) -> Any:
    return jsonschema.Draft7Validator(json.loads(text))


@functools.cache
def message_class(text: str) -> Any:
    file = pool_of(parse(text, {})).FindFileByName("default.proto")
    return message_factory.GetMessageClass(file.message_types_by_name["R"])


def by_protobuf(row: TypeRow, text: str, payload: bytes) -> Any:
    found = message_class(text).FromString(payload[1:]).v
    match row.logical:
        case str() if row.logical == DECIMAL_NAME:
            return scaled(int.from_bytes(found.value, "big", signed=True), found.scale)
        case str() if row.logical == DATE_NAME:
            return dt.date(found.year, found.month, found.day)
        case str() if row.logical == TIME_NAME:
            return dt.time(found.hours, found.minutes, found.seconds, found.nanos // 1000)
        case str() if row.logical == TIMESTAMP_NAME:
            return EPOCH + dt.timedelta(seconds=found.seconds, microseconds=found.nanos // 1000)
    return found


def by_json(row: TypeRow, text: str, payload: bytes) -> Any:
    node = json.loads(payload, parse_float=float)
    found = node["v"]
    if row.type in (SchemaType.FLOAT32, SchemaType.FLOAT64) and isinstance(found, str):
        return float(found)  # JSON has no such numbers
    json_schema(text).validate(node)
    match row.logical:
        case str() if row.logical == DECIMAL_NAME:
            return scaled(int.from_bytes(base64.b64decode(found), "big", signed=True), SCALE)
        case str() if row.logical == DATE_NAME:
            return EPOCH.date() + dt.timedelta(days=found)
        case str() if row.logical == TIME_NAME:
            return (EPOCH + dt.timedelta(milliseconds=found)).time()
        case str() if row.logical == TIMESTAMP_NAME:
            return EPOCH + dt.timedelta(milliseconds=found)
    if row.type is SchemaType.BYTES:
        return base64.b64decode(found)
    if row.type is SchemaType.FLOAT32:
        return binary.unpack("<f", binary.pack("<f", found))[0]
    return float(found) if row.type is SchemaType.FLOAT64 else found


READERS: dict[str, Callable[[TypeRow, str, bytes], Any]] = {
    "Avro": by_fastavro,
    "Protobuf": by_protobuf,
    "JSON Schema": by_json,
}


SUBJECTS: dict[str, tuple[Any, str, Schema]] = {}
"""Converters with what they have registered, by topic."""


def subject(registry: RegistryDouble, format: str, row: TypeRow) -> tuple[Any, str, Schema]:
    topic = f"{format.replace(' ', '')}-{ROWS.index((format, row))}"
    if topic not in SUBJECTS:
        converter = KINDS[format]()
        converter.configure({"schema.registry.url": registry.url, "max.retries": "0"}, False)
        SUBJECTS[topic] = converter, topic, struct(("v", schema_of(format, row)), name="R")
    return SUBJECTS[topic]


@pytest.mark.parametrize(("format", "row"), WRITTEN, ids=name_of)
def test_extreme_values_arrive_at_foreign_readers_and_come_back(registry, format, row):
    converter, topic, schema = subject(registry, format, row)

    def check(several):
        records = [{"v": value} for value in several]
        written = converter.from_connect_batch(
            [topic] * len(several), [()] * len(several), [schema] * len(several), records
        )
        assert written == [converter.from_connect(topic, (), schema, record) for record in records]
        text = registry.entry(int.from_bytes(written[0][1:5], "big"))["schema"]
        for value, message in zip(several, written, strict=True):
            found = READERS[format](row, text, message[5:])
            assert same(found, value), (found, value)
        schemas, back = converter.to_connect_batch([topic] * len(several), [()] * len(several), written)
        expected = [value or 0.0 for value in several] if "sign of zero" in row.loses else several
        assert [found for found, value in zip(back, expected, strict=True) if not same(found["v"], value)] == []
        assert {(found.fields[0].schema.type, found.fields[0].schema.name) for found in schemas} == {
            (row.type, row.logical)
        }

    values(values_of(row), check)


@pytest.mark.parametrize(("format", "row"), RANGED, ids=name_of)
def test_integers_beyond_the_range_are_refused(registry, format, row):
    converter, topic, schema = subject(registry, format, row)
    low, high = row.bounds
    for beyond in (low - 1, high + 1, -(2**200), 2**200):
        for several in ([beyond], [0, beyond]):
            with pytest.raises(DataError):
                converter.from_connect_batch(
                    [topic] * len(several), [()] * len(several), [schema] * len(several), [{"v": v} for v in several]
                )
