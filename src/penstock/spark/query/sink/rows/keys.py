"""Rows that have keys: the fields of a record's key become columns of its row, beside those of its value.

A record without a value is the deletion of its key's row: a row of the key's columns alone, whose schema says what it
is. So everything after this step knows rows only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.api.batch import Batch
from penstock.api.errors import DataError
from penstock.api.schema import BOOLEAN, BYTES, FLOAT64, INT64, STRING, Field, Schema, SchemaType, struct
from penstock.pipeline.errors import PipelineStage, Step
from penstock.spark.query.sink.rows.columns import VALUE, text_of

DELETION = "penstock.deletion"
"""The name of a deletion's schema."""
_PYTHONS: dict[type, Schema] = {bool: BOOLEAN, int: INT64, float: FLOAT64, str: STRING, bytes: BYTES}
"""The schemas of values that have none."""

Pairs = tuple[tuple[str, Schema], ...]


def deleted(batch: Batch) -> list[bool]:
    """Return for each row whether it is a deletion."""
    return [schema is not None and schema.name == DELETION for schema in batch.value_schemas]


@dataclass(frozen=True, slots=True)
class Keys:
    """Fields of a record's key that identify its row."""

    fields: tuple[str, ...]
    """Names of the key's fields; for a key that is no struct, the one name of its column."""
    deletes: bool
    """Whether records without a value delete; otherwise they are left out."""
    declared: bool
    """Whether the columns are those of the setting ``schema``, which values without a schema are made to fit."""


class Keying:
    """The step that makes records of rows with keys. Schemas are made once for each pair of a key's and a value's."""

    def __init__(self, keys: Keys, plugin: str) -> None:
        self._keys = keys
        self._deletions: dict[Pairs, Schema] = {}
        self._rows: dict[tuple[Pairs, Schema], Schema] = {}
        self._pairs: dict[Schema, Pairs] = {}
        self.step = Step(PipelineStage.TASK_PUT, plugin, self.apply)

    def apply(self, batch: Batch) -> Batch:
        """The batch with rows as its values. Raises DataError for a key by which no row can be found."""
        if not self._keys.deletes and None in batch.values:
            batch = batch.select([i for i, value in enumerate(batch.values) if value is not None])
        columns = zip(batch.key_schemas, batch.keys, batch.value_schemas, batch.values, strict=True)
        made = [self._row(*each) for each in columns]
        return batch.with_(values=[row for row, _ in made], value_schemas=[schema for _, schema in made])

    def _row(self, key_schema: Schema | None, key: Any, schema: Schema | None, value: Any) -> tuple[Any, Schema | None]:
        pairs = self._key_columns(key_schema, key)
        whole = isinstance(key, dict) and (key_schema is None or key_schema.type is SchemaType.STRUCT)
        found = {name: key.get(name) for name, _ in pairs} if whole else {pairs[0][0]: key}
        if value is None:
            return found, self._deletion(pairs)
        if schema is None and self._keys.declared:
            if not isinstance(value, dict):
                _check_value_column(found)
                value = {VALUE: value}
            return {**value, **found}, None
        if schema is None:
            schema = _PYTHONS.get(type(value), STRING)
            value = value if type(value) in _PYTHONS else text_of(value)
        if schema.type is not SchemaType.STRUCT:
            _check_value_column(found)
            value = {VALUE: value}
        return {**value, **found}, self._with_key(pairs, schema)

    def _key_columns(self, schema: Schema | None, key: Any) -> Pairs:
        if key is None:
            raise DataError(
                "The record has no key, by which insert.mode=upsert finds its row: give it one by a transform "
                "(ValueToKey), or use insert.mode=insert"
            )
        if schema is None and isinstance(key, dict):
            return self._chosen([(name, _PYTHONS.get(type(value))) for name, value in key.items()])
        schema = schema or _PYTHONS.get(type(key), STRING)
        if schema not in self._pairs:
            self._pairs[schema] = self._of_schema(schema)
        return self._pairs[schema]

    def _of_schema(self, schema: Schema) -> Pairs:
        if schema.type is SchemaType.STRUCT:
            return self._chosen([(field.name, field.schema) for field in schema.fields])
        if not schema.type.primitive:
            raise DataError(f"The key is of type {schema.type.name}; rows are found by a struct or a primitive type")
        if len(self._keys.fields) != 1:
            raise DataError(
                f"The key is of type {schema.type.name}, so pk.fields has to be the one name of its column; it is "
                f"'{','.join(self._keys.fields)}'"
            )
        return ((self._keys.fields[0], schema),)

    def _chosen(self, known: Iterable[tuple[str, Schema | None]]) -> Pairs:
        fields = dict(known)
        for name in self._keys.fields:
            if name not in fields:
                raise DataError(f"pk.fields names {name}, and the key has only: {', '.join(fields) or 'no fields'}")
        # A null that has no schema can be any type: text is what fits all.
        chosen = [(name, fields[name] or STRING) for name in self._keys.fields]
        for name, schema in chosen:
            if not schema.type.primitive:
                raise DataError(f"Field {name} of the key is of type {schema.type.name}; only primitive types are keys")
        return tuple(chosen)

    def _deletion(self, pairs: Pairs) -> Schema:
        if pairs not in self._deletions:
            self._deletions[pairs] = struct(*pairs, name=DELETION)
        return self._deletions[pairs]

    def _with_key(self, pairs: Pairs, schema: Schema) -> Schema:
        """In the order of the value's fields, with the key's columns where the value has them, and otherwise first."""
        if (pairs, schema) not in self._rows:
            fields = schema.fields if schema.type is SchemaType.STRUCT else (Field(VALUE, 0, schema),)
            keys, names = dict(pairs), {field.name for field in fields}
            if not self._keys.declared:
                _check_cases(keys, names)
            lacking = [pair for pair in pairs if pair[0] not in names]
            self._rows[pairs, schema] = struct(*lacking, *((f.name, keys.get(f.name, f.schema)) for f in fields))
        return self._rows[pairs, schema]


def _check_value_column(keys: Iterable[str]) -> None:
    """Raises DataError if a key has the name of the column of values that are no structs."""
    for name in keys:
        if name.casefold() == VALUE:
            raise DataError(
                f"pk.fields names {name}, and the value is no struct, so that it is column {VALUE} itself: give the "
                "key another name (a field of a key by ReplaceField$Key), or make the value a struct (HoistField$Value)"
            )


def _check_cases(keys: Iterable[str], names: Iterable[str]) -> None:
    """Raises DataError if a field of the value is named as one of the key but for upper and lower case."""
    by_case = {key.casefold(): key for key in keys}
    for name in names:
        key = by_case.get(name.casefold(), name)
        if key != name:
            raise DataError(
                f"The value has a field {name} beside the key's {key} of pk.fields, which are one column to Spark: "
                "rename or drop one by a transform (ReplaceField)"
            )
