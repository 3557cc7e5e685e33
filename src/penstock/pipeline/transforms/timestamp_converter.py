"""TimestampConverter: writes moments in another way: text, Unix time, or Connect's Date, Time and Timestamp."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError, DataError
from penstock.api.schema import Field, Schema, SchemaType
from penstock.api.validators import ValidString
from penstock.java.dates import DateFormat
from penstock.java.errors import DatePatternError
from penstock.pipeline.transforms.column import Changed, ColumnTransform, OnKey, OnValue, replace_null_setting
from penstock.pipeline.transforms.plans import Plans, for_each, orders, skeletons
from penstock.pipeline.transforms.structs import StructReader, rebuilt, require_maps, require_structs
from penstock.pipeline.transforms.timestamps import (
    PRECISIONS,
    Form,
    Timestamps,
    form_of_schema,
    schema_of_form,
)

PURPOSE = "converting timestamp formats"


class TimestampConverter(ColumnTransform):
    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = (
            ConfigDef()
            .define(
                "field",
                ConfigType.STRING,
                "",
                importance=Importance.HIGH,
                documentation="The field that holds the moment; empty if the whole key or value is one.",
            )
            .define(
                "target.type",
                ConfigType.STRING,
                NO_DEFAULT,
                ValidString(*(form.value for form in Form)),
                Importance.HIGH,
                "What moments become: string, unix, Date, Time or Timestamp.",
            )
            .define(
                "format",
                ConfigType.STRING,
                "",
                importance=Importance.MEDIUM,
                documentation="How texts are written and read: a pattern of Java's "
                "<code>java.text.SimpleDateFormat</code>, in UTC.",
            )
            .define(
                "unix.precision",
                ConfigType.STRING,
                "milliseconds",
                ValidString(*PRECISIONS),
                Importance.LOW,
                "The unit of Unix times, read or written: seconds, milliseconds, microseconds or nanoseconds. "
                "What is finer than a millisecond is kept in texts whose pattern has more than three letters S, and "
                "lost elsewhere.",
            )
        )
        return replace_null_setting(definition)

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        self._field: str = settings["field"]
        self._target = Form(settings["target.type"])
        pattern: str = settings["format"]
        if self._target is Form.STRING and not pattern.strip():
            raise ConfigError("TimestampConverter requires format option to be specified when using string timestamps")
        self._timestamps = Timestamps(self._target, _format(pattern), settings["unix.precision"])
        self._replace_null: bool = settings["replace.null.with.default"]
        self._plans = Plans(self._plan)
        self._skeletons = skeletons([self._field], filled=True)
        self._orders = orders([self._field])

    def _plan(self, schema: Schema) -> tuple[Schema, StructReader]:
        if schema.type is not SchemaType.STRUCT:
            raise DataError("Cannot list fields on non-struct type")
        fields = [(field.name, self._field_schema(field)) for field in schema.fields]
        puts = [(name, name, inner) for name, inner in fields]
        read = StructReader(schema, self._replace_null, puts, {self._field: partial(self._converted_field, schema)})
        default = None if schema.default is None else self._converted(schema, [read.fill(schema.default)])[0]
        return rebuilt(schema, fields, optional=schema.optional, default=default), read

    def _field_schema(self, field: Field) -> Schema:
        return schema_of_form(self._target, field.schema.optional) if field.name == self._field else field.schema

    def _converted_field(self, schema: Schema, value: Any) -> Any:
        return self._converted(schema, [{self._field: value}])[0][self._field]

    def change(self, schema: Schema | None, values: list[Any], batch: Batch) -> tuple[Schema | None, list[Any]]:
        if schema is None:
            return None, self._maps(values)
        if not self._field:
            changed = schema_of_form(self._target, schema.optional)
            return changed, self._timestamps.convert_column(form_of_schema(schema), values)
        require_structs(schema, values, PURPOSE, null=True)
        changed, read = self._plans[schema]
        if all(values) or None not in values:
            return changed, self._converted(schema, read(values))
        converted = iter(self._converted(schema, read([value for value in values if value is not None])))
        return changed, [None if value is None else next(converted) for value in values]

    def change_table(self, schema: Schema | None, table: Table, batch: Batch) -> Changed | None:
        name, columns = self._field, table.as_dict()
        if not name:
            return None
        changed: Schema | None
        form: Form | None
        if schema is None:
            changed, order, form = None, self._orders[table.names], None
        else:
            changed, read = self._plans[schema]
            field = schema.field(name)
            if field is None or not read.plain:
                return None
            order, form = table.names, form_of_schema(field.schema)
        columns[name] = self._timestamps.convert_column(form, columns.get(name, [None] * len(table)))
        return changed, Table(order, [columns[name] for name in order])

    def _converted(self, schema: Schema, values: list[dict[str, Any]]) -> list[dict[str, Any]]:
        name = self._field
        field = schema.field(name)
        if field is None or not values:
            return values
        column = [value.get(name) for value in values]
        converted = self._timestamps.convert_column(form_of_schema(field.schema), column)
        return [{**value, name: new} for value, new in zip(values, converted, strict=True)]

    def _maps(self, values: list[Any]) -> list[Any]:
        name = self._field
        if not name:
            return self._timestamps.convert_column(None, values)
        require_maps(values, PURPOSE, null=True)
        maps = [value for value in values if value is not None]
        shapes = for_each(self._skeletons, maps)
        column = self._timestamps.convert_column(None, [value.get(name) for value in maps])
        converted = [{**shape, **value, name: new} for shape, value, new in zip(shapes, maps, column, strict=True)]
        if len(maps) == len(values):
            return converted
        rest = iter(converted)
        return [None if value is None else next(rest) for value in values]


def _format(pattern: str) -> DateFormat | None:
    if not pattern.strip():
        return None
    try:
        return DateFormat(pattern)
    except DatePatternError as error:
        # The cause has ended up in the place of the value, and the sentence in that of the setting's name.
        raise ConfigError(
            f"TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: {pattern}",
            f"java.lang.IllegalArgumentException: {error}",
            None,
        ) from None


class TimestampConverterKey(OnKey, TimestampConverter):
    """Writes times in keys in another way: as text, Unix time, or Connect's Date, Time or Timestamp."""

    java_name = "org.apache.kafka.connect.transforms.TimestampConverter$Key"


class TimestampConverterValue(OnValue, TimestampConverter):
    """Writes times in values in another way: as text, Unix time, or Connect's Date, Time or Timestamp."""

    java_name = "org.apache.kafka.connect.transforms.TimestampConverter$Value"
