"""ValueToKey: makes a new key of fields of the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.errors import DataError
from penstock.api.schema import Schema
from penstock.api.validators import ValidList
from penstock.java.hash_map import capacity_for
from penstock.pipeline.transforms.column import BuiltIn, Changed, parts_by_schema, replace_null_setting
from penstock.pipeline.transforms.field_path import NESTED_ACCESS, Path, field_at, get, parse_path, syntax_setting
from penstock.pipeline.transforms.plans import Plans, ordered
from penstock.pipeline.transforms.structs import (
    StructReader,
    checked_struct,
    require_maps,
    require_structs,
    require_value,
)

PURPOSE = "copying fields from value to key"


class ValueToKey(BuiltIn):
    """Makes new keys of fields of the values."""

    java_name = "org.apache.kafka.connect.transforms.ValueToKey"

    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = ConfigDef().define(
            "fields",
            ConfigType.LIST,
            NO_DEFAULT,
            ValidList(empty_allowed=False),
            Importance.HIGH,
            "Names of the fields of the value that make up the new key, in this order.",
        )
        return syntax_setting(replace_null_setting(definition))

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        self._fields: tuple[str, ...] = tuple(settings["fields"])
        self._paths = [parse_path(name, settings["field.syntax.version"]) for name in self._fields]
        self._nested = any(path != (name,) for path, name in zip(self._paths, self._fields, strict=True))
        self._in_map = ordered(self._fields, capacity_for(len(self._fields)))
        self._replace_null: bool = settings["replace.null.with.default"]
        self._plans = Plans(self._plan)
        self._key_schemas = Plans(self._key_schema)

    def _plan(self, schema: Schema) -> tuple[Schema, StructReader]:
        key_schema = self._key_schemas[schema]
        puts = [(field.name, field.name, field.schema) for field in key_schema.fields]
        return key_schema, StructReader(schema, self._replace_null, puts)

    def _key_schema(self, schema: Schema) -> Schema:
        fields = []
        for name, path in zip(self._fields, self._paths, strict=True):
            field = field_at(schema, path)
            if field is None:
                raise DataError(f"Field does not exist: {name}")
            fields.append((name, field.schema))
        return checked_struct(fields)

    def apply_batch(self, batch: Batch) -> Batch:
        table, schemas = batch.value_column, batch.value_schemas
        if isinstance(table, Table) and schemas.count(schemas[0]) == len(schemas):
            changed = self._table(schemas[0], table)
            if changed is not None:
                return batch.with_(key_schemas=[changed[0]] * len(batch), keys=changed[1])
        values = batch.values
        if not values:
            return batch
        parts = parts_by_schema(batch.value_schemas, values)
        if parts is None:
            schema, keys = self._keys(batch.value_schemas[0], values)
            return batch.with_(key_schemas=[schema] * len(values), keys=keys)
        return self._in_parts(batch, parts)

    def _table(self, schema: Schema | None, table: Table) -> Changed | None:
        """The keys of maps or structs that come as columns."""
        if self._nested:
            return None
        columns, nulls = table.as_dict(), [None] * len(table)
        if schema is None:
            return None, Table.of({name: columns.get(name, nulls) for name in self._in_map})
        key_schema, read = self._plans[schema]
        return (key_schema, Table.of({name: columns.get(name, nulls) for name in self._fields})) if read.plain else None

    def _in_parts(self, batch: Batch, parts: list[Sequence[int]]) -> Batch:
        schemas, keys = list(batch.key_schemas), list(batch.keys)
        for rows in parts:
            schema, made = self._keys(batch.value_schemas[rows[0]], [batch.values[row] for row in rows])
            for row, key in zip(rows, made, strict=True):
                schemas[row], keys[row] = schema, key
        return batch.with_(key_schemas=schemas, keys=keys)

    def _keys(self, schema: Schema | None, values: list[Any]) -> tuple[Schema | None, list[dict[str, Any]]]:
        if schema is None:
            require_maps(values, PURPOSE)
            names = self._in_map
            if self._nested:
                read_paths = dict(zip(self._fields, self._paths, strict=True))
                return None, _rows({name: _of_maps(values, read_paths[name]) for name in names}, len(values))
            return None, [{name: value.get(name) for name in names} for value in values]
        require_structs(schema, values, PURPOSE)
        if self._nested:
            return self._nested_keys(schema, values)
        key_schema, read = self._plans[schema]
        names = self._fields
        return key_schema, [{name: value.get(name) for name in names} for value in read(values)]

    def _nested_keys(self, schema: Schema, values: list[Any]) -> tuple[Schema, list[dict[str, Any]]]:
        key_schema = self._key_schemas[schema]
        columns: dict[str, list[Any]] = {}
        for name, path in zip(self._fields, self._paths, strict=True):
            *way, last = (field_at(schema, path[:end]) for end in range(1, len(path) + 1))
            assert last is not None
            found = values
            for field in way:
                assert field is not None
                found = get(found, field.name, field.schema.default)
            columns[name] = get(found, last.name, last.schema.default if self._replace_null else None)
        for field in key_schema.fields:
            for value in columns[field.name]:
                require_value(field.name, field.schema, value)
        return key_schema, _rows(columns, len(values))


def _of_maps(values: list[Any], path: Path) -> list[Any]:
    for step in path[:-1]:
        values = get(values, step)
        require_maps(values, NESTED_ACCESS, null=True)
    return get(values, path[-1])


def _rows(columns: Mapping[str, list[Any]], count: int) -> list[dict[str, Any]]:
    return [{name: column[row] for name, column in columns.items()} for row in range(count)]
