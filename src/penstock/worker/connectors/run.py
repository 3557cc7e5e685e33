"""One run of a connector, on a thread of its own (Java: WorkerConnector).

The worker puts commands into its queue and gets their outcomes as events. What a connector raises makes it
FAILED, with its trace; it is never the worker's.
"""

from __future__ import annotations

import json
import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from penstock.api.config_types import ConfigType, parse_type
from penstock.api.connector import Connector, SinkConnector
from penstock.api.errors import ConnectError
from penstock.api.kafka import KafkaClients
from penstock.api.plugin_metrics import PluginMetrics
from penstock.api.returned import task_class, task_configs
from penstock.core.config.connector import TASKS_MAX, TASKS_MAX_ENFORCE
from penstock.core.config.internal_topics import InternalTopics
from penstock.core.config.runtime_settings import value_of
from penstock.core.model.actions import GeneratedTasks
from penstock.core.model.events import (
    Completed,
    ConnectorChange,
    ConnectorDelayed,
    ConnectorEnded,
    ConnectorFailed,
    ConnectorPaused,
    ConnectorRunning,
    ConnectorStopped,
    ReconfigurationWanted,
)
from penstock.core.model.limits import DEFAULT_RECORD_BYTES, MAX_TASKS, task_configs_problem, tasks_problem
from penstock.core.model.state import PAUSED, STARTED, STOPPED
from penstock.hosts.jvm.plugins.connector import JavaConnector
from penstock.hosts.python.connector import EnvironmentConnector
from penstock.kafka.connector_clients import ConnectorClients
from penstock.observe import log_context
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins
from penstock.pipeline.trace import stack, trace
from penstock.settings import with_references
from penstock.worker.background import as_exception

log = logging.getLogger(__name__)

Deliver = Callable[[ConnectorChange | Completed], None]
SourceOffsets = list[tuple[Mapping[str, Any] | None, Mapping[str, Any]]]
"""Pairs of source partition and source offset."""
LONG_S = 10.0
"""Seconds after which a call of a connector's method is reported as slow."""


@dataclass(slots=True)
class _Call:
    """A plugin call that has not returned yet."""

    what: str
    since: float
    thread: int
    reported: bool = False

    def described(self) -> str:
        seconds = time.monotonic() - self.since
        return f"{self.what} has not returned for {seconds:.0f} s. It is at\n{stack(self.thread)}"


class SlowCalls:
    """Slow calls of one run, whose thread makes one call at a time; ``look`` and ``where`` are for other threads."""

    def __init__(self, connector: str, tell: Callable[[str | None], None]) -> None:
        """``tell`` is called with a description of a call that takes long, once, and with None when it is over."""
        self._connector, self._tell = connector, tell
        self._call: _Call | None = None
        self._lock = threading.Lock()

    @contextmanager
    def within(self, what: str) -> Iterator[None]:
        with self._lock:
            self._call = _Call(what, time.monotonic(), threading.get_ident())
        try:
            yield
        finally:
            with self._lock:
                reported = self._call is not None and self._call.reported
                self._call = None
                if reported:
                    self._tell(None)

    def look(self) -> None:
        """Report a call that takes long, once."""
        with self._lock:
            call = self._call
            if call is None or call.reported or time.monotonic() - call.since < LONG_S:
                return
            call.reported, described = True, call.described()
            self._tell(described)
        with log_context(self._connector):
            log.warning("%s", described)

    def where(self) -> str:
        """Return the call that is under way, as the rest of a message; empty if there is none."""
        with self._lock:
            return "" if self._call is None else f": {self._call.described()}"


@dataclass(frozen=True, slots=True)
class ConnectorSetup:
    """Functions of the worker that a run of a connector needs."""

    new: Callable[[Mapping[str, str]], Connector]
    """Creates a connector of the class that a configuration names."""
    resolve: Callable[[Mapping[str, str]], dict[str, str]]
    """Resolves the references to config providers in a configuration."""
    resolve_to_start: Callable[[str, Mapping[str, str]], dict[str, str]]
    starts: Callable[[str, Mapping[str, str]], None]
    """Called with the resolved configuration of each connector that has been checked and starts."""
    """Does the same for a connector that starts; the connector is restarted when values expire."""
    check: Callable[[Connector, Mapping[str, str]], None]
    """Raises ConfigError for settings that were accepted but make a connector fail when it starts."""
    prepare: Callable[[Mapping[str, str]], None]
    """Creates or checks the topics that the connector needs; an exception makes it fail. May block."""
    task_class_name: Callable[[type], str]
    offsets: Callable[[str, Mapping[str, str]], SourceOffsets]
    """Returns the committed offsets of a source, up to the end of their topic. May block."""
    max_record_bytes: int = DEFAULT_RECORD_BYTES
    """``max.request.size`` of the worker: a task configuration is one record."""
    internal_topics: Callable[[], InternalTopics] = InternalTopics
    """Returns the topics that no connector may read or write. May block."""


