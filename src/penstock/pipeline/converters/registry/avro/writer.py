"""From Connect's values to Avro's bytes: one function per pair of schemas, compiled once.

A batch of structs is written column by column; what does not fit is written value by value, with Java's complaints.
Java: ``AvroData.fromConnectData``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import chain, islice
from struct import Struct
from typing import Any

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import Schema, SchemaType
from penstock.pipeline.converters.registry.avro.options import AvroOptions, is_union
from penstock.pipeline.converters.registry.avro.schema.fastavro_schema import for_fastavro, is_nullable, other_branch
from penstock.pipeline.converters.registry.avro.schema.model import AvroField, AvroType
from penstock.pipeline.converters.registry.avro.to_datum import LOGICAL_NAMES, Change, DatumCompiler, write_anything
from penstock.pipeline.converters.registry.extras import load
from penstock.pipeline.converters.registry.mapping.names import scrubbed
from penstock.pipeline.converters.registry.mapping.pieces import (
    Encode,
    EncodeStructs,
    Piece,
    columns,
    is_constant,
    joined,
    nullable,
    of_kind,
    within,
)
from penstock.pipeline.converters.registry.mapping.schemas import BITS
from penstock.pipeline.converters.registry.mapping.varints import Lengths, varint, varints
from penstock.values.class_names import class_name

log = logging.getLogger(__name__)


class AvroWriter:
    """Writes values of one Connect schema by one Avro schema; ``head`` is put before each."""

    def __init__(self, schema: Schema | None, avro: AvroType, options: AvroOptions) -> None:
        self.schema, self.avro = schema, avro
        self._change: Change = write_anything if schema is None else DatumCompiler(options).change(schema, avro)
        self._columns = column_writer(schema, avro, options)
        if avro.kind != "bytes":
            fastavro = load("fastavro", "avro")
            self._parsed = fastavro.parse_schema(for_fastavro(avro, writing=True))
            self._write: Callable[..., None] = fastavro.schemaless_writer

    def one(self, head: bytes, value: Any) -> bytes:
        """The message for one value that is not null. Raises DataError for one that does not fit the schema."""
        return self._message(head, self._change(value))

    def all(self, head: bytes, values: list[Any] | Table) -> list[bytes]:
        """The messages for values of which none is null."""
        if self._columns is not None:
            try:
                return joined([head, *self._columns(values)], len(values))
            except Exception:
                log.debug("A batch is written value by value", exc_info=True)
        return [self.one(head, value) for value in values]

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


def _unwritable(schema: Schema | None, error: Exception) -> DataError:
    kind = "schemaless data" if schema is None else class_name(schema, {})
    return DataError(f"Error serializing Avro message: {error} ({kind})")


_AVRO_BITS = {"int": 31, "long": 63}


def column_writer(schema: Schema | None, avro: AvroType, options: AvroOptions) -> EncodeStructs | None:
    """For structs of this schema as records; None if they can't be taken apart into columns."""
    if schema is None or schema.type is not SchemaType.STRUCT or is_union(schema) or avro.kind != "record":
        return None
    return _Compiler(options).struct(schema, avro)


