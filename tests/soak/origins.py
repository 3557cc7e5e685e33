"""Connectors whose origins are replaced under their names, or that faults alter, pause or disturb by a neighbour.

The faults of ``faults.plan.OF_ORIGINS`` hit them, besides all others. Their records must be complete, and with exactly
once none may be duplicated. A connector may stop only with a message that gives the reason, which is awaited where an
origin was recreated.
"""

from __future__ import annotations

import random
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from faults.plan import OF_ORIGINS, Fault, Plan
from hosts.debezium.beside import LOGICAL
from soak.cluster import TO_SETTLE, Cluster, kill, states, status
from soak.report import Outcome
from soak.victims import processes
from support.kafka.client import Kafka
from support.mirror.setup import BYTES, mirror_config
from support.postgres import LOOPBACK, USER, Postgres
from support.waiting import until
from support.worker_process import PLAIN

STEP = 0.2
"""Seconds between two turns of the feeder."""
FAILED_SECONDS = 300.0
"""Seconds that a connector may take to report that its origin was replaced; it checks every 30 s."""
_MANY = 5_000
"""Number of records in one call."""
CHANGED = "on.origin.changed"
MESSAGES = (CHANGED, "The replication slot ")
"""Parts of the message of a connector that stops because its origin was recreated."""


class Site(Protocol):
    """A connector, the input that feeds it, and its output."""

    name: str
    lock: threading.Lock
    """Lock held while the site is fed, or hit by a fault that excludes others."""

    def config(self) -> dict[str, str]: ...

    def feed(self) -> None:
        """Produce input. Called every STEP seconds by one thread, with ``lock``."""

    def hit(self, fault: Fault, cluster: Cluster) -> None:
        """Inject a fault, and return when it is over. Called with ``lock``."""

    def missing(self) -> int:
        """Return the number of expected records that have not arrived."""

    def judge(self) -> list[str]:
        """Describe everything that is wrong. Called when nothing is missing any more, or after a while."""

    def close(self) -> None: ...


class Reader:
    """Reads a topic's committed records, and keeps all values so far, partition by partition."""

    def __init__(self, bootstrap: str, topic: str, partitions: int = 1) -> None:
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": f"reader-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
        }
        self.values: list[str] = []
        self._consumer = Consumer(settings)
        self._consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
        self._lock = threading.Lock()

    def read(self, to_the_end: bool = False) -> list[str]:
        """Read the records that have arrived. ``to_the_end``: nothing is written any more; read everything."""
        with self._lock:
            while messages := self._consumer.consume(_MANY, 5.0 if to_the_end else 0.3):
                for message in messages:
                    error = message.error()
                    if error is None:
                        self.values.append((message.value() or b"").decode())
                    elif error.fatal():
                        raise KafkaException(error)
                if len(messages) < _MANY and not to_the_end:
                    break
            return self.values

    def close(self) -> None:
        self._consumer.close()


def twice(what: str, values: Sequence[str]) -> list[str]:
    found = [value for value, count in Counter(values).items() if count > 1]
    return [f"{what}: {len(found)} values are duplicated, the first is {found[0]}"] if found else []


def lost(what: str, sent: Sequence[str], values: Sequence[str]) -> list[str]:
    found = sorted(set(sent) - set(values))
    return [f"{what}: {len(found)} values are lost, the first is {found[0]}"] if found else []


@dataclass(slots=True)
class Shared:
    """The common part of all sites."""

    bootstrap: str
    folder: Path
    exactly_once: bool
    mark: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    lock: threading.Lock = field(default_factory=threading.Lock)
    stops: list[str] = field(default_factory=list)
    """Messages of connectors that stopped as expected."""


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


