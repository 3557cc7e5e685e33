"""Connectors with an environment of their own: Python classes whose objects live in another process.

``connector_class`` makes one of these for each class of an environment. Questions to an object go to the process of
the environment that answers questions; an object that is started has a process of its own until it is stopped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, assert_never

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import (
    Connector,
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SinkConnector,
    SourceConnector,
)
from penstock.api.errors import ConnectError
from penstock.api.sink import SinkTask
from penstock.api.source import SourceTask
from penstock.hosts.errors import HostLost
from penstock.hosts.python.environment import Environment
from penstock.hosts.python.limits import LimitError, PluginLimits
from penstock.hosts.python.messages import (
    AddPluginMetric,
    ConnectorCallback,
    MakePluginTaskConfigs,
    MetricMessage,
    RaisePluginError,
    ReadMetricTags,
    RemovePluginMetric,
    RequestTaskReconfiguration,
    StartPluginConnector,
    StopPluginConnector,
    ToPlugin,
)
from penstock.hosts.python.metrics import ForeignMetrics
from penstock.hosts.python.process import PluginProcess
from penstock.hosts.python.questions import EnvironmentQuestions
from penstock.hosts.python.tasks import EnvironmentSinkTask, EnvironmentSourceTask, TaskPlace, task_class
from penstock.hosts.python.wire import rebuilt

log = logging.getLogger(__name__)

PAUSES_S = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses before a connector whose process has ended starts again; the last one repeats."""
HEALTHY_S = 300.0
"""The pauses begin again after a connector has run for so long."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A connector's class in its environment."""

    environment: Environment
    described: Mapping[str, Any]
    """See ``serving.discovery``."""
    questions: EnvironmentQuestions
    worker_config: Mapping[str, str]

    @property
    def target(self) -> str:
        return str(self.described["target"])