class _Compiler:
    def __init__(self, options: AvroOptions) -> None:
        self._options = options
        self._open: set[int] = set()
        """The records being compiled, by identity."""

    def struct(self, schema: Schema, avro: AvroType) -> EncodeStructs | None:
        """None if a field of the record is not in the schema."""
        sources = {scrubbed(field.name, self._options.scrub_invalid_names): field for field in schema.fields}
        if any(target.name not in sources for target in avro.fields):
            return None
        self._open.add(id(avro))
        names = [sources[target.name].name for target in avro.fields]
        encoders = [self._field(sources[target.name].schema, target) for target in avro.fields]
        self._open.remove(id(avro))

        def encode(values: Sequence[Any] | Table) -> list[Piece]:
            pieces: list[Piece] = []
            for write, column in zip(encoders, columns(names, values), strict=True):
                pieces += write(column)
            return pieces

        return encode

    def _field(self, schema: Schema, target: AvroField) -> Encode:
        write = self._nullable(schema, target.type)
        default = schema.default
        if default is None or self._options.ignore_default_for_nullables:
            return write
        return lambda column: write([default if value is None else value for value in column])

    def _nullable(self, schema: Schema, avro: AvroType) -> Encode:
        if is_nullable(avro) and not is_union(schema):
            place = other_branch(avro)
            inner = self._value(schema, avro.branches[place])
            if inner is not None:
                return nullable(inner, number(place), number(1 - place)) if schema.optional else _before(inner, place)
        inner = None if schema.optional else self._value(schema, avro)
        return inner or self._one_by_one(schema, avro)

    def _value(self, schema: Schema, avro: AvroType) -> Encode | None:
        """For values that are not null; None without code for them."""
        if schema.name in LOGICAL_NAMES:
            return self._logical(schema, avro)
        match schema.type, avro.kind:
            case ((SchemaType.INT8 | SchemaType.INT16 | SchemaType.INT32 | SchemaType.INT64), ("int" | "long")):
                bits = BITS[schema.type]
                return _integers(bits) if bits <= _AVRO_BITS[avro.kind] else None
            case (SchemaType.FLOAT64, "double") | (SchemaType.FLOAT32, "float"):
                return floats(avro.kind)
            case SchemaType.BOOLEAN, "boolean":
                return booleans
            case SchemaType.STRING, "string":
                return texts
            case SchemaType.BYTES, "bytes":
                return _binary
            case SchemaType.STRUCT, "record" if not is_union(schema) and id(avro) not in self._open:
                return self.struct(schema, avro)
            case SchemaType.ARRAY, "array":
                assert schema.value_schema is not None
                return arrays(self._nullable(schema.value_schema, avro.item))
        return None

    def _logical(self, schema: Schema, avro: AvroType) -> Encode | None:
        change = DatumCompiler(self._options).present(schema, avro)
        match avro.kind:
            case "int" | "long":
                bits = _AVRO_BITS[avro.kind]

                def encode_number(column: Sequence[Any]) -> list[Piece]:
                    found = list(map(change, column))
                    within(bits, found)
                    return numbers(found)

                return encode_number
            case "bytes":
                return lambda column: data(list(map(change, column)))
        return None

    def _one_by_one(self, schema: Schema, avro: AvroType) -> Encode:
        fastavro = load("fastavro", "avro")
        change = DatumCompiler(self._options).change(schema, avro)
        parsed, write = fastavro.parse_schema(for_fastavro(avro, writing=True)), fastavro.schemaless_writer

        def encode(column: Sequence[Any]) -> list[Piece]:
            found = []
            for value in column:
                stream = BytesIO()
                write(stream, parsed, change(value))
                found.append(stream.getvalue())
            return [found]

        return encode


def _before(encode: Encode, place: int) -> Encode:
    head = number(place)
    return lambda column: [head, *encode(column)]


def _integers(bits: int) -> Encode:
    def encode(column: Sequence[Any]) -> list[Piece]:
        of_kind(int, column)
        within(bits, column)
        return numbers(column)

    return encode


def _binary(column: Sequence[Any]) -> list[Piece]:
    of_kind(bytes, column)
    return data(column)


_BOOLEANS = {False: b"\0", True: b"\1"}
_PACK = {"double": Struct("<d").pack, "float": Struct("<f").pack}


def number(value: int) -> bytes:
    """An ``int`` or a ``long``."""
    return varint(value << 1 ^ value >> 63)


def numbers(column: Sequence[int]) -> list[Piece]:
    """Integers of up to 64 bits."""
    return varints([value << 1 ^ value >> 63 for value in column])


_LENGTHS = Lengths(2)
data = _LENGTHS.before


def texts(column: Sequence[Any]) -> list[Piece]:
    of_kind(str, column)
    return data([column[0].encode()] * len(column) if is_constant(column) else list(map(str.encode, column)))


def booleans(column: Sequence[Any]) -> list[Piece]:
    of_kind(bool, column)
    return [list(map(_BOOLEANS.__getitem__, column))]


def floats(kind: str) -> Encode:
    """``double`` or ``float``."""
    pack = _PACK[kind]

    def encode(column: Sequence[Any]) -> list[Piece]:
        of_kind(float, column)
        return [list(map(pack, column))]

    return encode


def arrays(items: Encode) -> Encode:
    """One block for all items of an array."""

    def encode(column: Sequence[Any]) -> list[Piece]:
        of_kind(list, column)
        sizes = list(map(len, column))
        total = sum(sizes)
        made = iter(joined(items(list(chain.from_iterable(column))), total) if total else ())
        return [[_LENGTHS[size] + b"".join(islice(made, size)) + b"\0" if size else b"\0" for size in sizes]]

    return encode
