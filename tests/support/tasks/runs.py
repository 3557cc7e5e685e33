"""Task loops in a thread, for tests; in production the host runs them in a process."""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from penstock.core.model.skips import Skip
from penstock.hosts.errors import HostLost
from penstock.pipeline import converters, transforms
from penstock.pipeline.sink.task import run_sink_task
from penstock.pipeline.source.task import run_source_task
from penstock.pipeline.task import CommittedOffsets, SourceOffsets, TaskControl, TaskSpec
from penstock.pipeline.trace import trace
from penstock.pipeline.transforms import predicates
from support.waiting import check_threads, pause

STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
SECONDS = 900
"""Seconds; long enough for a JVM to start on a busy machine."""

log = logging.getLogger(__name__)

T = TypeVar("T")

_classes: dict[str, type] = {}


def register(plugin: type) -> type:
    """Decorator that registers a plugin class of a test by its ``java_name``."""
    _classes[plugin.java_name] = plugin  # type: ignore[attr-defined]
    return plugin


def resolve(kind: str, name: str) -> type:
    """Return the class that a configuration names, built in or registered by a test."""
    for module in (converters, transforms, predicates):
        for each in module.__all__:
            _classes.setdefault(getattr(getattr(module, each), "java_name", each), getattr(module, each))
    return _classes[name]


def new_name(what: str = "c") -> str:
    return f"{what}-{uuid.uuid4().hex[:10]}"


def eventually(look: Callable[[], T], seconds: float = SECONDS) -> T:
    """Return the first true value; fail if there is none in time, or if a thread has ended by an exception."""
    began = time.monotonic()
    while not (found := look()):
        check_threads()
        waited = time.monotonic() - began
        assert waited < seconds, f"still {found!r} after {seconds} s"
        time.sleep(pause(waited))
    return found


class MemoryHost:
    """A ``TaskHost`` that records what the loop reports."""

    def __init__(self) -> None:
        self.states: list[str] = []
        self.topics: list[str] = []
        self.skipped: list[Skip] = []
        self.members: list[str] = []
        self.waiting: list[str] = []
        """Member IDs that the coordinator has given a sink."""
        self.stored: list[tuple[dict[str, Any] | None, dict[str, Any] | None]] = []
        self.identities: list[Mapping[str, Any] | None] = []
        self.reported: dict[str, float] = {}
        self.reasons: list[str | None] = []
        """The degraded reason of each ``running`` report."""
        self.committed: CommittedOffsets = ()
        """Committed offsets that a source with exactly once reads at its start."""

    def running(self, degraded_reason: str | None = None) -> None:
        self.states.append("running")
        self.reasons.append(degraded_reason)

    def paused(self) -> None:
        self.states.append("paused")

    def committed_offsets(self) -> CommittedOffsets:
        return self.committed

    def topic_seen(self, topic: str) -> None:
        self.topics.append(topic)

    def skip_over(self, skip: Skip) -> None:
        self.skipped.append(skip)

    def group_member(self, id: str, waits: bool) -> None:
        (self.waiting if waits else self.members).append(id)

    def store_offsets(self, offsets: SourceOffsets) -> None:
        self.stored += [(each.partition, each.offset) for each in offsets]
        self.identities += [each.identity for each in offsets]

    def metrics(self, values: dict[str, float]) -> None:
        self.reported = values


class WatchedControl(TaskControl):
    """Counts the loop's reads of ``pausing`` and ``aborted``, which show that it runs."""

    def __init__(self, pausing: bool) -> None:
        self.looks = Counter[str]()
        self._flags = {"pausing": False, "aborted": False}
        super().__init__(pausing)

    @property
    def pausing(self) -> bool:
        self.looks["pausing"] += 1
        return self._flags["pausing"]

    @pausing.setter
    def pausing(self, value: bool) -> None:
        self._flags["pausing"] = value

    @property
    def aborted(self) -> bool:
        self.looks["aborted"] += 1
        return self._flags["aborted"]

    @aborted.setter
    def aborted(self, value: bool) -> None:
        self._flags["aborted"] = value


class TaskRun:
    """A run of a task in a thread; as a context manager it is stopped at the end, and must not have failed."""

    def __init__(
        self,
        task_class: Any,
        bootstrap: str,
        config: dict[str, str],
        worker: dict[str, str] | None = None,
        connector: str | None = None,
        **spec: Any,
    ) -> None:
        self.connector = connector or new_name()
        kind = "source" if hasattr(task_class, "poll") else "sink"
        config = {"name": self.connector, **config}
        self.spec = TaskSpec(
            **{
                "connector": self.connector,
                "task": 0,
                "run": 1,
                "kind": kind,
                "task_class": f"{task_class.__module__}:{task_class.__qualname__}",
                "config": config,
                "connector_config": config,
                "worker_config": {
                    "bootstrap.servers": bootstrap,
                    "key.converter": STRING,
                    "value.converter": STRING,
                    "offset.flush.interval.ms": "300",
                    "offset.flush.timeout.ms": "30000",
                    **(worker or {}),
                },
                "group_id": "g",
                **spec,
            }
        )
        self.control, self.host = WatchedControl(bool(spec.get("paused", False))), MemoryHost()
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, args=(kind, task_class), daemon=True)
        self.thread.start()

    def _run(self, kind: str, task_class: Any) -> None:
        run = run_source_task if kind == "source" else run_sink_task
        try:
            run(self.spec, task_class, self.control, self.host, resolve)
        except (Exception, HostLost) as e:
            log.info("%s", trace(e))
            self.error = e

    def started(self) -> Self:
        eventually(lambda: self.host.states or self.error)
        self.check()
        return self

    def turns(self, flag: str, count: int) -> None:
        """Wait until the loop has read this flag ``count`` more times. By then the loop has done whatever a turn would
        do: events that have not happened will not happen.
        """
        enough = self.control.looks[flag] + count

        def looked() -> bool:
            self.control.changed.set()  # ends a wait of the loop
            return self.control.looks[flag] >= enough

        eventually(looked)
        self.check()

    def check(self) -> None:
        assert self.error is None, trace(self.error)

    def stop(self) -> None:
        """Stop the task and wait for its end."""
        self.control.stop()
        self.join()

    def join(self) -> None:
        self.thread.join(SECONDS)
        frame = sys._current_frames().get(self.thread.ident or 0)
        assert not self.thread.is_alive(), f"the task did not end; it is at\n{''.join(traceback.format_stack(frame))}"

    def failure(self) -> str:
        """Wait until the task has failed, and return the trace that its status would show."""
        self.join()
        assert self.error is not None, "the task ended without an error"
        return trace(self.error)

    def __enter__(self) -> Self:
        return self.started()

    def __exit__(self, *raised: object) -> None:
        self.control.stop()
        if raised[0] is None:
            self.join()
            self.check()
        else:
            self.thread.join(SECONDS)
