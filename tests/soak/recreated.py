"""Connectors whose file, topic or replication slot is replaced under its name."""

import threading

from faults.plan import Fault
from hosts.debezium.beside import LOGICAL
from soak.cluster import TO_SETTLE, Cluster
from soak.sites import Reader, Shared, failed, lost, positions, restart_where_it_stopped, twice
from support.kafka.client import Kafka
from support.mirror.setup import BYTES, mirror_config
from support.postgres import LOOPBACK, USER, Postgres
from support.waiting import until
from support.worker_process import PLAIN


class ReplacedFile:
    """Lines of a file that is replaced under its name when all lines have been sent."""

    def __init__(self, shared: Shared) -> None:
        self.name, self.lock, self._shared = f"file-{shared.mark}", threading.Lock(), shared
        self._path = shared.folder / f"{self.name}.txt"
        self._path.touch()
        self._topic = Kafka(shared.bootstrap).create_topic(self.name)
        self._reader = Reader(shared.bootstrap, self._topic)
        self._sent: list[str] = []
        self._epoch = 0

    def config(self) -> dict[str, str]:
        file = {"connector.class": "FileStreamSource", "file": str(self._path), "topic": self._topic}
        return {**PLAIN, **file, "tasks.max": "1"}

    def feed(self) -> None:
        self._write(20)

    def _write(self, lines: int) -> None:
        new = [f"file {self._epoch} line {len(self._sent) + i}" for i in range(lines)]
        with self._path.open("a") as file:
            file.write("".join(f"{line}\n" for line in new))
        self._sent += new

    def hit(self, fault: Fault, cluster: Cluster) -> None:
        until(lambda: not self.missing(), f"all lines of {self.name}", TO_SETTLE)
        # Offsets are committed a moment after the records.
        until(lambda: self._position(cluster) == self._path.stat().st_size, f"the offset of {self.name}", TO_SETTLE)
        size = self._path.stat().st_size
        # A name as rotations choose it, or another.
        rotated = self._path.with_name(f"{self._path.name}.1")
        self._path.replace(rotated if fault.choice < 0.5 else self._path.with_suffix(f".{self._epoch}-old"))
        self._epoch += 1
        self._path.touch()
        # The new file is shorter or longer than the position in the old one.
        self._write(int(fault.choice * 2 * size / 20))
        # A task goes on in the new file; a task that is lost at this moment and starts again may stop with a message.
        until(lambda: not self.missing() or failed(cluster, self.name), f"the new file of {self.name}", TO_SETTLE)
        if self.missing():
            restart_where_it_stopped(self._shared, cluster, self)

    def _position(self, cluster: Cluster) -> int:
        offsets = positions(cluster, self.name)
        return offsets[0]["offset"]["position"] if offsets else 0

    def missing(self) -> int:
        return len(set(self._sent) - set(self._reader.read()))

    def judge(self) -> list[str]:
        values = self._reader.read(to_the_end=True)
        return lost(self.name, self._sent, values) + (twice(self.name, values) if self._shared.exactly_once else [])

    def close(self) -> None:
        self._reader.close()


class RecreatedTopic:
    """A mirrored topic that is deleted and created again when all of it has been mirrored.

    Records beyond the number that the old topic had may be mirrored before the topic is checked, and again when the
    connector begins again with ``on.origin.changed=restart``.
    """

    def __init__(self, shared: Shared) -> None:
        self.name, self.lock, self._shared = f"topic-{shared.mark}", threading.Lock(), shared
        self._kafka = Kafka(shared.bootstrap)
        self._alias = f"s{shared.mark}"
        self._kafka.create_topic(self.name)
        self._reader = Reader(shared.bootstrap, self._kafka.create_topic(f"{self._alias}.{self.name}"))
        self._sent: list[str] = []
        self._epoch = self._since = 0
        self._longer: set[str] = set()
        """Values that may be duplicated."""

    def config(self) -> dict[str, str]:
        return {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "tasks.max": "1",
            **mirror_config(self._shared.bootstrap, self._alias, f"t{self._shared.mark}"),
            "name": self.name,
            "topics": self.name,
            "header.converter": BYTES,
            "sync.topic.configs.enabled": "false",
            "sync.topic.acls.enabled": "false",
        }

    def feed(self) -> None:
        self._produce(5)

    def _produce(self, records: int) -> None:
        new = [f"topic {self._epoch} record {len(self._sent) + i}" for i in range(records)]
        self._kafka.produce(self.name, new)
        self._sent += new

    def hit(self, fault: Fault, cluster: Cluster) -> None:
        until(lambda: not self.missing(), f"all records of {self.name}", TO_SETTLE)
        until(lambda: positions(cluster, self.name), f"a position of {self.name}", TO_SETTLE)
        before = len(self._sent) - self._since
        self._kafka.renew_topic(self.name)
        self._epoch += 1
        self._since = len(self._sent)
        self._produce(1 + int(fault.choice * 1.5 * before))
        self._longer.update(self._sent[self._since + before :])
        restart_where_it_stopped(self._shared, cluster, self)

    def missing(self) -> int:
        return len(set(self._sent) - set(self._reader.read()))

    def judge(self) -> list[str]:
        values = self._reader.read(to_the_end=True)
        once = [value for value in values if value not in self._longer] if self._shared.exactly_once else []
        return lost(self.name, self._sent, values) + twice(self.name, once)

    def close(self) -> None:
        self._reader.close()