class EnvironmentConnector(Connector):
    """Base of source and sink connectors with an environment of their own."""

    plugin: ClassVar[Plugin]
    in_environment: ClassVar[bool] = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: PluginProcess | None = None
        self._wanted = threading.Event()
        self._attempt = -1
        self._metrics = ForeignMetrics("connector", lambda: self.context.plugin_metrics, self._metric)

    @classmethod
    def version(cls) -> str:
        return str(cls.plugin.described["version"])

    @classmethod
    def config_def(cls) -> ConfigDef:
        return cls.plugin.questions.config_def(cls.plugin.target)

    def _asked(self, method: str, *args: Any) -> Any:
        """Call the plugin's method, or the base's if the plugin has none of its own."""
        if method not in self.plugin.described["overrides"]:
            return getattr(super(), method)(*args)
        return self.plugin.questions.ask(self.plugin.target, method, *args)

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        found: list[ConfigValue] = self._asked("validate", dict(config))
        return found

    # -- its life

    def start(self, config: Mapping[str, str]) -> None:
        self._wanted.set()
        self._begin(config)

    def _begin(self, config: Mapping[str, str]) -> None:
        name = config.get("name", self.java_name)
        self._metrics.forget()
        limits = PluginLimits.of(config, self.plugin.worker_config)
        process = PluginProcess(self.plugin.environment.folder, f"connector {name}", limits, self._answer)
        with self._lock:
            unused, self._process = (self._process, process) if self._wanted.is_set() else (process, None)
        if unused is not None:
            unused.close()  # of a start that failed; or it has been stopped meanwhile
        if unused is process:
            return
        try:
            self._called(process, StartPluginConnector(self.plugin.target, dict(config)))
        except BaseException:
            self._end(process)
            raise
        threading.Thread(target=self._watch, args=(process, dict(config)), name=f"watch-{name}", daemon=True).start()

    def _answer(self, message: ConnectorCallback | MetricMessage, args: tuple[Any, ...]) -> Any:
        match message:
            case RequestTaskReconfiguration():
                self.context.request_task_reconfiguration()
            case RaisePluginError():
                self.context.raise_error(rebuilt(*args))
            case ReadMetricTags() | AddPluginMetric() | RemovePluginMetric():
                return self._metrics.answer(message)
            case _:
                assert_never(message)
        return None

    def _metric(self, *args: Any, **options: Any) -> Any:
        if (process := self._process) is None:
            raise ConnectError("The connector's process has ended")
        return process.call(*args, **options)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        with self._lock:
            process = self._process
        if process is None:
            raise ConnectError("The connector is being started again, since its process has ended")
        found: list[dict[str, str]] = self._called(process, MakePluginTaskConfigs(max_tasks))
        return found

    def stop(self) -> None:
        if (process := self._taken()) is not None:
            try:
                if not process.gone:
                    self._called(process, StopPluginConnector())
            finally:
                self._end(process)

    def has_failed(self) -> None:
        """Keep it from starting again when its process ends, since it is FAILED until it is restarted."""
        with self._lock:
            self._wanted.clear()

    def give_up(self) -> None:
        """End the process though a method has not returned, whose caller gets an error."""
        if (process := self._taken()) is not None:
            self._end(process)

    def _taken(self) -> PluginProcess | None:
        with self._lock:
            self._wanted.clear()
            return self._process

    def _end(self, process: PluginProcess) -> None:
        with self._lock:
            if self._process is process:
                self._process = None
        process.close()
        self._metrics.forget()

    @staticmethod
    def _called(process: PluginProcess, message: ToPlugin) -> Any:
        try:
            return process.call(message)
        except HostLost as lost:
            raise ConnectError(str(lost)) from None

    # -- when its process ends

    def _watch(self, process: PluginProcess, config: dict[str, str]) -> None:
        """Start again when this process ends by itself; a connector that has broken a limit fails."""
        started = time.monotonic()
        reason = process.wait_end()
        with self._lock:
            if reason is None or not self._wanted.is_set() or self._process is not process:
                return
            self._process = None
        process.close()
        if isinstance(reason, LimitError):
            self.context.raise_error(reason)
            return
        self._attempt = 0 if time.monotonic() - started > HEALTHY_S else self._attempt + 1
        pause = PAUSES_S[min(self._attempt, len(PAUSES_S) - 1)]
        log.warning("%s; connector %s starts again in %g s", reason, config.get("name"), pause)
        time.sleep(pause)
        with self._lock:
            if not self._wanted.is_set():
                return
        try:
            self._begin(config)
        except Exception as error:
            self.context.raise_error(error)
        else:
            self.context.request_task_reconfiguration()

    def _place(self) -> TaskPlace:
        """Return the place of tasks, with the worker's limits; the connector's are known where its task starts."""
        limits = PluginLimits.of({}, self.plugin.worker_config)
        return TaskPlace(self.plugin.environment.folder, self.plugin.target, limits=limits)


class EnvironmentSourceConnector(EnvironmentConnector, SourceConnector):
    def task_class(self) -> type[SourceTask]:
        return task_class(EnvironmentSourceTask, self._place(), self.plugin.described["task"])

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        found: ExactlyOnceSupport | None = self._asked("exactly_once_support", dict(config))
        return found

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        found: ConnectorTransactionBoundaries = self._asked("can_define_transaction_boundaries", dict(config))
        return found

    def tasks_for_preview(self, config: Mapping[str, str]) -> list[dict[str, str]] | None:
        found: list[dict[str, str]] | None = self._asked("tasks_for_preview", dict(config))
        return found

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        return bool(self._asked("alter_offsets", dict(config), offsets))


class EnvironmentSinkConnector(EnvironmentConnector, SinkConnector):
    def task_class(self) -> type[SinkTask]:
        return task_class(EnvironmentSinkTask, self._place(), self.plugin.described["task"])

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        return bool(self._asked("alter_offsets", dict(config), offsets))


def connector_class(plugin: Plugin) -> type[EnvironmentConnector]:
    """Return the class of a connector in an environment."""
    described = plugin.described
    base = EnvironmentSourceConnector if described["kind"] == "source" else EnvironmentSinkConnector
    names = {
        "java_name": described["class"],
        "plugin": plugin,
        "setting_prefixes": tuple(described["prefixes"]),
        "polling_is_harmless": described["harmless"],
    }
    return type(described["class"].rpartition(".")[2], (base,), names)
