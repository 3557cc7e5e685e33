"""Cast: changes the type of fields, or of a whole key or value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError, DataError, SchemaBuilderError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.api.validators import Described
from penstock.java.hash_map import hash_order
from penstock.java.text import java_split
from penstock.pipeline.transforms.casting import OUTPUTS, Caster, caster, refused_output
from penstock.pipeline.transforms.column import Changed, ColumnTransform, OnKey, OnValue, replace_null_setting
from penstock.pipeline.transforms.plans import Plans, for_each, orders, skeletons
from penstock.pipeline.transforms.structs import StructReader, rebuilt, require_maps, require_structs
from penstock.values.class_names import class_name
from penstock.values.column_printing import numbers

PURPOSE = "cast types"


@dataclass(frozen=True, slots=True)
class Spec:
    """The setting ``spec``: the type of the whole value, or types by field."""

    whole: SchemaType | None
    fields: dict[str, SchemaType]

    @classmethod
    def parse(cls, mappings: list[str]) -> Spec:
        """Raises ConfigError."""
        whole: SchemaType | None = None
        fields: dict[str, SchemaType] = {}
        for mapping in mappings:
            match java_split(mapping, ":"):
                case [name]:
                    whole = _type(name.strip())
                case [field, name]:
                    fields[field.strip()] = _type(name.strip())
                case _:
                    raise ConfigError("renames", mappings, f"Invalid rename mapping: {mapping}")
        if whole is not None and len(mappings) > 1:
            raise ConfigError(
                "Cast transformations that specify a type to cast the entire value to "
                "may only specify a single cast in their spec"
            )
        return cls(whole, fields)


def _type(name: str) -> SchemaType:
    upper = name.upper()
    if upper not in SchemaType.__members__:
        # The cause has ended up in the place of the value, and the sentence in that of the setting's name.
        constant = f"org.apache.kafka.connect.data.Schema.Type.{upper}"
        raise ConfigError(
            f"Invalid type found in casting spec: {name}",
            f"java.lang.IllegalArgumentException: No enum constant {constant}",
            None,
        )
    if SchemaType[upper] not in OUTPUTS:
        raise ConfigError(refused_output(SchemaType[upper]))
    return SchemaType[upper]


def _check(name: str, value: Any) -> None:
    if not value:
        raise ConfigError("Must specify at least one field to cast.")
    Spec.parse(value)


class Cast(ColumnTransform):
    skips_nulls = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = ConfigDef().define(
            "spec",
            ConfigType.LIST,
            NO_DEFAULT,
            Described(_check, "list of colon-delimited pairs, e.g. <code>foo:bar,abc:xyz</code>"),
            Importance.HIGH,
            "The fields to cast and their new types, as in <code>field1:type,field2:type</code>; or one type alone, "
            "for the whole key or value. Types are int8, int16, int32, int64, float32, float64, boolean and string. "
            "Bytes can be cast to string only, and become base64.",
        )
        return replace_null_setting(definition)

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        self._spec = Spec.parse(settings["spec"])
        self._replace_null: bool = settings["replace.null.with.default"]
        self._wholes = Plans(self._plan_whole)
        self._plans = Plans(self._plan)
        self._skeletons = skeletons(hash_order(self._spec.fields))
        self._orders = orders(hash_order(self._spec.fields))
        self._schemaless = [(name, caster(None, self._spec.fields[name])) for name in hash_order(self._spec.fields)]

    def change(self, schema: Schema | None, values: list[Any], batch: Batch) -> tuple[Schema | None, list[Any]]:
        if self._spec.whole is not None:
            target, cast = (None, caster(None, self._spec.whole)) if schema is None else self._wholes[schema]
            return target, [cast(value) for value in values]
        if schema is None:
            require_maps(values, PURPOSE)
            shapes = for_each(self._skeletons, values)
            copies = [{**shape, **value} for shape, value in zip(shapes, values, strict=True)]
            return None, _cast(copies, self._schemaless)
        target, casts, read = self._plans[schema]
        require_structs(schema, values, PURPOSE)
        return target, _cast([{**value} for value in read(values)], casts)

    def change_table(self, schema: Schema | None, table: Table, batch: Batch) -> Changed | None:
        if self._spec.whole is not None:
            return None
        columns = table.as_dict()
        if schema is None:
            target, casts, order = None, self._schemaless, self._orders[table.names]
        else:
            target, casts, read = self._plans[schema]
            if not read.plain:
                return None
            order = table.names
        nulls = [None] * len(table)
        schemas = {} if schema is None else {field.name: field.schema for field in schema.fields}
        for name, cast in casts:
            old, texts = columns.get(name, nulls), None
            if self._spec.fields[name] is SchemaType.STRING:
                texts = numbers(schemas.get(name), old, set(map(type, old)))
            columns[name] = texts or [None if each is None else cast(each) for each in old]
        return target, Table(order, [columns[name] for name in order])

    def _plan_whole(self, schema: Schema) -> tuple[Schema, Caster]:
        target = self._spec.whole
        assert target is not None
        default = None if schema.default is None else caster(schema, target)(schema.default)
        if default is not None and schema.name in (DECIMAL_NAME, DATE_NAME, TIME_NAME, TIMESTAMP_NAME):
            # The name stays, and asks for values of its own class.
            found = f"with type {target.name}: class {class_name(Schema(target), default)} for value"
            wrong = DataError(f'Invalid Java object for schema "{schema.name}" {found}')
            raise SchemaBuilderError("Invalid default value") from wrong
        changed = Schema(target, schema.optional, schema.name, schema.version, schema.doc, default, schema.parameters)
        return changed, _first_use(schema, target)

    def _plan(self, schema: Schema) -> tuple[Schema, list[tuple[str, Caster]], StructReader]:
        if schema.type is not SchemaType.STRUCT:
            raise DataError("Cannot list fields on non-struct type")
        casts: list[tuple[str, Caster]] = []
        fields: list[tuple[str, Schema]] = []
        for field in schema.fields:
            target = self._spec.fields.get(field.name)
            if target is None:
                fields.append((field.name, field.schema))
                continue
            default = field.schema.default
            if default is not None:
                default = caster(field.schema, target)(default)
            fields.append((field.name, Schema(target, field.schema.optional, default=default)))
            casts.append((field.name, _first_use(field.schema, target)))
        if schema.default is not None:
            caster(schema, SchemaType.STRING)  # refused: a struct can't be cast, not even as a default
        changed = rebuilt(schema, fields, optional=schema.optional)
        puts = [(name, name, inner) for name, inner in fields]
        return (
            changed,
            casts,
            StructReader(schema, self._replace_null, puts, {name: _or_null(cast) for name, cast in casts}),
        )


def _first_use(schema: Schema, target: SchemaType) -> Caster:
    """A schema that can't be cast is refused with the first value that is not null."""
    try:
        return caster(schema, target)
    except DataError as error:
        message = str(error)

        def refuse(value: Any) -> Any:
            raise DataError(message)

        return refuse


def _or_null(cast: Caster) -> Caster:
    return lambda value: None if value is None else cast(value)


def _cast(copies: list[dict[str, Any]], casts: list[tuple[str, Caster]]) -> list[dict[str, Any]]:
    """The same dicts, with fields cast."""
    for name, cast in casts:
        for value in copies:
            old = value.get(name)
            if old is not None:
                value[name] = cast(old)
    return copies


class CastKey(OnKey, Cast):
    """Changes the types of fields of keys, or of whole keys."""

    java_name = "org.apache.kafka.connect.transforms.Cast$Key"


class CastValue(OnValue, Cast):
    """Changes the types of fields of values, or of whole values."""

    java_name = "org.apache.kafka.connect.transforms.Cast$Value"
