"""The settings of the mapping between Connect's schemas and Avro's, and the names that both directions use.

Java: ``AvroDataConfig``, ``AvroData``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.schema import Schema, SchemaType
from penstock.pipeline.converters.registry.mapping.type_table import AVRO, written_as

NAMESPACE = "io.confluent.connect.avro"
DEFAULT_NAME = "ConnectDefault"
DEFAULT_FULL_NAME = f"{NAMESPACE}.{DEFAULT_NAME}"
MAP_ENTRY = "MapEntry"
KEY, VALUE = "key", "value"
UNION = f"{NAMESPACE}.Union"
ENUM = f"{NAMESPACE}.Enum"
RECORD_DOC = f"{NAMESPACE}.record.doc"
ENUM_DOC = f"{NAMESPACE}.enum.doc."
FIELD_DOC = f"{NAMESPACE}.field.doc."
FIELD_DEFAULT = f"{NAMESPACE}.field.default"
ENUM_DEFAULT = f"{NAMESPACE}.enum.default."
FIXED_SIZE = "connect.fixed.size"
PRECISION = "connect.decimal.precision"
DEFAULT_PRECISION = 64
GENERALIZED_UNION = "org.apache.kafka.connect.data.Union"
GENERALIZED_ENUM = "org.apache.kafka.connect.data.Enum"
UNION_PREFIX = "connect_union_"

AVRO_KINDS = {**written_as(AVRO), SchemaType.ARRAY: "array", SchemaType.MAP: "map"}


@dataclass(frozen=True, slots=True)
class AvroOptions:
    """One attribute per setting of the mapping, under the setting's name."""

    connect_meta_data: bool = True
    enhanced_avro_schema_support: bool = False
    generalized_sum_type_support: bool = False
    ignore_default_for_nullables: bool = False
    scrub_invalid_names: bool = False
    discard_type_doc_default: bool = False
    allow_optional_map_keys: bool = False
    flatten_singleton_unions: bool = True

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> AvroOptions:
        return cls(**{name: settings[name.replace("_", ".")] for name in cls.__slots__})

    @property
    def enum_parameter(self) -> str:
        return GENERALIZED_ENUM if self.generalized_sum_type_support else ENUM

    def is_avro_map(self, schema: Schema) -> bool:
        """Whether this map is one in Avro too, whose keys are texts."""
        key = schema.key_schema
        return key is not None and key.type is SchemaType.STRING and (not key.optional or self.allow_optional_map_keys)


def is_union(schema: Schema) -> bool:
    return schema.type is SchemaType.STRUCT and (schema.name == UNION or GENERALIZED_UNION in schema.parameters)


def is_enum(schema: Schema) -> bool:
    return schema.type is SchemaType.STRING and (GENERALIZED_ENUM in schema.parameters or ENUM in schema.parameters)


def is_fixed(schema: Schema) -> bool:
    return schema.type is SchemaType.BYTES and schema.name is not None and FIXED_SIZE in schema.parameters
