"""The settings of PostgresSource, and the names that are refused."""

from __future__ import annotations

import pytest

from penstock.api.errors import ConfigError, ConnectError
from penstock.connectors import PostgresSource
from penstock.connectors.postgres.origin import number_of, text_of
from penstock.connectors.postgres.replication import create_slot
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.java.errors import MatchTimeoutError

GIVEN = {
    "database.hostname": "db",
    "database.user": "u",
    "database.dbname": "app",
    "topic.prefix": "p",
}


def errors(**settings: str) -> dict[str, list[str]]:
    config = {**GIVEN, **{name.replace("__", "."): value for name, value in settings.items()}}
    return {value.name: value.errors for value in PostgresSource().validate(config) if value.errors}


def test_required_settings_are_reported() -> None:
    found = {value.name for value in PostgresSource().validate({}) if value.errors}
    assert found == set(GIVEN)
    assert errors() == {}


def test_defaults_equal_debeziums() -> None:
    settings = PostgresSettings.of(GIVEN)
    assert (settings.slot, settings.publication, settings.publication_mode) == (
        "debezium",
        "dbz_publication",
        "all_tables",
    )
    assert settings.skipped == {"t"}
    assert settings.heartbeat_topic == "__debezium-heartbeat.p"
    assert settings.connection == {"host": "db", "port": 5432, "user": "u", "dbname": "app", "sslmode": "prefer"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("plugin.name", "decoderbufs"),
        ("provide.transaction.metadata", "maybe"),
        ("snapshot.mode", "always"),
        ("time.precision.mode", "nanoseconds"),
        ("publication.autocreate.mode", "no_tables"),
        ("message.key.columns", "public.t:a"),
        ("column.exclude.list", "public.t.a"),
        ("column.mask.with.5.chars", "public.t.a"),
        ("signal.data.collection", "public.signals"),
        ("slot.name", "Mixed"),
        ("table.include.list", "public.(t"),
        ("skipped.operations", "x"),
        ("snapshot.fetch.size", "0"),
    ],
)
def test_unsupported_settings_are_refused(name: str, value: str) -> None:
    found = errors(**{name: value})
    assert list(found) == [name]
    assert f"for configuration {name}" in found[name][0]
    with pytest.raises(ConfigError, match=name):
        PostgresSettings.of({**GIVEN, name: value})


def test_lists_that_exclude_each_other() -> None:
    assert list(errors(table__include__list="a.b", table__exclude__list="c.d")) == ["table.exclude.list"]


def test_include_and_exclude_lists_choose_captured_tables() -> None:
    settings = PostgresSettings.of({**GIVEN, "schema.include.list": "a,b", "table.exclude.list": "b\\.x.*"})
    assert [settings.captures(*each) for each in (("a", "x1"), ("b", "x1"), ("b", "yx1"), ("ab", "t"))] == [
        True,
        False,
        True,
        False,
    ]
    tables = PostgresSettings.of({**GIVEN, "table.include.list": "a.t"})
    assert (tables.captures("a", "T"), tables.captures("a", "tt")) == (True, False)


def test_patterns_are_javas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debezium's are Java patterns too; matching ends by a timeout, whatever the pattern."""
    settings = PostgresSettings.of({**GIVEN, "table.include.list": r"public\.\Qa.b\E|\p{Alpha}+\.t"})
    assert [settings.captures("public", name) for name in ("A.B", "axb", "T")] == [True, False, True]
    monkeypatch.setattr("penstock.java.regex.pattern.TIMEOUT_S", 0.1)
    endless = PostgresSettings.of({**GIVEN, "table.include.list": r"(?:a|aa|(a)\1?)+(?:x|[yz]$)"})
    with pytest.raises(MatchTimeoutError):
        endless.captures("a" * 240, "t")


def test_the_command_that_creates_a_slot() -> None:
    old, new = 'CREATE_REPLICATION_SLOT "s" LOGICAL pgoutput EXPORT_SNAPSHOT', "(SNAPSHOT 'export', FAILOVER)"
    assert create_slot("s", 140_005, temporary=False, failover=False) == old
    assert create_slot("s", 150_000, temporary=True, failover=False).endswith(
        "TEMPORARY LOGICAL pgoutput (SNAPSHOT 'export')"
    )
    assert create_slot("s", 170_000, temporary=False, failover=True).endswith(new)
    assert "FAILOVER" not in create_slot("s", 170_000, temporary=True, failover=True)


def test_positions_as_postgresql_writes_them() -> None:
    assert text_of(0x16_B374D848) == "16/B374D848"
    assert number_of("16/B374D848") == 0x16_B374D848


def test_offsets_that_can_be_set() -> None:
    connector = PostgresSource()
    assert connector.alter_offsets(GIVEN, [({"server": "p"}, {"lsn": 5}), ({"server": "p"}, None)])
    with pytest.raises(ConnectError, match="source partition of PostgresSource"):
        connector.alter_offsets(GIVEN, [({"table": "t"}, {"lsn": 5})])
    with pytest.raises(ConnectError, match="has lsn, event and record"):
        connector.alter_offsets(GIVEN, [({"server": "p"}, {"position": 5})])
