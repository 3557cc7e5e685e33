"""Connectors from jars: Python classes whose objects live in the worker's JVM.

``classes.py`` derives one class from these for each Java class. An object that is only asked a question opens a
session for it; one that is started keeps its session until it is stopped, and starts again in a new JVM if its JVM
ends. Java: ``WorkerConnector``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, assert_never

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import (
    Connector,
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SinkConnector,
    SourceConnector,
)
from penstock.api.errors import ConnectError, KafkaError
from penstock.api.sink import SinkTask
from penstock.api.source import SourceTask
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.errors import java_error
from penstock.hosts.jvm.messages.base import JavaRequest, SinkRequest
from penstock.hosts.jvm.messages.from_jvm import (
    PluginMessage,
    RaiseConnectorError,
    ReadSourceOffsets,
    RequestReconfiguration,
)
from penstock.hosts.jvm.messages.worker import (
    AlterJavaOffsets,
    AskExactlyOnceSupport,
    AskTransactionBoundaries,
    CreateJavaConnector,
    JavaMetric,
    MakeJavaTaskConfigs,
    ReadJavaMetrics,
    StartJavaConnector,
    StopJavaConnector,
    ValidateJavaConnector,
)
from penstock.hosts.jvm.plugins.catalogue import JavaPlugin
from penstock.hosts.jvm.plugins.config_def import config_def, types_of, validated_values
from penstock.hosts.jvm.plugins.control import ControlJvm, close_later
from penstock.hosts.jvm.session import JavaCall, JvmSession, unanswered
from penstock.hosts.jvm.tasks.sink_task import JavaSinkTask
from penstock.hosts.jvm.tasks.source_task import JavaSourceTask
from penstock.hosts.jvm.tasks.task_jvm import shown_metrics

log = logging.getLogger(__name__)

R = TypeVar("R")
T = TypeVar("T")

PAUSES_S = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses before a connector whose JVM has ended starts again; the last one repeats."""
HEALTHY_S = 300.0
"""The pauses begin again after a connector has run for so long."""
_UNSUPPORTED = "java.lang.UnsupportedOperationException"


