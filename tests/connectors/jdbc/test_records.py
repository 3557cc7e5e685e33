"""Columns of records in a table, by their schemas and the sink's settings."""

from __future__ import annotations

import datetime as dt
import pickle

import pytest

from penstock.api.errors import ConfigError, DataError
from penstock.api.schema import (
    BOOLEAN,
    DATE,
    FLOAT64,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
    SchemaType,
    array,
    decimal,
    struct,
)
from penstock.connectors.jdbc.columns import ColumnKind, RowShape, moment_of, zone
from penstock.connectors.jdbc.dialects import PostgreSql
from penstock.connectors.jdbc.records import shape_of
from penstock.connectors.jdbc.sink_settings import JdbcSinkSettings, jdbc_sink_problems

KEY = struct(("id", INT32), ("region", STRING))
VALUE = struct(("name", STRING.with_(optional=True, default="x")), ("id", INT64), ("amount", decimal(2)))


GENERIC = {"connection.url": "jdbc:other:x"}


def settings(**config: str) -> JdbcSinkSettings:
    given = {key.replace("__", "."): value for key, value in config.items()}
    return JdbcSinkSettings.of({"connection.url": "jdbc:postgresql://db/app", **given})


def shape(key: Schema | None = KEY, value: Schema | None = VALUE, valued: bool = True, **config: str) -> RowShape:
    return shape_of(settings(**config), "orders", key, value, keyed=key is not None, valued=valued)


def names(found: RowShape) -> list[str]:
    return [f"{column.name}*" if column.key else column.name for column in found.columns]


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({}, ["name", "id", "amount"]),
        ({"fields__whitelist": "amount"}, ["amount"]),
        (
            {"pk__mode": "kafka"},
            ["__connect_topic*", "__connect_partition*", "__connect_offset*", "name", "id", "amount"],
        ),
        ({"pk__mode": "kafka", "pk__fields": "t,p,o", "fields__whitelist": "id"}, ["t*", "p*", "o*", "id"]),
        ({"pk__mode": "record_key"}, ["name", "id*", "amount", "region*"]),
        ({"pk__mode": "record_key", "pk__fields": "region", "fields__whitelist": "name"}, ["name", "region*"]),
        ({"pk__mode": "record_value", "pk__fields": "id"}, ["name", "id*", "amount"]),
    ],
)
def test_columns_follow_pk_mode_and_whitelist(config: dict[str, str], wanted: list[str]) -> None:
    assert names(shape(**config)) == wanted


def test_columns_have_types_defaults_and_nullability_of_the_schema() -> None:
    name, id, amount = shape().columns
    assert (name.kind, name.optional, name.default) == (ColumnKind.STRING, True, "x")
    assert (id.kind, id.optional, id.default) == (ColumnKind.INT64, False, None)
    assert (amount.kind, amount.scale) == (ColumnKind.DECIMAL, 2)
    assert pickle.loads(pickle.dumps(shape())) == shape()


def test_arrays_are_columns_where_the_database_has_them() -> None:
    value = struct(("tags", array(STRING, optional=True)), ("counts", array(INT32)))
    tags, counts = shape(value=value).columns
    assert (tags.kind, tags.array, tags.optional) == (ColumnKind.STRING, True, True)
    assert [PostgreSql().type_of(each) for each in (tags, counts)] == ["TEXT[]", "INT[]"]
    assert PostgreSql().binding(counts) == "ARRAY int4"
    assert pickle.loads(pickle.dumps(shape(value=value))) == shape(value=value)
    for url, refused in (("jdbc:sqlite:x", value), ("jdbc:postgresql:x", struct(("tags", array(decimal(2)))))):
        with pytest.raises(DataError, match=r"tags \(ARRAY.*\) type doesn't have a mapping"):
            shape(value=refused, connection__url=url)
    with pytest.raises(DataError, match=r"tags \(ARRAY\) type doesn't"):
        shape(value=value, pk__mode="record_value", pk__fields="tags")


def test_a_key_that_is_no_struct_needs_a_name() -> None:
    assert names(shape(INT64, pk__mode="record_key", pk__fields="number"))[-1] == "number*"
    with pytest.raises(DataError, match=r"type INT64, so pk\.fields has to be the one name of its column; it is ''"):
        shape(INT64, pk__mode="record_key")


def test_a_record_without_a_value_deletes_its_key() -> None:
    found = shape(value=None, valued=False, pk__mode="record_key", delete__enabled="true")
    assert found.delete
    assert names(found) == ["id*", "region*"]
    with pytest.raises(DataError, match=r"The value is null, and delete\.enabled=false"):
        shape(value=None, valued=False, pk__mode="record_key")