class RecreatedSlot:
    """Rows of a PostgreSQL table, whose changes are read from a slot that is dropped and created again."""

    def __init__(self, shared: Shared) -> None:
        self.name, self.lock, self._shared = f"slot-{shared.mark}", threading.Lock(), shared
        self._slot = self.name.replace("-", "_")
        self._postgres = Postgres.make(**LOGICAL)
        self._postgres.start()
        self._postgres.execute("CREATE TABLE counted (id integer PRIMARY KEY);")
        topic = Kafka(shared.bootstrap).create_topic(f"{self._slot}.public.counted")
        self._reader = Reader(shared.bootstrap, topic)
        self._rows = 0

    def config(self) -> dict[str, str]:
        return {
            "connector.class": "penstock.connectors.PostgresSource",
            "tasks.max": "1",
            "database.hostname": LOOPBACK,
            "database.port": str(self._postgres.port),
            "database.user": USER,
            "database.dbname": "postgres",
            "topic.prefix": self._slot,
            "slot.name": self._slot,
            "publication.name": self._slot,
            "publication.autocreate.mode": "filtered",
            "table.include.list": "public.counted",
            "status.update.interval.ms": "1000",
            "transaction.boundary": "poll",
            **PLAIN,
            "transforms": "id,op",
            "transforms.id.type": "org.apache.kafka.connect.transforms.Flatten$Value",
            "transforms.op.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
            "transforms.op.include": "op,after.id",
            "transforms.id.delimiter": ".",
        }

    def feed(self) -> None:
        self._insert()

    def _insert(self) -> None:
        self._postgres.execute(f"INSERT INTO counted VALUES ({self._rows});")
        self._rows += 1

    def hit(self, fault: Fault, cluster: Cluster) -> None:
        until(lambda: not self.missing(), f"all rows of {self.name}", TO_SETTLE)
        until(lambda: positions(cluster, self.name), f"a position of {self.name}", TO_SETTLE)
        slot = f"FROM pg_replication_slots WHERE slot_name = '{self._slot}'"

        def dropped() -> bool:
            # In one session, since the connector uses the slot again within a second.
            self._postgres.execute(
                "DO $$ BEGIN FOR i IN 1..200 LOOP "
                f"PERFORM pg_terminate_backend(active_pid) {slot} AND active; "
                f"BEGIN PERFORM pg_drop_replication_slot(slot_name) {slot}; RETURN; "
                "EXCEPTION WHEN object_in_use OR undefined_object THEN PERFORM pg_sleep(0.01); END; "
                "END LOOP; END $$;"
            )
            return not self._postgres.rows(f"SELECT 1 {slot}")

        until(dropped, f"slot {self._slot} is gone", TO_SETTLE)
        self._insert()
        if fault.choice < 0.7:
            self._postgres.execute(
                f"SELECT pg_create_logical_replication_slot('{self._slot}', 'pgoutput') WHERE NOT EXISTS "
                f"(SELECT 1 {slot});"
            )
            self._insert()
        restart_where_it_stopped(self._shared, cluster, self)

    def _found(self) -> list[tuple[str, str]]:
        """Return the kind of each event, and its row."""
        events = (value.removeprefix("Struct{").rstrip("}").split(",") for value in self._reader.read())
        found = (dict(part.split("=", 1) for part in event) for event in events)
        return [(event["op"], event["after.id"]) for event in found]

    def missing(self) -> int:
        return len(set(map(str, range(self._rows))) - {row for _, row in self._found()})

    def judge(self) -> list[str]:
        self._reader.read(to_the_end=True)
        found = self._found()
        wrong = lost(self.name, [str(number) for number in range(self._rows)], [row for _, row in found])
        # A new snapshot contains rows that were sent as changes before.
        changes = [row for kind, row in found if kind != "r"]
        return wrong + (twice(self.name, changes) if self._shared.exactly_once else [])

    def close(self) -> None:
        self._reader.close()
        self._postgres.remove()
