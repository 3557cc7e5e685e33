"""MaskField: puts a neutral value (0, "", false, an empty list), or a given one, in the place of a field's value."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from penstock import values as convert
from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.api.validators import NonEmptyString, ValidList
from penstock.java.hash_map import hash_order
from penstock.java.numbers import big_decimal
from penstock.pipeline.transforms.column import Changed, ColumnTransform, OnKey, OnValue, replace_null_setting
from penstock.pipeline.transforms.plans import Plans, for_each, orders, skeletons
from penstock.pipeline.transforms.structs import StructReader, require_maps, require_structs
from penstock.values.class_names import class_name
from penstock.values.logical import day_of, moment_of, time_of

PURPOSE = "mask fields"

# By class and, for numbers, type: an example, from which the class's name and its mask follow.
_EXAMPLES: dict[str | SchemaType, Any] = {
    DECIMAL_NAME: Decimal(0),
    DATE_NAME: day_of(0),
    TIME_NAME: time_of(0),
    TIMESTAMP_NAME: moment_of(0),
    SchemaType.BOOLEAN: False,
    SchemaType.INT8: 0,
    SchemaType.INT16: 0,
    SchemaType.INT32: 0,
    SchemaType.INT64: 0,
    SchemaType.FLOAT32: 0.0,
    SchemaType.FLOAT64: 0.0,
    SchemaType.STRING: "",
    SchemaType.BYTES: b"",
    SchemaType.ARRAY: [],
    SchemaType.MAP: {},
    SchemaType.STRUCT: {},
}
_INFERRED: dict[type, Schema] = {
    bool: Schema(SchemaType.BOOLEAN),
    int: Schema(SchemaType.INT64),
    float: Schema(SchemaType.FLOAT64),
    str: Schema(SchemaType.STRING),
    bytes: Schema(SchemaType.BYTES),
    list: Schema(SchemaType.ARRAY),
    dict: Schema(SchemaType.MAP),
    Decimal: Schema(SchemaType.BYTES, name=DECIMAL_NAME),
    datetime.date: Schema(SchemaType.INT32, name=DATE_NAME),
    datetime.time: Schema(SchemaType.INT32, name=TIME_NAME),
    datetime.datetime: Schema(SchemaType.INT64, name=TIMESTAMP_NAME),
}
_CONVERSIONS: dict[SchemaType, Callable[[None, str], Any]] = {
    SchemaType.INT8: convert.to_byte,
    SchemaType.INT16: convert.to_short,
    SchemaType.INT32: convert.to_integer,
    SchemaType.INT64: convert.to_long,
    SchemaType.FLOAT32: convert.to_float,
    SchemaType.FLOAT64: convert.to_double,
}


def mask_for(schema: Schema, replacement: str | None) -> Any:
    """Return the mask for values of this schema. Raises DataError if the type can't be masked, or not with this
    replacement.
    """
    example = _EXAMPLES[schema.name if schema.name in _EXAMPLES else schema.type]
    name = class_name(schema, example)
    if replacement is None:
        if schema.type is SchemaType.STRUCT or isinstance(example, bytes):
            raise DataError(f"Cannot mask value of type: class {name}")
        return example
    if isinstance(example, str):
        return replacement
    if isinstance(example, Decimal):
        try:
            return big_decimal(replacement)
        except ValueError as error:
            raise DataError(f"Unable to convert {replacement} (class java.lang.String) to number") from error
    if schema.name in _EXAMPLES or schema.type not in _CONVERSIONS:
        raise DataError(f"Cannot mask value of type class {name} with custom replacement.")
    return _CONVERSIONS[schema.type](None, replacement)


class MaskField(ColumnTransform):
    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = (
            ConfigDef()
            .define(
                "fields",
                ConfigType.LIST,
                NO_DEFAULT,
                ValidList(empty_allowed=False),
                Importance.HIGH,
                "Names of the fields to mask.",
            )
            .define(
                "replacement",
                ConfigType.STRING,
                None,
                NonEmptyString(),
                Importance.LOW,
                "What to put into all of these fields, which must hold numbers or texts then.",
            )
        )
        return replace_null_setting(definition)

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        self._fields: list[str] = hash_order(settings["fields"])
        self._replacement: str | None = settings["replacement"]
        self._masks = Plans(self._mask)
        self._replace_null: bool = settings["replace.null.with.default"]
        self._plans = Plans(self._plan)
        self._skeletons = skeletons(self._fields)
        self._orders = orders(self._fields)

    def _mask(self, schema: Schema) -> Any:
        """The mask, or the error that the first value to be masked causes."""
        try:
            return mask_for(schema, self._replacement)
        except DataError as error:
            return error

    def _plan(self, schema: Schema) -> tuple[dict[str, Any], StructReader]:
        masks = {field.name: self._masks[field.schema] for field in schema.fields if field.name in self._fields}
        converts = {name: _masking(mask) for name, mask in masks.items()}
        return masks, StructReader(schema, self._replace_null, converts=converts)

    def change(self, schema: Schema | None, values: list[Any], batch: Batch) -> tuple[Schema | None, list[Any]]:
        if schema is None:
            require_maps(values, PURPOSE)
            shapes = for_each(self._skeletons, values)
            maps = [{**shape, **value} for shape, value in zip(shapes, values, strict=True)]
            for name in self._fields:
                column = self._masked_column([each[name] for each in maps])
                for each, mask in zip(maps, column, strict=True):
                    each[name] = mask
            return None, maps
        require_structs(schema, values, PURPOSE)
        masks, read = self._plans[schema]
        masked = [{**value} for value in read(values)]
        for name, mask in masks.items():
            for value in masked:
                if value.get(name) is not None:
                    value[name] = _checked(mask)
        return schema, masked

    def change_table(self, schema: Schema | None, table: Table, batch: Batch) -> Changed | None:
        columns, nulls = table.as_dict(), [None] * len(table)
        if schema is None:
            for name in self._fields:
                columns[name] = self._masked_column(columns.get(name, nulls))
            order = self._orders[table.names]
            return None, Table(order, [columns[name] for name in order])
        masks, read = self._plans[schema]
        if not read.plain:
            return None
        for name, mask in masks.items():
            column = columns.get(name)
            if column is None:  # null in all of them
                continue
            if type(None) in set(map(type, column)) or isinstance(mask, list | dict):
                columns[name] = [None if old is None else _checked(mask) for old in column]
            else:
                columns[name] = [_checked(mask)] * len(column)
        return schema, Table.of(columns)

    def _masked_column(self, column: Sequence[Any]) -> list[Any]:
        """Mask values without a schema; the mask follows from the class of each value."""
        examples = dict(zip(map(type, column), column, strict=True))
        if not examples.keys().isdisjoint((list, dict)):
            return [None if old is None else self._mask_of(old) for old in column]
        masks = {kind: None if example is None else self._mask_of(example) for kind, example in examples.items()}
        if len(masks) == 1:
            return [*masks.values()] * len(column)
        return [masks[kind] for kind in map(type, column)]

    def _mask_of(self, old: Any) -> Any:
        """Return the mask of a value without a schema."""
        inferred = _INFERRED.get(type(old))
        if inferred is None:
            raise DataError(f"Cannot mask value of type: class {class_name(None, old)}")
        return _checked(self._masks[inferred])


def _masking(mask: Any) -> Callable[[Any], Any]:
    return lambda value: None if value is None else _checked(mask)


def _checked(mask: Any) -> Any:
    """Each time another list or map: a plugin behind this transform may change it, in one record."""
    if isinstance(mask, DataError):
        raise DataError(str(mask)) from mask.__cause__
    return mask.copy() if isinstance(mask, list | dict) else mask


class MaskFieldKey(OnKey, MaskField):
    """Replaces fields of keys by a neutral value (0, "", false, an empty list) or a given one."""

    java_name = "org.apache.kafka.connect.transforms.MaskField$Key"


class MaskFieldValue(OnValue, MaskField):
    """Replaces fields of values by a neutral value (0, "", false, an empty list) or a given one."""

    java_name = "org.apache.kafka.connect.transforms.MaskField$Value"
