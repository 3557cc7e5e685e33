"""Messages between Penstock and a JVM that hosts Java plugins.

A session is one connection: the worker or the process of a task opens it, and the JVM serves it. Both sides send
requests (``penstock.wire.calls``); a request names the type of its reply. Columns of records travel in the payload
beside a message; ``hosts.jvm.codec`` is their format. ``Messages.java`` lists the same messages and fields, and
``tests/hosts/test_messages.py`` compares both.

To the JVM (``ToJvm``):

- from the worker or a task, to the session: ``OpenSession``, ``DescribeJvm``, ``SetJavaLogLevels``,
  ``ReadJavaMetrics``;
- from the worker, to a connector: ``CreateJavaConnector``, ``ValidateJavaConnector``, ``StartJavaConnector``,
  ``StopJavaConnector``, ``MakeJavaTaskConfigs``, ``AskExactlyOnceSupport``, ``AskTransactionBoundaries``,
  ``AlterJavaOffsets``;
- from the worker, to definitions of settings, a config provider or an override policy: ``ValidateByDefinition``,
  ``CreateJavaProvider``, ``ReadProvidedConfig``, ``CreateJavaPolicy``, ``ValidateByPolicy``;
- from a task, to its batches: ``KeepBatch``, ``FetchColumns``, ``FetchOffsets``, ``ConcatBatches``;
- from a task, to its transforms, predicates and converters: ``CreateStep``, ``GiveStepMetrics``, ``CloseStep``,
  ``ApplyStep``, ``AskPredicate``, ``ConvertFromConnect``, ``ConvertToConnect``, ``ConvertToBytes``;
- from a source task, to the plugin's: ``CreateJavaSourceTask``, ``StartJavaSourceTask``, ``PollJavaTask``,
  ``CommitJavaTask``, ``CommitJavaRecords``, ``StopJavaSourceTask``;
- from a sink task, to the plugin's: ``CreateJavaSinkTask``, ``StartJavaSinkTask``, ``OpenJavaPartitions``,
  ``CloseJavaPartitions``, ``PutJavaRecords``, ``PreCommitJavaTask``, ``StopJavaSinkTask``.

From the JVM (``FromJvm``):

- from any plugin, to the session: ``JavaLogLines``;
- from a connector, to the worker (``ConnectorMessage``): ``RequestReconfiguration``, ``RaiseConnectorError``,
  ``ReadSourceOffsets``; the last one also from a source task, to Penstock's;
- from a sink task, to Penstock's (``SinkMessage``): ``DescribeGroupMember``, ``ReadCommittedOffsets``,
  ``ReadPosition``, ``ReadEndOffsets``, ``DescribeTopic``, ``ReportRecord``, ``ReportOriginalRecord``.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import msgspec

from penstock.wire.messages import Message, MessageCodec

R = TypeVar("R")

Part = Literal["key", "value", "headers"]
PartitionName = tuple[str, int]
"""Topic and partition."""
OffsetRow = tuple[str, int, int]
"""Topic, partition and offset."""
CommittedRow = tuple[str, int, int | None, str, int | None]
"""Topic, partition, offset (None without one), metadata and leader epoch."""


class JavaRequest(Message, Generic[R], frozen=True):
    """Base of requests with a reply; ``R`` is the reply's type."""


class SinkRequest(JavaRequest[R], Generic[R], frozen=True):
    """Base of requests that the process of a sink task answers."""


class JavaNotice(Message, frozen=True):
    """Base of messages without a reply."""


class JavaValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Base of what messages hold."""


# -- values inside of messages


class JavaCause(JavaValue, frozen=True):
    """An exception that caused another one: its class with its superclasses, and its message."""

    classes: list[str]
    message: str | None


class JavaFailure(JavaValue, frozen=True):
    """An exception of a plugin: its class with its superclasses, message, causes from the nearest on, and trace."""

    classes: list[str]
    message: str | None
    causes: list[JavaCause]
    trace: str


class PluginReference(JavaValue, frozen=True):
    """A plugin class and the location it is loaded from; None for the newest."""

    java_class: str = msgspec.field(name="class")
    location: str | None = None


class KeptBatch(JavaValue, tag="kept", frozen=True):
    """A batch in the JVM, or some of its rows, with columns of the payload in place of its own."""

    batch: int
    rows: list[int] | None = None
    set: list[str] | None = None
    """The columns in the payload."""
    schemas: list[Any] | None = None
    """Descriptions of schemas that the JVM has not received yet; see ``SchemaTable``."""


class SentBatch(JavaValue, tag="sent", frozen=True):
    """A batch whose columns are the payload."""

    kind: Literal["source", "sink"]
    n: int
    set: list[str]
    read: bool = False
    """True if a sink's records are as they were read from their topics."""
    schemas: list[Any] | None = None
    source_partitions: list[Any] | None = None
    source_offsets: list[Any] | None = None
    source_partition_rows: list[int] | None = None
    """The index of each record's source partition in ``source_partitions``."""


