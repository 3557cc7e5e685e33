"""HeaderFrom (KIP-440): copies or moves fields of a key or value into headers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.api.batch import Batch
from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError, DataError
from penstock.api.record import Header
from penstock.api.schema import Schema
from penstock.api.validators import Described, ValidString
from penstock.pipeline.transforms.column import BuiltIn, OnKey, OnValue, parts_by_schema, replace_null_setting
from penstock.pipeline.transforms.plans import Keys, Plans, copied, for_each
from penstock.pipeline.transforms.structs import (
    NullPointerError,
    StructReader,
    rebuilt,
    require_maps,
    require_structs,
    schema_text,
)

Values = list[dict[str, Any]]
Headers = list[tuple[Header, ...]]


def _not_empty(name: str, value: Any) -> None:
    if not value:
        raise ConfigError(name, value, "Empty list")


NON_EMPTY_LIST = Described(_not_empty, "non-empty list")


@dataclass(frozen=True, slots=True)
class HeaderPlan:
    """For the structs of one schema: the remaining struct, and the fields that become headers."""

    schema: Schema
    kept: tuple[str, ...] | None
    """The fields that stay; None: all of them, the struct is not touched."""
    read_kept: StructReader
    headers: tuple[tuple[str, str, Schema | None], ...]
    """Header, field, schema."""
    read_headers: StructReader


class HeaderFrom(BuiltIn):
    of_key: ClassVar[bool]

    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = (
            ConfigDef()
            .define(
                "fields",
                ConfigType.LIST,
                NO_DEFAULT,
                NON_EMPTY_LIST,
                Importance.HIGH,
                "Names of the fields to take values from.",
            )
            .define(
                "headers",
                ConfigType.LIST,
                NO_DEFAULT,
                NON_EMPTY_LIST,
                Importance.HIGH,
                "Names of the headers, one for each of the fields and in their order.",
            )
            .define(
                "operation",
                ConfigType.STRING,
                NO_DEFAULT,
                ValidString("move", "copy"),
                Importance.HIGH,
                "<code>move</code> takes the fields out of the key or value, <code>copy</code> leaves them there.",
            )
        )
        return replace_null_setting(definition)

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        self._fields: list[str] = settings["fields"]
        self._headers: list[str] = settings["headers"]
        if len(self._fields) != len(self._headers):
            raise ConfigError("'fields' config must have the same number of elements as 'headers' config.")
        self._moves = settings["operation"] == "move"
        self._purpose = f"header {settings['operation']}"
        self._replace_null: bool = settings["replace.null.with.default"]
        self._plans = Plans(self._plan)
        self._left: Plans[Keys, Keys] = Plans(self._left_keys)

    def _plan(self, schema: Schema) -> HeaderPlan:
        headers = []
        for header, name in zip(self._headers, self._fields, strict=True):
            field = schema.field(name)
            headers.append((header, name, None if field is None else field.schema))
        kept = [f for f in schema.fields if f.name not in self._fields] if self._moves else list(schema.fields)
        names = tuple(field.name for field in kept)
        return HeaderPlan(
            rebuilt(schema, [(field.name, field.schema) for field in kept]) if self._moves else schema,
            names if self._moves else None,
            StructReader(schema, self._replace_null, [(f.name, f.name, f.schema) for f in kept if self._moves]),
            tuple(headers),
            StructReader(
                schema, self._replace_null, [(n, n, s) for _, n, s in headers if s is not None and self._replace_null]
            ),
        )

    def _left_keys(self, keys: Keys) -> Keys:
        return tuple(key for key in copied(keys) if not (self._moves and key in self._fields))

    def apply_batch(self, batch: Batch) -> Batch:
        if not len(batch):
            return batch
        schemas = list(batch.key_schemas if self.of_key else batch.value_schemas)
        values = list(batch.keys if self.of_key else batch.values)
        headers = list(batch.headers)
        parts: list[Sequence[int]] = parts_by_schema(schemas, values) or [range(len(values))]
        for rows in parts:
            schema, changed, added = self._change(schemas[rows[0]], [values[row] for row in rows])
            for row, value, new in zip(rows, changed, added, strict=True):
                schemas[row], values[row], headers[row] = schema, value, (*headers[row], *new)
        if self.of_key:
            return batch.with_(key_schemas=schemas, keys=values, headers=headers)
        return batch.with_(value_schemas=schemas, values=values, headers=headers)

    def _change(self, schema: Schema | None, values: Values) -> tuple[Schema | None, Values, Headers]:
        if schema is None:
            require_maps(values, self._purpose)
            pairs = list(zip(self._headers, self._fields, strict=True))
            added = [tuple([Header(header, None, v.get(field)) for header, field in pairs]) for v in values]
            left = for_each(self._left, values)
            return None, [{key: v[key] for key in keys} for keys, v in zip(left, values, strict=True)], added
        require_structs(schema, values, self._purpose)
        plan = self._plans[schema]
        changed = values
        if plan.kept is not None:
            kept = plan.kept
            changed = [{name: v.get(name) for name in kept} for v in plan.read_kept(values)]
        added = [
            tuple([_header(header, inner, v.get(name)) for header, name, inner in plan.headers])
            for v in plan.read_headers(values)
        ]
        return plan.schema, changed, added


def _header(key: str, schema: Schema | None, value: Any) -> Header:
    if schema is None:
        raise NullPointerError(
            'Cannot invoke "org.apache.kafka.connect.data.Field.schema()" because the return value of '
            '"org.apache.kafka.connect.data.Schema.field(String)" is null'
        )
    if value is None and not schema.optional:
        raise DataError(f"A null value requires an optional schema but was {schema_text(schema)}")
    return Header(key, schema, value)


class HeaderFromKey(OnKey, HeaderFrom):
    """Copies or moves fields of keys into headers."""

    java_name = "org.apache.kafka.connect.transforms.HeaderFrom$Key"


class HeaderFromValue(OnValue, HeaderFrom):
    """Copies or moves fields of values into headers."""

    java_name = "org.apache.kafka.connect.transforms.HeaderFrom$Value"