class JavaConnector(Connector):
    """Base of source and sink connectors from jars."""

    setting_prefixes = ("",)
    java_plugin: ClassVar[JavaPlugin]
    jvm: ClassVar[ControlJvm]

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: JvmSession | None = None
        self._reading: tuple[JvmSession | None, JavaCall[list[JavaMetric]] | None] = None, None
        """The session that was last asked for metrics, and that request."""
        self._task_class = ""
        self._wanted = False
        self._attempt = -1

    @classmethod
    def version(cls) -> str:
        return cls.java_plugin.version

    @classmethod
    def config_def(cls) -> ConfigDef:
        return config_def(cls.java_plugin, cls.jvm)

    # -- questions

    def _ask(self, request: JavaRequest[R]) -> R:
        return self.jvm.ask(self.java_plugin.reference, request)

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        found = self._ask(ValidateJavaConnector(dict(config)))
        return validated_values(found, types_of(self.java_plugin.document))

    def _alter(self, config: Mapping[str, str], offsets: Sequence[Any]) -> bool:
        try:
            return self._ask(AlterJavaOffsets(dict(config), list(offsets)))
        except KafkaError as error:
            if error.java_name != _UNSUPPORTED:
                raise
            problem = "because it doesn't support external modification of offsets"
            raise ConnectError(f"Failed to modify offsets for connector {config.get('name')} {problem}") from error

    # -- its life

    def start(self, config: Mapping[str, str]) -> None:
        self._wanted = True
        self._start(dict(config))

    def _start(self, config: dict[str, str]) -> None:
        name = config.get("name", "")

        def begin(session: JvmSession) -> JvmSession | None:
            with self._lock:
                if wanted := self._wanted:
                    self._session = session
            if not wanted:  # it has been stopped, or has failed, while its JVM was made
                close_later(session)
                return None
            try:
                session.call(CreateJavaConnector(self.java_plugin.reference))
                session.call(StartJavaConnector(name, config))
            except HostLost:
                self._session = None
                raise
            return session

        try:
            session = self.jvm.attempt(name, f"connector-thread-{name}", begin, self._answer)
        except HostLost as lost:
            raise ConnectError(f"Connector {name} has ended its JVM while it started: {lost}") from lost
        if session is not None:
            threading.Thread(target=self._watch, args=(session, config), name=f"watch-{name}", daemon=True).start()

    def _answer(self, message: PluginMessage, payload: memoryview) -> Any:
        match message:
            case RequestReconfiguration():
                self.context.request_task_reconfiguration()
            case RaiseConnectorError(error):
                self.context.raise_error(java_error(error))
            case ReadSourceOffsets(partitions):
                return self._offsets(partitions)
            case SinkRequest():
                return unanswered(message, payload)
            case _:
                assert_never(message)
        return None

    def ask_metrics(self) -> JavaCall[list[JavaMetric]] | None:
        """Ask for the metrics that it has registered (KIP-877, MBeans), without waiting.

        Returns None if it does not run, or has not yet answered the last time.
        """
        with self._lock:
            session = self._session
            if session is None or session.gone:
                return None
            of, before = self._reading
        if of is session and before is not None and not before.done.is_set():
            return None
        reading = session.begin(ReadJavaMetrics(), lane="metrics", aside=True)
        with self._lock:
            self._reading = session, reading
        return reading

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        with self._lock:
            session = self._session
        if session is None:
            raise ConnectError("The connector is being started again, since its JVM has ended")
        try:
            with self.jvm.calling(session):
                found = session.call(MakeJavaTaskConfigs(max_tasks)).result
        except HostLost as lost:
            raise ConnectError(
                f"The connector's JVM has ended while it made its tasks' configurations: {lost}"
            ) from lost
        self._task_class = found.task_class
        configs: list[dict[str, str]] = found.configs
        return configs

    def stop(self) -> None:
        session = self._taken()
        if session is None:
            return
        try:
            with self.jvm.calling(session):
                session.call(StopJavaConnector())
        except HostLost:
            pass  # it has stopped
        finally:
            close_later(session)

    def has_failed(self) -> None:
        """Keep it from starting again when its JVM ends, since it is FAILED until it is restarted."""
        with self._lock:
            self._wanted = False

    def give_up(self) -> None:
        """Close the session of a failed connector, which Java Connect does not stop either."""
        if (session := self._taken()) is not None:
            close_later(session)

    def _taken(self) -> JvmSession | None:
        with self._lock:
            self._wanted, session, self._session = False, self._session, None
        return session

    def _offsets(self, partitions: list[Any]) -> list[Any]:
        """Return the committed offset of each source partition, or None."""
        known = self.context.source_offsets()  # type: ignore[attr-defined]
        return [next((offset for place, offset in known if place == asked), None) for asked in partitions]

    # -- when its JVM ends

    def _watch(self, session: JvmSession, config: dict[str, str]) -> None:
        """Start again when the JVM of this session ends, unless the connector has been stopped or has failed."""
        started = time.monotonic()
        session.wait_end()
        if not self._is_wanted(session):
            return
        self._attempt = 0 if time.monotonic() - started > HEALTHY_S else self._attempt + 1
        pause = PAUSES_S[min(self._attempt, len(PAUSES_S) - 1)]
        log.warning("The JVM of connector %s has ended; it starts again in %g s", config.get("name"), pause)
        time.sleep(pause)
        if not self._is_wanted(session):
            return
        try:
            self._start(config)
        except Exception as error:
            if self._wanted:
                self.context.raise_error(error)
        else:
            self.context.request_task_reconfiguration()

    def _is_wanted(self, session: JvmSession) -> bool:
        with self._lock:
            return self._wanted and self._session is session


class JavaSourceConnector(JavaConnector, SourceConnector):
    """Base of source connectors from jars."""

    def task_class(self) -> type[SourceTask]:
        """Return the class under Java's name, known after ``task_configs``; it is imported by the name of its base."""
        return _task_class(JavaSourceTask, self._task_class)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        answer = self._ask(AskExactlyOnceSupport(dict(config)))
        return None if answer is None else ExactlyOnceSupport[answer]

    def can_define_transaction_boundaries(  # type: ignore[override]
        self, config: Mapping[str, str]
    ) -> ConnectorTransactionBoundaries | None:
        answer = self._ask(AskTransactionBoundaries(dict(config)))
        return None if answer is None else ConnectorTransactionBoundaries[answer]

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        return self._alter(config, [list(pair) for pair in offsets])


class JavaSinkConnector(JavaConnector, SinkConnector):
    """Base of sink connectors from jars."""

    def task_class(self) -> type[SinkTask]:
        """Return the class under Java's name, known after ``task_configs``; it is imported by the name of its base."""
        return _task_class(JavaSinkTask, self._task_class)

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        return self._alter(config, [[topic, partition, to] for (topic, partition), to in offsets.items()])


def answers(asked: Iterable[JavaCall[list[JavaMetric]] | None], seconds: float) -> list[dict[str, Any]]:
    """Return the metrics that were asked for and have arrived within so many seconds."""
    deadline = time.monotonic() + seconds
    found: list[dict[str, Any]] = []
    for pending in asked:
        if pending is not None and pending.done.wait(max(0.0, deadline - time.monotonic())) and pending.succeeded:
            reply = pending.wait()
            found += [] if reply is None else shown_metrics(reply.result)
    return found


def _task_class(base: type[T], java_name: str) -> type[T]:
    names = {"__module__": base.__module__, "__qualname__": base.__qualname__, "java_name": java_name}
    return type(base.__name__, (base,), names)
