"""Reads the records of a sink task, and keeps what the consumer's callbacks leave behind within a fetch."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from confluent_kafka import Message

from penstock.api.batch import Batch
from penstock.api.sink import TopicPartition
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.sink.context import SinkContext
from penstock.pipeline.sink.fetch import fetch, raw_batch
from penstock.pipeline.sink.parts import GroupConsumer


@dataclass(slots=True)
class Reading:
    consumer: GroupConsumer
    context: SinkContext
    metrics: Metrics
    failure: Exception | None = None
    """What a callback raised within the current fetch, or what else the next one is to raise."""
    removed: set[TopicPartition] = field(default_factory=set)
    """Partitions that were revoked or lost within the current fetch."""
    last_time: int | None = None
    """The timestamp of the last record that was fetched."""
    drained: bool = False
    """Whether the last fetch has taken all that the consumer had."""

    def failed(self, error: Exception) -> None:
        """Called by a callback: the fetch raises the first of them."""
        self.failure = self.failure or error

    def poll(self, seconds: float) -> Batch | None:
        """The next records as they are read, but those of partitions that the task wants to read from elsewhere."""
        messages: list[Message] = []
        began = time.monotonic()
        try:
            most = self.consumer.max_records
            messages = fetch(self.consumer.client, most, seconds, self.removed, self.consumer.watch.ends)
            self.drained = len(messages) < most
        except Exception as e:  # an error of a callback within the fetch came first
            self.failed(e)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        if messages:
            self.metrics.spent("poll", time.monotonic() - began)
        if messages and (rewinds := self.context.rewinds):
            messages = [m for m in messages if (m.topic(), m.partition()) not in rewinds]
        if not messages:
            return None
        kind, written = messages[-1].timestamp()
        self.last_time = written if kind else None
        return raw_batch(messages, self.only)

    @property
    def only(self) -> TopicPartition | None:
        """The partition that is assigned, if it is just one."""
        assigned = self.context.assignment
        return next(iter(assigned)) if len(assigned) == 1 else None
