"""Setting of all cases: the broker, a folder, the number of records, and each case's deliveries so far."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.connect import CaseError
from bench.processors import Use
from penstock.embedded import registry
from penstock.embedded.registry import RunningRegistry

Digest = tuple[int, int]


@dataclass
class Setting:
    """The setting; as a context manager it removes the resources made for all cases."""

    bootstrap: str
    folder: Path
    records: int
    seen: dict[str, tuple[str, Digest]] = field(default_factory=dict)
    """By case: the cluster that delivered first, and a digest of its records."""
    uses: dict[tuple[str, str], Use] = field(default_factory=dict)
    """By case and cluster: the processor time of the parts in the last run."""
    _inputs: dict[str, str] = field(default_factory=dict)
    _registry: RunningRegistry | None = None
    _resources: dict[str, Any] = field(default_factory=dict)
    _ends: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for end in reversed(self._ends):
            end()
        if self._inputs:
            self.delete_topics(*self._inputs.values())
        self._file.unlink(missing_ok=True)
        if self._registry is not None:
            registry.down(self.folder / "registry")

    def name(self, what: str) -> str:
        return f"bench-{what}-{uuid.uuid4().hex[:8]}"

    def resource(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a resource of several runs, made once; its cleanup is registered with ``at_end``."""
        if name not in self._resources:
            self._resources[name] = make()
        return self._resources[name]

    def at_end(self, do: Callable[[], None]) -> None:
        self._ends.append(do)

    def create_topic(self, name: str, partitions: int = 1) -> str:
        self.admin.create_topics([NewTopic(name, partitions, 1)])[name].result()
        return name

    def delete_topics(self, *names: str) -> None:
        for each in self.admin.delete_topics(list(names)).values():
            each.result()

    # -- input

    @property
    def _file(self) -> Path:
        return self.folder / f"lines-{self.records}.txt"

    def lines(self) -> Path:
        """Return a file of JSON objects, one per line, of about a hundred bytes."""
        if not self._file.exists():
            with self._file.open("w") as out:
                out.writelines(map(_line, range(self.records)))
        return self._file

    def filled_topic(self, partitions: int) -> str:
        """Return a topic with the same lines, made once."""
        return self.input(str(partitions), lambda: self._lines_in_topic(partitions))

    def input(self, what: str, make: Callable[[], str]) -> str:
        """Return a topic that several cases read, made once by a function that returns its name."""
        if what not in self._inputs:
            self._inputs[what] = make()
        return self._inputs[what]

    def _lines_in_topic(self, partitions: int) -> str:
        topic = self.create_topic(self.name(f"input-{partitions}"), partitions)
        with self.lines().open("rb") as rows:
            self.produce(topic, (row.rstrip(b"\n") for row in rows), partitions)
        return topic

    def produce(
        self, topic: str, values: Iterable[bytes], partitions: int = 1, keys: Iterable[bytes] | None = None
    ) -> None:
        """Produce to the topic's partitions in turn; return when the broker has all records."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 20})
        for i, (value, key) in enumerate(zip(values, repeat(None) if keys is None else keys, strict=False)):
            while True:
                try:
                    producer.produce(topic, value, key, partition=i % partitions)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush()

    @property
    def registry(self) -> str:
        """Return the URL of a schema registry, started at its first use."""
        if self._registry is None:
            self._registry = registry.up(self.folder / "registry", 0, keep=False)
        return self._registry.url

    # -- output

    def consumer(self, isolation: str, **more: Any) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": f"bench-{uuid.uuid4().hex[:8]}",
                "isolation.level": isolation,
                "auto.offset.reset": "earliest",
                **more,
            }
        )

    def end(self, consumer: Consumer, topic: str) -> int:
        """Return the end offset of the topic's only partition for this consumer; 0 while it does not know the topic."""
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)[1])
        except KafkaException as e:
            if e.args[0].code() not in (KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC):
                raise
            return 0

    def values(self, topic: str) -> Iterator[bytes]:
        """Yield every committed record of a topic with one partition."""
        consumer = self.consumer("read_committed", **{"enable.partition.eof": True, "fetch.queue.backoff.ms": 5})
        consumer.assign([TopicPartition(topic, 0, 0)])
        try:
            while True:
                for message in consumer.consume(10_000, 1.0):
                    if (error := message.error()) is None:
                        yield message.value() or b""
                    elif error.code() == KafkaError._PARTITION_EOF:
                        return
        finally:
            consumer.close()

    def same(self, case: str, cluster: str, records: Iterable[bytes], unchanged: bool = False) -> None:
        """Compare delivered records. Raises CaseError unless their number is that of the input, and they equal, in any
        order, those that the first cluster delivered, or the lines themselves if they should be ``unchanged``.
        """
        if unchanged and case not in self.seen:
            with self.lines().open("rb") as lines:
                self.seen[case] = ("the input has", _digest(line.rstrip(b"\n") for line in lines))
        digest = _digest(records)
        if digest[0] != self.records:
            raise CaseError(f"{case}: {cluster} delivered {digest[0]} records, of {self.records}")
        first, expected = self.seen.setdefault(case, (f"{cluster} delivered", digest))
        if digest != expected:
            raise CaseError(
                f"{case}: {cluster} delivered {digest[0]} records with checksum {digest[1]:08x}, {first} {expected[0]} "
                f"with {expected[1]:08x}: figures of different work can't be compared"
            )


def _line(i: int) -> str:
    user, amount = f"user{i * 7919 % 50_000:05d}", i * 31 % 100_000 / 100
    return f'{{"id": {i}, "user": "{user}", "amount": {amount}, "ts": {1_700_000_000_000 + i}, "note": "{_NOTE}"}}\n'


_NOTE = "abcdefghij" * 2


def _digest(records: Iterable[bytes]) -> Digest:
    count = total = 0
    for record in records:
        count += 1
        total = (total + zlib.crc32(record)) & 0xFFFFFFFF
    return count, total
