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
from penstock.pipeline.transforms.plans import Plans, ordered
from penstock.pipeline.transforms.structs import StructReader, checked_struct, require_maps, require_structs

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
        return replace_null_setting(definition)

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        self._fields: tuple[str, ...] = tuple(settings["fields"])
        self._in_map = ordered(self._fields, capacity_for(len(self._fields)))
        self._replace_null: bool = settings["replace.null.with.default"]
        self._plans = Plans(self._plan)

    def _plan(self, schema: Schema) -> tuple[Schema, StructReader]:
        fields = []
        for name in self._fields:
            field = schema.field(name)
            if field is None:
                raise DataError(f"Field does not exist: {name}")
            fields.append((name, field.schema))
        puts = [(name, name, inner) for name, inner in fields]
        return checked_struct(fields), StructReader(schema, self._replace_null, puts)

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
            return None, [{name: value.get(name) for name in names} for value in values]
        require_structs(schema, values, PURPOSE)
        key_schema, read = self._plans[schema]
        names = self._fields
        return key_schema, [{name: value.get(name) for name in names} for value in read(values)]
