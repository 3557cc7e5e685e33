"""Columns of a topic's records, by their schemas and the settings of a sink."""

from __future__ import annotations

from penstock.api.drift import check_case
from penstock.api.errors import DataError
from penstock.api.schema import INT32, INT64, STRING, Schema, SchemaType
from penstock.connectors.jdbc.columns import RecordPart, RowShape, SinkColumn, no_column
from penstock.connectors.jdbc.sink_settings import COORDINATES, JdbcSinkSettings

_COORDINATE_SCHEMAS = (STRING, INT32, INT64)


def shape_of(
    settings: JdbcSinkSettings, topic: str, key: Schema | None, value: Schema | None, *, keyed: bool, valued: bool
) -> RowShape:
    """Return the shape of records of this topic with these schemas.

    ``keyed`` and ``valued``: whether their keys and values are not null.

    Raises DataError for records that have no place in a table.
    """
    table = settings.table(topic)
    struct = value if value is not None and value.type is SchemaType.STRUCT else None
    deletes = settings.deletes and settings.key_mode == "record_key"
    if not valued:
        if not deletes:
            raise DataError(
                f"The value is null, and delete.enabled={str(settings.deletes).lower()}: pk.mode={settings.key_mode} "
                "needs a value that is a struct with a schema"
            )
        return RowShape(table, tuple(_keys(settings, table, key, None, keyed=keyed)), delete=True)
    if struct is None:
        what = "has no schema" if value is None else f"is of type {value.type.name}"
        raise DataError(f"The value {what}: a table needs a struct with a schema (JsonConverter: schemas.enable=true)")
    keys = _keys(settings, table, key, struct, keyed=keyed)
    names = {column.name for column in keys}
    others = [
        SinkColumn.of(
            field.name,
            field.schema,
            RecordPart.VALUE,
            field.name,
            moment=settings.moment(field.name),
            zones=settings.zones,
        )
        for field in struct.fields
        if field.name not in names and (not settings.fields or field.name in settings.fields)
    ]
    for column in others:
        if column.array and column.kind not in settings.connection.dialect.item_types:
            raise no_column(column.name, f"ARRAY of {column.kind}")
    if not keys and not others:
        raise DataError(f"No fields found using key and value schemas for table: {table}")
    if settings.connection.dialect.folds_case:
        check_case([column.name for column in (*keys, *others)], f" of table {table}", "the database takes")
    return RowShape(table, tuple(_ordered([*keys, *others], struct)))


def _keys(
    settings: JdbcSinkSettings, table: str, key: Schema | None, value: Schema | None, *, keyed: bool
) -> list[SinkColumn]:
    match settings.key_mode:
        case "kafka":
            names = settings.key_fields or COORDINATES
            return [
                SinkColumn.of(name, schema, RecordPart.KAFKA, field, key=True)
                for name, schema, field in zip(names, _COORDINATE_SCHEMAS, COORDINATES, strict=True)
            ]
        case "record_key":
            if not keyed or key is None:
                what = "is null" if not keyed else "has no schema"
                raise DataError(f"The key {what}, and pk.mode=record_key needs one with a schema")
            return _of_key(settings, table, key)
        case "record_value":
            assert value is not None
            return _of_fields(settings, value, RecordPart.VALUE, f"table '{table}': pk.mode is record_value")
    return []


def _of_key(settings: JdbcSinkSettings, table: str, key: Schema) -> list[SinkColumn]:
    if key.type is SchemaType.STRUCT:
        return _of_fields(settings, key, RecordPart.KEY, f"table '{table}': pk.mode is record_key")
    if not key.type.primitive:
        raise DataError(f"The key is of type {key.type.name}; pk.mode=record_key needs a struct or a primitive type")
    if len(settings.key_fields) != 1:
        raise DataError(
            f"The key is of type {key.type.name}, so pk.fields has to be the one name of its column; "
            f"it is '{','.join(settings.key_fields)}'"
        )
    (name,) = settings.key_fields
    return [
        SinkColumn.of(name, key, RecordPart.KEY, None, key=True, moment=settings.moment(name), zones=settings.zones)
    ]


def _of_fields(settings: JdbcSinkSettings, schema: Schema, part: RecordPart, where: str) -> list[SinkColumn]:
    wanted = settings.key_fields or tuple(field.name for field in schema.fields)
    found = []
    for name in wanted:
        field = schema.field(name)
        if field is None:
            raise DataError(f"{where}, and its schema does not contain field {name} of pk.fields")
        found.append(
            SinkColumn.of(name, field.schema, part, name, key=True, moment=settings.moment(name), zones=settings.zones)
        )
    return found


def _ordered(columns: list[SinkColumn], value: Schema) -> list[SinkColumn]:
    """Sort columns as Confluent's: coordinates, then in the order of the value's fields, then the others by name."""
    places = {field.name: index for index, field in enumerate(value.fields)}
    last = len(places)

    def rank(column: SinkColumn) -> tuple[bool, int, str]:
        if column.part is RecordPart.KAFKA:
            return False, 0, ""
        return True, places.get(column.name, last), column.name if column.name not in places else ""

    return sorted(columns, key=rank)
