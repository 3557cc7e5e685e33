"""PostgresSource on a real server, without Kafka: snapshot and stream, the slot's position, transactions."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from connectors.postgres.captured import Boundaries, Database, ids
from penstock.api.errors import ConnectError, RetriableError
from support.postgres import USER
from support.waiting import until

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("given_slot", [False, True])
def test_between_snapshot_and_stream_there_is_no_gap(database: Database, given_slot: bool) -> None:
    """Overlapping transactions insert rows all the time; a given slot also has earlier changes."""
    name, postgres, done = database.name, database.postgres, threading.Event()
    if given_slot:
        postgres.execute(f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput');")
        postgres.execute(f"INSERT INTO {name} (name) SELECT 'before' FROM generate_series(1, 50);")

    def insert() -> None:
        for _ in range(40):
            postgres.execute(f"INSERT INTO {name} (name) SELECT 'a' FROM generate_series(1, 5), pg_sleep(0.002);")
        done.set()

    threads = [threading.Thread(target=insert) for _ in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: int(postgres.rows(f"SELECT count(*) FROM {name}")[0][0]) > 20, "some rows")
    database.start(max_batch_size="37", snapshot_fetch_size="10")
    found = database.read(lambda _: done.is_set() and not any(thread.is_alive() for thread in threads))
    total = int(postgres.rows(f"SELECT count(*) FROM {name}")[0][0])
    if len(ids(found)) < total:
        found += database.read(lambda more: len(ids(found)) + len(ids(more)) >= total)
    assert sorted(ids(found)) == list(range(1, total + 1))
    assert len(ids(found, "r")) > 0
    assert len(ids(found, "c")) > 0


def test_the_slot_is_confirmed_only_after_offsets_are_committed(database: Database) -> None:
    name = database.name
    database.start()
    database.postgres.execute(f"INSERT INTO {name} (name) VALUES ('snapshot');")
    (row,) = database.read(len)
    assert (row.value["op"], row.value["source"]["snapshot"]) == ("r", "last")
    database.commit(row)
    database.postgres.execute(f"INSERT INTO {name} (name) VALUES ('a'), ('b');")
    first, second = database.read(lambda found: len(found) == 2)
    before = database.confirmed()
    assert before <= first.value["source"]["lsn"]
    database.commit(first)
    for _ in range(3):
        database.polled()
    assert database.confirmed() <= second.source_offset["lsn"], "the transaction is sent again"
    database.commit(second)
    until(lambda: database.polled() == [] and database.confirmed() > second.source_offset["lsn"], "confirmed")


def test_its_progress_is_that_in_the_servers_log(database: Database) -> None:
    task = database.start()
    assert list(task.progress()) == []
    database.read(lambda _: task.progress())
    (before,) = task.progress()
    database.postgres.execute(
        f"INSERT INTO {database.name} (name) SELECT repeat('x', 100) FROM generate_series(1, 500)"
    )
    database.read(lambda records: len(ids(records)) == 500)
    database.read(lambda _: task.progress()[0].position == task.progress()[0].end)
    (after,) = task.progress()
    assert (after.partition, after.unit) == ({"server": "x"}, "bytes")
    assert before.position is not None
    assert after.position is not None
    assert after.position - before.position > 500 * 100


def test_a_log_of_others_is_not_kept(database: Database) -> None:
    database.start(snapshot_mode="no_data")
    database.polled()
    database.postgres.execute(f"CREATE TABLE o{database.name} AS SELECT generate_series(1, 100) n;")
    (written,) = database.postgres.rows("SELECT pg_current_wal_flush_lsn() - '0/0'")
    database.postgres.execute(f"DROP TABLE o{database.name};")
    sent: list[Any] = []

    def confirmed() -> bool:
        sent.extend(database.polled())
        return database.confirmed() >= int(written[0])

    until(confirmed, "confirmed")
    assert sent == [], "nothing of it is the connector's"


def test_transactions_of_the_database_are_those_of_kafka(database: Database) -> None:
    name, boundaries = database.name, Boundaries()
    database.postgres.execute(f"INSERT INTO {name} (name) SELECT 's' FROM generate_series(1, 10);")
    database.start(boundaries, max_batch_size="4")
    for sizes in ([4, 4, 2], [4, 4, 4, 4, 4]):
        polls: list[tuple[int, bool]] = []

        def enough(polls: list[tuple[int, bool]] = polls) -> bool:
            boundaries.asked = False
            if found := database.polled():
                polls.append((len(found), boundaries.asked))
            else:
                assert not boundaries.asked
            return boundaries.asked

        until(enough, "the end of the transaction")
        assert sum(size for size, _ in polls) == sum(sizes)
        assert [asked for _, asked in polls] == [False] * (len(polls) - 1) + [True]
        assert max(size for size, _ in polls) <= 5
        database.postgres.execute(f"INSERT INTO {name} (name) SELECT 'c' FROM generate_series(1, 20);")


def test_a_snapshot_that_was_interrupted_begins_again(database: Database) -> None:
    database.postgres.execute(f"INSERT INTO {database.name} (name) SELECT 's' FROM generate_series(1, 10);")
    database.start(max_batch_size="4")
    database.commit(database.polled()[-1])
    database.stop()
    database.postgres.execute(f"INSERT INTO {database.name} (name) VALUES ('new');")
    database.start(max_batch_size="4")
    found = database.read(lambda found: len(found) == 11)
    assert sorted(ids(found, "r")) == list(range(1, 12))
    assert [record.source_offset.get("snapshot") for record in found] == [True] * 10 + [None]


def test_a_snapshot_that_is_not_polled_goes_on_where_it_was(database: Database) -> None:
    """A paused connector's task is not polled."""
    name = database.name
    database.postgres.execute(f"INSERT INTO {name} (name) SELECT 's' FROM generate_series(1, 10);")
    database.start(max_batch_size="4", snapshot_fetch_size="2")
    found = database.polled()
    database.postgres.execute(
        f"UPDATE {name} SET name = 'u' WHERE id IN (1, 9); DELETE FROM {name} WHERE id = 10;"
        f"INSERT INTO {name} (name) VALUES ('new');"
    )
    found += database.read(lambda records: len(records) == 11)
    events = [record.value for record in found if record.value]
    assert [(event["op"], (event["after"] or event["before"])["id"]) for event in events] == [
        *(("r", i) for i in range(1, 11)),
        ("u", 1),
        ("u", 9),
        ("d", 10),
        ("c", 11),
    ]
    assert {event["after"]["name"] for event in events if event["op"] == "r"} == {"s"}
    assert database.polled() == []


