"""From Avro's schemas to Connect's. Java: ``AvroData.toConnectSchema``."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Iterator

from penstock.api.errors import DataError
from penstock.api.schema import DATE, STRING, TIME, TIMESTAMP, RecursiveSchema, Schema, SchemaType, decimal
from penstock.pipeline.converters.registry.avro.defaults import default_of_field, default_of_prop
from penstock.pipeline.converters.registry.avro.options import (
    DEFAULT_FULL_NAME,
    DEFAULT_PRECISION,
    ENUM_DEFAULT,
    ENUM_DOC,
    FIELD_DEFAULT,
    FIELD_DOC,
    FIXED_SIZE,
    GENERALIZED_UNION,
    KEY,
    MAP_ENTRY,
    NAMESPACE,
    PRECISION,
    RECORD_DOC,
    UNION,
    UNION_PREFIX,
    VALUE,
    AvroOptions,
)
from penstock.pipeline.converters.registry.avro.schema.model import AvroField, AvroType
from penstock.pipeline.converters.registry.mapping.schemas import PartCount, SchemaParts
from penstock.pipeline.converters.registry.mapping.type_table import AVRO, marked, read_as

log = logging.getLogger(__name__)

_PLAIN = read_as(AVRO)
_SMALL = marked(AVRO, "int")


class ToConnect:
    """Makes Connect's schemas of Avro's for one converter: unions are numbered through all of them."""

    def __init__(self, options: AvroOptions) -> None:
        self.options = options
        self._union_numbers = itertools.count()

    def schema(self, avro: AvroType, version: int | None = None) -> Schema:
        """The Connect schema; ``version`` is the registry's, for a schema that has none itself. Raises DataError."""
        return _Builder(self.options, self._union_numbers).build(avro, version=version)


