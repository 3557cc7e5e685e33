"""A hosted task, in the Python process that Spark started for it: its worker admits it, it runs its loop and ends.

Spark passes only an address, the fingerprint of its certificate, a key and a name. The ``TaskSpec`` comes with the
admission, so a process that Spark starts again, or late, is refused and ends. The loops are those of ``pipeline``.
"""

from __future__ import annotations

import functools
import gc
import importlib
import logging
import multiprocessing
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

import penstock
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.shipped import is_shipping, unpack
from penstock.hosts.python import process
from penstock.hosts.python.limits import PluginLimits
from penstock.hosts.python.tasks import in_place
from penstock.pipeline.chain import Resolve
from penstock.pipeline.task import (
    TaskControl,
    TaskFencedError,
    TaskSpec,
)
from penstock.pipeline.trace import stack, trace
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, task_classes
from penstock.spark.channel import RefusedError, TaskChannel
from penstock.spark.messages.task import (
    AdmittedTask,
    FailedReport,
    HostCommand,
    LostReport,
    NotHostedReport,
    TaskSubmission,
    WaitingReport,
)
from penstock.spark.parent import end_with_parent
from penstock.spark.run.task_link import ChannelHost, LastReport, LogRelay, Steering, report_end, watch_stalls
from penstock.spark.run.task_threads import OfTask, TaskThreads, inherit_task
from penstock.spark.task_exit import CONTACT_LOST

log = logging.getLogger(__name__)

LOOPS = {
    "source": "penstock.pipeline.source.task:run_source_task",
    "sink": "penstock.pipeline.sink.task:run_sink_task",
}
"""The loop for each kind of task; a kind that is not among them names its loop itself."""

LONG_S = 10.0
"""Seconds after which a task that has not started yet is reported."""

FORKED_FROM = "PENSTOCK_FORKED_FROM"
"""Set in the environment: the id of the process that tasks are forked from (``daemon``)."""


class TaskFailedError(Exception):
    """The task has failed; raised so that Spark shows its job as failed."""


def host(submission: TaskSubmission, _rows: Iterable[Any]) -> Iterator[Any]:
    """Run a task and return when it has ended; called by Spark. Raises TaskFailedError if it failed."""
    # Spark kills its Python processes by a signal to their group, which a connector may have left.
    end_with_parent(int(os.environ[FORKED_FROM]) if FORKED_FROM in os.environ else None)
    attempt = _attempt()
    try:
        if submission.shared:
            inherit_task()
            threads = TaskThreads(lambda submission: host_task(submission, attempt, threads))
            failures: list[Exception] = []
            threads.begin(submission, failures.append)
            threads.wait()
            if failures:
                raise failures[0]
        elif failed := host_task(submission, attempt):
            raise TaskFailedError(failed)
        return iter(())
    finally:
        # PySpark ends this process in a way that leaves those that a plugin has forked.
        for child in multiprocessing.active_children():
            child.kill()


def host_task(submission: TaskSubmission, attempt: int, threads: TaskThreads | None = None) -> str | None:
    """Run a task to its end; return the first line of its failure, or None.

    ``threads``: the other tasks of the process, where tasks share it.
    """
    who = msgspec.structs.replace(submission.identity, attempt=attempt, host=socket.gethostname(), pid=os.getpid())
    try:
        channel, admitted = TaskChannel.connect(submission.address, submission.fingerprint, submission.key, who)
    except RefusedError as refusal:
        print(f"{who} was not admitted and ends: {refusal}", file=sys.stderr)
        return None
    spec = admitted.spec
    steer = Steering(TaskControl(pausing=spec.paused))
    steer.control.leased = lambda: channel.holds(admitted.lease)
    relay, over = LogRelay(channel), threading.Event()
    steer.lines_written = relay.written
    if threads is not None:
        steer.host_another = functools.partial(_host_another, threads, channel)
        relay.addFilter(OfTask())
    logging.getLogger().addHandler(relay)
    try:
        last = _run(spec, admitted, channel, steer, over)
        if threads is not None:
            # Only cycles of its objects are left, Kafka clients among them, whose threads and connections end now.
            steer.control.on_stop = None
            gc.collect()
        return report_end(channel, relay, last)
    finally:
        if threads is not None:
            over.set()
            logging.getLogger().removeHandler(relay)
            relay.close()
            channel.close()


