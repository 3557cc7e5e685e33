"""Reference of a message to its schema: the ID before the payload, or the GUID in a header.

Java: ``SchemaId``, ``PrefixSchemaIdSerializer``, ``HeaderSchemaIdSerializer``, ``DualSchemaIdDeserializer``,
``ConfigSchemaIdDeserializer``.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api.errors import ConfigError, SerializationError

_PACKAGE = "io.confluent.kafka.serializers.schema.id."
PREFIX_SERIALIZER, HEADER_SERIALIZER = (
    _PACKAGE + name for name in ("PrefixSchemaIdSerializer", "HeaderSchemaIdSerializer")
)
DUAL_DESERIALIZER, PREFIX_DESERIALIZER, CONFIG_DESERIALIZER = (
    _PACKAGE + name for name in ("DualSchemaIdDeserializer", "PrefixSchemaIdDeserializer", "ConfigSchemaIdDeserializer")
)
SERIALIZERS = (PREFIX_SERIALIZER, HEADER_SERIALIZER)
DESERIALIZERS = (DUAL_DESERIALIZER, PREFIX_DESERIALIZER, CONFIG_DESERIALIZER)
KEY_HEADER, VALUE_HEADER = "__key_schema_id", "__value_schema_id"
_ID, _GUID = 0, 1
ID_SIZE, GUID_SIZE = 5, 17


@dataclass(frozen=True, slots=True)
class SchemaId:
    """Reference to a schema in a message: an id or a GUID, and with Protobuf the message type within the schema."""

    id: int | None = None
    guid: str | None = None
    indexes: tuple[int, ...] = ()

    def __str__(self) -> str:
        return str(self.guid if self.id is None else self.id)


def read_id(data: bytes) -> tuple[SchemaId, int]:
    """The id that these bytes begin with, and its size. Raises SerializationError."""
    if len(data) >= ID_SIZE and data[0] == _ID:
        return SchemaId(id=int.from_bytes(data[1:ID_SIZE], "big", signed=True)), ID_SIZE
    if len(data) >= GUID_SIZE and data[0] == _GUID:
        return SchemaId(guid=str(uuid.UUID(bytes=data[1:GUID_SIZE]))), GUID_SIZE
    if data and data[0] not in (_ID, _GUID):
        raise SerializationError(f"Unknown magic byte {data[0]}!")
    raise SerializationError(f"{len(data)} bytes are too few for the id of a schema and a payload")


def id_prefix(id: int) -> bytes:
    return b"\0" + id.to_bytes(4, "big")


def guid_header(guid: str) -> bytes:
    return b"\1" + uuid.UUID(guid).bytes


def configured_id(settings: Mapping[str, Any]) -> bytes:
    """The id or the GUID of the settings, in the form that stands before payloads. Raises ConfigError without one."""
    if settings["use.schema.id"] >= 0:
        return id_prefix(settings["use.schema.id"])
    if settings["use.schema.guid"]:
        try:
            return guid_header(settings["use.schema.guid"])
        except ValueError as error:
            raise ConfigError("use.schema.guid", settings["use.schema.guid"], "It must be a GUID") from error
    raise ConfigError("use.schema.id", -1, f"It, or use.schema.guid, must be given with {CONFIG_DESERIALIZER}")


def header_of(headers: Sequence[Any], name: str) -> bytes | None:
    """The value of the last header of this name, None if there is none."""
    for header in reversed(headers):
        if header[0] == name:
            value: bytes | None = header[-1]
            return value
    return None
