"""Messages between Penstock and the interpreter of a Python plugin.

Penstock, the worker or the process of a task, starts the interpreter and is one end of the connection, the plugin is
the other. Both send calls (``penstock.wire.calls``). A message has plain values; other arguments, and what a call
returns, are pickled in its payload (``hosts.python.wire``): batches of records, offsets, settings, errors. The
plugin's interpreter has no ``msgspec``; there ``penstock.wire.plain`` makes the same messages.

To the plugin (``ToPlugin``):

- from the worker and from installation: ``ReportVersion``, ``DiscoverPlugins``;
- from the worker, about the classes of an environment: ``ReadDefinition``, ``CallDefinition``, ``AskConnector``;
- from the worker, to the connector of the process: ``StartPluginConnector``, ``MakePluginTaskConfigs``,
  ``StopPluginConnector``;
- from a source task, to the plugin's: ``CreatePluginSource``, ``StartPluginSource``, ``PollPlugin``,
  ``CallPluginSource``;
- from a sink task, to the plugin's: ``CreatePluginSink``, ``StartPluginSink``, ``CallPluginSink``,
  ``PreCommitPlugin``;
- from each of them: ``ReadPluginMetric``, ``SetPluginLogLevel``, ``PluginLinesWritten``.

From the plugin (``FromPlugin``):

- to any process: ``PluginLogLines``, and ``ReadMetricTags``, ``AddPluginMetric``, ``RemovePluginMetric``;
- from a connector to the worker: ``RequestTaskReconfiguration``, ``RaisePluginError``;
- from a source task to Penstock's: ``ReadPluginOffsets``;
- from a sink task to Penstock's: ``ReadAssignment``, ``RewindOffsets``, ``SetPutTimeout``, ``PausePluginPartitions``,
  ``ResumePluginPartitions``, ``RequestOffsetCommit``, ``ReportErrantRecord``.
"""

from __future__ import annotations

from typing import Any, Literal

from penstock.wire.messages import Message, MessageCodec

# -- to the plugin


class ReportVersion(Message, tag="ready", frozen=True):
    """Return the version of the interpreter."""


class DiscoverPlugins(Message, tag="discover", frozen=True):
    """Return the connectors of entry points and of these modules, and a sentence for each class left out."""

    modules: list[str]


class SetPluginLogLevel(Message, tag="level", frozen=True):
    """Set the level of a logger; no reply."""

    logger: str
    level: int


class PluginLinesWritten(Message, tag="log.written", frozen=True):
    """The lines of so many ``PluginLogLines`` are written: more may follow. No reply."""

    messages: int


class ReadDefinition(Message, tag="definition.read", frozen=True):
    """Return the settings of a connector class as ``serving.definitions`` pickles them."""

    target: str


class CallDefinition(Message, tag="definition.call", frozen=True):
    """Call a check or a recommender of a definition by its number. Payload: the arguments."""

    target: str
    number: int
    method: Literal["__call__", "valid_values", "visible"]


class AskConnector(Message, tag="connector.ask", frozen=True):
    """Call a method of a new object of a connector class. Payload: the arguments."""

    target: str
    method: Literal[
        "validate", "exactly_once_support", "can_define_transaction_boundaries", "tasks_for_preview", "alter_offsets"
    ]


class StartPluginConnector(Message, tag="connector.start", frozen=True):
    """Make the connector of the process and start it."""

    target: str
    config: dict[str, Any]


class MakePluginTaskConfigs(Message, tag="connector.task_configs", frozen=True):
    """Return the connector's configurations of tasks."""

    max_tasks: int


class StopPluginConnector(Message, tag="connector.stop", frozen=True):
    """Stop the connector."""


class ReadPluginMetric(Message, tag="metric", frozen=True):
    """Return the value of a metric by its number."""

    side: Literal["connector", "source", "sink"]
    number: int


class CreatePluginSource(Message, tag="source.create", frozen=True):
    """Make the source task of a connector class; return which methods its class overrides."""

    target: str


class StartPluginSource(Message, tag="source.start", frozen=True):
    """Start the task; ``transactions``: whether it may define the boundaries of transactions."""

    config: dict[str, Any]
    transactions: bool


class PollPlugin(Message, tag="source.poll", frozen=True):
    """Return a batch or None, how long to wait if there is none, and where transactions end."""


class CallPluginSource(Message, tag="source.call", frozen=True):
    """Call another method of the source task. Payload: the arguments."""

    method: Literal["commit", "commit_records", "progress", "seconds_behind", "settings_for_new_topic", "stop"]


class CreatePluginSink(Message, tag="sink.create", frozen=True):
    """Make the sink task of a connector class."""

    target: str


