"""Previews on the worker: permission, references resolved, records of Spark queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from penstock.api.connector import SourceConnector
from penstock.api.query import QueryConnector
from penstock.core.config.infos import ConfigInfos
from penstock.core.config.internal_topics import InternalTopics
from penstock.core.config.secrets import restored
from penstock.core.model.local_requests import Preview
from penstock.core.model.messages import Refused
from penstock.kafka.letters.queue import Letter
from penstock.pipeline.task import TaskSpec
from penstock.plugins import Plugins
from penstock.preview.messages import CheckAnswer, CheckRequest, PreviewRequest, RecordsAnswer, RecordsRequest, plain
from penstock.preview.poll import HarmfulError, harmless_tasks
from penstock.preview.process import AT_ONCE, TIME_LIMIT_S, Previews
from penstock.preview.sample import request_of_letter
from penstock.spark.messages.driver import SourceSampled

Sample = Callable[[TaskSpec, int, float], "Future[SourceSampled]"]
"""``HostedTasks.sample``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPreviews:
    """``config`` is the worker's; the others are what the worker does elsewhere too. Any thread may call this; it
    blocks.
    """

    config: Mapping[str, str]
    plugins: Plugins
    known: Callable[[str], Mapping[str, str] | None]
    """Returns the configuration of a connector."""
    validate: Callable[[Mapping[str, str | None]], ConfigInfos]
    resolve: Callable[[Mapping[str, str]], dict[str, str]]
    check: Callable[[Mapping[str, str]], None]
    """Raises ConfigError for what the worker does not allow."""
    clean: Callable[[str], str]
    """Removes secrets."""
    sample: Sample
    internal_topics: Callable[[], InternalTopics] = InternalTopics
    """Returns the topics that no connector may read. May block."""
    plugin_path: tuple[str, ...] = ()
    processes: Previews = field(default_factory=Previews)
    _free: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(AT_ONCE))
    """Previews that may wait for Spark, which may have to be started."""

    def answer(self, request: Preview) -> dict[str, Any]:
        """Return the preview of a configuration that could be created as a connector. Raises Refused, ConfigError."""
        known = self.known(request.name)
        before = {} if known is None else dict(known)
        if request.patch and known is None:
            raise Refused(404, f"Connector {request.name} not found")
        wanted = restored({**(before if request.patch else {}), **request.config}, before)
        config = {name: value for name, value in {**wanted, "name": request.name}.items() if value is not None}
        problems = self.validate(config).message
        if problems is not None:
            raise Refused(400, problems)
        resolved = self.resolve(config)
        self.check(resolved)
        given = PreviewRequest(
            connector=resolved,
            worker=dict(self.config),
            internal_topics=self.internal_topics(),
            plugin_path=list(self.plugin_path),
            limit=request.limit,
            partition=request.partition,
            offset=request.offset,
            poll=request.poll,
        )
        plugin = self.plugins.connector(resolved)
        if issubclass(plugin, QueryConnector) and issubclass(plugin, SourceConnector):
            return self._of_query(plugin(), given)
        return plain(self.processes.run(given, self.clean))

    def decoded(self, config: Mapping[str, str], letter: Letter) -> dict[str, Any]:
        """Return what a sink's steps make of one of its dead letters today."""
        self.check(config)
        internal = self.internal_topics()
        given = request_of_letter(config, letter, dict(self.config), list(self.plugin_path), internal)
        return plain(self.processes.run(given, self.clean))

    def records(self, request: RecordsRequest, left: Future[None] | None = None) -> RecordsAnswer:
        """Read records of a topic of a connector, until ``left`` is done."""
        return self.processes.records(request, self.clean, left)

    def contact(self, request: CheckRequest) -> CheckAnswer:
        """Contact what a configuration names."""
        return self.processes.check(request, self.clean)

    def _of_query(self, connector: SourceConnector, request: PreviewRequest) -> dict[str, Any]:
        """Preview a source whose records Spark reads; the rest is as for every source."""
        try:
            configs = harmless_tasks(connector, request) or [request.connector]
        except HarmfulError as error:
            return _untried(str(error))
        task_class = connector.task_class()
        spec = TaskSpec(
            connector=request.connector["name"],
            task=0,
            run=0,
            kind="query",
            task_class=f"{task_class.__module__}:{task_class.__qualname__}",
            config=configs[0],
            connector_config=request.connector,
            worker_config=request.worker,
            internal_topics=request.internal_topics,
            plugin_path=self.plugin_path,
            is_source=True,
        )
        if not self._free.acquire(blocking=False):
            raise Refused(503, f"{AT_ONCE} previews are waiting for Spark, the maximum; try again later")
        try:
            answer = self._sampled(spec, request)
        finally:
            self._free.release()
        if answer.error is not None:
            return _untried(self.clean(answer.error))
        return plain(self.processes.run(replace(request, sampled=answer.records or ""), self.clean))

    def _sampled(self, spec: TaskSpec, request: PreviewRequest) -> SourceSampled:
        sampling = self.sample(spec, request.limit, request.seconds)
        try:
            return sampling.result(TIME_LIMIT_S)
        except TimeoutError:
            sampling.cancel()
            raise Refused(500, f"Spark has not read any records within {TIME_LIMIT_S:g} s") from None
        except CancelledError:
            raise Refused(500, "The worker is stopping") from None


def _untried(message: str) -> dict[str, Any]:
    return {"kind": "source", "records": [], "error": {"stage": "TASK_POLL", "message": message}}
