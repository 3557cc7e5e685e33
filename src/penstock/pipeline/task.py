"""The interface between task loops and their host: the specification of a task, its control and its reports.

The loops of ``source`` and ``sink`` do not depend on Spark. They get a ``TaskSpec``, report through a ``TaskHost`` and
follow a ``TaskControl``. ``spark.task`` is the host in production; tests run the same loops in a
thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from penstock.api.errors import ConnectError
from penstock.core.config.internal_topics import NO_INTERNAL_TOPICS, InternalTopics
from penstock.core.model.skips import Skip
from penstock.core.model.tasks import ReportedOffset
from penstock.pipeline.telemetry.plugin_calls import PluginCalls


class CommittedOffset(NamedTuple):
    """A source partition with its offset, base64 of the stored key or None, and the identity that was stored."""

    partition: dict[str, Any] | None
    offset: dict[str, Any]
    key: str | None = None
    identity: dict[str, Any] | None = None


CommittedOffsets = tuple[CommittedOffset, ...]
SourceOffsets = list[ReportedOffset]


class TaskFencedError(ConnectError):
    """Another run of the task has fenced its producer (KIP-618), or may have begun: this one can write nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """Everything a run of a task needs; plain JSON values only, since it travels over the channel.

    ``config`` is the task's configuration and ``connector_config`` the connector's, references to config providers
    resolved. ``worker_config`` is the worker's raw properties (converters, client settings, flush interval, ...).
    """

    connector: str
    task: int
    run: int
    kind: str
    """``source`` or ``sink``."""
    task_class: str
    """``module:QualName`` of the Python class."""
    config: dict[str, str]
    connector_config: dict[str, str]
    worker_config: dict[str, str]
    paused: bool = False
    group_id: str = ""
    """The worker group's id; the first part of transactional ids."""
    exactly_once: bool = False
    known_topics: tuple[str, ...] = ()
    """Topics known as active already (KIP-558); they are not reported again."""
    track_topics: bool = True
    skips: tuple[Skip, ...] = ()
    """Sink only: records that it leaves out."""
    is_source: bool = False
    offsets: CommittedOffsets = ()
    """At-least-once sources only; with exactly once ``TaskHost.committed_offsets`` has them."""
    offsets_topic: str | None = None
    """Source only: where offsets are written, by the task itself; None: they are reported to the host (standalone)."""
    global_offsets_topic: str | None = None
    """Source only.

    The worker's offsets topic, if ``offsets_topic`` is the connector's own; commits are copied to it.
    """
    kafka_cluster_id: str = ""
    internal_topics: InternalTopics = NO_INTERNAL_TOPICS
    """Topics that records may neither be read from nor written to."""
    plugin_path: tuple[str, ...] = ()
    environment: dict[str, str] | None = None
    """The place of the task's class, if its plugin has an environment of its own (``hosts.python``)."""
    variables: dict[str, str] = field(default_factory=dict)
    """The worker's variables of telemetry (``OTEL_*``); those that a task's process has of its own come first."""


class TaskHost(Protocol):
    """The host to which a task loop reports. Called from the loop's thread; must not block for long."""

    def running(self, degraded_reason: str | None = None) -> None:
        """The task has started, or resumed after a pause.

        ``degraded_reason``: why it retries, as a sentence; called again without one when it works again.
        """

    def paused(self) -> None:
        """The task has paused; it gets or delivers no further records until it is resumed."""

    def committed_offsets(self) -> CommittedOffsets:
        """Return the committed offsets. Called once by a source task with exactly once, when its producer has fenced
        all older ones (KIP-618).

        Only now are the offsets read, after the worker has confirmed once more that the task is to run here. Blocks.
        Raises ConnectError if the task is not to begin.
        """

    def topic_seen(self, topic: str) -> None:
        """The task used this topic and it was not among the known ones."""

    def skip_over(self, skip: Skip) -> None:
        """The group's offsets are beyond these records, or their topic is not the same any more."""

    def group_member(self, id: str, waits: bool) -> None:
        """Report the member of its consumer group that the task is, to be removed if the process is killed.

        Called by a sink task as soon as the coordinator has given it an id, and with each other id; and again, with
        ``waits``, at intervals while a rebalance of the group takes long: it may wait for an earlier run of the task.
        """

    def store_offsets(self, offsets: SourceOffsets) -> None:
        """Store source offsets durably (only where ``TaskSpec.offsets_topic`` is None)."""

    def metrics(self, values: dict[str, Any]) -> None:
        """Report the task's counters and gauges. Called every few seconds."""


@dataclass(slots=True)
class TaskControl:
    """Control of a running loop by its host; any thread may call every method, any number of times."""

    pausing: bool = False
    stopping: bool = False
    resets: int = 0
    """The number of resets of the active topics; the loop reports all topics again when this changes."""
    changed: threading.Event = field(default_factory=threading.Event)
    """Set whenever something changes; loops wait on it instead of sleeping, and clear it."""
    on_stop: Callable[[], None] | None = None
    """Set by the loop: ends a poll that blocks (``SourceTask.stop``). Called once, by ``stop``."""
    aborted: bool = False
    """Contact with the worker is lost: the task ends at once and commits nothing more."""
    halted: threading.Event = field(default_factory=threading.Event)
    """Set by the first ``stop``, for waits that only a stop may end."""
    calls: PluginCalls = field(default_factory=PluginCalls)
    """The plugin's methods that are being called now."""
    internal_topics: InternalTopics | None = None
    """The internal topics, where others are known by now than at the start of the task."""
    leased: Callable[[], bool] = lambda: True
    """Set by the host: whether the worker can't have given the task up. If it can have, ``aborted`` follows soon."""

    def pause(self) -> None:
        self.pausing = True
        self.changed.set()

    def resume(self) -> None:
        self.pausing = False
        self.changed.set()

    def reset_topics(self) -> None:
        self.resets += 1
        self.changed.set()

    def stop(self) -> None:
        first, self.stopping = not self.stopping, True
        self.halted.set()
        self.changed.set()
        on_stop = self.on_stop
        if first and on_stop is not None:
            on_stop()

    def may_write(self) -> bool:
        """Return False once another run of the task may have begun."""
        return not self.aborted and self.leased()

    def abort(self) -> None:
        self.aborted = True
        self.stop()

    def wait(self, seconds: float) -> None:
        """Block until something changes or so many seconds have passed. Called by the loop."""
        if self.changed.wait(max(seconds, 0.0)):
            self.changed.clear()


def await_start(control: TaskControl, host: TaskHost) -> bool:
    """Wait until a task that starts paused is resumed; False if it is stopped meanwhile."""
    if control.pausing and not control.stopping:
        host.paused()
    while control.pausing and not control.stopping:
        control.wait(3600)
    return not control.stopping


def seconds_of(spec: TaskSpec, name: str, default: str) -> float:
    """Return a setting of the worker that is given in milliseconds, in seconds."""
    return int(spec.worker_config.get(name, default)) / 1000
