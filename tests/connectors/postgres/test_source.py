"""PostgresSource on a real server, without Kafka: snapshot and stream, the slot's position, transactions."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.origin import OriginChangedError
from penstock.api.record import SourceRecord
from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.connectors.postgres.replication import Replication
from penstock.connectors.postgres.task import PostgresSourceTask
from support.postgres import LOOPBACK, USER, Postgres
from support.waiting import SECONDS, until

pytestmark = pytest.mark.integration


@dataclass(slots=True)
class Boundaries:
    """A ``TransactionContext``: after how many polls with records a commit was asked for."""

    asked: bool = False

    def commit_transaction(self, after: SourceRecord | None = None) -> None:
        assert after is None
        self.asked = True

    def abort_transaction(self, after: SourceRecord | None = None) -> None:
        raise AssertionError("nothing is aborted")


@dataclass(slots=True)
class Database:
    """Tables and a slot of one test; runs of a task, which begin where the one before has committed."""

    postgres: Postgres
    name: str = field(default_factory=lambda: f"t{uuid.uuid4().hex[:8]}")
    offsets: MemoryOffsets = field(default_factory=MemoryOffsets)
    running: PostgresSourceTask | None = None
    last: SourceRecord | None = None
    """The last record, until it is committed."""

    def start(self, boundaries: Boundaries | None = None, **settings: str) -> PostgresSourceTask:
        config = {
            "database.hostname": LOOPBACK,
            "database.port": str(self.postgres.port),
            "database.user": USER,
            "database.dbname": "postgres",
            "topic.prefix": "x",
            "slot.name": self.name,
            "publication.name": self.name,
            "publication.autocreate.mode": "filtered",
            "table.include.list": f"public.{self.name}.*",
            "poll.interval.ms": "50",
            "status.update.interval.ms": "1000",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self.running, self.last = PostgresSourceTask(), None
        self.running.context = MemorySourceContext(config, self.offsets, boundaries)
        self.running.start(config)
        return self.running

    def polled(self) -> list[SourceRecord]:
        assert self.running is not None
        batch = self.running.poll()
        if isinstance(batch, Batch):
            records = list(batch.rows())
            self.last = records[-1]  # type: ignore[assignment]
            return records  # type: ignore[return-value]
        if self.last is None and (uncarried := self.running.uncarried_offsets()):
            self.offsets.pairs += uncarried
            self.running.commit()
        return []

    def read(
        self, done: Callable[[list[SourceRecord]], Any], beyond: type[ConnectError] | tuple[()] = ()
    ) -> list[SourceRecord]:
        """All records until this is so; an error of class ``beyond`` has to name the server, and polls go on."""
        found: list[SourceRecord] = []

        def enough() -> bool:
            try:
                found.extend(self.polled())
            except beyond as error:
                assert "PostgreSQL at" in str(error)  # noqa: PT017
            return bool(done(found))

        until(enough, "the records", SECONDS)
        return found

    def commit(self, record: SourceRecord) -> None:
        assert self.running is not None
        self.offsets.pairs.append((record.source_partition, record.source_offset))
        if record is self.last:
            self.last = None
        self.running.commit()

    def commit_offset(self, offset: dict[str, Any]) -> None:
        """Set the committed offset, as an operator does by REST."""
        self.offsets.pairs.append(({"server": "x"}, offset))

    def stop(self) -> None:
        if self.running is not None:
            self.running.stop()
            self.running = None

    def confirmed(self) -> int:
        sql = f"SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = '{self.name}'"
        return int(self.postgres.rows(sql)[0][0])


@pytest.fixture
def database(postgres: Postgres) -> Iterator[Database]:
    made = Database(postgres)
    postgres.execute(f"CREATE TABLE {made.name} (id serial PRIMARY KEY, name text);")
    yield made
    made.stop()
    postgres.drop_slot(made.name)
    postgres.execute(f"DROP PUBLICATION IF EXISTS {made.name}; DROP TABLE {made.name};")


def ids(records: list[SourceRecord], operations: str = "rc") -> list[int]:
    return [record.value["after"]["id"] for record in records if record.value and record.value["op"] in operations]


@pytest.mark.parametrize("given_slot", [False, True])
def test_between_snapshot_and_stream_there_is_no_gap(database: Database, given_slot: bool) -> None:
    """Rows are inserted all the time, by transactions that overlap; a given slot has changes of before, too."""
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
    """As while its connector is paused."""
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
    """As while its connector is paused for longer than the server waits for an answer."""
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
    """A row in the snapshot, and one while there is no slot; the connector is stopped."""
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
    """Of two standby servers one has all that the connector has read, and the slot, copied as by Patroni."""
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
