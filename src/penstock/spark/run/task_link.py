"""A task's end of the channel: the worker's commands, and reports of its state, log lines and stalled plugin calls."""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, assert_never

from penstock.api.errors import ConnectError
from penstock.core.model.skips import Skip
from penstock.hosts.jvm.levels import JVMS
from penstock.hosts.python import process
from penstock.pipeline.task import CommittedOffsets, SourceOffsets, TaskControl, TaskSpec, seconds_of
from penstock.pipeline.telemetry.plugin_calls import PluginCall, PluginCalls
from penstock.pipeline.telemetry.traces import current_ids
from penstock.pipeline.trace import stack
from penstock.spark.channel import TaskChannel
from penstock.spark.messages.task import (
    AbortCommand,
    CommittedOffsetsReply,
    CommittedOffsetsRequest,
    DoneReport,
    FailedReport,
    GroupMemberReport,
    HostCommand,
    InternalTopicsCommand,
    LinesWritten,
    LogLevelCommand,
    LogLine,
    LogReport,
    LostReport,
    MetricsReport,
    OffsetsReport,
    PauseCommand,
    PausedReport,
    ResetTopicsCommand,
    ResumeCommand,
    RunningReport,
    SkipReport,
    StalledReport,
    StopCommand,
    TopicReport,
    WorkerCommand,
)
from penstock.wire.lines import DROPPED, LineBuffer, beginning_of, number, time_of

log = logging.getLogger(__name__)

DRAIN_S = 10.0
"""Maximum seconds that the end of a task waits for its log lines to be sent."""
MAX_LOOK_S = 5.0
"""Maximum seconds between two looks at calls that do not return."""


class Steering:
    """Applies the worker's messages to the task's control."""

    def __init__(self, control: TaskControl) -> None:
        self.control = control
        self.host_another: Callable[[HostCommand], None] = lambda command: None
        """Starts another task in this process; only where tasks share it."""
        self.lines_written: Callable[[int], None] = lambda reports: None
        """Notes that the worker has written the lines of so many reports."""
        self._committed: queue.SimpleQueue[CommittedOffsets | None] = queue.SimpleQueue()

    def obey(self, command: WorkerCommand) -> None:
        match command:
            case PauseCommand():
                self.control.pause()
            case ResumeCommand():
                self.control.resume()
            case ResetTopicsCommand():
                self.control.reset_topics()
            case StopCommand():
                self._aside(self.control.stop)
            case HostCommand():
                self.host_another(command)
            case CommittedOffsetsReply():
                self._committed.put(command.offsets)
            case AbortCommand():
                self.leave()
            case LogLevelCommand():
                logging.getLogger(command.name).setLevel(command.level)
                JVMS.level_changed(command.name)
                process.OF_TASK.level_changed(command.name)
            case LinesWritten():
                self.lines_written(command.reports)
            case InternalTopicsCommand():
                self.control.internal_topics = command.topics
            case _:
                assert_never(command)

    def committed_offsets(self) -> CommittedOffsets:
        """Wait for the offsets that the worker sends. Raises ConnectError if the task is to end instead."""
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


class ChannelHost:
    """A ``TaskHost`` that reports over the channel."""

    def __init__(self, channel: TaskChannel, steering: Steering) -> None:
        self._channel, self._steering = channel, steering
        self.started = threading.Event()

    def running(self, degraded_reason: str | None = None) -> None:
        self.started.set()
        self._channel.send(RunningReport(degraded_reason))

    def paused(self) -> None:
        self.started.set()
        self._channel.send(PausedReport())

    def committed_offsets(self) -> CommittedOffsets:
        self._channel.send(CommittedOffsetsRequest())
        return self._steering.committed_offsets()

    def topic_seen(self, topic: str) -> None:
        self._channel.send(TopicReport(topic))

    def skip_over(self, skip: Skip) -> None:
        self._channel.send(SkipReport(skip))

    def group_member(self, id: str, waits: bool) -> None:
        self._channel.send(GroupMemberReport(id, waits))

    def store_offsets(self, offsets: SourceOffsets) -> None:
        self._channel.send(OffsetsReport(tuple(offsets)))

    def metrics(self, values: dict[str, Any]) -> None:
        self._channel.send(MetricsReport(values))


