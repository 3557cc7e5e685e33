"""SetSchemaMetadata: gives a schema another name or version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError, DataError
from penstock.api.schema import Schema, SchemaType
from penstock.pipeline.transforms.column import Changed, ColumnTransform, OnKey, OnValue, replace_null_setting
from penstock.pipeline.transforms.plans import Plans
from penstock.pipeline.transforms.structs import StructReader

PURPOSE = "updating schema metadata"


class SetSchemaMetadata(ColumnTransform):
    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = (
            ConfigDef()
            .define(
                "schema.name",
                ConfigType.STRING,
                None,
                importance=Importance.HIGH,
                documentation="The schema's new name.",
            )
            .define(
                "schema.version",
                ConfigType.INT,
                None,
                importance=Importance.HIGH,
                documentation="The schema's new version.",
            )
        )
        return replace_null_setting(definition)

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        changes = {"name": settings["schema.name"], "version": settings["schema.version"]}
        self._changes = {attribute: value for attribute, value in changes.items() if value is not None}
        if not self._changes:
            raise ConfigError("Neither schema name nor version configured")
        self._replace_null: bool = settings["replace.null.with.default"]
        self._plans = Plans(self._plan)

    def _plan(self, schema: Schema) -> tuple[Schema, StructReader]:
        if schema.type is not SchemaType.STRUCT:
            raise DataError("Cannot list fields on non-struct type")
        return schema.with_(**self._changes), StructReader(schema, self._replace_null)

    def change(self, schema: Schema | None, values: list[Any], batch: Batch) -> tuple[Schema | None, list[Any]]:
        if schema is None:
            if values.count(None) < len(values):
                raise DataError(f"Schema required for [{PURPOSE}]")
            return None, values
        changed, read = self._plans[schema]
        if all(values) or None not in values:
            return changed, read(values)
        return changed, [value if value is None else read.fill(value) for value in values]

    def change_table(self, schema: Schema | None, table: Table, batch: Batch) -> Changed | None:
        if schema is None:
            return None
        changed, read = self._plans[schema]
        return (changed, table) if read.plain else None


class SetSchemaMetadataKey(OnKey, SetSchemaMetadata):
    """Gives the schemas of keys another name or version."""

    java_name = "org.apache.kafka.connect.transforms.SetSchemaMetadata$Key"


class SetSchemaMetadataValue(OnValue, SetSchemaMetadata):
    """Gives the schemas of values another name or version."""

    java_name = "org.apache.kafka.connect.transforms.SetSchemaMetadata$Value"
