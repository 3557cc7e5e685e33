"""Debezium's source for PostgreSQL here and in Java Connect, each with its own server that runs the same statements.
The topics must then be equal except for times, positions and numbers of transactions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hosts.debezium.workload import SCHEMA, TABLES, Workload
from support.kafka.client import Kafka, Record
from support.postgres import LOOPBACK, USER, Postgres
from support.tasks.runs import JSON
from support.waiting import until
from support.worker_process import WorkerProcess

CONNECTOR = "io.debezium.connector.postgresql.PostgresConnector"
SECONDS = 900
LOGICAL = {"wal_level": "logical", "max_wal_senders": "10", "max_replication_slots": "10"}
VARIES = frozenset({"ts_ms", "ts_us", "ts_ns", "lsn", "txId", "xmin", "sequence", "transaction_id"})
"""Fields that differ from run to run."""
VARYING = re.compile(r"\d+:\d+|.*LogicalDecodingMessageId@[0-9a-f]+")
"""Patterns of texts that differ too: names of transactions and of objects."""
RUNS = frozenset({"__debezium.context.runId"})
"""Headers that differ too."""

PLAIN = {
    "key.converter": JSON,
    "value.converter": JSON,
    "provide.transaction.metadata": "true",
    "signal.data.collection": "public.signals",
    "incremental.snapshot.chunk.size": "7",
    "skipped.operations": "none",
    "table.include.list": ",".join(f"public.{table}" for table in TABLES),
}
FLAT = {
    "key.converter": JSON,
    "value.converter": JSON,
    "table.include.list": PLAIN["table.include.list"],
    "time.precision.mode": "connect",
    "decimal.handling.mode": "double",
    "binary.handling.mode": "hex",
    "hstore.handling.mode": "map",
    "skipped.operations": "t",
    "value.converter.schemas.enable": "false",
    "transforms": "unwrap,at,route",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite-with-tombstone",
    "transforms.unwrap.add.fields": "op,table,source.schema",
    "transforms.unwrap.add.headers": "op",
    "transforms.at.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.at.static.field": "site",
    "transforms.at.static.value": "here",
    "transforms.at.predicate": "row",
    "transforms.at.negate": "true",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": "(.*)\\.public\\.(.*)",
    "transforms.route.replacement": "$1-$2",
    "predicates": "row",
    "predicates.row.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
    "message.key.columns": "public.loose:a",
}
OUTBOX = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
    "table.include.list": "public.outbox",
    "tombstones.on.delete": "false",
    "transforms": "outbox",
    "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
    "transforms.outbox.table.expand.json.payload": "true",
    "transforms.outbox.table.fields.additional.placement": "type:header:kind,tenant:envelope",
}
KINDS = {"plain": PLAIN, "flat": FLAT, "outbox": OUTBOX}
MARKS = {"plain": "{0}.public.marks", "flat": "{0}-marks", "outbox": "{0}.mark"}
"""The topics to which the marks of a workload are written."""


@dataclass(slots=True)
class Side:
    """One worker and its PostgreSQL. ``name`` is the prefix of all topics; both sides' names have the same length."""

    name: str
    worker: WorkerProcess
    postgres: Postgres
    kafka: Kafka
    marks: int = field(default=0)

    def put(self, kind: str, **settings: str) -> None:
        prefix = f"{self.name}-{kind}"
        route = (
            {"transforms.outbox.route.topic.replacement": f"{prefix}.${{routedByValue}}"} if kind == "outbox" else {}
        )
        self.worker.put(
            f"debezium-{kind}",
            **{
                "connector.class": CONNECTOR,
                "tasks.max": "1",
                "database.hostname": LOOPBACK,
                "database.port": str(self.postgres.port),
                "database.user": USER,
                "database.password": "any",
                "database.dbname": "postgres",
                "topic.prefix": prefix,
                "plugin.name": "pgoutput",
                "slot.name": kind,
                "publication.name": kind,
                "publication.autocreate.mode": "filtered",
                "poll.interval.ms": "50",
                **KINDS[kind],
                **route,
                **settings,
            },
        )

    def all(self, act: str) -> None:
        """Send ``stop``, ``pause`` or ``resume`` to all connectors."""
        for kind in KINDS:
            answer = self.worker.http.put(f"/connectors/debezium-{kind}/{act}")
            assert answer.status_code < 300, answer.text

    def active(self) -> int:
        """Return the number of connectors that stream from the log, after their snapshots."""
        ((number,),) = self.postgres.rows("SELECT count(*) FROM pg_replication_slots WHERE active")
        return int(number)

    def streams(self) -> bool:
        return self.active() == len(KINDS)

    def topics(self) -> list[str]:
        """Return the topics except the signals topic, into which the connector itself writes."""
        found = (topic for topic in self.kafka.topics() if topic.startswith(f"{self.name}-"))
        return sorted(topic for topic in found if not topic.endswith("signals"))

    def arrived(self, kind: str, marks: int) -> bool:
        topic = MARKS[kind].format(f"{self.name}-{kind}")
        return topic in self.kafka.topics() and len(self.kafka.read_all(topic)) >= marks

    def records(self) -> dict[str, list[Any]]:
        """Return the records of all topics in a comparable form."""
        return {
            topic.replace(self.name, "side"): [self._comparable(record) for record in self.kafka.read_all(topic)]
            for topic in self.topics()
        }

    def _comparable(self, record: Record) -> Any:
        headers = [(name, "varies" if name in RUNS else self._value(value)) for name, value in record.headers]
        return {"key": self._value(record.key), "value": self._value(record.value), "headers": headers}

    def _value(self, data: bytes | str | None) -> Any:
        if data is None:
            return None
        text = (data if isinstance(data, str) else data.decode()).replace(f"{self.name}-", "side-")
        try:
            return without_times(json.loads(text))
        except ValueError:
            return text


