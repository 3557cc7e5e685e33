"""The mapping between Connect's and Avro's schemas and values against Java's: AvroData's answers to the cases of
golden/make_avro_cases.py.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import Schema, Type
from penstock.pipeline.converters.json_reader import JsonReader
from penstock.pipeline.converters.json_schema import read_schema
from penstock.pipeline.converters.registry.avro.options import AvroOptions
from penstock.pipeline.converters.registry.avro.reader import reader
from penstock.pipeline.converters.registry.avro.schema.text import parse, show
from penstock.pipeline.converters.registry.avro.to_avro import to_avro
from penstock.pipeline.converters.registry.avro.to_connect import ToConnect
from penstock.pipeline.converters.registry.avro.writer import AvroWriter
from pipeline.converters import notation

pytest.importorskip("fastavro")
GOLDEN = Path(__file__).parent / "golden" / "avro.jsonl.gz"


def cases(operation: str) -> Iterator[dict[str, Any]]:
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as lines:
        for line in lines:
            found = json.loads(line)
            if found["case"]["op"] == operation:
                yield found


def options(case: dict[str, Any]) -> AvroOptions:
    return AvroOptions(**{name.replace(".", "_"): text == "true" for name, text in case["config"].items()})


def written(case: dict[str, Any]) -> dict[str, Any]:
    """Return Penstock's answer in the form of AvroOracle.from."""
    schema = read_schema(case.get("schema"), JsonReader(True, 10).read_value)
    avro = to_avro(schema, options(case))
    writer = AvroWriter(schema, avro, options(case))
    values: list[Any] = []
    for node in case["values"]:
        value = notation.read(schema, node)
        if value is None:  # a null has no message
            values.append(None)
            continue
        try:
            data = writer.one(b"", value)
            assert writer.all(b"", [value]) == [data]
            if avro.kind == "bytes":  # only messages have bytes without their length
                data = varint(len(data)) + data
            values.append(base64.b64encode(data).decode())
        except DataError as error:
            values.append({"error": error.java_name, "message": str(error)})
    return {"avro": show(avro), "values": values}


def varint(number: int) -> bytes:
    number, data = number << 1, bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes([*data, number])


def read(case: dict[str, Any]) -> list[Any]:
    """Return Penstock's answers in the form of AvroOracle.to."""
    avro = parse(case["avro"])
    schema = ToConnect(options(case)).schema(avro, case.get("version"))
    found = reader(avro, schema)
    answers = []
    for text in case["values"]:
        data = base64.b64decode(text)
        if avro.kind == "bytes":
            data = data[len(varint(len(data) - 1)) :]
        value = found.one(data, 0)
        assert table_of(found.all([data, data], 0)) in (None, [value, value])
        answers.append({"schema": shown(schema), "value": notation.show(schema, value)})
    return answers


def table_of(values: Any) -> Any:
    return values.rows() if isinstance(values, Table) else values


def shown(schema: Schema | None) -> Any:
    """Return the notation of a schema, as AvroOracle.show does."""
    if schema is None:
        return None
    node: dict[str, Any] = {"type": schema.type.value, "optional": schema.optional}
    for name in ("name", "version", "doc"):
        if getattr(schema, name) is not None:
            node[name] = getattr(schema, name)
    if schema.default is not None:
        node["default"] = notation.show(schema, schema.default)
    if schema.parameters:
        node["parameters"] = dict(schema.parameters)
    if schema.type is Type.MAP:
        node["keys"] = shown(schema.key_schema)
    if schema.type in (Type.MAP, Type.ARRAY):
        node["values"] = shown(schema.value_schema)
    if schema.type is Type.STRUCT:
        node["fields"] = [[field.name, shown(field.schema)] for field in schema.fields]
    return node


# Cases in which Penstock differs on purpose: Java's error, or Penstock's, and the reason.
EXPLAINED = {
    "(org.apache.kafka.connect.data.Decimal) differs from name in source schema": "A fixed that is a decimal has a "
    "name for Avro, not for Connect: Confluent's AvroData ignores it, Apicurio's, which is older, fails.",
    "Two types of the Avro schema have the name io.confluent.connect.avro.MapEntry": "Of a map with other keys than "
    "texts in another such map Java registers the first entry type only, and nobody can read what it writes. "
    "Named maps are the way out in both.",
}


def explained(message: str) -> bool:
    return any(words in message for words in EXPLAINED)


def difference(found: dict[str, Any]) -> Any:
    """Return Java's answer and Penstock's if they differ, or None."""
    case = found["case"]
    if "error" in found and explained(str(found["error"][0][1])):
        return None
    try:
        ours: Any = written(case) if case["op"] == "from" else read(case)
    except DataError as error:
        if explained(str(error)) or found.get("error", [[""]])[0][0].startswith("org.apache"):
            return None
        return found.get("error") or found["answer"], f"{type(error).__name__}: {error}"
    if "error" in found:
        return found["error"], ours
    answer = found["answer"]
    if case["op"] == "from":
        for i, (theirs, mine) in enumerate(zip(answer["values"], ours["values"], strict=True)):
            if mine is None or (isinstance(theirs, dict) and isinstance(mine, dict)):
                ours["values"][i] = theirs
    return None if answer == ours else (answer, ours)


@pytest.mark.parametrize("operation", ["from", "to"])
def test_avro_answers_equal_java_s(operation):
    found = list(cases(operation))
    assert len(found) > 1000
    wrong = [(answer["case"], both) for answer in found if (both := difference(answer)) is not None]
    assert not wrong, f"{len(wrong)} of {len(found)}, first: {wrong[0]}"
