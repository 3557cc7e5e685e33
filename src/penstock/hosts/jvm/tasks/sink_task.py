"""Sink tasks from jars, as the pipeline's loop knows sink tasks; Java: ``HostedSink``, ``GroupMember``.

A request has the partitions or offsets it is about; records are in the JVM already, or cross as columns. What the task
asks of its context (rewinds, pauses, commits, a timeout) is kept in the JVM and comes back with the reply. Some plugins
reach for the consumer of the task; what they ask it is answered by the ``TaskGroupMember``.

A put can be begun and waited for later. It may take records as they were read, and convert them before: then they
cross once, and nothing else does until they are put. A second put may be begun behind it, which does nothing unless
the task takes the records of the first and asks for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, assert_never

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import OffsetAndMetadata, SinkTask, SinkTaskContext, TopicPartition
from penstock.hosts.jvm.errors import java_error
from penstock.hosts.jvm.messages.base import CommittedRow, JavaRequest, PartitionName
from penstock.hosts.jvm.messages.batches import SentBatch
from penstock.hosts.jvm.messages.from_jvm import (
    DescribeGroupMember,
    DescribeTopic,
    GroupMembership,
    PluginMessage,
    RaiseConnectorError,
    ReadCommittedOffsets,
    ReadEndOffsets,
    ReadPosition,
    ReadSourceOffsets,
    ReportOriginalRecord,
    ReportRecord,
    RequestReconfiguration,
)
from penstock.hosts.jvm.messages.tasks import (
    CloseJavaPartitions,
    CreateJavaSinkTask,
    JavaTaskReference,
    OpenJavaPartitions,
    PreCommitJavaTask,
    PutDone,
    PutJavaRecords,
    PutNotConverted,
    PutOutcome,
    PutSkipped,
    StartJavaSinkTask,
    StopJavaSinkTask,
    TaskRequests,
)
from penstock.hosts.jvm.session import JavaCall, unanswered
from penstock.hosts.jvm.tasks.remote_batch import Input, after, described, encoded, input_of, received, remote
from penstock.hosts.jvm.tasks.steps import JavaStepOf
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm

TASK_CLASS = "task.class"


class TaskGroupMetadata(Protocol):
    """Java: ``ConsumerGroupMetadata``."""

    @property
    def group(self) -> str: ...
    @property
    def generation(self) -> int: ...
    @property
    def member(self) -> str: ...
    @property
    def instance(self) -> str | None: ...


class TaskGroupMember(Protocol):
    """The member of the consumer group that reads the task's records. Plugins may ask from threads of their own."""

    def metadata(self) -> TaskGroupMetadata: ...

    def committed(
        self, partitions: Sequence[TopicPartition], /
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]: ...

    def ends(self, partitions: Sequence[TopicPartition], last: bool, /) -> Mapping[TopicPartition, int]:
        """Return the first offset of each partition, or the one after its last record."""

    def described(self, topic: str, /) -> Sequence[Mapping[str, Any]]:
        """Return each partition of a topic: its number, its leader, its replicas and those that are in sync."""

    @property
    def positions(self) -> Any:
        """A function that returns the offset of the next record to be read of each partition."""


class HostedSinkContext(SinkTaskContext, Protocol):
    """The context of a task in a JVM, which needs more than the API has."""

    member: TaskGroupMember

    def report_original(self, original: Batch, error: BaseException) -> None:
        """Report an errant record, as it was read: a batch of bytes with one row. Raises if it is not tolerated."""


class NotConvertedError(Exception):
    """A record could not be converted in the JVM, and none has been put."""


class BegunPut:
    """A put that runs in the JVM."""

    def __init__(self, call: JavaCall[PutOutcome], settle: Callable[[PutDone], None]) -> None:
        self._call, self._settle = call, settle
        self.converted = False
        """Whether the records have been converted, if they were to be."""
        self.again: Batch | None = None
        """The records as they are converted, if the put of records as they were read has failed."""
        self.converting = self.seconds = 0.0
        """Seconds that the conversion and the task's ``put`` have taken."""
        self.clear = False
        """Whether the task has taken the records and asked for nothing, so that a put begun behind this one runs."""

    def wait(self) -> None:
        """Return when the task has taken the records, or a put that was begun behind another one has put nothing.

        Raises the plugin's error, NotConvertedError and HostLost.
        """
        reply = self._call.wait()
        assert reply is not None
        match reply.result:
            case PutNotConverted():
                raise NotConvertedError
            case PutSkipped():
                return
            case PutDone() as done:
                self.converted, self.converting, self.seconds = True, done.converting, done.putting
                self.clear = done.clear
                self._settle(done)
            case _:
                assert_never(reply.result)


