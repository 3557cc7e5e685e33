"""The settings of the mapping between Connect's schemas and JSON Schema, and the names that both directions use.

Java: ``JsonSchemaDataConfig``, ``JsonSchemaData``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.schema import Schema, SchemaType

NAMESPACE = "io.confluent.connect.json"
ENUM = f"{NAMESPACE}.Enum"
ONE_OF = f"{NAMESPACE}.OneOf"
ID = f"{NAMESPACE}.Id"
GENERALIZED_UNION = "org.apache.kafka.connect.data.Union"
GENERALIZED_ENUM = "org.apache.kafka.connect.data.Enum"
UNION_PREFIX = "connect_union_"
NULL_SYMBOL = "<NULL>"
CONNECT_TYPE, CONNECT_VERSION = "connect.type", "connect.version"
CONNECT_PARAMETERS, CONNECT_INDEX = "connect.parameters", "connect.index"


@dataclass(frozen=True, slots=True)
class JsonSchemaOptions:
    """One attribute per setting of the mapping."""

    object_additional_properties: bool = True
    use_optional_for_nonrequired: bool = False
    decimal_format: str = "BASE64"
    flatten_singleton_unions: bool = True
    generalized_sum_type_support: bool = False
    ignore_default_for_nullables: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> JsonSchemaOptions:
        return cls(**{name: settings[name.replace("_", ".")] for name in cls.__slots__})

    @property
    def enum_parameter(self) -> str:
        return GENERALIZED_ENUM if self.generalized_sum_type_support else ENUM

    @property
    def numeric(self) -> bool:
        return self.decimal_format.upper() == "NUMERIC"

    def member(self, union: str, index: int) -> str:
        """The name of the field of a union's struct."""
        if self.generalized_sum_type_support:
            return f"{UNION_PREFIX}field_{index}"
        return f"{union}.field.{index}"


def is_union(schema: Schema) -> bool:
    return schema.type is SchemaType.STRUCT and (schema.name == ONE_OF or GENERALIZED_UNION in schema.parameters)


def is_enum(schema: Schema) -> bool:
    return schema.type is SchemaType.STRING and (GENERALIZED_ENUM in schema.parameters or ENUM in schema.parameters)


def symbol_of(node: Any) -> str:
    """Return a symbol of an enum, any value of JSON, as the text that stands for it."""
    match node:
        case None:
            return NULL_SYMBOL
        case bool():
            return "true" if node else "false"
    return str(node)


def has_object_keys(schema: Schema) -> bool:
    """Whether a map is a JSON object, whose keys are texts."""
    key = schema.key_schema
    return key is not None and key.type is SchemaType.STRING and not key.optional