class StartPluginSink(Message, tag="sink.start", frozen=True):
    """Start the task; ``reports``: whether it may report errant records."""

    config: dict[str, Any]
    reports: bool


class CallPluginSink(Message, tag="sink.call", frozen=True):
    """Call another method of the sink task. Payload: the arguments."""

    method: Literal["open", "put_batch", "close", "stop"]


class PreCommitPlugin(Message, tag="sink.pre_commit", frozen=True):
    """Return the offsets that the task agrees to commit. Payload: the offsets."""


# -- from the plugin


class PluginLogLine(Message, tag="line", frozen=True):
    """A line that was logged. ``created``: seconds since 1970."""

    logger: str
    level: int
    text: str
    created: float


class PluginLogLines(Message, tag="log", frozen=True):
    """Lines that were logged, and how many were dropped after them; ``PluginLinesWritten`` follows."""

    lines: list[PluginLogLine]
    dropped: int = 0


class ReadMetricTags(Message, tag="metrics.tags", frozen=True):
    """Return the tags of the plugin's metrics."""


class AddPluginMetric(Message, tag="metrics.add", frozen=True):
    """Register a metric, whose value is read by its number."""

    name: str
    description: str
    number: int
    tags: dict[str, Any]


class RemovePluginMetric(Message, tag="metrics.remove", frozen=True):
    """Remove a metric."""

    name: str
    tags: dict[str, Any]


class RequestTaskReconfiguration(Message, tag="context.request_task_reconfiguration", frozen=True):
    """Ask for task configurations to be made again."""


class RaisePluginError(Message, tag="context.raise_error", frozen=True):
    """Report that the connector has failed. Payload: the error."""


class ReadPluginOffsets(Message, tag="context.offsets", frozen=True):
    """Return the committed offset of each source partition, or None. Payload: the partitions."""


class ReadAssignment(Message, tag="context.assignment", frozen=True):
    """Return the partitions that are assigned to the task."""


class RewindOffsets(Message, tag="context.offset", frozen=True):
    """Read from these offsets. Payload: the offset of each partition."""


class SetPutTimeout(Message, tag="context.timeout", frozen=True):
    """Set the time until the next put. Payload: milliseconds."""


class PausePluginPartitions(Message, tag="context.pause", frozen=True):
    """Read no records of some partitions. Payload: the partitions."""


class ResumePluginPartitions(Message, tag="context.resume", frozen=True):
    """Read records of paused partitions again. Payload: the partitions."""


class RequestOffsetCommit(Message, tag="context.request_commit", frozen=True):
    """Ask for offsets to be committed soon."""


class ReportErrantRecord(Message, tag="context.report", frozen=True):
    """Report an errant record. Payload: a batch of it, and the error."""


ToPlugin = (
    ReportVersion
    | DiscoverPlugins
    | SetPluginLogLevel
    | PluginLinesWritten
    | ReadDefinition
    | CallDefinition
    | AskConnector
    | StartPluginConnector
    | MakePluginTaskConfigs
    | StopPluginConnector
    | ReadPluginMetric
    | CreatePluginSource
    | StartPluginSource
    | PollPlugin
    | CallPluginSource
    | CreatePluginSink
    | StartPluginSink
    | CallPluginSink
    | PreCommitPlugin
)
MetricMessage = ReadMetricTags | AddPluginMetric | RemovePluginMetric
ConnectorCallback = RequestTaskReconfiguration | RaisePluginError
SinkCallback = (
    ReadAssignment
    | RewindOffsets
    | SetPutTimeout
    | PausePluginPartitions
    | ResumePluginPartitions
    | RequestOffsetCommit
    | ReportErrantRecord
)
FromPlugin = PluginLogLines | MetricMessage | ConnectorCallback | ReadPluginOffsets | SinkCallback


# -- envelopes; see ``penstock.wire.calls``


class CallToPlugin(Message, tag="call", frozen=True):
    """A call of the plugin; ``during``: the number of the plugin's call that is being answered."""

    message: ToPlugin
    number: int | None = None
    lane: str | None = None
    during: int | None = None


class CallFromPlugin(Message, tag="call", frozen=True):
    """A call by the plugin; ``during``: the number of the call in which the plugin makes it."""

    message: FromPlugin
    number: int | None = None
    lane: str | None = None
    during: int | None = None


class CallReturned(Message, tag="reply", frozen=True):
    """A call has returned. Payload: the value."""

    number: int


class CallRaised(Message, tag="failure", frozen=True):
    """A call has raised. Payload: the error, see ``hosts.python.wire.described``."""

    number: int


TO_PLUGIN = MessageCodec[Any]("the Python host", CallToPlugin | CallReturned | CallRaised)
FROM_PLUGIN = MessageCodec[Any]("the Python host", CallFromPlugin | CallReturned | CallRaised)
