"""The settings of the mapping between Connect's schemas and Protobuf's, and the names that both directions use.

Java: ``ProtobufDataConfig``, ``ProtobufData``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.schema import Schema, SchemaType
from penstock.pipeline.converters.registry.mapping.names import scrubbed

DEFAULT_NAME = "ConnectDefault"
NAMESPACE = "io.confluent.connect.protobuf"
ENUM = f"{NAMESPACE}.Enum"
UNION = f"{NAMESPACE}.Union"
TAG = f"{NAMESPACE}.Tag"
TYPE = f"{NAMESPACE}.Type"
WRAPPER = f"{NAMESPACE}.Wrapper"
GENERALIZED_UNION = "org.apache.kafka.connect.data.Union"
GENERALIZED_ENUM = "org.apache.kafka.connect.data.Enum"
ENTRY = "Entry"
META = "confluent/meta.proto"
"""The file of the options that say what Protobuf's types do not. Java uses it without an import."""
DECIMAL_TYPE, DATE_TYPE = "confluent.type.Decimal", "google.type.Date"
TIME_TYPE, TIMESTAMP_TYPE = "google.type.TimeOfDay", "google.protobuf.Timestamp"
WRAPPER_TYPES = {
    f"google.protobuf.{name}Value": kind
    for name, kind in (
        ("Double", SchemaType.FLOAT64), ("Float", SchemaType.FLOAT32), ("Int64", SchemaType.INT64),
        ("UInt64", SchemaType.INT64), ("Int32", SchemaType.INT32), ("UInt32", SchemaType.INT64),
        ("Bool", SchemaType.BOOLEAN), ("String", SchemaType.STRING), ("Bytes", SchemaType.BYTES),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProtobufOptions:
    """One attribute per setting of the mapping."""

    enhanced_protobuf_schema_support: bool = False
    scrub_invalid_names: bool = False
    int_for_enums: bool = False
    optional_for_nullables: bool = False
    optional_for_proto2: bool = True
    wrapper_for_nullables: bool = False
    wrapper_for_raw_primitives: bool = True
    generate_struct_for_nulls: bool = False
    generate_index_for_unions: bool = True
    flatten_unions: bool = False
    generalized_sum_type_support: bool = False
    ignore_default_for_nullables: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> ProtobufOptions:
        return cls(**{name: settings[name.replace("_", ".")] for name in cls.__slots__})

    @property
    def enum_parameter(self) -> str:
        return GENERALIZED_ENUM if self.generalized_sum_type_support else ENUM

    def scrub(self, name: str) -> str:
        found = scrubbed(name, self.scrub_invalid_names)
        return f"x{found}" if self.scrub_invalid_names and found.startswith("_") else found

    def wraps(self, schema: Schema, member: bool) -> bool:
        """Whether a value of this schema is in a message of its own, so that it may be null."""
        return (
            self.wrapper_for_nullables
            and schema.optional
            and (not member or schema.parameters.get(WRAPPER, "").lower() == "true")
        )


def is_union(schema: Schema) -> bool:
    return schema.type is SchemaType.STRUCT and (
        (schema.name or "").startswith(UNION) or GENERALIZED_UNION in schema.parameters
    )


def is_enum(schema: Schema) -> bool:
    return ENUM in schema.parameters or GENERALIZED_ENUM in schema.parameters


def entry_name(name: str) -> str:
    """The message for the entries of a map of this name."""
    if "_" in name:
        name = "".join(word[:1].upper() + word[1:].lower() for word in name.split("_"))
    return name + ENTRY


def map_name(entry: str) -> str:
    """The name of a map whose entries are this message."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", entry.removesuffix(ENTRY)).lower()