BatchInput = KeptBatch | SentBatch


class TopicColumn(JavaValue, frozen=True):
    """The distinct topics of a batch, and the index of each record's; without ``rows`` all have the only one."""

    names: list[str | None]
    rows: list[int] | None = None


class BatchInJvm(JavaValue, frozen=True):
    """A batch that the JVM has made. Columns that are the same as those of the batch before are absent."""

    batch: int
    n: int
    absent: list[str]
    """``key`` and ``headers``, if no record has any."""
    topics: TopicColumn | None = None
    partitions: list[int | None] | None = None
    timestamps: list[int | None] | None = None
    dropped: list[int] = []
    """Rows of the batch before that a transform has dropped."""


class FlowChange(JavaValue, frozen=True):
    """Partitions that a sink task wants paused or resumed."""

    action: Literal["pause", "resume"]
    partitions: list[PartitionName]


# -- replies


class SessionOpened(JavaValue, frozen=True):
    """The process ID of the JVM."""

    pid: int


class JvmDescription(JavaValue, frozen=True):
    """State of a JVM: memory in bytes, uptime in milliseconds."""

    pid: int
    java: int
    sessions: int
    used: int
    max: int
    uptime: int


class JavaMetric(JavaValue, frozen=True):
    """A metric of a plugin, registered by KIP-877 or as an attribute of an MBean."""

    name: str
    value: float
    tags: dict[str, str]
    description: str | None = None
    mbean: bool = False


class ValidatedSetting(JavaValue, frozen=True):
    """The outcome of validating one setting; values are text, as Java Connect's REST API shows them."""

    name: str
    value: str | None
    recommended: list[str | None]
    errors: list[Any]
    visible: bool


class JavaTaskConfigs(JavaValue, frozen=True):
    """The configurations of a connector's tasks, and the class of the tasks."""

    configs: list[Any]
    task_class: str


class ProvidedConfig(JavaValue, frozen=True):
    """The data that a config provider returns, and for how many milliseconds they are valid."""

    data: Any
    ttl: int | None


class ColumnsFetched(JavaValue, frozen=True):
    """Descriptions of schemas that are new to the receiver; the columns are the payload."""

    schemas: list[Any]


class BatchNumber(JavaValue, frozen=True):
    """The number of a batch in the JVM."""

    batch: int


class ConvertedToBytes(JavaValue, frozen=True):
    """True if the converter has changed headers, which are then in the payload as well."""

    headers: bool


class SourceOverrides(JavaValue, frozen=True):
    """The optional methods that a source task overrides with a body that is not empty."""

    commit: bool
    commit_record: bool


class PolledInJvm(JavaValue, frozen=True):
    """The outcome of a ``poll``: a batch unless there were no records, and where transactions end."""

    batch: BatchInJvm | None = None
    source_partitions: list[Any] = []
    """The distinct source partitions."""
    source_partition_rows: list[int] | None = None
    """The index of each record's source partition; None if there is one."""
    last: list[int] = []
    """The last row of each source partition."""
    last_offsets: list[Any] = []
    """The source offset of each of those rows."""
    ends: list[tuple[int, Literal["commit", "abort"]]] = []
    """Rows after which a transaction ends, and how."""
    commit: bool = False
    """True if the transaction ends with this batch."""
    abort: bool = False


class TaskRequests(JavaValue, frozen=True):
    """Requests of a sink task to its context during a call, and the exception that it raised."""

    rewinds: list[OffsetRow]
    timeout: int | None
    """Milliseconds until the next ``put``."""
    commit: bool
    flow: list[FlowChange]
    failure: JavaFailure | None = None


