"""A hosted task's end of the channel to its worker: the worker's messages, its own, and its log lines."""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

from penstock.api.errors import ConnectError
from penstock.hosts.jvm.levels import JVMS
from penstock.hosts.python import process
from penstock.pipeline.task import CommittedOffsets, SourceOffsets, TaskControl
from penstock.pipeline.telemetry.traces import current_ids
from penstock.spark.channel import Message, TaskChannel

log = logging.getLogger(__name__)


class Steering:
    """Applies the worker's messages to the task's control."""

    def __init__(self, control: TaskControl) -> None:
        self.control = control
        self.host_another: Callable[[Message], None] = lambda message: None
        """Starts the task of a message's payload in this process; only where tasks share it."""
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
            case "host":
                self.host_another(message)
            case "committed":
                self._committed.put(tuple((p, o, k) for p, o, k in message["offsets"]))
            case "abort":
                self.leave()
            case "level":
                logging.getLogger(message["name"]).setLevel(message["level"])
                JVMS.level_changed(message["name"])
                process.OF_TASK.level_changed(message["name"])

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

    def group_member(self, id: str, waits: bool) -> None:
        self._channel.send({"say": "member", "id": id, "waits": waits})

    def store_offsets(self, offsets: SourceOffsets) -> None:
        self._channel.send({"say": "offsets", "offsets": offsets})

    def metrics(self, values: dict[str, Any]) -> None:
        self._channel.send({"say": "metrics", "values": values})


class LogRelay(logging.Handler):
    """Brings log lines to the worker's log, wherever the task runs."""

    def __init__(self, channel: TaskChannel) -> None:
        super().__init__()
        self._channel, self._process = channel, os.getpid()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
            if record.exc_info:
                text += "\n" + (self.formatter or logging.Formatter()).formatException(record.exc_info)
            if os.getpid() != self._process:  # the plugin has forked it: see ``TaskChannel.give_up``
                print(f"{record.levelname} {text} ({record.name}) [process {os.getpid()}]", file=sys.stderr)
                return
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
