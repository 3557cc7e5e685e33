"""Slots that are gone, recreated or moved, and other servers: a gap stops the task unless the user accepts it."""

from __future__ import annotations

from typing import Any

import pytest

from connectors.postgres.captured import Database, ids
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.origin import OriginChangedError
from penstock.connectors.postgres.replication import Replication
from support.postgres import Postgres
from support.waiting import until

pytestmark = pytest.mark.integration


def test_a_slot_that_is_gone_is_said(database: Database) -> None:
    database.postgres.execute(f"INSERT INTO {database.name} (name) VALUES ('s');")
    database.start()
    database.commit(database.read(len)[-1])
    database.polled()
    database.stop()
    database.postgres.drop_slot(database.name)
    database.start()
    with pytest.raises(ConnectError, match=f"The replication slot {database.name} is gone"):
        database.polled()


def recreate_the_slot(database: Database) -> None:
    """Insert a row before the snapshot, and one while there is no slot; the connector is stopped."""
    name, postgres = database.name, database.postgres
    postgres.execute(f"INSERT INTO {name} (name) VALUES ('s');")
    database.start()
    database.commit(database.read(len)[-1])
    until(lambda: database.polled() == [] and database.confirmed() > 0, "streaming")
    database.stop()
    postgres.drop_slot(name)
    postgres.execute(f"INSERT INTO {name} (name) VALUES ('lost');")
    postgres.execute(f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput');")
    postgres.execute(f"INSERT INTO {name} (name) VALUES ('later');")


def test_a_slot_that_was_recreated_stops_the_task(database: Database) -> None:
    recreate_the_slot(database)
    database.start()
    for _ in range(2):
        with pytest.raises(OriginChangedError, match="the slot was recreated, another reader used it"):
            database.polled()


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("policy", ["fail", "restart"])
def test_a_slot_that_is_recreated_or_dropped_after_it_was_looked_at_is_noticed(
    database: Database, monkeypatch: pytest.MonkeyPatch, again: bool, policy: str
) -> None:
    postgres, name, start = database.postgres, database.name, Replication.start
    postgres.execute(f"INSERT INTO {name} (name) VALUES ('s');")
    database.start()
    database.commit(database.read(len)[-1])
    until(lambda: database.polled() == [] and database.confirmed() > 0, "streaming")
    database.stop()

    def starting(self: Replication, lsn: int) -> None:
        monkeypatch.setattr(Replication, "start", start)
        postgres.drop_slot(name)
        postgres.execute(f"INSERT INTO {name} (name) VALUES ('lost');")
        if again:
            postgres.execute(f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput');")
        start(self, lsn)

    monkeypatch.setattr(Replication, "start", starting)
    database.start(on_origin_changed=policy)
    if policy == "restart":
        database.read(lambda records: ids(records, "r") == [1, 2], RetriableError)
    else:
        with pytest.raises(OriginChangedError, match="was recreated, another" if again else f"slot {name} is gone"):
            database.read(lambda records: False, RetriableError)


def test_restart_reads_a_new_snapshot_after_a_slot_was_recreated(database: Database) -> None:
    recreate_the_slot(database)
    database.start(on_origin_changed="restart")
    found = database.read(lambda records: len(records) == 3)
    assert ids(found, "r") == [1, 2, 3]
    database.commit(found[-1])
    database.stop()
    database.postgres.execute(f"INSERT INTO {database.name} (name) VALUES ('new');")
    database.start()
    assert ids(database.read(len)) == [4]


def test_continue_accepts_the_gap_after_a_slot_was_recreated(database: Database) -> None:
    recreate_the_slot(database)
    database.start(on_origin_changed="continue")
    found = database.read(len)
    assert ids(found, "c") == [3]
    database.commit(found[-1])
    database.stop()
    database.start()
    assert database.polled() == []


def test_an_offset_that_was_set_back_stops_the_task(database: Database) -> None:
    name = database.name
    database.start(snapshot_mode="no_data")
    database.polled()
    database.postgres.execute(f"INSERT INTO {name} (name) VALUES ('a');")
    (first,) = database.read(len)
    database.commit(first)
    until(lambda: database.polled() == [] and database.confirmed() > first.source_offset["lsn"], "confirmed")
    database.stop()
    database.commit_offset({**first.source_offset, "lsn": first.source_offset["lsn"] - 1})
    database.start(snapshot_mode="no_data")
    with pytest.raises(OriginChangedError, match="or the offset was set back"):
        database.polled()
    database.stop()
    database.commit_offset({"lsn": 0})
    database.start(snapshot_mode="no_data")
    database.postgres.execute(f"INSERT INTO {name} (name) VALUES ('b');")
    assert ids(database.read(len)) == [2], "from the slot's position on"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"system": "7000000000000000001"}, "system identifier is .* belongs to the server 7000000000000000001"),
        ({"timeline": 2}, "on timeline 1, which does not descend from timeline 2"),
        ({"lsn": 1 << 60}, "log ends at .*, before the connector's position .*: an older state"),
    ],
)
def test_an_offset_of_another_server_stops_the_task(database: Database, change: dict[str, Any], sentence: str) -> None:
    database.postgres.execute(f"INSERT INTO {database.name} (name) VALUES ('s');")
    database.start()
    (row,) = database.read(len)
    assert set(row.source_offset) == {"lsn", "event", "record", "system", "timeline"}
    database.stop()
    database.commit_offset({**row.source_offset, **change})
    database.start()
    with pytest.raises(OriginChangedError, match=sentence):
        database.polled()
    database.stop()
    database.start(on_origin_changed="continue")
    database.postgres.execute(f"INSERT INTO {database.name} (name) VALUES ('c');")
    found = database.read(len)
    assert ids(found, "c") == [2]
    database.commit(found[-1])
    until(lambda: database.polled() == [] and database.confirmed() > found[-1].source_offset["lsn"], "confirmed")


def test_an_ordinary_failover_does_not_stop_the_task_and_one_to_an_older_log_does() -> None:
    """One of two standby servers has all that the connector has read, and the slot, copied as by Patroni."""
    primary = Postgres.make(wal_level="logical")
    standbys: list[Postgres] = []
    try:
        primary.start()
        primary.execute("CREATE TABLE t (id serial PRIMARY KEY, name text);")
        standbys += [primary.standby(), primary.standby()]
        complete, behind = standbys
        behind.stop()
        database = Database(primary, name="t")
        database.start(table_include_list="public.t")
        primary.execute("INSERT INTO t (name) VALUES ('a');")
        database.commit(database.read(len)[-1])
        until(lambda: database.polled() == [] and database.confirmed() > 0, "streaming")
        database.stop()
        assert database.offsets.pairs[-1][1]["timeline"] == 1
        primary.stop()
        until(lambda: complete.has_all_of(primary), "replayed")
        complete.stop()
        complete.copy_slot(primary, "t")
        behind.detach()
        for server in standbys:
            server.start()
            server.execute("SELECT pg_promote();")
        behind.execute("INSERT INTO t (name) SELECT 'x' FROM generate_series(1, 1000);")
        complete.execute("INSERT INTO t (name) VALUES ('b');")
        database.postgres = behind
        database.start(table_include_list="public.t")
        with pytest.raises(OriginChangedError, match=r"left timeline 1 at .*: a server with an older log was promoted"):
            database.polled()
        database.stop()
        database.postgres = complete
        database.start(table_include_list="public.t")
        (row,) = database.read(len)
        assert (row.value["op"], row.value["after"]["name"]) == ("c", "b")
        assert row.source_offset["timeline"] == 2
        database.stop()
    finally:
        for server in (*standbys, primary):
            server.remove()
