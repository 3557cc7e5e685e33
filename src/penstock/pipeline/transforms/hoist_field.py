"""HoistField: wraps a key or value into a struct or map with one field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.schema import Schema
from penstock.pipeline.converters.nulls_inside import Check, check_inside
from penstock.pipeline.transforms.column import Changed, ColumnTransform, OnKey, OnValue
from penstock.pipeline.transforms.plans import Plans
from penstock.pipeline.transforms.structs import checked_struct, require_valid, require_value


class HoistField(ColumnTransform):
    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "field",
            ConfigType.STRING,
            importance=Importance.MEDIUM,
            documentation="Name of the only field of the struct or map that is made.",
        )

    def configure(self, config: Mapping[str, str]) -> None:
        self._name: str = self.config_def().parse(config)["field"]
        self._schemas = Plans(self._hoisted)
        self._checks = Plans(self._check)

    def _hoisted(self, schema: Schema) -> Schema:
        return checked_struct([(self._name, schema)])

    def _check(self, schema: Schema) -> Check | None:
        """A struct takes no list in with a null that its schema has not; no struct has checked it before."""
        return check_inside(schema, f'field: "{self._name}"')

    def change(self, schema: Schema | None, values: list[Any], batch: Batch) -> Changed:
        name = self._name
        hoisted = Table([name], [values])
        if schema is None:
            return None, hoisted
        if not schema.optional and not all(values) and None in values:
            require_value(name, schema, None)
        require_valid(schema, values)
        if (check := self._checks[schema]) is not None:
            for value in values:
                if value is not None:
                    check(value)
        return self._schemas[schema], hoisted


class HoistFieldKey(OnKey, HoistField):
    """Wraps keys into a struct, or a map where there is no schema, with one field."""

    java_name = "org.apache.kafka.connect.transforms.HoistField$Key"


class HoistFieldValue(OnValue, HoistField):
    """Wraps values into a struct, or a map where there is no schema, with one field."""

    java_name = "org.apache.kafka.connect.transforms.HoistField$Value"