class _Builder:
    def __init__(self, options: AvroOptions, union_numbers: Iterator[int]) -> None:
        self.options = options
        self._union_numbers = union_numbers
        self._count = PartCount()
        self._open: dict[int, list[RecursiveSchema]] = {}
        """The records whose fields are being built, by identity, with the references to them."""

    def build(
        self,
        avro: AvroType,
        optional: bool = False,
        field: AvroField | None = None,
        version: int | None = None,
        doc: str | None = None,
    ) -> Schema:
        """``field`` gives the default of the schema of a record's field, ``doc`` its documentation."""
        options = self.options
        self._count.add()
        if avro.kind == "union":
            if len(avro.branches) == 1 and options.flatten_singleton_unions:
                return self._nested(avro.branches[0], False, doc)
            others = [branch for branch in avro.branches if branch.kind != "null"]
            if len(avro.branches) == 2 and len(others) == 1:
                return self._nested(others[0], True, doc)
        parts = self._parts(avro)
        self._add_docs(parts, avro, doc)
        self._add_version(parts, avro, version)
        self._add_parameters(parts, avro)
        self._add_default(parts, avro, field)
        self._add_name(parts, avro)
        if optional:
            parts.optional = True
        schema = parts.build()
        for pending in self._open.pop(id(avro), ()):
            pending.close(schema)
        return schema

    def _nested(self, avro: AvroType, optional: bool, doc: str | None = None) -> Schema:
        if id(avro) in self._open:
            pending = RecursiveSchema(optional)
            self._open[id(avro)].append(pending)
            return pending
        return self.build(avro, optional, doc=doc)

    def _parts(self, avro: AvroType) -> SchemaParts:
        match avro.kind:
            case "boolean" | "double" | "float" | "string":
                return SchemaParts(_PLAIN[avro.kind])
            case "bytes" | "fixed":
                return _bytes(avro)
            case "int":
                return _int(avro)
            case "long":
                if _logical(avro) == "timestamp-millis":
                    return SchemaParts.like(TIMESTAMP)
                return SchemaParts(SchemaType.INT64)
            case "array":
                return self._array(avro)
            case "map":
                return SchemaParts(SchemaType.MAP, key_schema=STRING, value_schema=self._nested(avro.item, False))
            case "record":
                return self._record(avro)
            case "enum":
                return self._enum(avro)
            case "union":
                return self._union(avro)
            case "null":
                raise DataError("Standalone null schemas are not supported by this converter")
        raise DataError(f"Couldn't translate unsupported schema type {avro.kind}.")

    def _array(self, avro: AvroType) -> SchemaParts:
        entry = avro.item
        if not is_map_entry(entry):
            return SchemaParts(SchemaType.ARRAY, value_schema=self._nested(entry, False))
        key, value = entry.field(KEY), entry.field(VALUE)
        if len(entry.fields) != 2 or key is None or value is None:
            raise DataError(
                "Found map encoded as array of key-value pairs, but array elements do not match the expected format."
            )
        return SchemaParts(SchemaType.MAP, key_schema=self._inner(key.type), value_schema=self._inner(value.type))

    def _inner(self, avro: AvroType) -> Schema:
        return self._nested(avro, False) if avro.kind == "record" else self.build(avro)

    def _record(self, avro: AvroType) -> SchemaParts:
        self._open[id(avro)] = []
        keep_docs = not self.options.discard_type_doc_default and self.options.connect_meta_data
        parts = SchemaParts(SchemaType.STRUCT)
        if keep_docs and avro.doc is not None:
            parts.parameters[RECORD_DOC] = avro.doc
        for field in avro.fields:
            if keep_docs and field.doc is not None:
                parts.parameters[FIELD_DOC + field.name] = field.doc
            schema = (
                self._nested(field.type, False, field.doc)
                if id(field.type) in self._open
                else self.build(field.type, field=field, doc=field.doc)
            )
            given = field.props.get("connect.parameters")
            if self.options.connect_meta_data and isinstance(given, dict):
                changed = {**schema.parameters, **{key: str(value) for key, value in given.items()}}
                if changed != schema.parameters:
                    schema = schema.with_(parameters=changed)
            parts.fields.append((field.name, schema))
        return parts

    def _enum(self, avro: AvroType) -> SchemaParts:
        options, parts = self.options, SchemaParts(SchemaType.STRING)
        name = avro.name
        assert name is not None
        if options.connect_meta_data:
            if avro.doc is not None:
                key = "connect.enum.doc" if options.discard_type_doc_default else ENUM_DOC + name.simple
                parts.parameters[key] = avro.doc
            if not options.discard_type_doc_default and avro.default_symbol is not None:
                parts.parameters[ENUM_DEFAULT + name.simple] = avro.default_symbol
        parameter = options.enum_parameter
        parts.parameters[parameter] = name.full
        for number, symbol in enumerate(avro.symbols):
            parts.parameters[f"{parameter}.{symbol}"] = str(number) if options.generalized_sum_type_support else symbol
        return parts

    def _union(self, avro: AvroType) -> SchemaParts:
        parts = SchemaParts(SchemaType.STRUCT, name=UNION)
        if self.options.generalized_sum_type_support:
            parts.name = f"{UNION_PREFIX}{next(self._union_numbers)}"
            parts.parameters[GENERALIZED_UNION] = parts.name
        for index, branch in enumerate(avro.branches):
            if branch.kind == "null":
                parts.optional = True
            else:
                parts.fields.append((member_of(branch, index, self.options), self._nested(branch, True)))
        names = [name for name, _ in parts.fields]
        if len(set(names)) < len(names):
            raise DataError("Multiple union schemas map to the Connect union field name")
        return parts

    def _add_docs(self, parts: SchemaParts, avro: AvroType, doc: str | None) -> None:
        options, own = self.options, avro.text_prop("connect.doc")
        if not options.discard_type_doc_default:
            if options.connect_meta_data and own is not None:
                parts.doc = own
            return
        parts.doc = next((text for text in (doc, avro.doc, own) if text is not None), None)
        if options.connect_meta_data and avro.doc is not None:
            parts.parameters["connect.record.doc"] = avro.doc

    def _add_version(self, parts: SchemaParts, avro: AvroType, version: int | None) -> None:
        own = avro.props.get("connect.version")
        if own is not None:
            if not isinstance(own, (int, float)) or isinstance(own, bool):
                raise DataError(f"Invalid Connect version found: {own}")
            version = int(own)
        if version is not None and version >= 0:
            parts.set_version(version)

    def _add_parameters(self, parts: SchemaParts, avro: AvroType) -> None:
        given = avro.props.get("connect.parameters")
        if self.options.connect_meta_data and given is not None:
            if not isinstance(given, dict):
                raise DataError(f"Expected JSON object for schema parameters but found: {given}")
            for key, value in given.items():
                if not isinstance(value, str):
                    raise DataError(f"Expected schema parameter values to be strings but found: {value}")
                parts.parameters[key] = value
        for key, value in avro.props.items():
            if key.startswith("avro"):
                parts.parameters[key] = value if isinstance(value, str) else json.dumps(value)

    def _add_default(self, parts: SchemaParts, avro: AvroType, field: AvroField | None) -> None:
        own = avro.props.get("connect.default")
        try:
            if field is not None and field.default is not None:
                if own is None and self.options.connect_meta_data and not self.options.discard_type_doc_default:
                    parts.parameters[FIELD_DEFAULT] = "true"
                parts.default = default_of_field(parts, avro, field.default, self.options)
            elif own is not None:
                parts.default = default_of_prop(parts, avro, own, self.options)
        except DataError:
            log.warning("The default of the Avro type %s does not fit it and is ignored", avro.full_name)

    def _add_name(self, parts: SchemaParts, avro: AvroType) -> None:
        name = avro.props.get("connect.name")
        if name is not None and not isinstance(name, str):
            raise DataError(f"Invalid schema name: {name}")
        if name is None and (avro.kind in ("record", "enum") or (avro.kind == "fixed" and _logical(avro) != "decimal")):
            name = avro.full_name
        if name is not None and not name.startswith(DEFAULT_FULL_NAME):
            parts.set_name(name)