class PreCommitted(TaskRequests, frozen=True):
    """The offsets that a sink task agrees to commit: offset, metadata and leader epoch of each partition.

    None, for the map or an offset, is what the task has returned; it fails the task, as in Java.
    """

    returned: list[tuple[PartitionName, tuple[int, str | None, int | None] | None]] | None = None


class PutDone(TaskRequests, tag="done", frozen=True, kw_only=True):
    """A ``put`` that was called."""

    clear: bool
    """True if the task has taken the records and asked for nothing, so that a put begun behind this one runs."""
    converting: float
    """Seconds."""
    putting: float
    """Seconds."""
    records: BatchInJvm | None = None
    """The records as they were converted, after a put of records as they were read has failed."""


class PutNotConverted(JavaValue, tag="unconverted", frozen=True):
    """A record could not be converted; ``put`` was not called."""


class PutSkipped(JavaValue, tag="skipped", frozen=True):
    """The put before this one was not clear; ``put`` was not called."""


PutOutcome = PutDone | PutNotConverted | PutSkipped


class GroupMembership(JavaValue, frozen=True):
    """Java: ``ConsumerGroupMetadata``."""

    group: str
    generation: int
    member: str
    instance: str | None


# -- requests to the JVM: the session


class OpenSession(JavaRequest[SessionOpened], tag="open", frozen=True):
    """Begin the session, as the first request of a connection.

    ``name`` is for logs and threads; ``thread`` names the thread of the lane ``task``.

    A session with ``only`` waits for the end of another one with the same text. ``connector`` and ``task`` are tags of
    metrics.
    """

    name: str = "session"
    thread: str | None = None
    only: str | None = None
    connector: str | None = None
    task: int | None = None


class DescribeJvm(JavaRequest[JvmDescription], tag="host.about", frozen=True):
    """Report process, memory and number of sessions; tests use it."""


class SetJavaLogLevels(JavaRequest[None], tag="host.levels", frozen=True):
    """Set levels of loggers, all at the beginning, and each that changes.

    log4j's names of levels, by logger.
    """

    levels: dict[str, str]


class ReadJavaMetrics(JavaRequest[list[JavaMetric]], tag="metrics", frozen=True):
    """Report the metrics that plugins of the session have registered."""


# -- requests to the JVM: plugins of the worker


class CreateJavaConnector(JavaRequest[str | None], tag="connector.create", frozen=True):
    """Make the connector of the session; returns its version."""

    plugin: PluginReference


class ValidateJavaConnector(JavaRequest[list[ValidatedSetting]], tag="connector.validate", frozen=True):
    """Validate a connector configuration by ``Connector.validate``."""

    config: dict[str, str]


class StartJavaConnector(JavaRequest[None], tag="connector.start", frozen=True):
    """Initialize and start the connector."""

    name: str
    config: dict[str, str]


class StopJavaConnector(JavaRequest[None], tag="connector.stop", frozen=True):
    """Stop the connector."""


class MakeJavaTaskConfigs(JavaRequest[JavaTaskConfigs], tag="connector.taskConfigs", frozen=True):
    """Call ``taskConfigs``."""

    max_tasks: int


class AskExactlyOnceSupport(JavaRequest[str | None], tag="connector.exactlyOnceSupport", frozen=True):
    """Call ``exactlyOnceSupport``; returns the enumeration's name, or None."""

    config: dict[str, str]


class AskTransactionBoundaries(JavaRequest[str | None], tag="connector.transactionBoundaries", frozen=True):
    """Call ``canDefineTransactionBoundaries``; returns the enumeration's name, or None."""

    config: dict[str, str]


class AlterJavaOffsets(JavaRequest[bool], tag="connector.alterOffsets", frozen=True):
    """Call ``alterOffsets``; returns its answer.

    ``offsets``: pairs of source partition and offset, or rows of topic, partition and offset.
    """

    config: dict[str, str]
    offsets: list[Any]


class ValidateByDefinition(JavaRequest[list[ValidatedSetting]], tag="definition.validate", frozen=True):
    """Validate settings by the ``ConfigDef`` of a plugin.

    With a ``prefix`` the settings are those of a connector in which the plugin is embedded under it.
    """

    plugin: PluginReference
    prefix: str
    config: dict[str, Any]