def test_a_stream_that_is_not_polled_goes_on_when_the_server_has_ended_it(database: Database) -> None:
    """The connector may be paused for longer than the server waits for an answer."""
    name, postgres = database.name, database.postgres
    postgres.execute(f"ALTER ROLE {USER} SET wal_sender_timeout = '300ms';")
    try:
        database.start(snapshot_mode="no_data")
        database.polled()
        postgres.execute(f"INSERT INTO {name} (name) VALUES ('a');")
        found = database.read(len, beyond=RetriableError)
        assert len(found) == 1
        postgres.execute(f"INSERT INTO {name} (name) SELECT 'b' FROM generate_series(1, 50);")
        streams = f"SELECT 1 FROM pg_replication_slots WHERE slot_name = '{name}' AND active"
        until(lambda: not postgres.rows(streams), "ended by the server")
        found += database.read(lambda others: len(others) >= 50, beyond=RetriableError)
        assert ids(found) == list(range(1, 52))
    finally:
        postgres.execute(f"ALTER ROLE {USER} RESET wal_sender_timeout;")


def test_a_lost_connection_loses_and_repeats_nothing(database: Database) -> None:
    database.start(snapshot_mode="no_data", max_batch_size="7")
    database.polled()
    for _ in range(3):
        database.postgres.execute(f"INSERT INTO {database.name} (name) SELECT 'c' FROM generate_series(1, 50);")
    found = database.read(lambda found: len(found) > 20)
    database.postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'Penstock';"
    )
    missing = 150 - len(found)
    found += database.read(lambda rest: len(rest) >= missing, beyond=ConnectError)
    assert ids(found) == list(range(1, 151))


