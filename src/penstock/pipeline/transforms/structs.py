"""Reading of structs and maps, and rebuilding of their schemas.

Structs are taken to fit their schemas, as those of Java's converters do; what is checked is what a transform itself
could break. The complaints are those of Java's ``Requirements``, ``SchemaUtil``, ``SchemaBuilder`` and ``Struct``.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError, SchemaBuilderError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType, struct
from penstock.values.class_names import class_name


class IllegalArgumentError(ValueError):
    """Java's ``IllegalArgumentException``, where a Java transform does not catch it."""

    java_name = "java.lang.IllegalArgumentException"


class ClassCastError(ValueError):
    """Java's ``ClassCastException``, where a Java transform throws it, of two classes of the JDK."""

    java_name = "java.lang.ClassCastException"

    def __init__(self, found: str, wanted: str) -> None:
        both = f"{found} and {wanted} are in module java.base of loader 'bootstrap'"
        super().__init__(f"class {found} cannot be cast to class {wanted} ({both})")


class NullPointerError(ValueError):
    """Java's ``NullPointerException``, where a Java transform throws it."""

    java_name = "java.lang.NullPointerException"


_LOGICAL_CLASSES: dict[str | None, object] = {
    DECIMAL_NAME: Decimal,
    DATE_NAME: datetime.date,
    TIME_NAME: datetime.date,
    TIMESTAMP_NAME: datetime.date,
}


def found_class(value: Any, schema: Schema | None = None) -> str:
    """The Java class of a value, ``null`` if it has none."""
    return "null" if value is None else class_name(schema, value)


def schema_text(schema: Schema) -> str:
    """A schema as messages show it."""
    return f"Schema{{{schema.name + ':' if schema.name is not None else ''}{schema.type.name}}}"


def require_maps(values: list[Any], purpose: str, *, null: bool = False) -> None:
    """Raises DataError unless all are maps (or null, if that is allowed)."""
    if set(map(type, values)) == {dict}:
        return
    for value in values:
        if not isinstance(value, dict) and not (null and value is None):
            raise DataError(
                f"Only Map objects supported in absence of schema for [{purpose}], found: {found_class(value)}"
            )


def require_structs(schema: Schema, values: list[Any], purpose: str, *, null: bool = False) -> None:
    """Raises DataError unless all are structs (or null, if that is allowed)."""
    if schema.type is SchemaType.STRUCT and set(map(type, values)) == {dict}:
        return
    for value in values:
        if not (isinstance(value, dict) and schema.type is SchemaType.STRUCT) and not (null and value is None):
            raise DataError(f"Only Struct objects supported for [{purpose}], found: {found_class(value, schema)}")


def require_value(name: str, schema: Schema, value: Any) -> None:
    """Raises DataError for a null in a required field, which is one even if the field has a default."""
    if value is None and not schema.optional:
        raise DataError(f'Invalid value: null used for required field: "{name}", schema type: {schema.type.name}')


def require_class(name: str, schema: Schema, source: Schema, value: Any) -> Any:
    """The value, which has the schema ``source``. Raises DataError if a field of the other schema does not take it."""
    if value is None:
        return None
    if _LOGICAL_CLASSES.get(schema.name, schema.type) != _LOGICAL_CLASSES.get(source.name, source.type):
        named = "" if schema.name is None else f' "{schema.name}"'
        raise DataError(
            f"Invalid Java object for schema{named} with type {schema.type.name}: "
            f'class {class_name(source, value)} for field: "{name}"'
        )
    if schema.type is SchemaType.STRUCT and schema != source:
        raise DataError("Struct schemas do not match.")
    return value


_LEFT_NULL: set[str] = set()


def may_leave_null(name: str) -> None:
    """An InsertField of this process may leave a required field of this name null. Java finds such a null when the
    struct is copied the next time; it is not looked for in others, since that takes time.
    """
    _LEFT_NULL.add(name)


def _may_be_null(name: str, schema: Schema) -> bool:
    return name in _LEFT_NULL and not schema.optional and schema.default is None


def require_valid(schema: Schema, values: Iterable[Any]) -> None:
    """``Struct.validate`` as far as it concerns those fields. Raises DataError."""
    fields = [field for field in schema.fields if _may_be_null(field.name, field.schema)]
    for value in values if fields else ():
        for field in fields if isinstance(value, dict) else ():
            require_value(field.name, field.schema, value.get(field.name))


def rebuilt(source: Schema, fields: Iterable[tuple[str, Schema]], **changes: Any) -> Schema:
    """A struct of these fields, required, without a default, with name, version, doc and parameters of another."""
    return checked_struct(
        fields,
        **{
            "name": source.name,
            "version": source.version,
            "doc": source.doc,
            "parameters": source.parameters,
            **changes,
        },
    )


def checked_struct(fields: Iterable[tuple[str, Schema]], **attributes: Any) -> Schema:
    """A struct of these fields; raises SchemaBuilderError if two have the same name, or one has none."""
    found: dict[str, Schema] = {}
    for name, schema in fields:
        if not name:
            raise SchemaBuilderError("fieldName cannot be null.")
        if name in found:
            raise SchemaBuilderError(f"Cannot create field because of field name duplication {name}")
        found[name] = schema
    return struct(*found.items(), **attributes)


class StructReader:
    """Reads the structs of one schema: a null gives the field's default, unless ``replace_null`` is off.

    If it is off, a null may remain in a field that must not be null. Java finds it when it puts the field into the new
    struct, field by field, and so does a StructReader that knows the new fields.
    """

    def __init__(
        self,
        schema: Schema,
        replace_null: bool,
        puts: Iterable[tuple[str, str, Schema]] | None = None,
        converts: Mapping[str, Callable[[Any], Any]] | None = None,
        check: bool = False,
    ) -> None:
        """``puts``: the old and the new name and the new schema of the fields that are carried over, in order.

        Without it all are, unchanged. ``converts``: by old name, functions that the values go through, nulls included.
        ``check``: let values go through them even if no null can be wrong.
        """
        carried = [(f.name, f.name, f.schema) for f in schema.fields] if puts is None else list(puts)
        with_default = {f.name: f.schema.default for f in schema.fields if f.schema.default is not None}
        self.defaults = {old: with_default[old] for old, _, _ in carried if replace_null and old in with_default}
        strict = not replace_null and any(old in with_default and not inner.optional for old, _, inner in carried)
        strict = strict or any(_may_be_null(old, inner) for old, _, inner in carried)
        self._checks = carried if strict or check else []
        self._converts = converts or {}

    @property
    def plain(self) -> bool:
        """Whether there is nothing to fill in, and nothing to check."""
        return not (self.defaults or self._checks)

    def fill(self, value: dict[str, Any]) -> dict[str, Any]:
        """A copy with defaults in place of nulls. Raises DataError for a null that may be none."""
        for old, new, inner in self._checks:
            convert = self._converts.get(old)
            item = value.get(old)
            if item is None:
                item = self.defaults.get(old)
            require_value(new, inner, item if convert is None else convert(item))
        filled = {**self.defaults, **value}
        for name, default in self.defaults.items():
            if filled[name] is None:
                filled[name] = default
        return filled

    def __call__(self, values: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """``fill`` for all, or the same list if there is nothing to fill or to check."""
        return values if self.plain else list(map(self.fill, values))