_KEY = secrets.token_bytes(32)


def _digest(config: Mapping[str, str]) -> bytes:
    """Return a keyed digest of a resolved configuration, which reveals none of its secrets."""
    return blake2b(json.dumps(sorted(config.items())).encode(), key=_KEY, digest_size=16).digest()


@dataclass(slots=True)
class ConnectorThread:
    """A run of a connector: its thread, and the context of the connector."""

    name: str
    number: int
    raw: Mapping[str, str]
    setup: ConnectorSetup
    deliver: Deliver
    commands: queue.SimpleQueue[Callable[[], bool]] = field(default_factory=queue.SimpleQueue)
    connector: Connector | None = None
    begun: bool = False
    """Whether ``start`` was called, and ``stop`` not yet."""
    started: bool = False
    """Whether ``start`` has returned and the connector has not failed since."""
    failed: bool = False
    version: str | None = None
    """None until its class and its configuration have been checked."""
    ended: bool = False
    """Whether ``ConnectorEnded`` was delivered."""
    calls: SlowCalls = field(init=False)
    metrics: MetricsOfPlugins = field(init=False)

    def __post_init__(self) -> None:
        self.calls = SlowCalls(
            self.name, lambda described: self.deliver(ConnectorDelayed(self.name, self.number, described))
        )
        self.metrics = MetricsOfPlugins({"connector": self.name})

    # -- ConnectorContext

    @property
    def kafka(self) -> KafkaClients:
        return ConnectorClients(self.setup.internal_topics)

    @property
    def plugin_metrics(self) -> PluginMetrics:
        return self.metrics.of()

    def request_task_reconfiguration(self) -> None:
        self.deliver(ReconfigurationWanted(self.name, self.number))

    def raise_error(self, error: object) -> None:
        """Fail the connector. Plugins whose types nobody checks pass a text instead of an exception."""
        failed = error if isinstance(error, BaseException) else ConnectError(str(error))
        self._stay_ended()  # now: its process may end before the command's turn comes
        self.commands.put(lambda: self._fail(failed))

    def source_offsets(self) -> SourceOffsets:
        return self.setup.offsets(self.name, self.setup.resolve(self.raw))

    # -- on its thread

    def work(self) -> None:
        with log_context(self.name):
            while self.commands.get()():
                pass
            self._end()

    def turn(self, target: str) -> bool:
        if self.failed and (target != STOPPED or self.version is None):
            return True
        self.failed = False
        try:
            version = self._instance().version()
            if target == STARTED:
                self._start()
                self.deliver(ConnectorRunning(self.name, self.number, version))
            else:
                self._check_before_suspended()
                self._suspend(target)
                kind = ConnectorPaused if target == PAUSED else ConnectorStopped
                self.deliver(kind(self.name, self.number, version))
        except BaseException as error:
            return self._fail(error)
        return True

    def _instance(self) -> Connector:
        if self.connector is None:
            with self._calling("__init__"):
                self.connector = self.setup.new(self.raw)
            self.connector.context = self
        return self.connector

    @contextmanager
    def _calling(self, method: str) -> Iterator[None]:
        with self.calls.within(f"{method}() of the connector"):
            yield

    def _resolved(self, to_start: bool) -> dict[str, str]:
        with self.calls.within("The resolution of the connector's configuration"):
            return self.setup.resolve_to_start(self.name, self.raw) if to_start else self.setup.resolve(self.raw)

    def _check_before_suspended(self) -> None:
        """Check a connector that begins paused or stopped: its configuration must be valid too (Java:
        Worker.startConnector).
        """
        if self.version is None:
            connector = self._instance()
            self.setup.check(connector, self._resolved(to_start=False))
            self.version = connector.version()

    def _start(self) -> None:
        if not self.started:
            connector, config = self._instance(), self._resolved(to_start=True)
            self.setup.check(connector, config)
            self.version = connector.version()
            self.setup.prepare(config)
            self.setup.starts(self.name, config)
            self.begun = True
            with self._calling("start"):
                connector.start(config)
            self.started = True

    def _stop(self) -> None:
        """Stop the connector.

        ``stop`` of a Java connector that failed is not called, as in Java Connect; it is only released.
        """
        connector, runs = self.connector, self.started
        if connector is None or not self.begun:
            return
        self.begun = self.started = False
        with self._calling("stop"):
            if runs or not isinstance(connector, JavaConnector):
                connector.stop()
            else:
                connector.give_up()
        self.connector = None  # a stopped one is not started again

    def _suspend(self, target: str) -> None:
        """Pause or stop the connector. It is reported as stopped even if its ``stop`` raises, as in Java."""
        try:
            self._stop()
        except BaseException:  # SystemExit, too
            if target != STOPPED:
                raise
            log.exception("Connector %s failed while it was being stopped", self.name)
            self.connector = None

    def _fail(self, error: BaseException) -> bool:
        if not self.failed:
            self.failed, self.started = True, False
            self._stay_ended()
            log.error("Connector %s has failed", self.name, exc_info=error)
            self.deliver(ConnectorFailed(self.name, self.number, trace(error), self.version))
        return True

    def _stay_ended(self) -> None:
        """Keep a failed connector from starting again when the process of its plugin ends."""
        if isinstance(self.connector, JavaConnector | EnvironmentConnector):
            self.connector.has_failed()

    def task_configs(self, token: int, max_tasks: int) -> bool:
        if self.failed or not self.started:
            self.deliver(Completed(token))
            return True
        try:
            self.deliver(Completed(token, self._task_configs(max_tasks)))
        except TooManyTasks as error:
            self._fail(error)
            self.deliver(Completed(token))
        except BaseException as error:
            self.deliver(Completed(token, error=as_exception(error)))
        return True

    def _task_configs(self, max_tasks: int) -> GeneratedTasks:
        connector, config = self._instance(), self._resolved(to_start=False)
        if "${" in self.raw.get("tasks.max", ""):  # the herder can't resolve references to config providers
            max_tasks = min(tasks_max(config), MAX_TASKS)
        with self._calling("task_configs"):
            made = task_configs(connector.task_configs(max_tasks))
        check_tasks_max(self.name, len(made), max_tasks, config)
        if (problem := tasks_problem(len(made))) is not None:
            raise TooManyTasks(f"The connector {self.name} has generated {problem}")
        own = {"task.class": self.setup.task_class_name(task_class(connector.task_class()))}
        if isinstance(connector, SinkConnector):
            own |= {key: self.raw[key] for key in ("topics", "topics.regex") if key in self.raw}
        configs = [with_references(self.raw, {**each, **own}) for each in made]
        if (problem := task_configs_problem(configs, self.setup.max_record_bytes)) is not None:
            raise TooManyTasks(f"The tasks of connector {self.name} can't be stored: {problem}")
        return GeneratedTasks(configs, _digest(config))

    def _end(self) -> None:
        try:
            self._stop()
        except BaseException:
            log.exception("Connector %s failed while it was being stopped", self.name)
        self.report_end()

    def report_end(self) -> None:
        if not self.ended:
            self.ended = True
            self.deliver(ConnectorEnded(self.name, self.number))


