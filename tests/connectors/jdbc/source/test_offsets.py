"""Offsets and tables under Confluent's names, and which tables a configuration chooses."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.connectors import JdbcSourceConnector
from penstock.connectors.jdbc.source.offsets import TablePosition
from penstock.connectors.jdbc.source.settings import JdbcSourceSettings, jdbc_source_problems
from penstock.connectors.jdbc.source.tables import SourceTable, check_names, columns_for

CONFIG = {"connection.url": "jdbc:postgresql://db/app", "mode": "bulk", "topic.prefix": "p-"}


@pytest.mark.parametrize(
    ("offset", "position"),
    [
        ({"incrementing": 5}, TablePosition(5)),
        ({"timestamp": 1500, "timestamp_nanos": 500_000_001}, TablePosition(time=1_500_000_001)),
        ({"timestamp": -1, "timestamp_nanos": 999_000_000, "incrementing": -3}, TablePosition(-3, -1_000_000)),
    ],
)
def test_an_offset_of_a_java_connector_is_taken_over_and_given_back(
    offset: dict[str, int], position: TablePosition
) -> None:
    assert TablePosition.of(offset) == position
    assert position.offset() == offset


def test_an_old_offset_has_milliseconds_only() -> None:
    assert TablePosition.of({"timestamp": 1500}) == TablePosition(time=1_500_000_000)
    assert TablePosition.of(None) == TablePosition()


@pytest.mark.parametrize("offset", [{"incrementing": "5"}, {"batch": 5}, {"timestamp": 1.5}, {"incrementing": True}])
def test_malformed_offsets_are_refused(offset: dict[str, Any]) -> None:
    with pytest.raises(ConnectError, match="is no offset of a JDBC source"):
        JdbcSourceConnector().alter_offsets(CONFIG, [({"query": "query"}, offset)])


def test_offsets_of_foreign_source_partitions_are_refused() -> None:
    connector = JdbcSourceConnector()
    offset = {"incrementing": 1}
    for partition in ({"query": "query"}, {"protocol": "1", "table": "a.b"}, {"table": "b"}):
        assert connector.alter_offsets(CONFIG, [(partition, offset), (partition, None)])
    for wrong in ({"query": "x"}, {"protocol": "2", "table": "b"}, None, {}):
        with pytest.raises(ConnectError, match="is no source partition of a JDBC source"):
            connector.alter_offsets(CONFIG, [(wrong, offset)])
    assert SourceTable("app", "public", "t").partition() == {"protocol": "1", "table": "app.public.t"}
    assert SourceTable("app", "public", "t").known_partitions() == [
        {"protocol": "1", "table": "app.public.t"},
        {"protocol": "1", "table": "public.t"},
        {"table": "t"},
    ]


T, U = SourceTable("app", "public", "t"), SourceTable("app", "other", "u")


@pytest.mark.parametrize(
    ("config", "taken"),
    [
        ({}, [T, U]),
        ({"table.whitelist": "t, x"}, [T]),
        ({"table.whitelist": "public.t,app.other.u"}, [T, U]),
        ({"table.blacklist": "other.u"}, [T]),
        ({"table.whitelist": '"public"."t"'}, [T]),
        ({"table.blacklist": '"app"."other"."u"'}, [T]),
        ({"table.include.list": "public\\..*"}, [T]),
        ({"table.include.list": ".*", "table.exclude.list": "app.public.t"}, [U]),
    ],
)
def test_include_and_exclude_lists_choose_tables(config: dict[str, str], taken: list[SourceTable]) -> None:
    choice = JdbcSourceSettings.of({**CONFIG, **config}).choice
    assert [table for table in (T, U) if choice.takes(table)] == taken


def test_tables_of_one_topic_are_refused() -> None:
    check_names([T, U], "p-")
    with pytest.raises(ConnectError, match=r"Tables app.public.t and app.other.t would be sent to the same topic"):
        check_names([T, U, SourceTable("app", "other", "t")], "p-")
    alike = [SourceTable("app", "public", name) for name in ("order items", "img_x1920_y", "order_x0020_items")]
    check_names(alike[:2], "p-")
    with pytest.raises(ConnectError, match=r"order items and app.public.order_x0020_items would be sent to the same"):
        check_names(alike, "p-")


def test_tables_of_one_topic_are_told_apart_by_what_differs() -> None:
    others = {
        SourceTable("app", "other", "t"): "choose one of them by schema.pattern, table.whitelist, table.blacklist, ",
        SourceTable("shop", "public", "t"): "choose one of them by catalog.pattern, table.whitelist, ",
    }
    for other, advice in others.items():
        with pytest.raises(ConnectError, match=advice):
            check_names([T, other], "p-")
    alike = [SourceTable("", "", name) for name in ("order items", "order_x0020_items")]
    with pytest.raises(ConnectError, match=r"choose one of them by table\.whitelist, table\.blacklist, ") as raised:
        check_names(alike, "p-")
    assert str(raised.value).endswith(", and read the other one by a connector with its own topic.prefix")


def test_column_mappings_apply_by_table_name() -> None:
    mapping = {"timestamp.columns.mapping": "public.*:[a|b], .*:c", "incrementing.column.mapping": ".*u:n"}
    settings = JdbcSourceSettings.of({**CONFIG, **mapping, "mode": "timestamp+incrementing"})
    assert [columns_for(table, settings.times_mapping) for table in (T, U)] == [("a", "b"), ("c",)]
    assert [columns_for(table, settings.number_mapping) for table in (T, U)] == [None, ("n",)]


@pytest.mark.parametrize(
    ("config", "setting"),
    [
        ({"mode": "timestamp"}, "timestamp.column.name"),
        ({"query": "SELECT 1", "table.whitelist": "t"}, "table.whitelist"),
        ({"query": "SELECT 1", "query.masked": "SELECT 1"}, "query.masked"),
        ({"table.whitelist": "t", "table.blacklist": "u"}, "table.whitelist"),
        ({"table.include.list": "("}, "table.include.list"),
        ({"timestamp.columns.mapping": "t"}, "timestamp.columns.mapping"),
        ({"penstock.snapshot.horizon": "true"}, "penstock.snapshot.horizon"),
        (
            {"penstock.snapshot.horizon": "true", "mode": "incrementing", "connection.url": "jdbc:sqlite:x"},
            "penstock.snapshot.horizon",
        ),
        ({"transaction.isolation.mode": "SQL_SERVER_SNAPSHOT"}, "transaction.isolation.mode"),
        (
            {"transaction.isolation.mode": "REPEATABLE_READ", "connection.url": "jdbc:sqlite:x"},
            "transaction.isolation.mode",
        ),
        ({"transaction.boundary": "interval"}, "transaction.boundary"),
        ({"incrementing.initial": "5"}, "incrementing.initial"),
        ({"max.buffer.size": "1000"}, "max.buffer.size"),
        ({"poll.linger.ms": "5000"}, "poll.linger.ms"),
        ({"table.monitoring.startup.polling.limit.ms": "5000"}, "table.monitoring.startup.polling.limit.ms"),
        ({"date.calendar.system": "JULIAN"}, "date.calendar.system"),
        ({"jdbc.credentials.provider.class": "org.example.Vault"}, "jdbc.credentials.provider.class"),
    ],
)
def test_settings_that_are_refused_by_name(config: dict[str, str], setting: str) -> None:
    assert [name for name, _ in jdbc_source_problems({**CONFIG, **config})] == [setting]


def test_enumerations_are_taken_in_any_case() -> None:
    given = {"numeric.mapping": "BEST_FIT", "timestamp.granularity": "NANOS_LONG", "table.types": "table,View"}
    isolation = {"transaction.isolation.mode": "serializable"}
    settings = JdbcSourceSettings.of({**CONFIG, **given, **isolation})
    assert (settings.numbers, settings.granularity, settings.isolation) == ("best_fit", "nanos_long", 8)
    assert settings.types == ("TABLE", "VIEW")
    wrong = {"transaction.isolation.mode": "repeatable_read", "connection.url": "jdbc:sqlite:x"}
    assert [name for name, _ in jdbc_source_problems({**CONFIG, **wrong})] == ["transaction.isolation.mode"]


@pytest.mark.parametrize("setting", ["query", "query.masked"])
def test_a_query_takes_the_place_of_tables(setting: str) -> None:
    settings = JdbcSourceSettings.of({**CONFIG, setting: " SELECT 1; "})
    assert settings.query == "SELECT 1"
    assert JdbcSourceSettings.of(CONFIG).query is None


def test_exactly_once_needs_a_position() -> None:
    supports = JdbcSourceConnector().exactly_once_support
    assert supports(CONFIG).name == "UNSUPPORTED"
    assert supports({**CONFIG, "mode": "incrementing"}).name == "SUPPORTED"