class LogRelay(logging.Handler):
    """A handler that sends log lines to the worker's log.

    It never waits for the worker: of lines that come faster than they are written there the oldest are dropped, and
    counted. A record with the attribute ``DROPPED`` stands for so many lines that were dropped before they came here.
    """

    def __init__(self, channel: TaskChannel) -> None:
        super().__init__()
        self._channel, self._process = channel, os.getpid()
        self._lines = LineBuffer[LogLine](self._send)
        self.written = self._lines.confirm

    def drain(self, seconds: float = DRAIN_S) -> None:
        """Send all lines, of too many the last; called before the last message of the task."""
        self._lines.finish(seconds)

    def close(self) -> None:
        self._lines.close()
        super().close()

    def _send(self, lines: list[LogLine], dropped: int) -> None:
        self._channel.send(LogReport(tuple(lines), dropped))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
            if record.exc_info:
                text += "\n" + (self.formatter or logging.Formatter()).formatException(record.exc_info)
            if os.getpid() != self._process:  # the plugin has forked it: see ``TaskChannel.give_up``
                print(
                    ascii(f"{record.levelname} {text} ({record.name}) [process {os.getpid()}]")[1:-1], file=sys.stderr
                )
                return
            if dropped := getattr(record, DROPPED, None):
                self._lines.dropped(int(dropped))
                return
            text, ids = beginning_of(text), dict(current_ids.get())
            # Plugins make records, too: an invalid message would end the channel.
            place = (str(record.name), number(record.levelno), str(record.pathname), number(record.lineno))
            self._lines.add(LogLine(text, *place, time_of(record), ids), len(text))
        except Exception:
            self.handleError(record)


LastReport = FailedReport | LostReport | None
"""Why a task has ended, if not because it was stopped."""


def report_end(channel: TaskChannel, relay: LogRelay, last: LastReport) -> str | None:
    """Report the end of a task, after the lines that it has logged; return the first line of its failure, or None."""
    relay.drain()
    if last is not None:
        channel.send(last)
    channel.send(DoneReport())
    return last.trace.splitlines()[0] if isinstance(last, FailedReport) else None


def watch_stalls(spec: TaskSpec, control: TaskControl, channel: TaskChannel) -> threading.Event:
    """Report methods of the plugin that do not return, or end the task, as ``penstock.stalled.action`` says.

    Ends when the returned event is set.
    """

    def stalled(reason: str | None) -> None:
        if reason is not None:
            log.warning("%s", reason)
        if reason is not None and spec.worker_config.get("penstock.stalled.action", "report") == "restart":
            channel.send(LostReport(reason.partition(". It is at\n")[0]))
        else:
            channel.send(StalledReport(reason))

    after = seconds_of(spec, "penstock.task.stalled.after.ms", "300000")
    watch = StallWatch(control.calls, after, stalled)
    watch.start()
    return watch.ended


@dataclass(frozen=True, slots=True)
class StallWatch:
    """Reports calls that do not return, until ``ended`` is set.

    ``stalled`` is called with a sentence and the stack, and with None when that call has returned.
    """

    calls: PluginCalls
    seconds: float
    stalled: Callable[[str | None], None]
    ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self.calls.on_return = lambda: self.stalled(None)
        threading.Thread(target=self._look, name="stall-watch", daemon=True).start()

    def _look(self) -> None:
        while not self.ended.wait(min(MAX_LOOK_S, self.seconds / 4)):
            self.calls.report(self.seconds, lambda call: self.stalled(described(call)))


def described(call: PluginCall) -> str:
    """Return a sentence that says since when the call has not returned, with its stack if its thread is here."""
    since = datetime.fromtimestamp(time.time() - (time.monotonic() - call.since), UTC).isoformat(timespec="seconds")
    where = "" if call.thread is None else f". It is at\n{stack(call.thread)}"
    return f"The task is stalled: {call.method} has not returned since {since}{where}"
