"""The schemas of a session by number; Java: ``SchemaTable``.

Each side describes a schema once, when it first sends its number: Java's are even, ours are odd. A schema that comes
back is the same object as before.
"""

from __future__ import annotations

import base64
import threading
from typing import Any

from penstock.api.schema import NO_PARAMETERS, Field, Schema, SchemaType
from penstock.hosts.jvm.codec.decode import Decoder
from penstock.hosts.jvm.codec.encode import Encoder


class SchemaTable:
    def __init__(self) -> None:
        self._by_number: dict[int, Schema] = {}
        self._numbers: dict[Schema, int] = {}
        self._described: list[Any] = []
        self._last = -1
        self._lock = threading.Lock()

    def number(self, schema: Schema | None) -> int:
        """0 for None."""
        if schema is None:
            return 0
        number = self._numbers.get(schema)
        if number is None:
            description = self._description(schema)
            with self._lock:
                self._last += 2
                self._numbers[schema] = number = self._last
                self._by_number[number] = schema
                self._described.append([number, description])
        return number

    def get(self, number: int) -> Schema | None:
        return self._by_number[number] if number else None

    def take_descriptions(self) -> list[Any]:
        """What the JVM does not know yet; to be sent with the next message that names numbers."""
        with self._lock:
            taken, self._described = self._described, []
        return taken

    def learn(self, descriptions: list[Any] | None) -> None:
        for number, description in descriptions or ():
            schema = self._schema(description)
            self._by_number[number] = schema
            self._numbers.setdefault(schema, number)

    def _description(self, schema: Schema) -> dict[str, Any]:
        found: dict[str, Any] = {"type": schema.type.value}
        if schema.optional:
            found["optional"] = True
        for name in ("name", "version", "doc"):
            if (value := getattr(schema, name)) is not None:
                found[name] = value
        if schema.parameters:
            found["parameters"] = dict(schema.parameters)
        if schema.default is not None:
            encoder = Encoder(self.number)
            # The schema of a struct that is a default has no default itself, as in Java.
            encoder.column(schema.with_(default=None), [schema.default])
            found["default"] = base64.b64encode(b"".join(encoder.parts)).decode()
        if schema.type is SchemaType.STRUCT:
            found["fields"] = [[field.name, self._description(field.schema)] for field in schema.fields]
        if schema.key_schema is not None:
            found["keys"] = self._description(schema.key_schema)
        if schema.value_schema is not None:
            found["values"] = self._description(schema.value_schema)
        return found

    def _schema(self, found: dict[str, Any]) -> Schema:
        schema = Schema(
            SchemaType(found["type"]),
            optional=found.get("optional", False),
            name=found.get("name"),
            version=found.get("version"),
            doc=found.get("doc"),
            parameters=found.get("parameters", NO_PARAMETERS),
            fields=tuple(Field(name, i, self._schema(each)) for i, (name, each) in enumerate(found.get("fields", ()))),
            key_schema=self._schema(found["keys"]) if "keys" in found else None,
            value_schema=self._schema(found["values"]) if "values" in found else None,
        )
        if "default" in found:
            decoder = Decoder(memoryview(base64.b64decode(found["default"])), self.get)
            schema = schema.with_(default=decoder.column(schema)[0])
        return schema