class CreateJavaProvider(JavaRequest[None], tag="provider.create", frozen=True):
    """Make and configure the config provider of the session."""

    plugin: PluginReference
    config: dict[str, str]


class ReadProvidedConfig(JavaRequest[ProvidedConfig], tag="provider.get", frozen=True):
    """Call ``ConfigProvider.get``.

    ``keys``: None for all keys of the path.
    """

    path: str
    keys: list[str] | None


class CreateJavaPolicy(JavaRequest[None], tag="policy.create", frozen=True):
    """Make and configure the override policy of the session."""

    plugin: PluginReference
    config: dict[str, str]


class ValidateByPolicy(JavaRequest[list[ValidatedSetting]], tag="policy.validate", frozen=True):
    """Call ``ConnectorClientConfigOverridePolicy.validate``.

    ``client``: producer, consumer or admin.
    """

    client: str
    overrides: dict[str, str | None]
    connector: str | None
    connector_class: str | None
    kind: Literal["source", "sink"]


# -- requests to the JVM: batches and steps; ``free`` are batches that Penstock needs no more


class KeepBatch(JavaRequest[BatchInJvm], tag="batch.put", frozen=True):
    """Keep the records of a batch in the JVM."""

    input: BatchInput
    free: list[int]


class FetchColumns(JavaRequest[ColumnsFetched], tag="batch.columns", frozen=True):
    """Return columns of a batch in the payload."""

    input: BatchInput
    parts: list[Part]
    free: list[int]


class FetchOffsets(JavaRequest[list[Any]], tag="batch.offsets", frozen=True):
    """Return the source offsets of all records of a batch."""

    input: BatchInput
    free: list[int]


class ConcatBatches(JavaRequest[BatchNumber], tag="batch.concat", frozen=True):
    """Make one batch of several."""

    parts: list[KeptBatch]
    free: list[int]


class CreateStep(JavaRequest[int], tag="step.create", frozen=True):
    """Make a transform, predicate or converter; returns its number.

    ``kind``: transformation, predicate, converter or header_converter; ``is_key`` is for a converter.
    """

    kind: str
    plugin: PluginReference
    config: dict[str, str]
    is_key: bool = False


class GiveStepMetrics(JavaRequest[None], tag="step.metrics", frozen=True):
    """Give the plugin of a step its metrics, with these tags."""

    step: int
    tags: dict[str, str]


class CloseStep(JavaRequest[None], tag="step.close", frozen=True):
    """Close the plugin of a step."""

    step: int


class ApplyStep(JavaRequest[BatchInJvm], tag="step.apply", frozen=True):
    """Transform a batch, with a predicate if one is named.

    ``predicate``: the step whose answer decides on which records are transformed; ``negate`` turns it around.
    """

    step: int
    input: BatchInput
    free: list[int]
    predicate: int | None = None
    negate: bool = False


class AskPredicate(JavaRequest[None], tag="step.test", frozen=True):
    """Return a predicate's answer for each record in the payload, a byte each."""

    step: int
    input: BatchInput
    free: list[int]


class ConvertFromConnect(JavaRequest[ConvertedToBytes], tag="step.from", frozen=True):
    """Convert keys, values or headers to bytes, which are the payload."""

    step: int
    input: BatchInput
    free: list[int]
    part: Part


class ConvertToConnect(JavaRequest[BatchInJvm], tag="step.to", frozen=True):
    """Convert keys, values or headers from bytes."""

    step: int
    input: BatchInput
    free: list[int]
    part: Part


class ConvertToBytes(JavaRequest[None], tag="step.bytes", frozen=True):
    """Convert keys, values and headers to bytes at once.

    ``steps``: the numbers of the converters of ``key``, ``value`` and ``header``.
    """

    steps: dict[str, int]
    input: BatchInput
    free: list[int]


# -- requests to the JVM: tasks


class JavaTaskReference(JavaValue, frozen=True):
    """The class of a task, and the connector, with a range of versions or None, whose loader has it."""

    connector: str
    connector_version: str | None
    task: str


class CreateJavaSourceTask(JavaRequest[SourceOverrides], tag="source.create", frozen=True):
    """Make the task; returns which optional methods it overrides."""

    task: JavaTaskReference