def is_map_entry(avro: AvroType) -> bool:
    """Whether an array of these stands for a map."""
    return avro.kind == "record" and (
        avro.full_name == f"{NAMESPACE}.{MAP_ENTRY}" or avro.props.get("connect.internal.type") == MAP_ENTRY
    )


def member_of(branch: AvroType, index: int, options: AvroOptions) -> str:
    """The name of the field of a union's struct that holds the values of a branch."""
    if options.generalized_sum_type_support:
        return f"{UNION_PREFIX}field_{index}"
    if branch.name is None:
        return branch.kind
    return branch.name.full if options.enhanced_avro_schema_support else branch.name.simple


def _logical(avro: AvroType) -> str | None:
    found = avro.text_prop("logicalType")
    return found.lower() if found else None


def _bytes(avro: AvroType) -> SchemaParts:
    if _logical(avro) == "decimal":
        scale, precision = avro.props.get("scale"), avro.props.get("precision")
        parts = SchemaParts.like(decimal(int(scale) if isinstance(scale, (int, float)) else 0))
        if precision is not None:
            if not isinstance(precision, (int, float)):
                raise DataError(
                    "precision property must be a JSON Integer. https://avro.apache.org/docs/1.9.1/spec.html#Decimal"
                )
            if int(precision) != DEFAULT_PRECISION:
                parts.parameters[PRECISION] = str(int(precision))
    else:
        parts = SchemaParts(SchemaType.BYTES)
    if avro.kind == "fixed":
        parts.parameters[FIXED_SIZE] = str(avro.size)
    return parts


def _int(avro: AvroType) -> SchemaParts:
    logical, kind = _logical(avro), avro.text_prop("connect.type")
    if logical == "date":
        return SchemaParts.like(DATE)
    if logical == "time-millis":
        return SchemaParts.like(TIME)
    if logical is not None or kind is None:
        return SchemaParts(SchemaType.INT32)
    if kind not in _SMALL:
        raise DataError("Connect type annotation for Avro int field is null")
    return SchemaParts(_SMALL[kind])
