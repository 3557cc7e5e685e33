"""The loop of a sink task for tests without a broker, whose records come from the test."""

from __future__ import annotations

from typing import Any

from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import SinkTask, TopicPartition
from penstock.core.model.tasks import TaskId
from penstock.kafka.statistics import ClientStatistics
from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import CommitTiming, TaskRuntime
from penstock.pipeline.sink import events
from penstock.pipeline.sink.batch import FetchedBatch
from penstock.pipeline.sink.commits import OffsetCommits
from penstock.pipeline.sink.context import SinkContext
from penstock.pipeline.sink.identities import AssignedTopicIds
from penstock.pipeline.sink.loop import GroupConsumer, SinkLoop, SinkSteps
from penstock.pipeline.sink.member import MemberReport
from penstock.pipeline.sink.original_records import OriginalRecords
from penstock.pipeline.sink.partitions import names
from penstock.pipeline.sink.puts import LocalPuts
from penstock.pipeline.sink.standstill import PartitionWatch
from penstock.pipeline.sink.subscription import Subscription
from penstock.pipeline.task import TaskControl
from support.tasks.runs import MemoryHost

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def sink_loop(
    client: Any,
    task: SinkTask,
    *,
    steps: tuple[Step, ...] = (),
    queue: DeadLetterQueue | None = None,
    cooperative: bool = False,
    timeout: float = 5.0,
    **errors: str,
) -> SinkLoop:
    """Make a loop; the context is also the task's. ``timeout``: that of a commit; ``errors``: settings ``errors.*``."""
    metrics = Metrics(lambda _: None, ())
    settings = ErrorSettings.of({name.replace("_", "."): value for name, value in errors.items()})
    handler = ErrorHandler(settings, metrics, lambda seconds: False)
    runtime = TaskRuntime(TaskId("c", 0), TaskControl(), MemoryHost(), metrics, handler)
    member = MemberReport(client, {}, runtime.host.group_member)
    subscription, watch = (
        Subscription({"topics": "t"}, {}, 1.0),
        PartitionWatch(client, ClientStatistics("consumer", "c"), 1.0),
    )
    consumer = GroupConsumer(
        client, subscription, 10, "earliest", cooperative, watch, AssignedTopicIds(lambda topics: {}), member
    )
    task.context = context = SinkContext({}, None)
    parts = SinkSteps(list(steps), OriginalRecords(), queue, LocalPuts(task))
    loop = SinkLoop(runtime, task, context, consumer, parts, OffsetCommits(metrics), CommitTiming(60.0, timeout))
    handler.meanwhile = loop.meanwhile
    return loop


def assign(loop: SinkLoop, **positions: int) -> None:
    """Assign these partitions to the loop from offset 0, with the records before these positions already put."""
    partitions = {{"first": FIRST, "second": SECOND}[name]: offset for name, offset in positions.items()}
    loop.machine.step(events.StartsFound(tuple(partitions), dict.fromkeys(partitions, 0)), 0.0)
    loop.machine.step(events.TaskOpened(tuple(partitions)), 0.0)
    loop.machine.state.taken.update(partitions)
    loop.context.assign(loop.machine.state.assigned)


def deliver(loop: SinkLoop, *records: tuple[TopicPartition, int]) -> None:
    """Have the loop fetch these records: partition and offset of each."""
    loop.handle(events.Fetched(FetchedBatch.of(fetched(*records)), drained=True))


def fetched(*records: tuple[TopicPartition, int]) -> Batch:
    """Records as they were read: partition and offset of each."""
    numbers = [partition.partition for partition, _ in records]
    origin = SinkOrigin(["t"] * len(records), numbers, [offset for _, offset in records], ["CreateTime"] * len(records))
    return Batch.of("t", [b"a"] * len(records), partitions=list(numbers), origin=origin)


class Commits:
    """Stands for the consumer: records commits, and the positions from which it fetches."""

    def __init__(self) -> None:
        self.seen: list[dict[TopicPartition, int]] = []
        self.fetched: set[TopicPartition] = set()

    def commit(self, offsets: Any, asynchronous: bool) -> Any:
        self.seen.append({TopicPartition(each.topic, each.partition): each.offset for each in offsets})
        return None if asynchronous else offsets

    def committed(self, partitions: list[ClientPartition], timeout: float) -> list[ClientPartition]:
        return [ClientPartition(each.topic, each.partition, 0) for each in partitions]

    def memberid(self) -> str:
        return "m"

    def assign(self, partitions: list[ClientPartition]) -> None:
        self.fetched = set(names(partitions))

    def pause(self, partitions: list[ClientPartition]) -> None:
        self.fetched -= set(names(partitions))

    def resume(self, partitions: list[ClientPartition]) -> None:
        self.fetched |= set(names(partitions))
