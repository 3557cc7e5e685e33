"""What the loop of a sink works with: its consumer, and the steps between the consumer and the task."""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka import Consumer

from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.errors import Step
from penstock.pipeline.sink.member import MemberReport
from penstock.pipeline.sink.original_records import OriginalRecords
from penstock.pipeline.sink.puts.ahead import JavaPuts
from penstock.pipeline.sink.standstill import PartitionWatch
from penstock.pipeline.sink.subscription import Subscription


@dataclass(frozen=True, slots=True)
class GroupConsumer:
    """The consumer of the task and how it reads."""

    client: Consumer
    subscription: Subscription
    max_records: int
    """How many records a ``put`` gets at most."""
    offset_reset: str
    """librdkafka's ``auto.offset.reset``."""
    cooperative: bool
    """Whether partitions are assigned and revoked a few at a time (cooperative assignors)."""
    watch: PartitionWatch
    member: MemberReport


@dataclass(frozen=True, slots=True)
class SinkSteps:
    """What turns fetched bytes into records for the task, and the queue for those that fail on the way."""

    steps: list[Step]
    originals: OriginalRecords
    queue: DeadLetterQueue | None
    puts: JavaPuts | None = None
    """How records are put, if the task is in a JVM."""