class Numbers:
    """A connector that counts. Its offsets are altered by REST, it is paused, or it prints as much as it can for a
    while.
    """

    def __init__(self, shared: Shared, kind: str) -> None:
        self.name, self.lock, self._shared, self._kind = f"{kind}-{shared.mark}", threading.Lock(), shared, kind
        self._reader = Reader(shared.bootstrap, Kafka(shared.bootstrap).create_topic(self.name))
        self._rewinds: list[int] = []
        """Numbers from which it was told to count again."""
        self._loud, self._hits = 0.0, 0

    def config(self) -> dict[str, str]:
        return {
            **PLAIN,
            "connector.class": "plugin.Counting",
            "tasks.max": "1",
            "topic": self.name,
            "topic.partitions": "1",
            "source.partitions": "1",
            "loud.seconds": f"{self._loud:.1f}",
            "revision": str(self._hits),
        }

    def feed(self) -> None:
        """Do nothing: the connector produces its own input."""

    def hit(self, fault: Fault, cluster: Cluster) -> None:
        path, begun = f"/connectors/{self.name}", len(self._reader.read())
        self._hits += 1
        match self._kind:
            case "offsets":
                cluster.request("PUT", f"{path}/stop")
                until(lambda: states(cluster, self.name) == ["STOPPED"], f"the stop of {self.name}", TO_SETTLE)
                sent = self._count()
                target = max(0, sent - int(fault.choice * 400)) if fault.choice < 0.9 else 0
                self._rewinds.append(target)
                cluster.request("PATCH", f"{path}/offsets", altered(target))
                cluster.request("PUT", f"{path}/resume")
            case "pause":
                cluster.request("PUT", f"{path}/pause")
                threading.Event().wait(min(fault.seconds, 15.0))
                cluster.request("PUT", f"{path}/resume")
            case _:
                self._loud = min(fault.seconds, 10.0)
                cluster.request("PUT", f"{path}/config", self.config())
        until(lambda: len(self._reader.read()) > begun, f"numbers of {self.name}", TO_SETTLE)

    def _count(self) -> int:
        """Return the number with which it goes on, as far as readers know."""
        values = self._reader.read()
        return int(values[-1].split()[1]) + 1 if values else 0

    def missing(self) -> int:
        return 0

    def judge(self) -> list[str]:
        numbers = [int(value.split()[1]) for value in self._reader.read(to_the_end=True)]
        if not self._shared.exactly_once:
            gaps = sorted(set(range(max(numbers, default=-1) + 1)) - set(numbers))
            return [f"{self.name}: {len(gaps)} numbers are lost, the first is {gaps[0]}"] if gaps else []
        return [f"{self.name}: {each}" for each in jumps(numbers, self._rewinds)]

    def close(self) -> None:
        self._reader.close()


def altered(number: int) -> dict[str, object]:
    return {"offsets": [{"partition": {"source": 0}, "offset": {"next": number}}]}


def jumps(numbers: Sequence[int], rewinds: Sequence[int]) -> list[str]:
    """Describe numbers that neither follow the one before nor are the next of ``rewinds``.

    An offset that is altered again before a number was sent from it cannot be seen.
    """
    wrong, last, left = [], -1, list(rewinds)
    for number in numbers:
        if number != last + 1:
            if number in left:
                left = left[left.index(number) + 1 :]
            else:
                wrong.append(f"{number} came after {last}, which was not requested")
        last = number
    return wrong