def without_times(value: Any) -> Any:
    """Remove fields whose values vary from run to run."""
    if isinstance(value, list):
        return [without_times(each) for each in value]
    if isinstance(value, dict):
        if isinstance(collections := value.get("data_collections"), list):  # in no order
            value = {
                **value,
                "data_collections": sorted(collections, key=lambda each: VARYING.sub("", json.dumps(each))),
            }
        return {key: "varies" if _varies(key, each) else without_times(each) for key, each in value.items()}
    return value


def _varies(name: str, value: Any) -> bool:
    return value is not None and (name in VARIES or (isinstance(value, str) and VARYING.fullmatch(value) is not None))


def difference(here: Any, there: Any, path: str = "") -> Iterator[str]:
    """Yield the differences between two documents, with their paths."""
    if isinstance(here, dict) and isinstance(there, dict) and list(here) == list(there):
        for key in here:
            yield from difference(here[key], there[key], f"{path}.{key}")
    elif isinstance(here, list | tuple) and isinstance(there, list | tuple) and len(here) == len(there):
        for i, (one, other) in enumerate(zip(here, there, strict=True)):
            yield from difference(one, other, f"{path}[{i}]")
    elif here != there:
        yield f"{path}: {json.dumps(here)} here, {json.dumps(there)} in Java Connect"


@dataclass(slots=True)
class Pair:
    """Both sides and their common workload."""

    sides: tuple[Side, Side]
    workload: Workload

    def execute(self, script: str) -> None:
        for side in self.sides:
            side.postgres.execute(script)

    def start(self, transactions: int) -> None:
        """Run some transactions and start the connectors; return when snapshots are over and changes are streamed."""
        self.execute(SCHEMA + self.workload.transactions(transactions))
        for side in self.sides:
            for kind in KINDS:
                side.put(kind)
        for side in self.sides:
            until(side.streams, f"{side.name} streams", SECONDS)

    def split_nothing(self) -> None:
        """Make each change one event from now on. If a change has several events, a stopped Debezium may have returned
        only the first to its worker, and does not return the others afterwards.
        """
        self.workload.keys_change = False
        for side in self.sides:
            side.all("stop")
        for side in self.sides:
            until(lambda: side.active() == 0, f"{side.name} stopped", SECONDS)  # noqa: B023
            side.put("plain", **{"tombstones.on.delete": "false"})
            flat = {"transforms.unwrap.delete.tombstone.handling.mode": "rewrite", "tombstones.on.delete": "false"}
            side.put("flat", **flat)
            side.all("resume")
        for side in self.sides:
            until(side.streams, f"{side.name} streams", SECONDS)

    def mark(self) -> None:
        """Wait until the changes of all statements have arrived."""
        number, script = self.workload.mark()
        self.execute(script)
        for side in self.sides:
            for kind in KINDS:
                until(lambda: side.arrived(kind, number), f"mark {number} of {kind} at {side.name}", SECONDS)  # noqa: B023

    def read_events(self, side: Side) -> int:
        """Return the number of rows that snapshots of ``plain`` have read."""
        topics = [topic for topic in side.topics() if topic.startswith(f"{side.name}-plain.public.")]
        values = [json.loads(value) for topic in topics for value in side.kafka.values(topic) if value]  # type: ignore[arg-type]
        return sum(value["payload"].get("op") == "r" for value in values)

    def differences(self) -> Iterator[str]:
        """Yield a description of the first difference of each topic."""
        ours, theirs = (side.records() for side in self.sides)
        for topic in sorted(ours.keys() | theirs.keys()):
            here, there = ours.get(topic, []), theirs.get(topic, [])
            for i, (one, other) in enumerate(zip(here, there, strict=False)):
                if one != other:
                    parts = "\n".join(difference(one, other))
                    yield f"{topic}, record {i} of {len(here)} here and {len(there)} in Java Connect:\n{parts}"
                    break
            else:
                if len(here) != len(there):
                    yield f"{topic}: {len(here)} records here, {len(there)} in Java Connect"
