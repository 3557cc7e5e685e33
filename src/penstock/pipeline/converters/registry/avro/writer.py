"""From Connect's values to Avro's bytes: one function per pair of schemas, compiled once.

Structs whose fields are plain go to fastavro as they are, if all values of a batch are of the right types, which is
quick to tell column by column; what differs is rebuilt value by value, with Java's complaints about what does not fit.
Java: ``AvroData.fromConnectData``.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from operator import itemgetter
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import Schema, SchemaType
from penstock.pipeline.converters.registry.avro.fastavro_schema import for_fastavro
from penstock.pipeline.converters.registry.avro.model import AvroType
from penstock.pipeline.converters.registry.avro.options import AvroOptions
from penstock.pipeline.converters.registry.avro.to_datum import Change, DatumCompiler, write_anything
from penstock.pipeline.converters.registry.extras import load
from penstock.pipeline.values.class_names import class_name

_RANGES = {SchemaType.INT8: 7, SchemaType.INT16: 15, SchemaType.INT32: 31, SchemaType.INT64: 63}
_PLAIN = {**dict.fromkeys(_RANGES, int), SchemaType.FLOAT64: float, SchemaType.BOOLEAN: bool, SchemaType.STRING: str}
_AVRO_OF_PLAIN = {int: ("int", "long"), float: ("double",), bool: ("boolean",), str: ("string",)}


class AvroWriter:
    """Writes values of one Connect schema by one Avro schema; ``head`` is put before each."""

    def __init__(self, schema: Schema | None, avro: AvroType, options: AvroOptions) -> None:
        self.schema, self.avro = schema, avro
        self._change: Change = write_anything if schema is None else DatumCompiler(options).change(schema, avro)
        self._plain = self._plain_fields()
        if avro.kind != "bytes":
            fastavro = load("fastavro", "avro")
            self._parsed = fastavro.parse_schema(for_fastavro(avro, writing=True))
            self._write: Callable[..., None] = fastavro.schemaless_writer

    def one(self, head: bytes, value: Any) -> bytes:
        """The message for one value that is not null. Raises DataError for one that does not fit the schema."""
        return self._message(head, self._change(value))

    def all(self, head: bytes, values: list[Any]) -> list[bytes]:
        """The messages for values of which none is null."""
        if self._plain is None or not self._ready(values):
            change = self._change
            values = [change(value) for value in values]
        if self.avro.kind == "bytes":
            return [head + value for value in values]
        write, parsed, messages = self._write, self._parsed, []
        try:
            for value in values:
                stream = BytesIO()
                stream.write(head)
                write(stream, parsed, value)
                messages.append(stream.getvalue())
        except Exception as error:
            raise _unwritable(self.schema, error) from error
        return messages

    def _message(self, head: bytes, datum: Any) -> bytes:
        if self.avro.kind == "bytes":
            return head + datum
        stream = BytesIO()
        stream.write(head)
        try:
            self._write(stream, self._parsed, datum)
        except Exception as error:
            raise _unwritable(self.schema, error) from error
        return stream.getvalue()

    def _plain_fields(self) -> list[tuple[str, type, bool, int]] | None:
        """Name, type, whether it may be null, and bits of each field, if the struct can be taken as it is."""
        if self.schema is None or self.schema.type is not SchemaType.STRUCT or self.avro.kind != "record":
            return None
        if [f.name for f in self.schema.fields] != [f.name for f in self.avro.fields] or not self.schema.fields:
            return None
        found = []
        for field, target in zip(self.schema.fields, self.avro.fields, strict=True):
            schema, avro = field.schema, target.type
            kind = None if _is_logical(avro) else _PLAIN.get(schema.type)
            nullable = avro.kind == "union"
            inner = [branch.kind for branch in avro.branches if branch.kind != "null"] if nullable else [avro.kind]
            if kind is None or len(inner) != 1 or inner[0] not in _AVRO_OF_PLAIN[kind]:
                return None
            if nullable != schema.optional or schema.default is not None:
                return None
            found.append((field.name, kind, nullable, _RANGES.get(schema.type, 0)))
        return found

    def _ready(self, values: list[Any]) -> bool:
        assert self._plain is not None
        if set(map(type, values)) != {dict}:
            return False
        try:
            for name, kind, nullable, bits in self._plain:
                column = list(map(itemgetter(name), values))
                kinds = set(map(type, column))
                if not kinds <= ({kind, type(None)} if nullable else {kind}):
                    return False
                if bits and kinds != {type(None)}:
                    numbers = [number for number in column if number is not None] if len(kinds) > 1 else column
                    if not -(1 << bits) <= min(numbers) <= max(numbers) < 1 << bits:
                        return False
        except KeyError:
            return False
        return True


def _is_logical(avro: AvroType) -> bool:
    return any("logicalType" in kind.props for kind in (avro, *avro.branches))


def _unwritable(schema: Schema | None, error: Exception) -> DataError:
    kind = "schemaless data" if schema is None else class_name(schema, {})
    return DataError(f"Error serializing Avro message: {error} ({kind})")