class SameName:
    """Sinks of one name in two clusters, which share their group and must together write every record."""

    def __init__(self, shared: Shared, settings: dict[str, str]) -> None:
        self.name, self.lock, self._shared = f"twin-{shared.mark}", threading.Lock(), shared
        self._kafka = Kafka(shared.bootstrap)
        self._kafka.create_topic(self.name, partitions=4)
        self._files = [shared.folder / f"{self.name}-{i}.txt" for i in range(2)]
        (shared.folder / "twin").mkdir(exist_ok=True)
        self._twin = Cluster(shared.bootstrap, shared.folder / "twin", 1, **settings).__enter__()
        self._twin.request("PUT", f"/connectors/{self.name}/config", self._config(1))
        self._sent: list[str] = []

    def config(self) -> dict[str, str]:
        return self._config(0)

    def _config(self, cluster: int) -> dict[str, str]:
        return {
            **PLAIN,
            "connector.class": "FileStreamSink",
            "tasks.max": "1",
            "topics": self.name,
            "file": str(self._files[cluster]),
            "consumer.override.session.timeout.ms": "10000",
        }

    def feed(self) -> None:
        new = [f"record {len(self._sent) + i}" for i in range(5)]
        self._kafka.produce(self.name, new)
        self._sent += new

    def hit(self, fault: Fault, cluster: Cluster) -> None:
        hurt = self._twin if fault.choice < 0.7 else cluster
        tasks = processes(hurt, "task")
        if fault.process == "worker" and hurt is self._twin:
            self._twin.kill(self._twin.workers[0])
            self._twin.workers[0].start()
        elif tasks:
            kill(random.Random(fault.choice).choice(tasks)[1])

    def _found(self) -> set[str]:
        return {line for file in self._files if file.exists() for line in file.read_text().splitlines()}

    def missing(self) -> int:
        return len(set(self._sent) - self._found())

    def judge(self) -> list[str]:
        wrong = lost(self.name, self._sent, sorted(self._found()))
        states_there = states(self._twin, self.name)
        if states_there != ["RUNNING"] * 2:
            wrong.append(f"{self.name} in the other cluster: {status(self._twin, self.name)}")
        return wrong + [f"the other cluster: {each}" for each in self._twin.mishaps()]

    def close(self) -> None:
        self._twin.__exit__(None, None, None)


def failed(cluster: Cluster, name: str) -> str:
    """Return the traces of failed tasks."""
    tasks = status(cluster, name)["tasks"]
    return "".join(task.get("trace", "") for task in tasks if task["state"] == "FAILED")


def positions(cluster: Cluster, name: str) -> list[Any]:
    """Return the committed offsets of a connector."""
    found: list[Any] = cluster.request("GET", f"/connectors/{name}/offsets").json()["offsets"]
    return found


def _says_why(said: str) -> bool:
    """Return whether this is the message of a recreated origin."""
    return any(message in said for message in MESSAGES)


def restart_where_it_stopped(shared: Shared, cluster: Cluster, site: Site) -> None:
    """Wait until a connector reports that its origin was replaced, let it begin again, and reset the setting."""
    name = site.name
    said = until(lambda: failed(cluster, name), f"{name} says that its origin was recreated", FAILED_SECONDS)
    assert _says_why(said), f"{name} has stopped with an unexpected message: {said}"
    with shared.lock:
        shared.stops.append(said)
    cluster.request("PUT", f"/connectors/{name}/config", {**site.config(), CHANGED: "restart"})
    until(lambda: not site.missing(), f"all of {name} after it has begun again", TO_SETTLE)
    # A task that is lost before it has committed a position in the new origin would begin at that in the old one.
    before = positions(cluster, name)
    site.feed()
    until(lambda: not site.missing(), f"all of {name} after it has got more", TO_SETTLE)
    until(lambda: positions(cluster, name) not in ([], before), f"a position of {name} in its new origin", TO_SETTLE)
    cluster.request("PUT", f"/connectors/{name}/config", site.config())
    until(lambda: states(cluster, name) == ["RUNNING"] * 2, f"{name} running again", TO_SETTLE)


