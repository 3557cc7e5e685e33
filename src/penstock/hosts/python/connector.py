"""Connectors with an environment of their own: Python classes whose objects live in another process.

``connector_class`` makes one of these for each class of an environment. An object that is only asked something asks the
environment's process for questions; one that is started has a process of its own until it is stopped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

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
from penstock.hosts.python.limits import LimitError, Limits
from penstock.hosts.python.metrics import ForeignMetrics
from penstock.hosts.python.process import PluginProcess, raise_in
from penstock.hosts.python.questions import Questions
from penstock.hosts.python.tasks import EnvironmentSinkTask, EnvironmentSourceTask, Place, task_class

log = logging.getLogger(__name__)

PAUSES_S = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Before a connector starts again whose process has ended; the last one stays."""
HEALTHY_S = 300.0
"""After so long the pauses begin again."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A connector's class in its environment."""

    environment: Environment
    said: Mapping[str, Any]
    questions: Questions
    worker_config: Mapping[str, str]

    @property
    def target(self) -> str:
        return str(self.said["target"])


class EnvironmentConnector(Connector):
    """What is the same for sources and sinks."""

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
        return str(cls.plugin.said["version"])

    @classmethod
    def config_def(cls) -> ConfigDef:
        return cls.plugin.questions.config_def(cls.plugin.target)

    def _asked(self, method: str, *args: Any) -> Any:
        """What the plugin's own method says; the base's if it has none."""
        if method not in self.plugin.said["overrides"]:
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
        limits = Limits.of(config, self.plugin.worker_config)
        process = PluginProcess(self.plugin.environment.folder, f"connector {name}", limits, self._answers())
        with self._lock:
            unused, self._process = (self._process, process) if self._wanted.is_set() else (process, None)
        if unused is not None:
            unused.close()  # of a start that failed; or it has been stopped meanwhile
        if unused is process:
            return
        try:
            self._called(process, "start", self.plugin.target, dict(config))
        except BaseException:
            self._end(process)
            raise
        threading.Thread(target=self._watch, args=(process, dict(config)), name=f"watch-{name}", daemon=True).start()

    def _answers(self) -> dict[str, Any]:
        return {
            "context.request_task_reconfiguration": lambda: self.context.request_task_reconfiguration(),
            "context.raise_error": raise_in(lambda error: self.context.raise_error(error)),
            **self._metrics.answers(),
        }

    def _metric(self, *args: Any, **options: Any) -> Any:
        if (process := self._process) is None:
            raise ConnectError("The connector's process has ended")
        return process.call(*args, **options)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        with self._lock:
            process = self._process
        if process is None:
            raise ConnectError("The connector is being started again, since its process has ended")
        found: list[dict[str, str]] = self._called(process, "task_configs", max_tasks)
        return found

    def stop(self) -> None:
        if (process := self._taken()) is not None:
            try:
                if not process.gone:
                    self._called(process, "stop")
            finally:
                self._end(process)

    def has_failed(self) -> None:
        """It does not start again when its process ends: until it is restarted it is FAILED."""
        with self._lock:
            self._wanted.clear()

    def give_up(self) -> None:
        """End it though a method has not returned, whose caller gets an error."""
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
    def _called(process: PluginProcess, method: str, *args: Any) -> Any:
        try:
            return process.call(f"connector.{method}", *args)
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

    def _place(self) -> Place:
        """The limits are those of the worker; the connector's own are known where its task starts."""
        limits = Limits.of({}, self.plugin.worker_config)
        return Place(self.plugin.environment.folder, self.plugin.target, limits=limits)


class EnvironmentSourceConnector(EnvironmentConnector, SourceConnector):
    def task_class(self) -> type[SourceTask]:
        return task_class(EnvironmentSourceTask, self._place(), self.plugin.said["task"])

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
        return task_class(EnvironmentSinkTask, self._place(), self.plugin.said["task"])

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        return bool(self._asked("alter_offsets", dict(config), offsets))


def connector_class(plugin: Plugin) -> type[EnvironmentConnector]:
    said = plugin.said
    base = EnvironmentSourceConnector if said["kind"] == "source" else EnvironmentSinkConnector
    names = {
        "java_name": said["class"],
        "plugin": plugin,
        "setting_prefixes": tuple(said["prefixes"]),
        "polling_is_harmless": said["harmless"],
    }
    return type(said["class"].rpartition(".")[2], (base,), names)
