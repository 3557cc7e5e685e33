"""InsertField: adds fields to structs and maps: a fixed text, or the record's topic, partition, offset, timestamp."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.columns import Table
from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError, DataError
from penstock.api.schema import INT32, INT64, STRING, TIMESTAMP, Schema
from penstock.pipeline.transforms.column import Changed, ColumnTransform, OnKey, OnValue, replace_null_setting
from penstock.pipeline.transforms.plans import Plans, copied, for_each, orders, skeletons
from penstock.pipeline.transforms.structs import StructReader, may_leave_null, rebuilt, require_maps, require_structs
from penstock.values.logical import moment_of
from penstock.values.repeated import converted

PURPOSE = "field insertion"
_SCHEMAS = {"topic": STRING, "partition": INT32, "offset": INT64, "timestamp": TIMESTAMP, "static": STRING}
_ENDING = (
    "A <code>!</code> at the end of the name makes the field required; <code>?</code>, or nothing, makes it optional."
)


@dataclass(frozen=True, slots=True)
class Insertion:
    """One field to add: what it holds (a key of the table above), its name and schema."""

    source: str
    name: str
    schema: Schema

    @classmethod
    def parse(cls, source: str, spec: str) -> Insertion:
        name = spec[:-1] if spec.endswith(("?", "!")) else spec
        return cls(source, name, _SCHEMAS[source].with_(optional=not spec.endswith("!")))


class InsertField(ColumnTransform):
    skips_nulls = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = ConfigDef()
        for source, words in (
            ("topic", "the record's topic"),
            ("partition", "the record's partition; left out while it is not known"),
            ("offset", "the record's offset, for sink connectors only"),
            ("timestamp", "the record's timestamp; left out if there is none"),
            ("static", "the text of <code>static.value</code>"),
        ):
            definition.define(
                f"{source}.field",
                ConfigType.STRING,
                None,
                importance=Importance.MEDIUM,
                documentation=f"Name of a field for {words}. {_ENDING}",
            )
        definition.define(
            "static.value",
            ConfigType.STRING,
            None,
            importance=Importance.MEDIUM,
            documentation="The text for the field that <code>static.field</code> names.",
        )
        return replace_null_setting(definition)

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        specs = {source: settings[f"{source}.field"] for source in _SCHEMAS}
        self._insertions = [Insertion.parse(source, spec) for source, spec in specs.items() if spec is not None]
        self._static_value: str = settings["static.value"]
        if not self._insertions:
            raise ConfigError("No field insertion configured")
        if specs["static"] is not None and self._static_value is None:
            raise ConfigError("static.value", None, f"No value specified for static field: {specs['static']}")
        for insertion in self._insertions:
            if insertion.source in ("partition", "timestamp") and not insertion.schema.optional:
                may_leave_null(insertion.name)
        self._replace_null: bool = settings["replace.null.with.default"]
        self._plans = Plans(self._plan)
        names = [insertion.name for insertion in self._insertions]
        self._skeletons = skeletons(names, filled=True)
        self._orders = orders(names)

    def _plan(self, schema: Schema) -> tuple[Schema, StructReader]:
        fields = [(field.name, field.schema) for field in schema.fields]
        extended = rebuilt(schema, [*fields, *((i.name, i.schema) for i in self._insertions)])
        return extended, StructReader(schema, self._replace_null)

    def change(self, schema: Schema | None, values: list[Any], batch: Batch) -> tuple[Schema | None, list[Any]]:
        if schema is None:
            require_maps(values, PURPOSE)
            return None, self._maps(values, batch)
        require_structs(schema, values, PURPOSE)
        extended, read = self._plans[schema]
        values = read(values)
        match self._insertions:
            case [Insertion("static", name)]:
                text = self._static_value
                return extended, [{**value, name: text} for value in values]
            case [one]:
                name = one.name
                return extended, [
                    {**value, name: x} for value, x in zip(values, self._column(one, batch, True), strict=True)
                ]
        names = [insertion.name for insertion in self._insertions]
        rows = zip(*(self._column(insertion, batch, True) for insertion in self._insertions), strict=True)
        return extended, [
            {**value, **dict(zip(names, row, strict=True))} for value, row in zip(values, rows, strict=True)
        ]

    def change_table(self, schema: Schema | None, table: Table, batch: Batch) -> Changed | None:
        if schema is not None:
            extended, read = self._plans[schema]
            return (extended, Table.of({**table.as_dict(), **self._inserted(batch, True)})) if read.plain else None
        inserted = self._inserted(batch, False)
        if any(None in column for column in inserted.values()):
            return None
        columns, order = {**table.as_dict(), **inserted}, self._orders[table.names]
        return None, Table(order, [columns[name] for name in order])

    def _inserted(self, batch: Batch, with_schema: bool) -> dict[str, list[Any]]:
        return {each.name: self._column(each, batch, with_schema) for each in self._insertions}

    def _maps(self, values: list[dict[Any, Any]], batch: Batch) -> list[dict[Any, Any]]:
        if [insertion.source for insertion in self._insertions] == ["static"]:
            name, text = self._insertions[0].name, self._static_value
            shapes = for_each(self._skeletons, values)
            return [{**shape, **value, name: text} for shape, value in zip(shapes, values, strict=True)]
        columns = [self._column(insertion, batch, False) for insertion in self._insertions]
        names = [insertion.name for insertion in self._insertions]
        rows = zip(*columns, strict=True)
        if not any(None in column for column in columns):
            shapes = for_each(self._skeletons, values)
            return [
                {**shape, **value, **dict(zip(names, row, strict=True))}
                for shape, value, row in zip(shapes, values, rows, strict=True)
            ]
        out = []
        for value, row in zip(values, rows, strict=True):
            put = {name: x for name, x in zip(names, row, strict=True) if x is not None}
            out.append({**dict.fromkeys(copied(tuple(value), put)), **value, **put})
        return out

    def _column(self, insertion: Insertion, batch: Batch, with_schema: bool) -> list[Any]:
        """Return the value to insert for each record, null where nothing is inserted."""
        match insertion.source:
            case "topic":
                return batch.topics
            case "partition":
                return batch.partitions
            case "offset":
                if isinstance(batch.origin, SinkOrigin):
                    return list(batch.origin.offsets)
                raise DataError(
                    f"Only SinkRecord supported for [{PURPOSE}], found: org.apache.kafka.connect.source.SourceRecord"
                )
            case "timestamp" if with_schema:
                return converted(moment_of, batch.timestamps)
            case "timestamp":
                return batch.timestamps
            case _:
                return [self._static_value] * len(batch)


class InsertFieldKey(OnKey, InsertField):
    """Adds fields to keys: a fixed text, or the record's topic, partition, offset or timestamp."""

    java_name = "org.apache.kafka.connect.transforms.InsertField$Key"


class InsertFieldValue(OnValue, InsertField):
    """Adds fields to values: a fixed text, or the record's topic, partition, offset or timestamp."""

    java_name = "org.apache.kafka.connect.transforms.InsertField$Value"
