"""Messages between a worker and Spark's driver, over the socket that the driver inherits from the worker.

The worker's end is ``spark.supervisor``, the driver's ``spark.driver.driver``. A *group* is a Spark job group: the name
of one run of a task. The end of the socket is the end of the worker or the driver.

- Worker to driver (``DriverCommand``): ``StartSpark``, ``SubmitTask``, ``SubmitQuery``, ``SampleSource``,
  ``JudgeSql``, ``CancelJob``, ``ShowTotals``, ``PingDriver``, ``StopSpark``.
- Driver to worker (``DriverEvent``): ``JavaStarted``, ``SparkStarted``, ``DriverPong``, ``JobEnded``,
  ``SourceSampled``, ``SqlJudged``, ``DriverEnding``.
"""

from __future__ import annotations

from penstock.pipeline.task import TaskSpec
from penstock.spark.messages.task import TaskSubmission
from penstock.wire.messages import Message, MessageCodec, MessagePart

# Worker to driver.


class StartSpark(Message, frozen=True):
    """Start Spark with this configuration. Sent first, and once."""

    conf: dict[str, str]
    warm_up: bool
    """Whether hosted tasks follow, for which Java is to be at its speed."""


class SubmitTask(Message, frozen=True):
    """Run a hosted task, as a job of its own. ``JobEnded`` follows."""

    group: str
    description: str
    """Name of the job in Spark's UI."""
    task: TaskSubmission


class SubmitQuery(Message, frozen=True):
    """Run a query task, in a thread of the driver. ``JobEnded`` follows."""

    group: str
    task: TaskSubmission


class SampleSource(Message, frozen=True):
    """Read a few records of a source whose task is a query. ``SourceSampled`` follows."""

    group: str
    spec: TaskSpec
    limit: int
    """Maximum number of records."""
    seconds: float
    """Seconds to wait for records."""
    jars: list[str]
    """Jars that all queries need, if Spark does not have them."""


class JudgeSql(Message, frozen=True):
    """Judge the ``sql`` of a configuration that is validated, as far as no rows are needed. ``SqlJudged`` follows."""

    group: str
    sql: str
    functions: list[str]
    options: list[str]
    """Functions and patterns of options that the worker's operator allows, as for ``SqlSelect``."""
    jars: list[str]


class CancelJob(Message, frozen=True):
    """End the job or query of this group by force. ``JobEnded`` follows as for every end."""

    group: str


class ShowTotals(Message, frozen=True):
    """Show totals of a hosted task in Spark's UI."""

    group: str
    values: dict[str, float]


class PingDriver(Message, frozen=True):
    """Show that neither the driver nor its Java is frozen. ``DriverPong`` follows."""

    number: int


class StopSpark(Message, frozen=True):
    """End Spark and the driver."""


DriverWork = StartSpark | SubmitTask | SubmitQuery | SampleSource | JudgeSql | CancelJob | ShowTotals | StopSpark
"""Executed by the driver in the order in which it is sent; pings are answered beside it."""
DriverCommand = DriverWork | PingDriver
COMMANDS = MessageCodec[DriverCommand]("the protocol of Spark's driver (commands)", DriverCommand)


# Driver to worker.


class JavaStarted(Message, frozen=True):
    """Spark's Java has started. Sent before anything else can fail, so that the worker can kill it."""

    pid: int


class SparkStarted(Message, frozen=True):
    """Spark has started: jobs can be submitted."""

    unfit: tuple[str, ...] = ()
    """Sentences that name what some of its executors lack."""


class CollectorFigures(MessagePart, frozen=True, array_like=True):
    """Work of one of Java's garbage collectors so far."""

    collections: int
    seconds: float


class JavaFigures(MessagePart, frozen=True):
    """Memory, threads and garbage collections of Spark's Java."""

    memory: dict[str, int]
    """Bytes by area: ``heap``, ``nonheap``."""
    threads: int
    collections: dict[str, CollectorFigures]
    """By collector."""


class DriverPong(Message, frozen=True):
    """The answer to ``PingDriver``, sent by way of Java."""

    number: int
    java: JavaFigures | None = None
    """With some of the answers only."""


class JobEnded(Message, frozen=True):
    """A job or query is over. ``error`` is Spark's message; None if it has done its work."""

    group: str
    error: str | None = None


class SourceSampled(Message, frozen=True):
    """The answer to ``SampleSource``."""

    group: str
    records: str | None = None
    """Base64 of a pickled batch, as ``hosts.python.wire`` reads it; None if there are no records."""
    error: str | None = None
    """Why there is no answer, as a sentence."""


class SqlJudged(Message, frozen=True):
    """The answer to ``JudgeSql``."""

    group: str
    problem: str | None = None
    """Why the statement is refused, as a sentence; None also if that is not known."""


class DriverEnding(Message, frozen=True):
    """The driver ends, for this reason. Sent last."""

    reason: str


DriverEvent = JavaStarted | SparkStarted | DriverPong | JobEnded | SourceSampled | SqlJudged | DriverEnding
EVENTS = MessageCodec[DriverEvent]("the protocol of Spark's driver (events)", DriverEvent)