class StartJavaSourceTask(JavaRequest[None], tag="source.start", frozen=True):
    """Initialize and start the task.

    ``transactions``: whether the task may define the boundaries of transactions.
    """

    config: dict[str, str]
    transactions: bool


class PollJavaTask(JavaRequest[PolledInJvm], tag="source.poll", frozen=True):
    """Call ``poll``; the records stay in the JVM."""

    free: list[int]


class CommitJavaTask(JavaRequest[None], tag="source.commit", frozen=True):
    """Call ``commit`` unless the task has returned more batches than were taken.

    ``taken``: how many batches of the task have been taken.
    """

    taken: int


class CommitJavaRecords(JavaRequest[list[JavaFailure]], tag="source.commitRecords", frozen=True):
    """Call ``commitRecord`` for each record of a batch; returns what failed.

    Where each record was written. Without ``timestamps`` a record at offset -1 was not sent.
    """

    input: BatchInput
    free: list[int]
    sent: bool
    topics: list[str]
    partitions: list[int]
    offsets: list[int]
    timestamps: list[int]


class StopJavaSourceTask(JavaRequest[None], tag="source.stop", frozen=True):
    """Stop the task."""


class CreateJavaSinkTask(JavaRequest[None], tag="sink.create", frozen=True):
    """Make the task.

    ``name`` and ``number`` of the connector's task; ``reporter``: whether it may report errant records.
    """

    task: JavaTaskReference
    name: str
    number: int
    config: dict[str, str]
    reporter: bool


class StartJavaSinkTask(JavaRequest[TaskRequests], tag="sink.start", frozen=True):
    """Initialize and start the task."""


class OpenJavaPartitions(JavaRequest[TaskRequests], tag="sink.open", frozen=True):
    """Call ``open``."""

    partitions: list[PartitionName]


class CloseJavaPartitions(JavaRequest[TaskRequests], tag="sink.close", frozen=True):
    """Call ``close``."""

    partitions: list[PartitionName]


class PutJavaRecords(JavaRequest[PutOutcome], tag="sink.put", frozen=True):
    """Convert if asked to, then call ``put``.

    Without ``input`` there are no records.

    ``convert``: the steps of ``key``, ``value`` and ``header`` that convert records as they were read. ``behind``: put
    nothing unless the put before was clear.
    """

    free: list[int]
    input: BatchInput | None = None
    convert: dict[str, int] | None = None
    behind: bool = False


class PreCommitJavaTask(JavaRequest[PreCommitted], tag="sink.commit", frozen=True):
    """Call ``preCommit``."""

    offsets: list[OffsetRow]


class StopJavaSinkTask(JavaRequest[TaskRequests], tag="sink.stop", frozen=True):
    """Stop the task."""


ToJvm = (
    OpenSession
    | DescribeJvm
    | SetJavaLogLevels
    | ReadJavaMetrics
    | CreateJavaConnector
    | ValidateJavaConnector
    | StartJavaConnector
    | StopJavaConnector
    | MakeJavaTaskConfigs
    | AskExactlyOnceSupport
    | AskTransactionBoundaries
    | AlterJavaOffsets
    | ValidateByDefinition
    | CreateJavaProvider
    | ReadProvidedConfig
    | CreateJavaPolicy
    | ValidateByPolicy
    | KeepBatch
    | FetchColumns
    | FetchOffsets
    | ConcatBatches
    | CreateStep
    | GiveStepMetrics
    | CloseStep
    | ApplyStep
    | AskPredicate
    | ConvertFromConnect
    | ConvertToConnect
    | ConvertToBytes
    | CreateJavaSourceTask
    | StartJavaSourceTask
    | PollJavaTask
    | CommitJavaTask
    | CommitJavaRecords
    | StopJavaSourceTask
    | CreateJavaSinkTask
    | StartJavaSinkTask
    | OpenJavaPartitions
    | CloseJavaPartitions
    | PutJavaRecords
    | PreCommitJavaTask
    | StopJavaSinkTask
)


# -- requests from the JVM


class JavaLogLine(JavaValue, frozen=True):
    """A line that a plugin has logged or printed.

    ``level`` is log4j's number, ``time`` milliseconds since 1970.
    """

    logger: str
    level: int
    thread: str
    time: int
    text: str
    trace: str | None