@pytest.mark.parametrize(
    ("key", "value", "config", "message"),
    [
        (KEY, None, {}, "The value has no schema: a table needs a struct"),
        (KEY, STRING, {}, "The value is of type STRING: a table needs a struct"),
        (None, VALUE, {"pk__mode": "record_key"}, "The key is null, and pk.mode=record_key needs one with a schema"),
        (KEY, VALUE, {"pk__mode": "record_key", "pk__fields": "x"}, "does not contain field x of pk.fields"),
        (KEY, VALUE, {"pk__mode": "record_value", "pk__fields": "x"}, "does not contain field x of pk.fields"),
        (KEY, VALUE, {"fields__whitelist": "x"}, "No fields found using key and value schemas for table: orders"),
        (
            KEY,
            struct(("m", Schema(SchemaType.MAP, key_schema=STRING, value_schema=BOOLEAN))),
            {},
            r"m \(MAP\) type doesn't have a mapping to the SQL database column type",
        ),
    ],
)
def test_records_that_have_no_place_in_a_table(
    key: Schema | None, value: Schema | None, config: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        shape(key, value, **config)


@pytest.mark.parametrize("url", ["jdbc:sqlite:/t.db", "jdbc:mariadb://db/app", "jdbc:mysql://db/app"])
def test_columns_that_differ_only_in_case_are_refused_where_they_are_one(url: str) -> None:
    value = struct(("id", INT32), ("ID", INT32))
    with pytest.raises(DataError, match=r"Columns id and ID of table orders differ only in the case of letters"):
        shape(value=value, connection__url=url)
    assert [each.name for each in shape(value=value, connection__url="jdbc:postgresql://db/app").columns] == [
        "id",
        "ID",
    ]


def test_the_name_of_the_table() -> None:
    assert shape(value=struct(("x", FLOAT64)), table__name__format="kafka_${topic}").table == "kafka_orders"


@pytest.mark.parametrize(
    ("config", "setting"),
    [
        ({"connection.url": "other:x"}, "connection.url"),
        *(({**GENERIC, name: "true"}, name) for name in ("auto.create", "auto.evolve")),
        ({**GENERIC, "penstock.delivery": "exactly-once"}, "penstock.delivery"),
        ({**GENERIC, "insert.mode": "UPSERT", "pk.mode": "kafka"}, "insert.mode"),
        ({"dialect.name": "GenericDatabaseDialect", "auto.create": "true"}, "auto.create"),
        ({"db.timezone": "Mars/Olympus"}, "db.timezone"),
        ({"delete.enabled": "true"}, "delete.enabled"),
        ({"insert.mode": "upsert"}, "pk.mode"),
        ({"insert.mode": "update"}, "pk.mode"),
        ({"pk.mode": "kafka", "pk.fields": "id"}, "pk.fields"),
        ({"trim.sensitive.log": "true"}, "trim.sensitive.log"),
        ({"schema.drift": "evolve", "auto.evolve": "false"}, "schema.drift"),
        ({"schema.drift": "ignore", "auto.evolve": "TRUE"}, "schema.drift"),
        ({**GENERIC, "schema.drift": "evolve"}, "schema.drift"),
        ({"table.types": "VIEW"}, "table.types"),
        ({"table.types": "TABLE,SYNONYM"}, "table.types"),
        ({"string.output.value.column.name": "record_value"}, "string.output.value.column.name"),
        ({"date.calendar.system": "JULIAN"}, "date.calendar.system"),
        ({"jdbc.credentials.provider.class": "org.example.Vault"}, "jdbc.credentials.provider.class"),
    ],
)
def test_settings_that_are_refused_by_name(config: dict[str, str], setting: str) -> None:
    found = jdbc_sink_problems({"connection.url": "jdbc:postgresql://db/app", **config})
    assert [name for name, _ in found] == [setting]


@pytest.mark.parametrize(
    ("config", "drift"),
    [
        ({}, "stop"),
        ({"auto.evolve": "true"}, "evolve"),
        ({"auto.evolve": "true", "schema.drift": "evolve"}, "evolve"),
        ({"auto.evolve": "false", "schema.drift": "ignore"}, "ignore"),
        ({"schema.drift": "dead-letter"}, "dead-letter"),
    ],
)
def test_drift_of_schemas_is_what_confluents_setting_says_unless_ours_is_set(
    config: dict[str, str], drift: str
) -> None:
    settings = JdbcSinkSettings.of({"connection.url": "jdbc:postgresql://db/app", **config})
    assert (settings.drift, settings.evolves) == (drift, drift == "evolve")


@pytest.mark.parametrize("types", ["TABLE", "table, View", "TABLE,PARTITIONED TABLE,VIEW"])
def test_settings_that_confluent_ignores_are_accepted(types: str) -> None:
    ignored = {"table.types": types, "trim.sensitive.log": "false", "pk.mode": "NONE", "pk.fields": "id"}
    assert jdbc_sink_problems({"connection.url": "jdbc:postgresql://db/app", **ignored}) == []
    assert [each.name for each in shape(value=struct(("x", FLOAT64)), pk__fields="id").columns] == ["x"]


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({}, ["2026-07-01 00:00:00.000", "2026-07-01", "01:00:00.000", "1970-01-01 00:00:00.000001"]),
        (
            {"db__timezone": "Europe/Berlin"},
            ["2026-07-01 02:00:00.000", "2026-07-01", "02:00:00.000", "1970-01-01 01:00:00.000001"],
        ),
        (
            {"db__timezone": "-05:30"},
            ["2026-06-30 18:30:00.000", "2026-06-30", "19:30:00.000", "1969-12-31 18:30:00.000001"],
        ),
        (
            {"db__timezone": "-05:30", "date__timezone": "UTC"},
            ["2026-06-30 18:30:00.000", "2026-07-01", "19:30:00.000", "1969-12-31 18:30:00.000001"],
        ),
    ],
)
def test_defaults_are_in_the_zones_in_which_rows_are(config: dict[str, str], wanted: list[str]) -> None:
    value = struct(
        ("at", TIMESTAMP.with_(default=dt.datetime(2026, 7, 1, tzinfo=dt.UTC))),
        ("day", DATE.with_(default=dt.date(2026, 7, 1))),
        ("time", TIME.with_(default=dt.time(1))),
        ("moment", INT64.with_(default=1)),
    )
    found = shape(value=value, timestamp__fields__list="moment", **config)
    assert [column.default for column in found.columns] == wanted


