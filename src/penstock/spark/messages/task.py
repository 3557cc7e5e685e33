"""Messages between a worker and a task, hosted or query: the channel.

The worker's end is ``spark.admission`` and ``spark.run.hosted_run``, the task's ``spark.channel`` and
``spark.run.task_link``. First each side proves to the other that it knows the key of this run of the task: the worker
sends a ``Challenge``, the task a ``Presentation``, perhaps both once more, then the worker an ``Admission`` or a
``Refusal``. After an admission either side may send any of its messages at any time.

- Worker to task (``WorkerMessage``): ``TaskHeartbeat``, ``PauseCommand``, ``ResumeCommand``, ``ResetTopicsCommand``,
  ``StopCommand``, ``AbortCommand``, ``HostCommand``, ``CommittedOffsetsReply``, ``LogLevelCommand``,
  ``LinesWritten``, ``InternalTopicsCommand``.
- Task to worker (``TaskMessage``): ``TaskHeartbeat``, ``WaitingReport``, ``RunningReport``, ``PausedReport``,
  ``CommittedOffsetsRequest``, ``TopicReport``, ``SkipReport``, ``GroupMemberReport``, ``OffsetsReport``,
  ``MetricsReport``, ``LogReport``, ``StalledReport``, ``NotHostedReport``, ``LostReport``, ``FailedReport``,
  ``DoneReport``.
"""

from __future__ import annotations

from typing import Any

from penstock.core.config.internal_topics import InternalTopics
from penstock.core.model.skips import Skip
from penstock.core.model.tasks import ReportedOffset
from penstock.pipeline.task import CommittedOffsets, TaskSpec
from penstock.wire.messages import Message, MessageCodec, MessagePart


class TaskIdentity(MessagePart, frozen=True):
    """The run of a task that a process is for. Encoded separately, since the proof covers its bytes."""

    connector: str
    task: int
    run: int
    attempt: int = 0
    """Spark's: more than 0 if it has started the process once more."""
    host: str = ""
    pid: int = -1


IDENTITIES = MessageCodec[TaskIdentity]("the identity of a task", TaskIdentity)


class TaskSubmission(MessagePart, frozen=True):
    """Address of a task's worker, and how each recognizes the other; Spark brings it to the task's process."""

    address: tuple[str, int]
    fingerprint: str
    """SHA-256 of the worker's certificate, in hexadecimal."""
    key: str
    """Key of this submission, in hexadecimal; never sent over the channel."""
    identity: TaskIdentity
    jars: list[str] = []
    """Jars that all queries need, if Spark does not have them."""
    shared: bool = False
    """Whether other tasks may come into the process."""


# The handshake.


class Challenge(Message, frozen=True):
    """Worker to task: prove that you know the key, with this nonce."""

    nonce: str


class Presentation(Message, frozen=True):
    """Task to worker: who it is, and the proof. All of it may come from a stranger."""

    identity: str
    """JSON of the ``TaskIdentity``."""
    nonce: str
    proof: str


class AdmittedTask(MessagePart, frozen=True):
    """Specification and settings of an admitted task."""

    spec: TaskSpec
    lease: float
    """Seconds without a heartbeat after which the worker gives the task up."""
    levels: dict[str, int | str] = {}
    """Levels of loggers, by name."""


class Admission(Message, frozen=True):
    """Worker to task: begin. ``proof`` shows that it is the task's worker."""

    proof: str
    task: AdmittedTask


class Refusal(Message, frozen=True):
    """Worker to task: end without having done anything."""

    reason: str


PRESENTATIONS = MessageCodec[Presentation]("the admission protocol of tasks", Presentation)
"""The only messages that a stranger may send."""
AdmissionAnswer = Challenge | Admission | Refusal
ADMISSIONS = MessageCodec[AdmissionAnswer]("the admission protocol of tasks", AdmissionAnswer)


class TaskHeartbeat(Message, frozen=True):
    """Task to worker, at intervals, and back: the worker has not given the task up yet."""

    at: float
    """When the task sent it, by its own clock (``time.monotonic``)."""


# Worker to task.


class PauseCommand(Message, frozen=True):
    """Pause. ``PausedReport`` follows."""


class ResumeCommand(Message, frozen=True):
    """Work on after a pause. ``RunningReport`` follows."""


class ResetTopicsCommand(Message, frozen=True):
    """Forget the active topics (KIP-558): ``TopicReport`` comes again for those that are used from now on."""


class StopCommand(Message, frozen=True):
    """Commit what is done and end."""