log = logging.getLogger(__name__)

_DISALLOWED = (
    "This behaviour should be considered a bug and is disallowed. If necessary, it can be permitted by reconfiguring "
    "the connector with 'tasks.max.enforce' set to false; however, this option will be removed in a future release of "
    "Kafka Connect."
)


class TooManyTasks(ConnectError):
    """A connector made more tasks than ``tasks.max``, or than can be stored; never retried."""

    java_name = "org.apache.kafka.connect.runtime.TooManyTasksException"


def tasks_max(config: Mapping[str, str]) -> int:
    """Return ``tasks.max`` of a configuration without references. Raises ConfigError."""
    return int(parse_type(TASKS_MAX, value_of(config, TASKS_MAX), ConfigType.INT))


def check_tasks_max(connector: str, tasks: int, most: int, config: Mapping[str, str]) -> None:
    """Check ``tasks.max`` when a connector makes its tasks (KIP-1004).

    Raises TooManyTasks, or warns where ``tasks.max.enforce`` is false. Java checks it again when a task starts, and
    fails one that starts after the setting was lowered and before its connector has made fewer tasks. Here such a task
    runs until then.
    """
    if tasks <= most:
        return
    message = (
        f"The connector {connector} has generated {tasks} tasks, which is greater than {most}, "
        "the maximum number of tasks it is configured to create. "
    )
    if value_of(config, TASKS_MAX_ENFORCE).strip().lower() != "false":
        raise TooManyTasks(message + _DISALLOWED)
    log.warning("%sThis behaviour should be considered a bug.", message)


log = logging.getLogger(__name__)
