"""Calls of a plugin that do not return: reported to the worker, or a reason to give the task up."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from penstock.pipeline.task import TaskControl, TaskSpec, seconds_of
from penstock.pipeline.telemetry.plugin_calls import PluginCall, PluginCalls
from penstock.pipeline.trace import stack
from penstock.spark.channel import TaskChannel
from penstock.spark.messages.task import LostReport, StalledReport

log = logging.getLogger(__name__)

LOOK_S = 5.0
"""The longest time between two looks at calls that do not return."""


def watch_stalls(spec: TaskSpec, control: TaskControl, channel: TaskChannel) -> threading.Event:
    """Report methods of the plugin that do not return, or give the task up, as ``penstock.stalled.action`` says, until
    the event is set.
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
    """Since when, and where it is now, if it is here."""
    since = datetime.fromtimestamp(time.time() - (time.monotonic() - call.since), UTC).isoformat(timespec="seconds")
    where = "" if call.thread is None else f". It is at\n{stack(call.thread)}"
    return f"The task is stalled: {call.method} has not returned since {since}{where}"