def _host_another(threads: TaskThreads, channel: TaskChannel, command: HostCommand) -> None:
    def failed(error: Exception) -> None:
        channel.send(NotHostedReport(command.group, f"{type(error).__name__}: {error}"))

    threads.begin(command.task, failed)


@functools.cache
def plugins(path: tuple[str, ...]) -> Plugins:
    """All plugins; found before the fork if ``path`` is the worker's."""
    return Plugins(path)


def resolver(spec: TaskSpec, known: Plugins) -> Resolve:
    """Return a function that finds the classes of a task's chain, among the known ones and those of jars."""
    jars = task_classes(JavaSettings.of(spec.worker_config, spec.plugin_path))
    return (known.plus(jars) if jars else known).resolver(spec.connector_config)


def with_shipped_jars(spec: TaskSpec) -> TaskSpec:
    """The task with the jars that Spark has sent to this machine, if the worker lets it send them."""
    if not is_shipping(spec.worker_config):
        return spec
    from pyspark import SparkFiles

    found = unpack(Path(SparkFiles.getRootDirectory()))
    return replace(spec, plugin_path=found) if found else spec


def probe(_rows: Iterable[Any]) -> Iterator[dict[str, str]]:
    """Return the versions that this process has; that it runs at all shows that Penstock is installed there."""
    import pyspark

    versions = {"penstock": penstock.__version__, "spark": pyspark.__version__}
    return iter([{"host": socket.gethostname(), "python": sys.executable, **versions}])


def echo(batches: Iterator[Any]) -> Iterator[Any]:
    """Return Arrow's batches as they are."""
    yield from batches


def _run(
    spec: TaskSpec, admitted: AdmittedTask, channel: TaskChannel, steer: Steering, over: threading.Event
) -> LastReport:
    """Run an admitted task to its end; return why it has ended.

    When ``over`` is set, the channel may end without ending the process.
    """
    control = steer.control
    for name, value in spec.variables.items():
        os.environ.setdefault(name, value)
    logging.getLogger().setLevel(logging.INFO)
    for name, level in admitted.levels.items():
        logging.getLogger(name).setLevel(level)
    leave = functools.partial(_unless, over, steer.leave)
    end = functools.partial(_unless, over, lambda: os._exit(CONTACT_LOST))
    attending = (steer.obey, leave, end, admitted.lease)
    threading.Thread(target=channel.attend, args=attending, name="channel", daemon=True).start()
    host = ChannelHost(channel, steer)
    watched: threading.Event | None = None
    try:
        known, spec = plugins(spec.plugin_path), with_shipped_jars(spec)
        resolve = resolver(spec, known)
        run = named(LOOPS.get(spec.kind, spec.kind))
        threading.Thread(target=_watch_start, args=(channel, host, threading.get_ident()), daemon=True).start()
        watched = watch_stalls(spec, control, channel)
        try:
            run(spec, class_of(spec), control, host, resolve)
        finally:
            process.close_all()
    except TaskFencedError as error:
        return None if control.aborted else LostReport(str(error))
    except HostLost as lost:
        return None if control.aborted else LostReport(str(lost), lost.by_itself)
    except BaseException as error:
        return None if control.aborted else FailedReport(trace(error))
    finally:
        host.started.set()
        if watched is not None:
            watched.set()
    return None


def _unless(over: threading.Event, action: Callable[[], None]) -> None:
    """Run the action, or end only the calling thread if the task is over."""
    if over.is_set():
        sys.exit()
    action()


def class_of(spec: TaskSpec) -> Any:
    """Return the task's class, bound to the plugin's environment if it has one of its own."""
    found = named(spec.task_class)
    if spec.environment is None:
        return found
    limits = PluginLimits.of(spec.connector_config, spec.worker_config)
    return in_place(found, spec.environment, f"task {spec.connector}-{spec.task}", limits)


def _watch_start(channel: TaskChannel, host: ChannelHost, thread: int) -> None:
    """Report a task that has not started after a long time, with its stack."""
    if not host.started.wait(LONG_S):
        reason = f"The task has not started for {LONG_S:.0f} s. It is at\n{stack(thread)}"
        log.warning("%s", reason)
        channel.send(WaitingReport(reason))


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
