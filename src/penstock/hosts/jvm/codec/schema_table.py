"""The schemas of a session by number; Java: ``SchemaTable``.

Each side gives numbers to the schemas that it sends, and describes a schema when it first sends its number. After
MAX_NUMBERS of them it begins a new generation of numbers, and says so: the other side then forgets the numbers of the
generation before the last one. A schema that returns is the same object as before, unless it was long ago.
"""

from __future__ import annotations

import base64
import threading
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import NO_PARAMETERS, Field, RecursiveSchema, Schema, SchemaType
from penstock.hosts.jvm.codec.decode import Decoder
from penstock.hosts.jvm.codec.encode import Encoder

MAX_NUMBERS = 10_000
"""Number of schemas in a generation of numbers, but for those that its last message adds."""


_RECURSIVE = "recursive"
"""The type of a schema in its description that stands for one around it."""


class SchemaTable:
    def __init__(self) -> None:
        self.generation = 0
        """Generation of our numbers. Columns encoded in this one or the last one can still be sent."""
        self._numbers: dict[Schema, int] = {}
        """The numbers of this generation."""
        self._described: list[Any] = []
        self._last = 0
        self._received: dict[int, Schema] = {}
        self._since = 0
        """The first number of the other side's current generation."""
        self._objects: dict[Schema, Schema] = {}
        self._lock = threading.Lock()

    def number(self, schema: Schema | None) -> int:
        """Return the number of a schema; 0 for None."""
        if schema is None:
            return 0
        number = self._numbers.get(schema)
        if number is None:
            description = self._description(schema)
            with self._lock:
                self._last += 1
                self._numbers[schema] = number = self._last
                self._described.append([number, description])
                self._object(schema)
        return number

    def get(self, number: int) -> Schema | None:
        """Return the schema of a number that was received."""
        return self._received[number] if number else None

    def take_descriptions(self) -> list[Any]:
        """Return the schemas that the JVM does not know yet, to be sent with the next message that names numbers."""
        with self._lock:
            taken, self._described = self._described, []
            if len(self._numbers) >= MAX_NUMBERS:
                self.generation += 1
                self._numbers.clear()
                self._described.append([self._last + 1, None])
        return taken

    def learn(self, descriptions: list[Any] | None) -> None:
        """Take schemas that the other side has described. Raises DataError for what describes none."""
        try:
            self._learn(descriptions)
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise DataError(f"Schemas from the JVM can't be read: {type(error).__name__}: {error}") from error

    def _learn(self, descriptions: list[Any] | None) -> None:
        for number, description in descriptions or ():
            if description is None:
                with self._lock:
                    self._received = {each: known for each, known in self._received.items() if each >= self._since}
                    self._since = number
                continue
            schema = self._schema(description)
            with self._lock:
                self._received[number] = self._object(schema)

    def _object(self, schema: Schema) -> Schema:
        """Return the one object for all equal schemas."""
        if len(self._objects) > 4 * MAX_NUMBERS:
            self._objects.clear()
        return self._objects.setdefault(schema, schema)

    def _description(self, schema: Schema, around: tuple[Schema, ...] = ()) -> dict[str, Any]:
        """``around``: the schemas that this one is in, the innermost first."""
        if isinstance(schema, RecursiveSchema):
            return self._recursive(schema, around)
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
            found["fields"] = [
                [field.name, self._description(field.schema, (schema, *around))] for field in schema.fields
            ]
        if schema.key_schema is not None:
            found["keys"] = self._description(schema.key_schema, (schema, *around))
        if schema.value_schema is not None:
            found["values"] = self._description(schema.value_schema, (schema, *around))
        return found

    def _recursive(self, schema: RecursiveSchema, around: tuple[Schema, ...]) -> dict[str, Any]:
        """Describe a schema by the number of schemas between it and the one it stands for, or by that one itself."""
        found: dict[str, Any] = {"type": _RECURSIVE, "optional": schema.optional}
        if schema.parameters != schema.target.parameters:
            found["parameters"] = dict(schema.parameters)
        above = next((place for place, each in enumerate(around) if schema.same_parts(each)), None)
        return found | ({"of": self._description(schema.target, around)} if above is None else {"above": above})

    def _schema(self, found: dict[str, Any], around: tuple[list[RecursiveSchema], ...] = ()) -> Schema:
        """``around``: for each schema that this one is in, the innermost first, those that stand for it."""
        own: list[RecursiveSchema] = []
        if found["type"] == _RECURSIVE:
            return self._read_recursive(found, around)
        inside = (own, *around)
        schema = Schema(
            SchemaType(found["type"]),
            optional=found.get("optional", False),
            name=found.get("name"),
            version=found.get("version"),
            doc=found.get("doc"),
            parameters=found.get("parameters", NO_PARAMETERS),
            fields=tuple(
                Field(name, i, self._schema(each, inside)) for i, (name, each) in enumerate(found.get("fields", ()))
            ),
            key_schema=self._schema(found["keys"], inside) if "keys" in found else None,
            value_schema=self._schema(found["values"], inside) if "values" in found else None,
        )
        if "default" in found:
            decoder = Decoder(memoryview(base64.b64decode(found["default"])), self.get)
            schema = schema.with_(default=decoder.column(schema)[0])
        for each in own:
            each.close(schema)
        return schema

    def _read_recursive(self, found: dict[str, Any], around: tuple[list[RecursiveSchema], ...]) -> Schema:
        schema = RecursiveSchema(found.get("optional", False))
        if "of" in found:
            schema.close(self._schema(found["of"], around))
        else:
            around[found["above"]].append(schema)
        return schema.with_(parameters=found["parameters"]) if "parameters" in found else schema
