"""Flatten: puts the fields of nested structs and maps into the outermost one, under names joined with a delimiter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.batch import Batch
from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import DataError
from penstock.api.schema import RecursiveSchema, Schema, SchemaType
from penstock.pipeline.transforms.column import ColumnTransform, OnKey, OnValue
from penstock.pipeline.transforms.plans import Plans
from penstock.pipeline.transforms.structs import rebuilt, require_maps, require_structs, require_valid
from penstock.values.class_names import class_name

PURPOSE = "flattening"
_KEPT = frozenset((int, float, bool, str, bytes, list, type(None)))


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field that goes into the flat struct."""

    key: str
    name: str
    """Its name there."""
    default: Any


@dataclass(frozen=True, slots=True)
class Branch:
    """A field whose own fields do."""

    key: str
    parts: tuple[Leaf | Branch, ...]


class Flatten(ColumnTransform):
    skips_nulls = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "delimiter",
            ConfigType.STRING,
            ".",
            importance=Importance.MEDIUM,
            documentation="What stands between the names of an outer and an inner field in the name of the new field.",
        )

    def configure(self, config: Mapping[str, str]) -> None:
        self._delimiter: str = self.config_def().parse(config)["delimiter"]
        self._plans = Plans(self._plan)

    def change(self, schema: Schema | None, values: list[Any], batch: Batch) -> tuple[Schema | None, list[Any]]:
        if schema is None:
            require_maps(values, PURPOSE)
            return None, [self._flat_map(value) for value in values]
        require_structs(schema, values, PURPOSE)
        flat, parts = self._plans[schema]
        if not schema.optional:  # else all fields are by now
            require_valid(schema, values)
        return flat, [_flat_struct(value, parts, {}) for value in values]

    def _flat_map(self, value: dict[Any, Any]) -> dict[Any, Any]:
        if _KEPT.issuperset(map(type, value.values())):
            return value
        flat: dict[Any, Any] = {}
        self._add_map(value, "", flat)
        return flat

    def _add_map(self, value: dict[Any, Any], prefix: str, flat: dict[Any, Any]) -> None:
        for key, item in value.items():
            name = self._join(prefix, key)
            if type(item) in _KEPT:
                flat[name] = item
            elif isinstance(item, dict):
                self._add_map(item, name, flat)
            else:
                raise DataError(
                    f"Flatten transformation was passed a value of type class {class_name(None, item)} "
                    "which is not supported by Connect's data API"
                )

    def _join(self, prefix: str, name: str) -> str:
        return f"{prefix}{self._delimiter}{name}" if prefix else name

    def _plan(self, schema: Schema) -> tuple[Schema, tuple[Leaf | Branch, ...]]:
        fields: list[tuple[str, Schema]] = []
        parts = tuple(self._parts(schema, "", fields, schema.optional, schema.default))
        return rebuilt(schema, fields), parts

    def _parts(
        self,
        schema: Schema,
        prefix: str,
        fields: list[tuple[str, Schema]],
        optional: bool,
        defaults: Mapping[str, Any] | None,
    ) -> Iterator[Leaf | Branch]:
        """The plan for one struct, whose flat fields are added to ``fields``.

        A field is optional if any struct around it is; without a default it has that of the struct around it.
        """
        for field in schema.fields:
            name = self._join(prefix, field.name)
            inner = field.schema
            default = inner.default
            if default is None and defaults is not None:
                default = defaults.get(field.name)
            optional_here = optional or inner.optional
            match inner.type:
                case SchemaType.STRUCT if isinstance(inner, RecursiveSchema):
                    raise DataError(
                        "Flatten transformation does not support schemas that contain themselves, which have no end of "
                        f"fields (for field {name})."
                    )
                case SchemaType.STRUCT:
                    yield Branch(field.name, tuple(self._parts(inner, name, fields, optional_here, default)))
                case SchemaType.MAP:
                    raise DataError(
                        f"Flatten transformation does not support MAP for record with schemas (for field {name})."
                    )
                case _:
                    fields.append((name, inner.with_(optional=optional_here, default=default)))
                    yield Leaf(field.name, name, inner.default)


def _flat_struct(value: dict[str, Any], parts: tuple[Leaf | Branch, ...], flat: dict[str, Any]) -> dict[str, Any]:
    for part in parts:
        item = value.get(part.key)
        if isinstance(part, Leaf):
            flat[part.name] = part.default if item is None else item
        elif item is not None:
            _flat_struct(item, part.parts, flat)
    return flat


class FlattenKey(OnKey, Flatten):
    """Puts the fields of nested structs and maps of a key into the outermost one, under joined names."""

    java_name = "org.apache.kafka.connect.transforms.Flatten$Key"


class FlattenValue(OnValue, Flatten):
    """Puts the fields of nested structs and maps of a value into the outermost one, under joined names."""

    java_name = "org.apache.kafka.connect.transforms.Flatten$Value"