def test_heartbeats_carry_the_position(database: Database) -> None:
    settings = {
        "heartbeat.interval.ms": "100",
        "heartbeat.action.query": f"INSERT INTO {database.name} (name) VALUES ('beat')",
    }
    database.start(snapshot_mode="no_data", **settings)
    found = database.read(lambda found: len(found) >= 6)
    beats = [record for record in found if record.topic == "__debezium-heartbeat.x"]
    assert {record.key["serverName"] for record in beats} == {"x"}
    assert ids([record for record in found if record.topic != "__debezium-heartbeat.x"])[:2] == [1, 2]
    positions = [(record.source_offset["lsn"], record.source_offset["event"]) for record in found]
    assert positions == sorted(positions)


def test_missing_publications_and_tables_fail_with_the_reason(database: Database) -> None:
    database.start(publication_autocreate_mode="disabled")
    with pytest.raises(ConnectError, match=f"There is no publication {database.name}"):
        database.polled()
    database.stop()
    database.start(table_include_list="public.none")
    with pytest.raises(ConnectError, match="No table is captured"):
        database.polled()
    database.stop()
    database.start(slot_failover="true")
    with pytest.raises(ConnectError, match=r"slot\.failover needs PostgreSQL 17"):
        database.polled()


def test_two_tables_of_one_topic_are_refused_at_the_start_and_when_the_second_is_new(database: Database) -> None:
    """The table ``x é`` would have the same topic as ``x_x0020__x00E9_``."""
    name, postgres = database.name, database.postgres
    first, second = f'"{name} é"', f'"{name}_x0020__x00E9_"'
    for table in (first, second):
        postgres.execute(f"CREATE TABLE {table} (id serial PRIMARY KEY, name text);")
    try:
        database.start()
        with pytest.raises(ConnectError, match=f"`x.public.{name} é` and .* would both be sent to the topic"):
            database.polled()
        database.stop()
        postgres.execute(f"DROP TABLE {second}; CREATE PUBLICATION {name} FOR ALL TABLES;")
        database.start(publication_autocreate_mode="disabled")
        postgres.execute(f"INSERT INTO {first} (name) VALUES ('a');")
        (record,) = database.read(len)
        assert record.topic == f"x.public.{name}_x0020__x00E9_"
        postgres.execute(
            f"CREATE TABLE {second} (id serial PRIMARY KEY, name text); INSERT INTO {second} (name) VALUES ('b');"
        )
        with pytest.raises(ConnectError, match=f"`x.public.{name} é` and .* would both be sent to the topic"):
            database.read(len)
    finally:
        for table in (first, second):
            postgres.execute(f"DROP TABLE IF EXISTS {table};")


def test_transactions_are_marked_also_after_a_restart_in_the_middle_of_one(database: Database) -> None:
    name, postgres = database.name, database.postgres
    postgres.execute(f"CREATE TABLE {name}_more (id integer PRIMARY KEY);")
    marked = {"provide_transaction_metadata": "true", "max_batch_size": "2", "topic_transaction": "tx"}
    try:
        database.start(snapshot_mode="no_data", **marked)
        assert database.polled() == []
        postgres.execute(
            f"BEGIN; INSERT INTO {name} (name) VALUES ('a'), ('b'); INSERT INTO {name}_more VALUES (1);"
            f"UPDATE {name} SET id = 7 WHERE id = 1; COMMIT; DELETE FROM {name}_more;"
        )
        found = database.read(lambda records: len(records) >= 3)
        database.commit(found[-1])
        database.stop()
        database.start(snapshot_mode="no_data", **marked)
        found += database.read(lambda records: [each.topic for each in records].count("x.tx") >= 3)
    finally:
        database.stop()
        postgres.execute(f"DROP TABLE {name}_more;")
    marks = [each.value for each in found if each.topic == "x.tx"]
    first, second = marks[0]["id"], marks[2]["id"]
    assert [(each["status"], each["id"], each["event_count"]) for each in marks] == [
        ("BEGIN", first, None),
        ("END", first, 5),
        ("BEGIN", second, None),
        ("END", second, 1),
    ]
    assert marks[1]["data_collections"] == [
        {"data_collection": f"public.{name}", "event_count": 4},
        {"data_collection": f"public.{name}_more", "event_count": 1},
    ]
    places = [each.value["transaction"] for each in found if each.topic != "x.tx" and each.value]
    assert [(each["id"], each["total_order"], each["data_collection_order"]) for each in places] == [
        (first, 1, 1),
        (first, 2, 2),
        (first, 3, 1),
        (first, 4, 3),
        (first, 5, 4),
        (second, 1, 1),
    ]
