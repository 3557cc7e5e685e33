"""From Connect's schemas to Avro's. Java: ``AvroData.fromConnectSchema``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import (
    DECIMAL_NAME,
    RecursiveSchema,
    Schema,
    SchemaType,
)
from penstock.pipeline.converters.registry.avro.defaults import avro_default
from penstock.pipeline.converters.registry.avro.options import (
    AVRO_KINDS,
    DEFAULT_NAME,
    DEFAULT_PRECISION,
    ENUM,
    ENUM_DEFAULT,
    ENUM_DOC,
    FIELD_DEFAULT,
    FIELD_DOC,
    FIXED_SIZE,
    GENERALIZED_ENUM,
    KEY,
    MAP_ENTRY,
    NAMESPACE,
    PRECISION,
    RECORD_DOC,
    VALUE,
    AvroOptions,
    is_fixed,
    is_union,
)
from penstock.pipeline.converters.registry.avro.schema.model import (
    NAMED,
    NULL_DEFAULT,
    AvroField,
    AvroType,
    Name,
    check_word,
    union,
    valid_default,
)
from penstock.pipeline.converters.registry.mapping.names import full_name, scrubbed, split
from penstock.pipeline.converters.registry.mapping.type_table import AVRO, logical_names
from penstock.values.logical import scale

log = logging.getLogger(__name__)

_LOGICAL = {name.lower(): kind for name, kind in logical_names(AVRO).items() if name != DECIMAL_NAME}


def to_avro(schema: Schema | None, options: AvroOptions) -> AvroType:
    """The Avro schema of a Connect schema; no schema is that of anything. Raises DataError."""
    return ANYTHING_TYPE if schema is None else _Builder(options).build(schema)


class _Builder:
    """Builds one Avro schema: knows the types that have been built, so that each is defined once."""

    def __init__(self, options: AvroOptions) -> None:
        self.options = options
        self._built: dict[Schema, AvroType] = {}
        self._records: dict[str, AvroType] = {}
        self._structs: list[tuple[Schema, AvroType]] = []
        """The structs that were met, with their records."""
        self._seen: set[str] = set()
        self._unnamed = 0
        self._kinds: dict[SchemaType, Callable[[Schema], AvroType]] = {
            SchemaType.STRING: self._string,
            SchemaType.BYTES: self._bytes,
            SchemaType.ARRAY: lambda schema: AvroType("array", items=self._nested(_item(schema.value_schema))),
            SchemaType.MAP: self._map,
            SchemaType.STRUCT: self._struct,
        }

    def build(self, schema: Schema, ignore_optional: bool = False) -> AvroType:
        if isinstance(schema, RecursiveSchema):
            return self._recursive(schema, ignore_optional)
        if not schema.optional and not is_union(schema) and (found := self._built.get(schema)):
            return found
        if make := self._kinds.get(schema.type):
            base = make(schema)
        else:
            base = AvroType(AVRO_KINDS.get(schema.type, "int"))
        if base.kind != "union":
            self._add_props(schema, base)
            if not ignore_optional:
                base = _optional(schema, base)
        if not schema.optional:
            self._built[schema] = base
        return base

    def _recursive(self, schema: RecursiveSchema, ignore_optional: bool) -> AvroType:
        """Return the record of a struct around this place; one that is not around it is built here.

        Raises DataError if another record has its name.
        """
        found = self._record_of(schema)
        if found is None:
            if schema.name is not None and schema.name in self._records:
                raise DataError(
                    f"Two structs named {schema.name} have different fields, one inside the other, and Avro's records "
                    "need names of their own: give the outer one another name, by SetSchemaMetadata for example"
                )
            return self.build(schema.plain, ignore_optional)
        return found if ignore_optional else _optional(schema, found)

    def _record_of(self, schema: Schema) -> AvroType | None:
        same = (record for struct, record in self._structs if struct.name == schema.name and schema.same_parts(struct))
        return next(same, None)

    def _nested(self, schema: Schema, ignore_optional: bool = False) -> AvroType:
        """Build like ``build``, but return a record that was already met by its name, which ends recursion."""
        recursive = isinstance(schema, RecursiveSchema)
        if schema.name is not None and not recursive and (found := self._records.get(schema.name)):
            return found if ignore_optional else _optional(schema, found)
        return self.build(schema, ignore_optional)

    def _name(self, name: str | None) -> Name:
        if name is not None:
            space, simple = split(name, self.options.scrub_invalid_names)
            return Name.of(simple, space)
        self._unnamed += 1
        return Name(DEFAULT_NAME + (str(self._unnamed) if self._unnamed > 1 else ""), NAMESPACE)

    def _string(self, schema: Schema) -> AvroType:
        options, parameters = self.options, schema.parameters
        if not (options.generalized_sum_type_support or options.enhanced_avro_schema_support) or not (
            GENERALIZED_ENUM in parameters or ENUM in parameters
        ):
            return AvroType("string")
        prefix = options.enum_parameter + "."
        symbols = [check_word(key[len(prefix) :]) for key in parameters if key.startswith(prefix)]
        simple = self._name(schema.name).simple
        name = parameters.get(options.enum_parameter)
        if name is None:
            raise DataError(f"The parameter {options.enum_parameter} of an enum is missing")
        if options.discard_type_doc_default:
            return AvroType("enum", name=Name.of(name), doc=parameters.get("connect.enum.doc"), symbols=symbols)
        return AvroType(
            "enum",
            name=Name.of(name),
            doc=parameters.get(ENUM_DOC + simple),
            symbols=symbols,
            default_symbol=parameters.get(ENUM_DEFAULT + simple),
        )

    def _bytes(self, schema: Schema) -> AvroType:
        base = AvroType("bytes")
        if is_fixed(schema):
            base = AvroType("fixed", name=self._name(schema.name), size=int(schema.parameters[FIXED_SIZE]))
        if _is(schema, DECIMAL_NAME):
            base.props["scale"] = scale(schema)
            base.props["precision"] = _precision(schema)
        return base

    def _map(self, schema: Schema) -> AvroType:
        key, value = _item(schema.key_schema), _item(schema.value_schema)
        if self.options.is_avro_map(schema):
            return AvroType("map", items=self._nested(value))
        if schema.name is None:
            entry = AvroType("record", name=Name(MAP_ENTRY, NAMESPACE))
        else:
            entry = AvroType("record", name=self._name(schema.name), props={"connect.internal.type": MAP_ENTRY})
        entry.fields = [self._field(KEY, key, None), self._field(VALUE, value, None)]
        return AvroType("array", items=entry)

    def _struct(self, schema: Schema) -> AvroType:
        if is_union(schema):
            branches = [AvroType("null")] if schema.optional else []
            members = [self._nested(field.schema.with_(optional=False), True) for field in schema.fields]
            return union(branches + members)
        if schema.optional:
            return union([AvroType("null"), self._nested(schema.with_(optional=False))])
        if (found := self._record_of(schema)) is not None:
            return found
        options, parameters = self.options, schema.parameters
        doc = parameters.get("connect.record.doc" if options.discard_type_doc_default else RECORD_DOC)
        record = AvroType("record", name=self._name(schema.name), doc=doc)
        if schema.name is not None:
            self._records[schema.name] = record
        self._structs.append((schema, record))
        for field in schema.fields:
            field_doc = None if options.discard_type_doc_default else parameters.get(FIELD_DOC + field.name)
            name = scrubbed(field.name, options.scrub_invalid_names)
            if record.field(name):
                raise DataError(f"Duplicate field {name} in record {record.full_name}")
            record.fields.append(self._field(name, field.schema, field_doc))
        return record

    def _field(self, name: str, schema: Schema, doc: str | None) -> AvroField:
        options = self.options
        default: Any = None
        if schema.default is not None:
            default = avro_default(schema, schema.default, options)
        elif schema.optional:
            default = NULL_DEFAULT
        seen_as = full_name(schema.name, options.scrub_invalid_names) if schema.name is not None else None
        seen = seen_as in self._seen
        if seen_as is not None:
            self._seen.add(seen_as)
        kind = self.build(schema)
        if default is not None and not valid_default(kind, default):
            log.warning("The default of field %s does not fit its Avro type and is left out", name)
            default = None
        field = AvroField(_word(name), kind, schema.doc if options.discard_type_doc_default else doc, default)
        if options.connect_meta_data and seen and _is_named(kind) and (shown := self._parameters(schema)):
            field.props["connect.parameters"] = shown
        return field

    def _parameters(self, schema: Schema) -> dict[str, str]:
        keep_flag = self.options.discard_type_doc_default
        return {key: value for key, value in schema.parameters.items() if keep_flag or key != FIELD_DEFAULT}

    def _add_props(self, schema: Schema, base: AvroType) -> None:
        props = base.props
        if self.options.connect_meta_data:
            if schema.doc is not None:
                props["connect.doc"] = schema.doc
            if schema.version is not None:
                props["connect.version"] = schema.version
            if shown := self._parameters(schema):
                props["connect.parameters"] = shown
            if schema.default is not None and (
                self.options.discard_type_doc_default or FIELD_DEFAULT not in schema.parameters
            ):
                props["connect.default"] = avro_default(schema, schema.default, self.options)
            if schema.name is not None:
                props["connect.name"] = schema.name
            if schema.type in (SchemaType.INT8, SchemaType.INT16):
                props["connect.type"] = schema.type.value
        if _is(schema, DECIMAL_NAME):
            props["logicalType"] = "decimal"
        elif schema.name is not None and (logical := _LOGICAL.get(schema.name.lower())):
            props["logicalType"] = logical
        for key, value in schema.parameters.items():
            if key.startswith("avro"):
                props[key] = value


def _word(name: str) -> str:
    """Return the name of a field. Raises DataError, which says what helps, if Avro does not allow it."""
    try:
        return check_word(name)
    except DataError as error:
        raise DataError(
            f"{error} (scrub.invalid.names=true of the converter replaces what Avro does not allow)"
        ) from None


def _item(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("A schema for the items of an array or map is missing")
    return schema


def _is(schema: Schema, name: str) -> bool:
    return schema.name is not None and schema.name.lower() == name.lower()


def _precision(schema: Schema) -> int:
    return int(schema.parameters.get(PRECISION, DEFAULT_PRECISION))


def _is_named(kind: AvroType) -> bool:
    return kind.kind in NAMED or any(branch.kind in NAMED for branch in kind.branches)


def _optional(schema: Schema, base: AvroType) -> AvroType:
    if not schema.optional:
        return base
    null = AvroType("null")
    return union([null, base] if schema.default is None else [base, null])


def _anything() -> AvroType:
    """The type of what has no schema. Java: ``AvroData.ANYTHING_SCHEMA``."""
    anything = AvroType("record", name=Name(ANYTHING_NAME, NAMESPACE))
    entry = AvroType("record", name=Name(MAP_ENTRY, NAMESPACE))
    entry.fields = [AvroField(KEY, anything), AvroField(VALUE, anything)]
    kinds = {kind: AvroType(kind) for kind in ("boolean", "bytes", "double", "float", "int", "long", "string")}
    kinds["array"] = AvroType("array", items=anything)
    kinds["map"] = AvroType("array", items=entry)
    anything.fields = [
        AvroField(name, union([AvroType("null"), kind]), default=NULL_DEFAULT) for name, kind in kinds.items()
    ]
    return anything


ANYTHING_NAME = "Anything"
ANYTHING_TYPE = _anything()