class AbortCommand(Message, frozen=True):
    """End at once and commit nothing more."""


class HostCommand(Message, frozen=True):
    """Run one more task in this process (``penstock.tasks.per.process``).

    It connects to the worker by itself; ``NotHostedReport`` follows if it can't.
    """

    group: str
    task: TaskSubmission


class CommittedOffsetsReply(Message, frozen=True):
    """The answer to ``CommittedOffsetsRequest``."""

    offsets: CommittedOffsets


class LogLevelCommand(Message, frozen=True):
    """Set the level of a logger, as Python names or numbers it."""

    name: str
    level: int | str


class LinesWritten(Message, frozen=True):
    """The lines of so many ``LogReport`` are in the worker's log: more may follow."""

    reports: int


class InternalTopicsCommand(Message, frozen=True):
    """Read and write none of these topics: others are internal than when the task started."""

    topics: InternalTopics


WorkerCommand = (
    PauseCommand
    | ResumeCommand
    | ResetTopicsCommand
    | StopCommand
    | AbortCommand
    | HostCommand
    | CommittedOffsetsReply
    | LogLevelCommand
    | LinesWritten
    | InternalTopicsCommand
)
WorkerMessage = TaskHeartbeat | WorkerCommand
FROM_WORKER = MessageCodec[WorkerMessage]("the task channel (worker to task)", WorkerMessage)


# Task to worker.


class WaitingReport(Message, frozen=True):
    """The task has not started after a long time; ``reason`` has its stack."""

    reason: str


class RunningReport(Message, frozen=True):
    """The task has started or resumed."""

    degraded_reason: str | None = None
    """Why it retries, as a sentence; sent again without one when it works again."""


class PausedReport(Message, frozen=True):
    """The task has paused, or started in a pause."""


class CommittedOffsetsRequest(Message, frozen=True):
    """The producer has fenced those of older runs (KIP-618): read the committed offsets now.

    ``CommittedOffsetsReply`` follows, or ``AbortCommand`` if the task is not to begin.
    """


class TopicReport(Message, frozen=True):
    """The task has used a topic that was not among the known ones (KIP-558)."""

    topic: str


class SkipReport(Message, frozen=True):
    """The group's offsets are beyond records that the task leaves out, or their topic is not the same any more."""

    skip: Skip


class GroupMemberReport(Message, frozen=True):
    """The member of its consumer group that the task is."""

    id: str
    waits: bool
    """Whether a rebalance takes long: it may wait for an earlier run of the task."""


class OffsetsReport(Message, frozen=True):
    """Source offsets that the worker is to store (standalone)."""

    offsets: tuple[ReportedOffset, ...]


class MetricsReport(Message, frozen=True):
    """Counters and gauges of the run so far (``TaskMetrics``), at intervals of seconds."""

    values: dict[str, Any]


class LogLine(MessagePart, frozen=True):
    """A line that the task has logged."""

    text: str
    name: str
    """Name of the logger."""
    level: int
    path: str
    line: int
    created: float
    """Seconds since 1970."""
    trace: dict[str, str] = {}
    """Ids of the trace of the batch, if there is one."""


class LogReport(Message, frozen=True):
    """Lines that the task has logged. ``LinesWritten`` follows when they are in the worker's log."""

    lines: tuple[LogLine, ...]
    dropped: int = 0
    """Number of lines dropped after these because the worker was too slow for them."""


class StalledReport(Message, frozen=True):
    """A method of the plugin does not return; None: it has returned after all."""

    reason: str | None


class NotHostedReport(Message, frozen=True):
    """The task of a ``HostCommand`` can't begin here."""

    group: str
    reason: str


class LostReport(Message, frozen=True):
    """The task ends without having failed: it has lost its worker, its right to write, or a process it needs."""

    reason: str
    died: bool = False
    """Whether a process that it needs has ended by itself."""


class FailedReport(Message, frozen=True):
    """The task has failed, with this trace."""

    trace: str


class DoneReport(Message, frozen=True):
    """The task has ended. Sent last."""


TaskReport = (
    WaitingReport
    | RunningReport
    | PausedReport
    | CommittedOffsetsRequest
    | TopicReport
    | SkipReport
    | GroupMemberReport
    | OffsetsReport
    | MetricsReport
    | LogReport
    | StalledReport
    | NotHostedReport
    | LostReport
    | FailedReport
    | DoneReport
)
TaskMessage = TaskHeartbeat | TaskReport
FROM_TASK = MessageCodec[TaskMessage]("the task channel (task to worker)", TaskMessage)
