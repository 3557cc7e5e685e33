"""A hosted task, in the Python process that Spark started for it: its worker admits it, it runs its loop and ends.

Spark passes only an address, the fingerprint of its certificate, a key and a name. The ``TaskSpec`` comes with the
admission, so a process that Spark starts again, or late, is refused and ends. The loops are those of ``pipeline``.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from penstock.api.errors import ConnectError
from penstock.hosts.jvm.errors import HostLost
from penstock.hosts.jvm.tasks.task_jvm import level_changed
from penstock.hosts.python import process
from penstock.hosts.python.limits import Limits
from penstock.hosts.python.tasks import in_place
from penstock.pipeline.chain import Resolve
from penstock.pipeline.task import (
    CommittedOffsets,
    FencedError,
    PluginCall,
    PluginCalls,
    TaskControl,
    TaskSpec,
    seconds_of,
)
from penstock.pipeline.telemetry.traces import current_ids
from penstock.pipeline.trace import stack, trace
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, task_classes
from penstock.spark.channel import Message, RefusedError, TaskChannel
from penstock.spark.parent import end_with_parent
from penstock.spark.task_exit import CONTACT_LOST

log = logging.getLogger(__name__)

LOOPS = {
    "source": "penstock.pipeline.source.task:run_source_task",
    "sink": "penstock.pipeline.sink.task:run_sink_task",
}
"""The loop for each kind of task; a kind that is not among them names its loop itself."""

LONG_S = 10.0
"""Seconds after which a task that has not started yet is reported."""

LOOK_S = 5.0
"""The longest time between two looks at calls that do not return."""

FORKED_FROM = "PENSTOCK_FORKED_FROM"
"""Set in the environment: the id of the process that tasks are forked from (``daemon``)."""


class TaskFailedError(Exception):
    """Lets Spark show the job as failed."""


class ChannelHost:
    """TaskHost over the channel."""

    def __init__(self, channel: TaskChannel, steering: Steering) -> None:
        self._channel, self._steering = channel, steering
        self.started = threading.Event()

    def running(self, degraded_reason: str | None = None) -> None:
        self.started.set()
        self._channel.send({"say": "running", "degraded_reason": degraded_reason})

    def paused(self) -> None:
        self.started.set()
        self._channel.send({"say": "paused"})

    def committed_offsets(self) -> CommittedOffsets:
        self._channel.send({"say": "initialized"})
        return self._steering.committed_offsets()

    def topic_seen(self, topic: str) -> None:
        self._channel.send({"say": "topic", "topic": topic})

    def store_offsets(self, offsets: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
        self._channel.send({"say": "offsets", "offsets": offsets})

    def metrics(self, values: dict[str, Any]) -> None:
        self._channel.send({"say": "metrics", "values": values})


class LogRelay(logging.Handler):
    """Brings log lines to the worker's log, wherever the task runs."""

    def __init__(self, channel: TaskChannel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
            if record.exc_info:
                text += "\n" + (self.formatter or logging.Formatter()).formatException(record.exc_info)
            place = {
                "trace": dict(current_ids.get()),
                "name": record.name,
                "level": record.levelno,
                "line": record.lineno,
                "path": record.pathname,
            }
            self._channel.send({"say": "log", "text": text, "created": record.created, **place})
        except Exception:
            self.handleError(record)


def host(payload: Message, _rows: Iterable[Any]) -> Iterator[Any]:
    """What Spark calls; returns when the task has ended. Raises TaskFailedError if it failed."""
    # Spark kills its Python processes by a signal to their group, which a connector may have left.
    end_with_parent(int(os.environ[FORKED_FROM]) if FORKED_FROM in os.environ else None)
    who = {**payload["who"], "attempt": _attempt(), "host": socket.gethostname(), "pid": os.getpid()}
    try:
        worker = tuple(payload["address"]), payload["fingerprint"]
        channel, admitted = TaskChannel.connect(*worker, payload["key"], who)
    except RefusedError as refusal:
        print(f"{who} was not admitted and ends: {refusal}", file=sys.stderr)
        return iter(())
    spec = TaskSpec.from_json(admitted["spec"])
    control = TaskControl(pausing=spec.paused)
    failed = _run(spec, admitted, channel, control)
    channel.send({"say": "done"})
    if failed:
        raise TaskFailedError(failed)
    return iter(())


@functools.cache
def plugins(path: tuple[str, ...]) -> Plugins:
    """All plugins; found before the fork if ``path`` is the worker's."""
    return Plugins(path)


def resolver(spec: TaskSpec) -> Resolve:
    """Finds the classes of a task's chain, among those of jars as well."""
    known, jars = plugins(spec.plugin_path), task_classes(JavaSettings.of(spec.worker_config, spec.plugin_path))
    return (known.plus(jars) if jars else known).resolver(spec.connector_config)


def probe(_rows: Iterable[Any]) -> Iterator[str]:
    """Returns the host, which shows that Penstock is installed there."""
    return iter([socket.gethostname()])


def _run(spec: TaskSpec, admitted: Message, channel: TaskChannel, control: TaskControl) -> str | None:
    """Run an admitted task to its end; returns the first line of its failure."""
    for name, value in spec.variables.items():
        os.environ.setdefault(name, value)
    root = logging.getLogger()
    root.addHandler(LogRelay(channel))
    root.setLevel(logging.INFO)
    for name, level in admitted["levels"].items():
        logging.getLogger(name).setLevel(level)
    steer = Steering(control)
    threading.Thread(
        target=channel.attend,
        args=(steer.obey, steer.leave, lambda: os._exit(CONTACT_LOST), admitted["lease"]),
        name="channel",
        daemon=True,
    ).start()
    try:
        resolve = resolver(spec)
        run = named(LOOPS.get(spec.kind, spec.kind))
        host = ChannelHost(channel, steer)
        threading.Thread(target=_watch_start, args=(channel, host, threading.get_ident()), daemon=True).start()
        watch_stalls(spec, control, channel)
        try:
            run(spec, class_of(spec), control, host, resolve)
        finally:
            process.close_all()
    except FencedError as error:
        if not control.aborted:
            channel.send({"say": "lost", "reason": str(error)})
    except HostLost as lost:
        if not control.aborted:
            channel.send({"say": "lost", "reason": str(lost), "died": lost.by_itself})
    except BaseException as error:
        if not control.aborted:
            text = trace(error)
            channel.send({"say": "failed", "trace": text})
            return text.splitlines()[0]
    return None


def class_of(spec: TaskSpec) -> Any:
    """The task's class; told where the plugin's environment is, if it has one of its own."""
    found = named(spec.task_class)
    if spec.environment is None:
        return found
    limits = Limits.of(spec.connector_config, spec.worker_config)
    return in_place(found, spec.environment, f"task {spec.connector}-{spec.task}", limits)


def _watch_start(channel: TaskChannel, host: ChannelHost, thread: int) -> None:
    """Report a task that has not started after a long time, with its stack."""
    if not host.started.wait(LONG_S):
        reason = f"The task has not started for {LONG_S:.0f} s. It is at\n{stack(thread)}"
        log.warning("%s", reason)
        channel.send({"say": "waiting", "reason": reason})


def watch_stalls(spec: TaskSpec, control: TaskControl, channel: TaskChannel) -> threading.Event:
    """Report methods of the plugin that do not return, or give the task up, as ``penstock.stalled.action`` says, until
    the event is set.
    """

    def stalled(reason: str | None) -> None:
        if reason is not None:
            log.warning("%s", reason)
        if reason is not None and spec.worker_config.get("penstock.stalled.action", "report") == "restart":
            channel.send({"say": "lost", "reason": reason.partition(". It is at\n")[0]})
        else:
            channel.send({"say": "stalled", "reason": reason})

    after = seconds_of(spec, "penstock.task.stalled.after.ms", "300000")
    watch = StallWatch(control.calls, after, stalled)
    watch.start()
    return watch.ended


@dataclass(frozen=True, slots=True)
class StallWatch:
    """Reports calls that do not return, until ``ended`` is set; ``stalled`` gets a sentence with the stack, and None
    when that call has returned.
    """

    calls: PluginCalls
    seconds: float
    stalled: Callable[[str | None], None]
    ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self.calls.on_return = lambda: self.stalled(None)
        threading.Thread(target=self._look, name="stall-watch", daemon=True).start()

    def _look(self) -> None:
        while not self.ended.wait(min(LOOK_S, self.seconds / 4)):
            self.calls.report(self.seconds, lambda call: self.stalled(described(call)))


def described(call: PluginCall) -> str:
    """Since when, and where it is now."""
    since = datetime.fromtimestamp(time.time() - (time.monotonic() - call.since), UTC).isoformat(timespec="seconds")
    return f"The task is stalled: {call.method} has not returned since {since}. It is at\n{stack(call.thread)}"


class Steering:
    """Applies the worker's messages to the task's control."""

    def __init__(self, control: TaskControl) -> None:
        self.control = control
        self._committed: queue.SimpleQueue[CommittedOffsets | None] = queue.SimpleQueue()

    def obey(self, message: Message) -> None:
        match message["say"]:
            case "pause":
                self.control.pause()
            case "resume":
                self.control.resume()
            case "reset":
                self.control.reset_topics()
            case "stop":
                self._aside(self.control.stop)
            case "committed":
                self._committed.put(tuple((p, o, k) for p, o, k in message["offsets"]))
            case "abort":
                self.leave()
            case "level":
                logging.getLogger(message["name"]).setLevel(message["level"])
                level_changed(message["name"])
                process.level_changed(message["name"])

    def committed_offsets(self) -> CommittedOffsets:
        """Blocks until the worker has sent them. Raises ConnectError if the task is to end instead."""
        committed = self._committed.get()
        if committed is None:
            raise ConnectError("The task is to end before it has begun")
        return committed

    def leave(self) -> None:
        self.control.aborted = True
        self._committed.put(None)
        self._aside(self.control.stop)

    def _aside(self, action: Callable[[], None]) -> None:
        # It calls the connector's own stop(), which may take its time; the heartbeats can't wait for it.
        def safely() -> None:
            try:
                action()
            except Exception:
                log.exception("The task's stop() has failed")

        threading.Thread(target=safely, name="stop", daemon=True).start()


def named(path: str) -> Any:
    """The object that ``module:Qual.Name`` names."""
    module, _, name = path.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _attempt() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.attemptNumber() if context is not None else 0
