"""ExtractField: puts one field in the place of the struct or map it is in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.schema import Field, Schema
from penstock.pipeline.transforms.column import Changed, ColumnTransform, OnKey, OnValue, replace_null_setting
from penstock.pipeline.transforms.field_path import NESTED_ACCESS, field_at, get, parse_path, syntax_setting
from penstock.pipeline.transforms.plans import Plans
from penstock.pipeline.transforms.structs import IllegalArgumentError, require_maps, require_structs

PURPOSE = "field extraction"


class ExtractField(ColumnTransform):
    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = ConfigDef().define(
            "field", ConfigType.STRING, importance=Importance.MEDIUM, documentation="Name of the field to extract."
        )
        return syntax_setting(replace_null_setting(definition))

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        self._text: str = settings["field"]
        self._path = parse_path(self._text, settings["field.syntax.version"])
        self._replace_null: bool = settings["replace.null.with.default"]
        self._fields = Plans(self._fields_on_path)

    def change(self, schema: Schema | None, values: list[Any], batch: Batch) -> tuple[Schema | None, list[Any]]:
        if schema is None:
            require_maps(values, PURPOSE, null=True)
            for step in self._path[:-1]:
                values = get(values, step)
                require_maps(values, NESTED_ACCESS, null=True)
            return None, get(values, self._path[-1])
        require_structs(schema, values, PURPOSE, null=True)
        *way, last = self._fields[schema]
        for field in way:
            values = get(values, field.name, field.schema.default)
        return last.schema, get(values, last.name, last.schema.default if self._replace_null else None)

    def change_table(self, schema: Schema | None, table: Table, batch: Batch) -> Changed | None:
        name = self._path[0]
        if len(self._path) > 1 or name not in table.names:
            return None
        found = list(table.column(name))
        if schema is None:
            return None, found
        field = self._fields[schema][0]
        default = field.schema.default if self._replace_null else None
        return field.schema, found if default is None else [default if item is None else item for item in found]

    def _fields_on_path(self, schema: Schema) -> list[Field]:
        way = [field_at(schema, self._path[:end]) for end in range(1, len(self._path) + 1)]
        found = [field for field in way if field is not None]
        if len(found) < len(way):
            raise IllegalArgumentError(f"Unknown field: {self._text}")
        return found


class ExtractFieldKey(OnKey, ExtractField):
    """Makes one field of the key, a struct or map, the whole key."""

    java_name = "org.apache.kafka.connect.transforms.ExtractField$Key"


class ExtractFieldValue(OnValue, ExtractField):
    """Makes one field of the value, a struct or map, the whole value."""

    java_name = "org.apache.kafka.connect.transforms.ExtractField$Value"