class Origins:
    """The sites of the faults of a plan. A test calls ``begin``, ``hit`` for each fault, ``end`` and ``judge``."""

    def __init__(self, cluster: Cluster, bootstrap: str, folder: Path, plan: Plan, exactly_once: bool) -> None:
        """``bootstrap`` leads to the broker directly, past the proxy that faults affect."""
        self._cluster, self._shared = cluster, Shared(bootstrap, folder, exactly_once)
        makers: dict[str, Callable[[], Site]] = {
            "file": lambda: ReplacedFile(self._shared),
            "topic": lambda: RecreatedTopic(self._shared),
            "slot": lambda: RecreatedSlot(self._shared),
            "twin": lambda: SameName(self._shared, {}),
            **{kind: lambda kind=kind: Numbers(self._shared, kind) for kind in ("offsets", "pause", "verbose")},  # type: ignore[misc]
        }
        assert makers.keys() == OF_ORIGINS
        self._sites = {kind: makers[kind]() for kind in sorted(OF_ORIGINS & set(plan.kinds))}
        self._ended = threading.Event()
        self._feeder = threading.Thread(target=self._feed, name="origins")
        self.failure: BaseException | None = None
        self._unfinished: dict[str, str] = {}
        """Descriptions of faults from which a connector did not recover, by kind."""

    @property
    def names(self) -> set[str]:
        return {site.name for site in self._sites.values()}

    @property
    def stops(self) -> list[str]:
        """Return the messages of connectors that stopped because their origin was recreated, a line each."""
        with self._shared.lock:
            return [next(line for line in said.splitlines() if _says_why(line)) for said in self._shared.stops]

    def expected(self, sentence: str) -> bool:
        """Return whether a failure is one that a recreated origin must cause."""
        sites = [self._sites[kind].name for kind in ("file", "topic", "slot") if kind in self._sites]
        return sentence.startswith(tuple(sites)) and _says_why(sentence)

    def begin(self) -> None:
        """Create all connectors, and return when they run."""
        for site in self._sites.values():
            self._cluster.request("PUT", f"/connectors/{site.name}/config", site.config())
        try:
            until(self._all_run, "all connectors with an origin running", TO_SETTLE)
        except AssertionError as error:
            raise AssertionError(
                "\n".join([str(error), *(f"{n}: {status(self._cluster, n)}" for n in self.names)])
            ) from None
        self._feeder.start()

    def hit(self, fault: Fault) -> None:
        """Inject a fault, and return when it is over. Faults of one kind come one after the other, and no more come
        after one from which the connector did not recover.
        """
        site = self._sites[fault.kind]
        with site.lock:
            if fault.kind in self._unfinished:
                return
            try:
                site.hit(fault, self._cluster)
            except AssertionError as error:
                self._unfinished[fault.kind] = f"{site.name}: {error}, status: {status(self._cluster, site.name)}"

    def end(self) -> list[str]:
        """Stop feeding, and describe what does not run or arrive after the last fault."""
        self._ended.set()
        self._feeder.join()
        wrong = [] if self.failure is None else [f"the feeder of origins has failed: {self.failure!r}"]
        wrong += self._unfinished.values()
        try:
            until(self._all_run, "all connectors with an origin running again", TO_SETTLE)
            for site in self._sites.values():
                until(lambda: not site.missing(), f"all of {site.name}", TO_SETTLE)  # noqa: B023
        except AssertionError as error:
            wrong += [str(error), *(f"{name}: {status(self._cluster, name)}" for name in self.names)]
        for name in self.names:
            self._cluster.request("PUT", f"/connectors/{name}/stop")
        until(lambda: all(states(self._cluster, name) == ["STOPPED"] for name in self.names), "the stop", TO_SETTLE)
        return wrong

    def judge(self) -> Outcome:
        """Judge all sites. Called after ``end``."""
        wrong = [sentence for site in self._sites.values() for sentence in site.judge()]
        figures: dict[str, object] = {"stops with a message, since an origin was recreated": len(self._shared.stops)}
        return Outcome(figures if self._sites else {}, wrong)

    def close(self) -> None:
        self._ended.set()
        for site in self._sites.values():
            site.close()

    def _all_run(self) -> bool:
        return all(states(self._cluster, name) == ["RUNNING"] * 2 for name in self.names)

    def _feed(self) -> None:
        try:
            while not self._ended.wait(STEP):
                for site in self._sites.values():
                    # A site that waits for earlier input gets no more.
                    if site.lock.acquire(blocking=False):
                        try:
                            site.feed()
                        finally:
                            site.lock.release()
        except BaseException as error:
            self.failure = error
