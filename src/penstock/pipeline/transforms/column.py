"""Shared parts of transforms of whole columns: the column they work on, and one pass per schema in it.

A batch nearly always has one schema in a column, and what a transform does to a struct follows from its schema alone.
So a transform plans once per schema (see ``Plans``) and then goes over the values. A batch with several schemas, or
with nulls that pass unchanged, is split, transformed and joined again in its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.schema import Schema
from penstock.api.transform import Transformation

try:
    VERSION = version("penstock")
except PackageNotFoundError:  # run from a checkout
    VERSION = "unknown"


Changed = tuple[Schema | None, Table | list[Any]]


class BuiltIn(Transformation):
    """A transform that ships with Penstock."""

    @classmethod
    def version(cls) -> str:
        return VERSION


class OnKey:
    """Mixed into a ColumnTransform: it works on keys."""

    of_key: ClassVar[bool] = True


class OnValue:
    """Mixed into a ColumnTransform: it works on values."""

    of_key: ClassVar[bool] = False


class ColumnTransform(BuiltIn):
    """A transform of keys or of values: derive once, then mix in OnKey and OnValue for Java's two classes."""

    of_key: ClassVar[bool]
    skips_nulls: ClassVar[bool] = False
    """Whether a null passes as it is, with its schema."""

    def change(self, schema: Schema | None, values: list[Any], batch: Batch) -> Changed:
        """The new schema of values that all have this schema, and the new values, as many and in the same order.

        ``batch`` holds the records of these values. Raises DataError for any of them.
        """
        raise NotImplementedError

    def change_table(self, schema: Schema | None, table: Table, batch: Batch) -> Changed | None:
        """``change`` for maps or structs of this schema that come as columns; None if ``change`` has to do it."""
        return None

    def apply_batch(self, batch: Batch) -> Batch:
        schemas, column = (
            (batch.key_schemas, batch.key_column) if self.of_key else (batch.value_schemas, batch.value_column)
        )
        changed = None
        if isinstance(column, Table) and schemas.count(schemas[0]) == len(schemas):
            changed = self.change_table(schemas[0], column, batch)
        values: Table | list[Any]
        if changed is None:
            schemas, values = self._columns(batch, schemas, batch.keys if self.of_key else batch.values)
        else:
            schemas, values = [changed[0]] * len(batch), changed[1]
        if self.of_key:
            return batch.with_(key_schemas=schemas, keys=values)
        return batch.with_(value_schemas=schemas, values=values)

    def _columns(
        self, batch: Batch, schemas: list[Schema | None], values: list[Any]
    ) -> tuple[list[Schema | None], Table | list[Any]]:
        if not values:
            return schemas, values
        parts = parts_by_schema(schemas, values, self.skips_nulls)
        if parts is None:
            schema, changed = self.change(schemas[0], values, batch)
            return [schema] * len(values), changed
        schemas, values = list(schemas), list(values)
        for rows in parts:
            schema, changed = self.change(schemas[rows[0]], [values[row] for row in rows], batch.select(rows))
            for row, value in zip(rows, changed, strict=True):
                schemas[row], values[row] = schema, value
        return schemas, values


def parts_by_schema(
    schemas: list[Schema | None], values: list[Any], without_nulls: bool = False
) -> list[Sequence[int]] | None:
    """The indices of the values of each schema, without those of nulls if wanted; None if all values form one part."""
    # all() is by far the cheapest way to see that no value is null.
    nulls = without_nulls and not all(values) and None in values
    if not nulls and schemas.count(schemas[0]) == len(schemas):
        return None
    places: dict[Schema | None, list[int]] = {}
    for row, schema in enumerate(schemas):
        if not nulls or values[row] is not None:
            places.setdefault(schema, []).append(row)
    return list(places.values())


def replace_null_setting(definition: ConfigDef) -> ConfigDef:
    """Add ``replace.null.with.default`` (KIP-1040)."""
    return definition.define(
        "replace.null.with.default",
        ConfigType.BOOLEAN,
        True,
        importance=Importance.MEDIUM,
        documentation="Whether a null in a field that has a default becomes that default (true) or stays null (false).",
    )
