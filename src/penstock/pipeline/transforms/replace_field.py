"""ReplaceField: leaves fields out, or gives them other names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError, DataError
from penstock.api.schema import Schema
from penstock.api.validators import Described, ValidList
from penstock.java.hash_map import capacity_for, hash_order
from penstock.java.text import java_split
from penstock.pipeline.transforms.column import Changed, ColumnTransform, OnKey, OnValue, replace_null_setting
from penstock.pipeline.transforms.plans import Keys, Plans, for_each, ordered
from penstock.pipeline.transforms.structs import StructReader, rebuilt, require_class, require_maps, require_structs

PURPOSE = "field replacement"
Pairs = tuple[tuple[Any, Any], ...]
"""(New name, old name) of the fields that are kept."""


def _parse_renames(mappings: list[str]) -> dict[str, str]:
    renames: dict[str, str] = {}
    for mapping in mappings:
        parts = java_split(mapping, ":")
        if len(parts) != 2:
            raise ConfigError("renames", mappings, f"Invalid rename mapping: {mapping}")
        renames[parts[0]] = parts[1]
    return renames


def _check_renames(name: str, value: Any) -> None:
    _parse_renames(value or [])


class ReplaceField(ColumnTransform):
    skips_nulls = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = (
            ConfigDef()
            .define(
                "exclude",
                ConfigType.LIST,
                [],
                ValidList(),
                Importance.MEDIUM,
                "Names of fields to leave out, even if <code>include</code> names them.",
            )
            .define(
                "include",
                ConfigType.LIST,
                [],
                ValidList(),
                Importance.MEDIUM,
                "Names of the fields to keep; if there are none, all are kept.",
            )
            .define(
                "renames",
                ConfigType.LIST,
                [],
                Described(_check_renames, "list of colon-delimited pairs, e.g. <code>foo:bar,abc:xyz</code>"),
                Importance.MEDIUM,
                "New names of fields, as in <code>old1:new1,old2:new2</code>.",
            )
        )
        return replace_null_setting(definition)

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        self._exclude = frozenset(settings["exclude"])
        self._include = frozenset(settings["include"])
        self._renames = _parse_renames(settings["renames"])
        self._old_names = {self._renames[old]: old for old in hash_order(self._renames)}
        self._replace_null: bool = settings["replace.null.with.default"]
        self._plans = Plans(self._plan)
        self._pairs: Plans[Keys, Pairs] = Plans(self._pairs_of)

    def _kept(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _plan(self, schema: Schema) -> tuple[Schema, Pairs, StructReader]:
        changed = rebuilt(
            schema,
            [
                (self._renames.get(field.name, field.name), field.schema)
                for field in schema.fields
                if self._kept(field.name)
            ],
        )
        # As in Java a field's old name is looked up by the new one, whether or not it was renamed.
        pairs = tuple((field.name, self._old_names.get(field.name, field.name)) for field in changed.fields)
        for _, old in pairs:
            if schema.field(old) is None:
                raise DataError(f"{old} is not a valid field name")
        puts = [(old, field.name, field.schema) for (_, old), field in zip(pairs, changed.fields, strict=True)]
        checks = self._checks(schema, changed, pairs)
        return changed, pairs, StructReader(schema, self._replace_null, puts, checks, check=bool(checks))

    @staticmethod
    def _checks(schema: Schema, changed: Schema, pairs: Pairs) -> dict[str, Callable[[Any], Any]]:
        """Return checks of fields that replace another field by accident of renaming and must fit its schema."""
        checks: dict[str, Callable[[Any], Any]] = {}
        for new, old in pairs:
            source, target = schema.field(old), changed.field(new)
            if source is not None and target is not None and source.schema != target.schema:
                checks[old] = partial(require_class, new, target.schema, source.schema)
        return checks

    def change(self, schema: Schema | None, values: list[Any], batch: Batch) -> tuple[Schema | None, list[Any]]:
        if schema is None:
            require_maps(values, PURPOSE)
            plans = for_each(self._pairs, values)
            return None, [{new: value[old] for new, old in pairs} for pairs, value in zip(plans, values, strict=True)]
        require_structs(schema, values, PURPOSE)
        changed, pairs, read = self._plans[schema]
        return changed, [{new: value.get(old) for new, old in pairs} for value in read(values)]

    def change_table(self, schema: Schema | None, table: Table, batch: Batch) -> Changed | None:
        if schema is None:
            changed, pairs = None, self._pairs[table.names]
        else:
            changed, pairs, read = self._plans[schema]
            if not read.plain:
                return None
        columns, nulls = table.as_dict(), [None] * len(table)
        return (changed, Table.of({new: columns.get(old, nulls) for new, old in pairs})) if pairs else None

    def _pairs_of(self, keys: Keys) -> Pairs:
        """For schemaless maps with these keys, in the order of the new map."""
        found = {self._renames.get(key, key): key for key in keys if self._kept(key)}
        return tuple((new, found[new]) for new in ordered(found, capacity_for(len(keys))))


class ReplaceFieldKey(OnKey, ReplaceField):
    """Leaves fields of keys out, or renames them."""

    java_name = "org.apache.kafka.connect.transforms.ReplaceField$Key"


class ReplaceFieldValue(OnValue, ReplaceField):
    """Leaves fields of values out, or renames them."""

    java_name = "org.apache.kafka.connect.transforms.ReplaceField$Value"
