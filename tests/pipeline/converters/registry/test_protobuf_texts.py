"""The texts of Protobuf's schemas, to the byte as Java's converter registers them; and that such texts are read."""

from __future__ import annotations

import pytest

from penstock.api.schema import INT8, INT16, INT32, STRING, TIME, decimal, map_of, struct
from penstock.pipeline.converters import ProtobufConverter
from penstock.pipeline.converters.registry.protobuf.options import ENUM
from pipeline.converters.registry.registry_double import RegistryDouble

pytest.importorskip("grpc_tools")

META = """[(confluent.field_meta) = {
    params: [
      {
        key: "connect.type",
        value: "int8"
      }
    ]
  }]"""
COLOUR = STRING.with_(name="Colour", parameters={ENUM: "Colour", f"{ENUM}.RED": "0", f"{ENUM}.BLUE": "1"})

# Java's answers.
TEXTS = {
    "a small number": (struct(("f", INT8)), f"message ConnectDefault1 {{\n  int32 f = 1 {META};\n}}\n"),
    "a message in a message": (
        struct(("r", struct(("x", INT32), ("e", COLOUR), name="org.example.Inner")), name="org.example.Outer"),
        "package org.example;\n\nmessage Outer {\n  Inner r = 1;\n\n  message Inner {\n    int32 x = 1;\n"
        "    Colour e = 2;\n  \n    enum Colour {\n      RED = 0;\n      BLUE = 1;\n    }\n  }\n}\n",
    ),
    "a map": (
        struct(("f", map_of(STRING, INT32)), name="R"),
        "message R {\n  repeated ConnectDefault1Entry f = 1;\n\n  message ConnectDefault1Entry {\n"
        "    string key = 1;\n    int32 value = 2;\n  }\n}\n",
    ),
    "no fields": (struct(name="R"), "message R {}\n"),
    "an import": (
        struct(("t", TIME), name="R"),
        'import "google/type/timeofday.proto";\n\nmessage R {\n  google.type.TimeOfDay t = 1;\n}\n',
    ),
}  # fmt: skip


def converter(double: RegistryDouble) -> ProtobufConverter:
    found = ProtobufConverter()
    found.configure({"schema.registry.url": double.url}, is_key=False)
    return found


@pytest.mark.parametrize("case", TEXTS)
def test_messages(case, double: RegistryDouble):
    schema, text = TEXTS[case]
    found = converter(double).target(schema).text.text
    assert found == 'syntax = "proto3";\n' + ("" if text.startswith("package") else "\n") + text


def test_decimals_have_their_parameters_the_other_way_round(double: RegistryDouble):
    found = converter(double).target(struct(("d", decimal(2)), name="R")).text.text
    assert found.split("params:")[1] == (
        ' [\n      {\n        value: "2",\n        key: "scale"\n      }\n    ]\n  }];\n}\n'
    )
    assert "meta.proto" not in found


def test_primitives_are_messages_of_the_whole_file(double: RegistryDouble):
    found = converter(double).target(INT16).text.text
    assert found.startswith(
        'syntax = "proto3";\npackage google.protobuf;\n\noption java_package = "com.google.protobuf";\n'
        'option java_outer_classname = "WrappersProto";\noption java_multiple_files = true;\n'
        'option go_package = "google.golang.org/protobuf/types/known/wrapperspb";\noption cc_enable_arenas = true;\n'
        'option objc_class_prefix = "GPB";\noption csharp_namespace = "Google.Protobuf.WellKnownTypes";\n\n'
        'message DoubleValue {\n  double value = 1 [json_name = "value"];\n}\nmessage FloatValue {\n'
    )


def test_confluents_options_need_no_import(double: RegistryDouble):
    text = f'syntax = "proto3";\n\nmessage R {{\n  int32 f = 1 {META};\n}}\n'
    double.register("t-value", {"schema": text, "schemaType": "PROTOBUF"})
    schema, value = converter(double).to_connect("t", (), b"\0\0\0\0\1\0\x08\x05")
    assert schema is not None
    assert schema.fields[0].schema.type is INT8.type
    assert value == {"f": 5}