class JavaLogLines(JavaNotice, tag="log", frozen=True):
    """Lines, and how many were dropped after them. The reply, if one is expected, lets more follow."""

    lines: list[JavaLogLine]
    dropped: int = 0


class RequestReconfiguration(JavaNotice, tag="connector.reconfigure", frozen=True):
    """A connector wants its task configurations made again."""


class RaiseConnectorError(JavaNotice, tag="connector.raise", frozen=True):
    """A connector has failed."""

    error: JavaFailure


class ReadSourceOffsets(JavaRequest[list[Any]], tag="offsets", frozen=True):
    """Return the committed offset of each source partition, or None."""

    partitions: list[Any]


class DescribeGroupMember(SinkRequest[GroupMembership], tag="sink.group", frozen=True):
    """Return group, generation and member of the consumer."""


class ReadCommittedOffsets(SinkRequest[list[CommittedRow]], tag="sink.committed", frozen=True):
    """Return the group's committed offsets."""

    partitions: list[PartitionName]


class ReadPosition(SinkRequest[int], tag="sink.position", frozen=True):
    """Return the offset of the next record of a partition."""

    partition: PartitionName


class ReadEndOffsets(SinkRequest[list[OffsetRow]], tag="sink.ends", frozen=True):
    """Return the first or the end offset of each partition.

    ``last``: the offset after the last record, else that of the first.
    """

    partitions: list[PartitionName]
    last: bool


class DescribeTopic(SinkRequest[list[Any]], tag="sink.described", frozen=True):
    """Return the partitions of a topic with their brokers."""

    topic: str


class ReportRecord(SinkRequest[None], tag="sink.report", frozen=True):
    """Report an errant record that is a batch in the JVM.

    ``place``: topic, partition and offset from which the record was read.
    """

    error: JavaFailure
    record: BatchInJvm
    place: tuple[str, int, int]
    timestamp_type: str


class ReportOriginalRecord(SinkRequest[None], tag="sink.report_original", frozen=True):
    """Report an errant record by its bytes, which are the payload.

    ``key``, ``value`` and ``headers``: lengths of the bytes in the payload, -1 for None.
    """

    error: JavaFailure
    place: tuple[str, int, int]
    timestamp: int | None
    timestamp_type: str
    key: int
    value: int
    headers: list[tuple[str, int]]


ConnectorMessage = RequestReconfiguration | RaiseConnectorError | ReadSourceOffsets
SinkMessage = (
    DescribeGroupMember
    | ReadCommittedOffsets
    | ReadPosition
    | ReadEndOffsets
    | DescribeTopic
    | ReportRecord
    | ReportOriginalRecord
)
PluginMessage = ConnectorMessage | SinkMessage
FromJvm = JavaLogLines | PluginMessage


# -- envelopes; see ``penstock.wire.calls``


class CallToJvm(Message, tag="call", frozen=True):
    """A request for the thread ``lane`` of the session."""

    message: Any
    number: int | None
    lane: str


class ReplyToJvm(Message, tag="reply", frozen=True):
    """The result of a request from the JVM."""

    number: int
    result: Any


class FailureToJvm(Message, tag="failure", frozen=True):
    """The error of a request from the JVM, which a plugin gets as a ConnectException."""

    number: int
    error: str


class CallFromJvm(Message, tag="call", frozen=True):
    """A message of ``FromJvm``; ``during``: the number of the request in which the plugin makes it."""

    message: msgspec.Raw
    number: int | None = None
    during: int | None = None


class ReplyFromJvm(Message, tag="reply", frozen=True):
    """The result of a request to the JVM, of the type that the request names."""

    number: int
    result: msgspec.Raw


class FailureFromJvm(Message, tag="failure", frozen=True):
    """The exception of a request to the JVM."""

    number: int
    error: JavaFailure


EnvelopeFromJvm = CallFromJvm | ReplyFromJvm | FailureFromJvm

ENVELOPES_TO_JVM = MessageCodec[Any]("the JVM host", CallToJvm | ReplyToJvm | FailureToJvm)
ENVELOPES_FROM_JVM = MessageCodec[EnvelopeFromJvm]("the JVM host", EnvelopeFromJvm, replace_surrogates=True)
FROM_JVM = MessageCodec[FromJvm]("the JVM host", FromJvm)
