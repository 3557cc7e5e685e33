"""The wire format and the settings of the three mappings, as data from Confluent's documentation: a schema of a
registry and a payload become a schema and a value of Connect, and the value becomes this payload again.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import DataError
from penstock.api.schema import Schema, SchemaType
from penstock.pipeline.converters import AvroConverter, JsonSchemaConverter, ProtobufConverter
from pipeline.converters.registry.registry_double import RegistryDouble

pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")

DATA = json.loads((Path(__file__).parent / "golden" / "documented.json").read_text())
KINDS = {"AVRO": AvroConverter, "JSON": JsonSchemaConverter, "PROTOBUF": ProtobufConverter}


def shown(schema: Schema | None) -> str:
    assert schema is not None
    if schema.type is not SchemaType.STRUCT:
        return schema.type.name + "?" * schema.optional
    name = (schema.name or "").removeprefix("io.confluent.connect.protobuf.Union.")
    fields = ", ".join(f"{field.name} {shown(field.schema)}" for field in schema.fields)
    return f"{name}{{{fields}}}" + "?" * schema.optional


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return str(value) if isinstance(value, Decimal) else value


@pytest.mark.parametrize("scenario", DATA["scenarios"], ids=lambda scenario: scenario["what"])
def test_scenario(double: RegistryDouble, scenario: dict[str, Any]) -> None:
    assert scenario["page"] in DATA["pages"]
    double.register("t-value", {"schema": scenario["text"], "schemaType": scenario["format"]})
    config = {"schema.registry.url": double.url, **scenario["settings"]}
    payload = bytes.fromhex(scenario["payload"])

    def converter(**more: str) -> Any:
        made = KINDS[scenario["format"]]()
        made.configure(config | {name.replace("_", "."): value for name, value in more.items()}, False)
        return made

    read = converter()
    if "error" in scenario:
        with pytest.raises(DataError, match=scenario["error"]):
            read.to_connect("t", (), b"\0\0\0\0\1" + payload)
        return
    schema, value = read.to_connect("t", (), b"\0\0\0\0\1" + payload)
    assert shown(schema) == scenario["schema"]
    assert plain(value) == scenario["value"]
    if scenario["back"]:
        # The value can be written with the registered schema: the registry finds its ID.
        fixed = converter(auto_register_schemas="false", use_latest_version="true")
        assert fixed.from_connect("t", (), schema, value) == b"\0\0\0\0\1" + payload
