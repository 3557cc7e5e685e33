"""Answers to requests about this worker alone: its version, plugins and loggers."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, assert_never

from penstock import KAFKA_VERSION, __version__
from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.infos import ConfigInfos
from penstock.core.config.versions import VersionRange
from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.hosts.jvm.levels import JVMS
from penstock.observe import NUMBERS, LogLevels
from penstock.pipeline.trace import headline
from penstock.plugins import Plugins
from penstock.worker.background import as_exception
from penstock.worker.monitoring.dead_letters import DeadLetterRequest
from penstock.worker.monitoring.history import History
from penstock.worker.monitoring.log_lines import LogLines

log = logging.getLogger(__name__)

COMMIT = hashlib.sha256(f"penstock {__version__}".encode()).hexdigest()[:16]
"""The ``commit`` of ``GET /``: stands for the release, in the form of Java Connect's, which clients parse."""


@dataclass(frozen=True, slots=True)
class WorkerLevels:
    """The log levels of the worker's process, of the JVM of its plugins, and of its tasks' processes."""

    levels: LogLevels
    send: Callable[[str, int], None]
    """Sets the level of one logger in the tasks that run and in those that start later."""

    def set(self, name: str, level: str) -> list[str]:
        """See ``LogLevels.set``; a Java logger's level counts in tasks for its Python counterparts.

        A level that there is not, as a record of the config topic may have, is ignored, as in Java.
        """
        number = NUMBERS.get(level.strip().upper())
        if number is None:
            log.warning("Ignoring request to set invalid level '%s' for namespace %s", level, name)
            return []
        changed = self.levels.set(name, level)
        for each in self.levels.for_tasks(name):
            self.send(each, number)
            JVMS.level_changed(each)
        return changed


class LocalAnswers:
    """``answer`` is called from any thread; plugins' code may block, so it runs on threads of its own."""

    def __init__(
        self,
        threads: Executor,
        plugins: Plugins,
        levels: LogLevels,
        *,
        cluster_id: Callable[[], str],
        check_plugin: Callable[[str], None],
        validate: Callable[[Mapping[str, str | None]], ConfigInfos],
        set_level: Callable[[str, str], list[str]],
        history: History,
        log_lines: LogLines | None = None,
        preview: Callable[[local.Preview], dict[str, Any]],
        dead_letters: Callable[[DeadLetterRequest], dict[str, Any]],
        offset_plans: Callable[[local.PlanOffsets], dict[str, Any]],
        topic_records: Callable[[local.ListRecords], dict[str, Any]],
        check: Callable[[local.CheckConfig | local.CheckConnector], dict[str, Any]],
    ) -> None:
        self._threads, self._plugins, self._levels = threads, plugins, levels
        self._cluster_id, self._check_plugin, self._validate, self._set_level = (
            cluster_id,
            check_plugin,
            validate,
            set_level,
        )
        self._history, self._log_lines, self._preview = history, log_lines, preview
        self._dead_letters, self._offset_plans, self._topic_records = dead_letters, offset_plans, topic_records
        self._check = check

    def answer(self, request: local.LocalRequest, future: Future[m.Reply | m.Elsewhere]) -> None:
        self._threads.submit(self._answer, request, future)

    def _answer(self, request: local.LocalRequest, future: Future[m.Reply | m.Elsewhere]) -> None:
        try:
            future.set_result(m.Reply(200, self._body(request)))
        except m.Refused as refused:
            future.set_result(refused.reply())
        except (ConnectError, ConfigError) as error:
            future.set_result(m.Refused(400, str(error)).reply())
        except BaseException as error:
            future.set_exception(as_exception(error))

    def _body(self, request: local.LocalRequest) -> Any:
        match request:
            case local.GetRoot():
                return {"version": KAFKA_VERSION, "commit": COMMIT, "kafka_cluster_id": self._cluster_id()}
            case local.ListPlugins(connectors_only, unusable):
                return self._plugins.listing(connectors_only, unusable)
            case local.GetPluginConfig(plugin, version):
                _check_range(version)
                self._check_plugin(plugin)
                keys = self._plugins.config(plugin, version)
                if keys is None:
                    raise m.Refused(404, f"Unknown plugin {plugin}.")
                return [key.to_json() for key in keys]
            case local.ValidateConfig(plugin, config, warnings):
                infos = self._validated(plugin, config)
                return {**infos.to_json(), **({"penstock": {"warnings": [*infos.warnings]}} if warnings else {})}
            case local.ListLoggers():
                return self._levels.all()
            case local.GetLogger(name):
                shown = self._levels.get(name)
                if shown is None:
                    raise m.Refused(404, f"Logger {name} not found.")
                return shown
            case local.SetLogger(name, level):
                return self._set_level(name, level)
            case local.ListVersions() | local.GetVersion() | local.CompareVersions() | local.ListEvents():
                return self._history.answer(request)
            case local.Preview():
                return self._preview(request)
            case local.ListDeadLetters() | local.GetDeadLetter() | local.ReplayDeadLetters():
                return self._dead_letters(request)
            case local.PlanOffsets():
                return self._offset_plans(request)
            case local.ListRecords():
                return self._topic_records(request)
            case local.CheckConfig() | local.CheckConnector():
                return self._check(request)
            case local.GetLogs():
                return {"lines": [], "next": 0} if self._log_lines is None else self._log_lines.answer(request)
            case _:
                assert_never(request)

    def _validated(self, plugin: str, config: dict[str, str | None]) -> ConfigInfos:
        """Validate a configuration. Its class must end with the name in the path, ``Connector`` at the end of either
        aside. What the connector's own code raises is 500 with its class, as in Java.
        """
        named = config.get("connector.class")
        if named is not None and not _stem(named).endswith(_stem(plugin)):
            raise m.Refused(400, f"Included connector type {named} does not match request type {plugin}")
        try:
            return self._validate(config)
        except m.PluginFailed as failed:
            raise m.Refused(500, headline(failed.__cause__ or failed)) from failed


def _check_range(version: str | None) -> None:
    try:
        VersionRange.parse(version)
    except ConfigError:
        raise m.Refused(400, f"Invalid version specification: {version}") from None


def _stem(name: str) -> str:
    return name.removesuffix("Connector") or name
