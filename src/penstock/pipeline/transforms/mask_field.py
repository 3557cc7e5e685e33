"""MaskField: puts a neutral value (0, "", false, an empty list), or a given one, in the place of a field's value."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from penstock.api.batch import Batch
from penstock.api.config import NO_DEFAULT, ConfigDef, Importance
from penstock.api.config import Type as SettingType
from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, Type
from penstock.api.text import hash_order
from penstock.api.validators import NonEmptyString, ValidList
from penstock.pipeline.javatext import float32
from penstock.pipeline.transforms.casting import wrapped
from penstock.pipeline.transforms.column import BySchema, ColumnTransform, OnKey, OnValue
from penstock.pipeline.transforms.maporder import with_keys
from penstock.pipeline.transforms.moments import day, moment, time_of_day
from penstock.pipeline.transforms.settings import replace_null_setting
from penstock.pipeline.transforms.structs import Reader, class_name, require_maps, require_structs

PURPOSE = "mask fields"

# By class and, for numbers, type: an example, from which the class's name and its mask follow.
_EXAMPLES: dict[str | Type, Any] = {
    DECIMAL_NAME: Decimal(0),
    DATE_NAME: day(0),
    TIME_NAME: time_of_day(0),
    TIMESTAMP_NAME: moment(0),
    Type.BOOLEAN: False,
    Type.INT8: 0,
    Type.INT16: 0,
    Type.INT32: 0,
    Type.INT64: 0,
    Type.FLOAT32: 0.0,
    Type.FLOAT64: 0.0,
    Type.STRING: "",
    Type.BYTES: b"",
    Type.ARRAY: [],
    Type.MAP: {},
    Type.STRUCT: {},
}
_INFERRED: dict[type, Schema] = {
    bool: Schema(Type.BOOLEAN),
    int: Schema(Type.INT64),
    float: Schema(Type.FLOAT64),
    str: Schema(Type.STRING),
    bytes: Schema(Type.BYTES),
    list: Schema(Type.ARRAY),
    dict: Schema(Type.MAP),
    Decimal: Schema(Type.BYTES, name=DECIMAL_NAME),
    datetime.date: Schema(Type.INT32, name=DATE_NAME),
    datetime.time: Schema(Type.INT32, name=TIME_NAME),
    datetime.datetime: Schema(Type.INT64, name=TIMESTAMP_NAME),
}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


def mask_for(schema: Schema, replacement: str | None) -> Any:
    """What masks the values of this schema. Raises DataError if they can't be masked, or not with this replacement."""
    example = _EXAMPLES[schema.name if schema.name in _EXAMPLES else schema.type]
    name = class_name(example, schema)
    if replacement is None:
        if schema.type is Type.STRUCT or isinstance(example, bytes):
            raise DataError(f"Cannot mask value of type: class {name}")
        return example
    if isinstance(example, str):
        return replacement
    if isinstance(example, bool) or not isinstance(example, int | float | Decimal):
        raise DataError(f"Cannot mask value of type class {name} with custom replacement.")
    if not _NUMBER.fullmatch(replacement):
        goal = "number" if isinstance(example, Decimal) else "a number"
        raise DataError(f"Unable to convert {replacement} (class java.lang.String) to {goal}")
    number = Decimal(replacement)
    if isinstance(example, Decimal):
        return number
    if isinstance(example, float):
        return float32(float(number)) if schema.type is Type.FLOAT32 else float(number)
    return wrapped(number, _BITS[schema.type])


class MaskField(ColumnTransform):
    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = (
            ConfigDef()
            .define(
                "fields",
                SettingType.LIST,
                NO_DEFAULT,
                ValidList(empty_allowed=False),
                Importance.HIGH,
                "Names of the fields to mask.",
            )
            .define(
                "replacement",
                SettingType.STRING,
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
        self._masks = BySchema(self._mask)
        self._replace_null: bool = settings["replace.null.with.default"]
        self._plans = BySchema(self._plan)
        self._skeletons = with_keys(self._fields)

    def _mask(self, schema: Schema) -> Any:
        """The mask, or the error that the first value to be masked causes."""
        try:
            return mask_for(schema, self._replacement)
        except DataError as error:
            return error

    def _plan(self, schema: Schema) -> tuple[dict[str, Any], Reader]:
        masks = {field.name: self._masks[field.schema] for field in schema.fields if field.name in self._fields}
        converts = {name: _masking(mask) for name, mask in masks.items()}
        return masks, Reader(schema, self._replace_null, converts=converts)

    def change(self, schema: Schema | None, values: list[Any], batch: Batch) -> tuple[Schema | None, list[Any]]:
        if schema is None:
            require_maps(values, PURPOSE)
            return None, [self._masked_map(value) for value in values]
        require_structs(schema, values, PURPOSE)
        masks, read = self._plans[schema]
        masked = [{**value} for value in read(values)]
        for name, mask in masks.items():
            for value in masked:
                if value.get(name) is not None:
                    value[name] = _checked(mask)
        return schema, masked

    def _masked_map(self, value: dict[Any, Any]) -> dict[Any, Any]:
        masked = {**self._skeletons[tuple(value)], **value}
        for name in self._fields:
            old = masked[name]
            if old is not None:
                inferred = _INFERRED.get(type(old))
                if inferred is None:
                    raise DataError(f"Cannot mask value of type: class {class_name(old)}")
                masked[name] = _checked(self._masks[inferred])
        return masked


def _masking(mask: Any) -> Callable[[Any], Any]:
    return lambda value: None if value is None else _checked(mask)


def _checked(mask: Any) -> Any:
    if isinstance(mask, DataError):
        raise DataError(str(mask))
    return mask


class MaskFieldKey(OnKey, MaskField):
    java_name = "org.apache.kafka.connect.transforms.MaskField$Key"


class MaskFieldValue(OnValue, MaskField):
    java_name = "org.apache.kafka.connect.transforms.MaskField$Value"
