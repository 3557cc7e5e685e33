"""How far a query has come: the offsets of its connector's consumer group, which has no members.

Nothing else is remembered between two runs; Spark's checkpoint is scratch. Before a batch is written, its start is
committed together with its number and its end, in the metadata of the offsets. A run that finds such an unfinished
batch writes exactly this batch again under the same number, so that a target that knows what it has of a connector
can tell. Numbers begin at 1 in an *epoch*; a group that was reset, or altered in all partitions, begins a new one.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from confluent_kafka import Consumer, KafkaException, TopicPartition

from penstock.api.errors import ConnectError
from penstock.pipeline.broker_errors import broker_error

log = logging.getLogger(__name__)

Place = tuple[str, int]
SECONDS = 60.0
"""For as long a commit is tried again when brokers are away."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a batch is called: the same batch has the same name whenever and by whomever it is written."""

    epoch: str
    number: int

    def next(self) -> Version:
        return Version(self.epoch, self.number + 1)


@dataclass(frozen=True, slots=True)
class Span:
    """The records of a batch: of each partition those from ``start`` up to, but without, ``end``."""

    start: Mapping[Place, int]
    end: Mapping[Place, int]

    def places(self) -> list[Place]:
        """The partitions that have any."""
        return [place for place, end in self.end.items() if end > self.start[place]]


@dataclass(frozen=True, slots=True)
class Progress:
    """What a group says: the last batch, where partitions stand, and the batch that may not have been written."""

    version: Version
    offsets: Mapping[Place, int]
    unfinished: Span | None = None


@dataclass(frozen=True, slots=True)
class _Committed:
    epoch: str = ""
    number: int = 0
    end: int | None = None

    @classmethod
    def of(cls, metadata: str | None) -> _Committed:
        try:
            found: Any = orjson.loads(metadata or "{}")
            return cls(str(found.get("epoch", "")), int(found.get("version", 0)), found.get("end"))
        except (ValueError, TypeError, AttributeError):
            return cls()  # somebody else's

    def text(self) -> str:
        known = {"epoch": self.epoch, "version": self.number}
        return orjson.dumps(known if self.end is None else {**known, "end": self.end}).decode()


@dataclass(slots=True)
class Group:
    """Reads and commits with a consumer that never subscribes. Raises KafkaError where that fails for good."""

    consumer: Consumer
    offsets: dict[Place, int] = field(default_factory=dict)
    """What is committed, as far as this object has read or committed it."""

    def read(self, places: Iterable[Place]) -> Progress:
        wanted = [TopicPartition(*place) for place in places]
        answers = self._tried("read", lambda: self.consumer.committed(wanted, timeout=30))
        known = {(a.topic, a.partition): (a.offset, _Committed.of(a.metadata)) for a in answers if a.offset >= 0}
        self.offsets = {place: offset for place, (offset, _) in known.items()}
        last = max((c for _, c in known.values() if c.epoch), key=lambda c: c.number, default=None)
        if last is None:
            return Progress(Version(secrets.token_hex(4), 0), self.offsets)
        ends = {
            place: c.end
            for place, (_, c) in known.items()
            if c.end is not None and (c.epoch, c.number) == (last.epoch, last.number)
        }
        if not ends:
            return Progress(Version(last.epoch, last.number), self.offsets)
        span = Span({place: self.offsets[place] for place in ends}, ends)
        return Progress(Version(last.epoch, last.number - 1), self.offsets, span)

    def begin(self, version: Version, span: Span) -> None:
        """This batch is going to be written."""
        committed = {p: _Committed(version.epoch, version.number, end) for p, end in span.end.items()}
        self._commit(span.start, committed)

    def done(self, version: Version, span: Span) -> None:
        """It has been written."""
        self._commit(span.end, dict.fromkeys(span.end, _Committed(version.epoch, version.number)))

    def _commit(self, offsets: Mapping[Place, int], metadata: Mapping[Place, _Committed]) -> None:
        wanted = [
            TopicPartition(topic, partition, offset, metadata[topic, partition].text())
            for (topic, partition), offset in offsets.items()
        ]
        for answer in self._tried("commit", lambda: self.consumer.commit(offsets=wanted, asynchronous=False)):
            if answer.error is not None:
                raise ConnectError(
                    f"Offset {answer.offset} of {answer.topic}-{answer.partition} could not be committed: "
                    f"{answer.error.str()}"
                )
        self.offsets.update(offsets)

    def _tried(self, what: str, ask: Any) -> list[TopicPartition]:
        until = time.monotonic() + SECONDS
        while True:
            try:
                answer: list[TopicPartition] = ask()
                return answer
            except KafkaException as e:
                error = e.args[0]
                if not error.retriable() or time.monotonic() > until:
                    raise ConnectError(f"The offsets of the connector's group can't be {what}") from broker_error(error)
                log.warning("The offsets of the connector's group can't be %s yet: %s", what, error.str())
                time.sleep(0.5)