class JavaSinkTask(SinkTask):
    """A sink task in a JVM. Making one makes the plugin's task in the JVM of the task that is being made."""

    context: HostedSinkContext

    def __init__(self) -> None:
        self._jvm = TaskJvm.current()
        self._prepared: tuple[Batch, tuple[SentBatch, list[bytes]], int] | None = None

    def start(self, config: Mapping[str, str]) -> None:
        jvm, session = self._jvm, self._jvm.session
        session.answer_with(self._answer)
        version = jvm.connector_config.get("connector.plugin.version")
        task = JavaTaskReference(jvm.connector_config["connector.class"], version, jvm.task_config[TASK_CLASS])
        reports = self.context.errant_record_reporter is not None
        session.call(CreateJavaSinkTask(task, jvm.connector, jvm.task, dict(config), reports))
        self._call(StartJavaSinkTask())

    def send(self, batch: Batch) -> Batch:
        """Send records as they were read: plugins ask for them, and the next steps may find them in the JVM."""
        return remote(self._jvm, batch, self._input(batch, read=True))

    def prepare(self, batch: Batch) -> None:
        """Make what will be sent of these records, which were read; that is all that is kept until it is sent."""
        generation = self._jvm.schemas.generation
        self._prepared = batch, encoded(self._jvm, batch, read=True), generation

    def _input(self, batch: Batch, read: bool) -> Input:
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared[0] is batch and self._jvm.schemas.generation - prepared[2] <= 1:
            return described(self._jvm, prepared[1])
        return described(self._jvm, encoded(self._jvm, batch, read=True)) if read else input_of(self._jvm, batch)

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self._call(OpenJavaPartitions(_names(partitions)))

    def put_batch(self, batch: Batch) -> None:
        self.begin_put(batch).wait()

    def begin_put(
        self, batch: Batch, converters: Mapping[str, JavaStepOf] | None = None, behind: bool = False
    ) -> BegunPut:
        """Begin a put; ``converters`` of key, value and header, if the records are as they were read.

        Until the put has been waited for, only one put ``behind`` it may be begun, and the plugin's requests are not
        answered. The latter is to be waited for if the first is clear; otherwise it has put nothing, and its records
        have to be put again.
        """
        payload: list[bytes] = []
        convert = None if converters is None else {part: step().number for part, step in converters.items()}
        input = None
        if len(batch):
            input, payload = self._input(batch, read=converters is not None)

        def settle(done: PutDone) -> None:
            if done.records is not None:
                begun.again = after(self._jvm, batch, done.records)
            self._settle(done)

        request = PutJavaRecords(self._jvm.take_free(), input, convert, behind)
        begun = BegunPut(self._jvm.session.begin(request, payload), settle)
        return begun

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        request = PreCommitJavaTask([(*partition, offset) for partition, offset in offsets.items()])
        reply = self._jvm.session.call(request).result
        self._settle(reply)
        if reply.returned is None:
            return None  # type: ignore[return-value]  # which fails the task, as in Java
        agreed: dict[TopicPartition, Any] = {
            TopicPartition(*partition): kept and OffsetAndMetadata(*kept)  # type: ignore[arg-type]  # None fails the task
            for partition, kept in reply.returned
        }
        return agreed

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._call(CloseJavaPartitions(_names(partitions)))

    def stop(self) -> None:
        self._call(StopJavaSinkTask())

    def _call(self, request: JavaRequest[TaskRequests]) -> None:
        self._settle(self._jvm.session.call(request).result)

    def _settle(self, requests: TaskRequests) -> None:
        """Give the context what the task has asked for. Raises the plugin's error."""
        context = self.context
        if requests.rewinds:
            context.offset({TopicPartition(topic, number): offset for topic, number, offset in requests.rewinds})
        if requests.timeout is not None:
            context.timeout(requests.timeout)
        if requests.commit:
            context.request_commit()
        for flow in requests.flow:
            partitions = _partitions(flow.partitions)
            assigned = set(partitions) & context.assignment
            (context.pause if flow.action == "pause" else context.resume)(*assigned)
        if requests.failure is not None:
            raise java_error(requests.failure)

    # -- what the plugin asks

    def _answer(self, message: PluginMessage, payload: memoryview) -> Any:
        member = self.context.member
        match message:
            case DescribeGroupMember():
                found = member.metadata()
                return GroupMembership(found.group, found.generation, found.member, found.instance)
            case ReadCommittedOffsets(partitions):
                return [_committed(*each) for each in member.committed(_partitions(partitions)).items()]
            case ReadPosition(partition):
                return member.positions()[TopicPartition(*partition)]
            case ReadEndOffsets(partitions, last):
                ends = member.ends(_partitions(partitions), last)
                return [(*partition, offset) for partition, offset in ends.items()]
            case DescribeTopic(topic):
                return list(member.described(topic))
            case ReportRecord():
                self._report(message)
            case ReportOriginalRecord():
                self.context.report_original(_original(message, payload), java_error(message.error))
            case RequestReconfiguration() | RaiseConnectorError() | ReadSourceOffsets():
                unanswered(message, payload)
            case _:
                assert_never(message)
        return None

    def _report(self, report: ReportRecord) -> None:
        topic, partition, offset = report.place
        origin = SinkOrigin([topic], [partition], [offset], [report.timestamp_type])
        batch = received(self._jvm, report.record, origin)
        assert self.context.errant_record_reporter is not None
        with self._jvm.aside():
            error = java_error(report.error)
            self.context.errant_record_reporter.report(batch.row(0), error)  # type: ignore[arg-type]


def _names(partitions: Sequence[TopicPartition]) -> list[PartitionName]:
    return [(topic, number) for topic, number in partitions]


def _partitions(names: Sequence[PartitionName]) -> list[TopicPartition]:
    return [TopicPartition(*each) for each in names]


def _committed(partition: TopicPartition, known: OffsetAndMetadata | None) -> CommittedRow:
    if known is None:
        return (*partition, None, "", None)
    return (*partition, int(known), known.metadata, known.leader_epoch)


def _original(report: ReportOriginalRecord, payload: memoryview) -> Batch:
    """Return a record of bytes, as it was read from its topic."""
    at = 0

    def taken(length: int) -> bytes | None:
        nonlocal at
        if length < 0:
            return None
        at += length
        return bytes(payload[at - length : at])

    topic, partition, offset = report.place
    key, value = taken(report.key), taken(report.value)
    headers = tuple((name, taken(length)) for name, length in report.headers)
    return Batch.of(
        topic,
        [value],
        keys=[key],
        partitions=[partition],
        timestamps=[report.timestamp],
        headers=[headers],  # type: ignore[list-item]
        origin=SinkOrigin([topic], [partition], [offset], [report.timestamp_type]),
    )
