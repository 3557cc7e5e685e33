"""The JVM of one run of a task, opened when its first Java plugin needs it, and closed when the task has ended."""

from __future__ import annotations

import hashlib
import json
import logging
import shlex
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import msgspec

from penstock.api.errors import ConnectError
from penstock.hosts.jvm.build import KAFKA, class_path
from penstock.hosts.jvm.codec.schema_table import SchemaTable
from penstock.hosts.jvm.levels import follow, unfollow
from penstock.hosts.jvm.messages.worker import JavaMetric, OpenSession, ReadJavaMetrics
from penstock.hosts.jvm.plugins.catalogue import find, java_executable
from penstock.hosts.jvm.process import JvmSpec, open_session
from penstock.hosts.jvm.session import JavaCall, JvmSession
from penstock.hosts.jvm.shipped import SHIP

log = logging.getLogger(__name__)

OPTIONS = "penstock.java.opts"
PROCESS = "penstock.java.process"
HOME = "penstock.java.home"
_HEAP = {False: "-Xmx1g", True: "-Xmx2g"}
"""Maximum heap of the JVM of one connector, and of a whole worker, which is that of Java Connect."""

_current: ContextVar[TaskJvm | None] = ContextVar("task_jvm", default=None)
_aside: ContextVar[str | None] = ContextVar("lane_aside", default=None)


def shown_metrics(metrics: Iterable[JavaMetric]) -> list[dict[str, Any]]:
    """Return metrics as plain values, as those of Python plugins are."""
    return [msgspec.to_builtins(each) for each in metrics]


@dataclass(slots=True, eq=False)
class TaskJvm:
    """The configurations are those of a ``TaskSpec``; ``catalogue`` gives the file that discovery has written."""

    connector: str
    task: int
    task_config: Mapping[str, str]
    connector_config: Mapping[str, str]
    worker_config: Mapping[str, str]
    catalogue: Callable[[], Path | None]
    schemas: SchemaTable = field(default_factory=SchemaTable)
    before_close: list[Callable[[], None]] = field(default_factory=list)
    _lane: str = "task"
    partition: bool = False
    """True if several work for the task at the same time; otherwise a run of a task waits for the run before."""
    _session: JvmSession | None = None
    _free: list[int] = field(default_factory=list)
    _reading: JavaCall[list[JavaMetric]] | None = None
    _metrics: list[dict[str, Any]] = field(default_factory=list)

    @property
    def lane(self) -> str:
        """The lane on which records are processed: a source that is polled meanwhile needs another than its own."""
        return _aside.get() or self._lane

    @lane.setter
    def lane(self, lane: str) -> None:
        self._lane = lane

    @staticmethod
    @contextmanager
    def aside() -> Iterator[None]:
        """Process records on another lane inside: the task's lane waits for what this thread does."""
        token = _aside.set("aside")
        try:
            yield
        finally:
            _aside.reset(token)

    @staticmethod
    def present() -> TaskJvm | None:
        """Return ``current``, or None outside of a task."""
        return _current.get()

    @staticmethod
    def current() -> TaskJvm:
        """Return the JVM of the task that is being made in this thread. Raises ConnectError outside of a task."""
        found = TaskJvm.present()
        if found is None:
            raise ConnectError("A Java plugin can only be used in a task")
        return found

    @property
    def session(self) -> JvmSession:
        """The session, opened at the first use. Raises ConnectError if no JVM can be started."""
        if self._session is None:
            name = f"{self.connector}|task-{self.task}"
            thread = f"task-thread-{self.connector}-{self.task}"
            only = None if self.partition else name
            about = OpenSession(name, thread, only, self.connector, self.task)
            self._session = open_session(self._spec(), about)
            follow(self._session)
        return self._session

    @property
    def opened(self) -> bool:
        return self._session is not None

    def free(self, batch: int) -> None:
        """Forget a batch in the JVM, with the next request. Any thread may call this."""
        self._free.append(batch)

    def take_free(self) -> list[int]:
        """Return the batches to forget, for the request that is about to be sent."""
        taken = self._free
        if taken:
            self._free = []
        return taken

    def plugin_metrics(self) -> list[dict[str, Any]]:
        """Return the metrics that its plugins have registered (KIP-877, MBeans), as of the last call.

        Asks for those that the next call returns, and does not wait.
        """
        if self._session is None or self._session.gone:
            return []
        if self._reading is not None and self._reading.done.is_set():
            reply = self._reading.wait() if self._reading.succeeded else None
            self._reading, self._metrics = None, [] if reply is None else shown_metrics(reply.result)
        if self._reading is None:
            self._reading = self._session.begin(ReadJavaMetrics(), lane="metrics", aside=True)
        return self._metrics

    def close(self) -> None:
        if self._session is not None:
            unfollow(self._session)
            for each in self.before_close:
                each()
            self._session.close()

    def _spec(self) -> JvmSpec:
        shared = self._setting(PROCESS, "connector") == "worker"
        worker = hashlib.sha256(json.dumps(dict(self.worker_config), sort_keys=True).encode()).hexdigest()[:16]
        catalogue = self.catalogue()
        return JvmSpec(
            key=worker if shared else f"{worker}/{self.connector}",
            java=java_executable(self.worker_config.get(HOME)),
            class_path=class_path(self.worker_config.get(KAFKA)),
            options=[_HEAP[shared], *shlex.split(self._setting(OPTIONS, ""))],
            settings={} if catalogue is None else {"catalogue": str(catalogue)},
        )

    def _setting(self, name: str, default: str) -> str:
        return self.connector_config.get(name) or self.worker_config.get(name) or default


class JvmTaskRun(Protocol):
    """A run of a task; ``TaskSpec`` is one."""

    @property
    def connector(self) -> str: ...
    @property
    def task(self) -> int: ...
    @property
    def config(self) -> Mapping[str, str]: ...
    @property
    def connector_config(self) -> Mapping[str, str]: ...
    @property
    def worker_config(self) -> Mapping[str, str]: ...
    @property
    def plugin_path(self) -> Sequence[str]: ...


@contextmanager
def task_jvm(run: JvmTaskRun, partition: bool = False) -> Iterator[TaskJvm]:
    """Let plugins find the run's JVM by ``TaskJvm.current`` inside.

    The JVM is started when a plugin needs it, and its session is closed in the end. Nested calls for the same task
    share the outer one's. ``partition``: this is one of Spark's partitions of the run.
    """
    outer = TaskJvm.present()
    if outer is not None and (outer.connector, outer.task) == (run.connector, run.task):
        yield outer
        return

    def catalogue() -> Path | None:
        found = find(run.plugin_path, run.worker_config.get(HOME), run.worker_config.get(KAFKA))
        if found is None and run.plugin_path:
            raise ConnectError(
                f"The folders of plugin.path ({', '.join(run.plugin_path)}) have no jars on {socket.gethostname()}, "
                f"where this task runs: put the same jars there, or set {SHIP}=true for the worker"
            )
        return None if found is None else found.file

    configurations = run.config, run.connector_config, run.worker_config
    jvm = TaskJvm(run.connector, run.task, *configurations, catalogue, partition=partition)
    token = _current.set(jvm)
    try:
        yield jvm
    finally:
        _current.reset(token)
        jvm.close()