def test_fields_that_are_times() -> None:
    value = struct(
        ("a", INT64.with_(default=1_500_000)), ("b", STRING), ("c", INT64), ("d", INT32), ("id", INT64.with_(default=0))
    )
    given = {"timestamp__fields__list": "a, b, d, id", "pk__mode": "record_value", "pk__fields": "id"}
    columns = {each.name: each for each in shape(value=value, **given).columns}
    wanted = {
        "a": ColumnKind.MICROS,
        "b": ColumnKind.MICROS,
        "c": ColumnKind.INT64,
        "d": ColumnKind.INT32,
        "id": ColumnKind.MICROS,
    }
    assert {name: each.kind for name, each in columns.items()} == wanted
    assert columns["a"].default == "1970-01-01 00:00:01.500000"
    nanos = shape(value=value, **given, timestamp__precision__mode="NANOSECONDS")
    assert {each.kind for each in nanos.columns if each.name in "ab"} == {ColumnKind.NANOS}
    assert pickle.loads(pickle.dumps(nanos)) == nanos
    with pytest.raises(DataError, match=r"'soon' of timestamp\.fields\.list is no whole number"):
        moment_of("soon", ColumnKind.MICROS)
    with pytest.raises(DataError, match="is no time"):
        moment_of(10**22, ColumnKind.NANOS)


def test_enumerations_are_taken_in_any_case() -> None:
    given = {"insert.mode": "UPSERT", "pk.mode": "RECORD_KEY", "delete.enabled": "true", "date.timezone": "utc"}
    more = {"quote.sql.identifiers": "NEVER", "db.timezone": "+02:00", "batch.size": "0"}
    settings = JdbcSinkSettings.of({"connection.url": "jdbc:postgresql://db/app", **given, **more})
    assert (settings.mode, settings.key_mode, settings.date_zone) == ("upsert", "record_key", "UTC")
    assert settings.connection.dialect.quoting is False
    assert settings.connection.zone == "GMT+02:00"
    assert settings.batch_size == 1
    with pytest.raises(ConfigError, match=r"Invalid value MERGE for configuration insert\.mode"):
        JdbcSinkSettings.of({"connection.url": "jdbc:postgresql://db/app", "insert.mode": "MERGE"})


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        *dict.fromkeys(["Z", "UTC", "GMT", "+0", "UTC+00:00"], "UTC").items(),
        *dict.fromkeys(["+2", "+02", "+02:00", "+0200", "GMT+2", "UTC+02:00", "UT+02"], "GMT+02:00").items(),
        ("-09:30", "GMT-09:30"),
        ("+18:00", "GMT+18:00"),
        ("EST", "GMT-05:00"),
    ],
)
def test_zones_as_java_names_them(name: str, known: str) -> None:
    assert zone(name, "db.timezone") == known


@pytest.mark.parametrize("name", ["+18:01", "+2:00", "+02:60", "GMT+", "CET+1", "", "Mars/Olympus", "../etc"])
def test_unknown_time_zones_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"for configuration db\.timezone: there is no such time zone"):
        zone(name, "db.timezone")
