"""The loop of a sink task for tests without a broker: nothing is fetched."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import SinkTask, TopicPartition
from penstock.core.model.tasks import TaskId
from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import CommitTiming, TaskRuntime
from penstock.pipeline.sink.context import SinkContext
from penstock.pipeline.sink.loop import SinkLoop
from penstock.pipeline.sink.member import MemberReport
from penstock.pipeline.sink.offsets import SinkTaskOffsets
from penstock.pipeline.sink.original_records import OriginalRecords
from penstock.pipeline.sink.parts import GroupConsumer, SinkSteps
from penstock.pipeline.sink.puts.pending import PendingBatch
from penstock.pipeline.sink.standstill import PartitionWatch
from penstock.pipeline.sink.subscription import Subscription
from penstock.pipeline.task import TaskControl
from support.tasks.runs import MemoryHost

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def sink_loop(
    client: Consumer,
    task: SinkTask,
    *,
    steps: tuple[Step, ...] = (),
    queue: DeadLetterQueue | None = None,
    cooperative: bool = False,
    **errors: str,
) -> SinkLoop:
    """With the context and the offsets as the task's. ``errors``: settings ``errors.*``."""
    metrics = Metrics(lambda _: None, ())
    settings = ErrorSettings.of({name.replace("_", "."): value for name, value in errors.items()})
    handler = ErrorHandler(settings, metrics, lambda seconds: False)
    runtime = TaskRuntime(TaskId("c", 0), TaskControl(), MemoryHost(), metrics, handler)
    member = MemberReport(client, {}, runtime.host.group_member)
    subscription, watch = Subscription({"topics": "t"}, {}, 1.0), PartitionWatch(client, 1.0)
    consumer = GroupConsumer(client, subscription, 10, "earliest", cooperative, watch, member)
    offsets = SinkTaskOffsets(metrics, CommitTiming(60.0, 5.0))
    task.context = context = SinkContext({}, None)
    parts = SinkSteps(list(steps), OriginalRecords(), queue)
    loop = SinkLoop(runtime, task, context, consumer, parts, offsets)
    handler.meanwhile = loop.meanwhile
    return loop


def fetched(*records: tuple[TopicPartition, int]) -> Batch:
    """Records as they were read: partition and offset of each."""
    numbers = [partition.partition for partition, _ in records]
    origin = SinkOrigin(["t"] * len(records), numbers, [offset for _, offset in records], ["CreateTime"] * len(records))
    return Batch.of("t", [b"a"] * len(records), partitions=list(numbers), origin=origin)


def pending(*records: tuple[TopicPartition, int]) -> PendingBatch:
    raw = fetched(*records)
    return PendingBatch.of(raw, raw, None)


class Commits:
    """In place of the consumer of the offsets: what is committed."""

    def __init__(self) -> None:
        self.seen: list[dict[TopicPartition, int]] = []

    def commit(self, offsets: Any, asynchronous: bool) -> Any:
        self.seen.append({TopicPartition(each.topic, each.partition): each.offset for each in offsets})
        return [] if asynchronous else offsets
