"""The process of a plugin, which answers calls until the worker or the task that started it has ended.

Tasks and connectors run on the main thread, as some libraries require.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import logging
import multiprocessing
import os
import pickle
import resource
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, assert_never

from penstock.hosts.python.limits import join
from penstock.hosts.python.messages import (
    FROM_PLUGIN,
    TO_PLUGIN,
    AskConnector,
    CallDefinition,
    CallFromPlugin,
    CallPluginSink,
    CallPluginSource,
    CreatePluginSink,
    CreatePluginSource,
    DiscoverPlugins,
    MakePluginTaskConfigs,
    PluginLinesWritten,
    PluginLogLine,
    PluginLogLines,
    PollPlugin,
    PreCommitPlugin,
    ReadDefinition,
    ReadPluginMetric,
    ReportVersion,
    SetPluginLogLevel,
    StartPluginConnector,
    StartPluginSink,
    StartPluginSource,
    StopPluginConnector,
    ToPlugin,
)
from penstock.hosts.python.peer import LOG, OUT_OF_MEMORY, PluginPeer
from penstock.hosts.python.serving import connectors
from penstock.hosts.python.serving.connectors import ConnectorSide
from penstock.hosts.python.serving.contexts import RemoteMetrics
from penstock.hosts.python.serving.discovery import discover
from penstock.hosts.python.serving.tasks import SinkSide, SourceSide
from penstock.wire.lines import LineBuffer, beginning_of, number, time_of

_SET_PDEATHSIG = 1


def serve(descriptor: int, options: Mapping[str, Any]) -> None:
    """Answer calls on a socket; does not return.

    ``options``: ``lock``, a file to hold a shared lock of; ``group``, the one of ``cgroup`` to join, or None;
    ``memory`` and ``cpu``, limits in bytes and seconds; ``levels`` of loggers; ``parent``, the process with which this
    one is to end, or None.
    """
    os.set_inheritable(descriptor, False)
    if (parent := options["parent"]) is not None:
        _end_with(parent)
    _use(options["lock"])
    _limit(options)
    peer = PluginPeer(
        socket.socket(fileno=descriptor),
        (CallFromPlugin, FROM_PLUGIN),
        TO_PLUGIN,
        lambda message, args: sides.answer(message, args),
        lambda: ConnectionError("the worker or the task of this plugin has ended"),
        pickle.loads,
    )
    relay = _Relay(peer)
    sides = PluginSides(ConnectorSide(peer), SourceSide(peer), SinkSide(peer), relay)
    logging.basicConfig(level=logging.INFO, handlers=[relay])
    for name, level in options.get("levels", {}).items():
        _set_level(name, level)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that of a terminal is meant for the worker

    def reading() -> None:
        try:
            peer.run()
        except MemoryError:
            _end(OUT_OF_MEMORY)
        relay.finish()
        _end(0)

    peer.run_lane("task", threading.Thread(target=reading, name="peer", daemon=True).start)


@dataclass(frozen=True, slots=True)
class PluginSides:
    """The connector and the task of this process, of which there is one."""

    connector: ConnectorSide
    source: SourceSide
    sink: SinkSide
    relay: _Relay

    def answer(self, message: ToPlugin, args: tuple[Any, ...]) -> Any:
        """Answer a message of the worker or the task."""
        match message:
            case ReportVersion():
                return sys.version.split()[0]
            case DiscoverPlugins(modules):
                return discover(modules)
            case SetPluginLogLevel(logger, level):
                return _set_level(logger, level)
            case PluginLinesWritten(messages):
                return self.relay.written(messages)
            case ReadPluginMetric(side, metric):
                return self._metrics(side).value(metric)
            case ReadDefinition() | CallDefinition() | AskConnector():
                return connectors.answer(message, args)
            case StartPluginConnector() | MakePluginTaskConfigs() | StopPluginConnector():
                return self.connector.answer(message)
            case CreatePluginSource() | StartPluginSource() | PollPlugin() | CallPluginSource():
                return self.source.answer(message, args)
            case CreatePluginSink() | StartPluginSink() | CallPluginSink() | PreCommitPlugin():
                return self.sink.answer(message, args)
            case _:
                assert_never(message)

    def _metrics(self, side: Literal["connector", "source", "sink"]) -> RemoteMetrics:
        match side:
            case "connector":
                return self.connector.metrics
            case "source":
                return self.source.metrics
            case "sink":
                return self.sink.metrics
            case _:
                assert_never(side)


def _use(path: str) -> None:
    """Hold a shared lock of this file as long as the process lives; ends the process if the environment is deleted."""
    try:
        fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_SH)
        os.stat(path)
    except FileNotFoundError:
        os._exit(1)


def _end(status: int) -> None:
    """End this process, and those that it has forked with ``multiprocessing``."""
    try:
        for child in multiprocessing.active_children():
            child.kill()
    finally:
        os._exit(status)


def _end_with(parent: int) -> None:
    """The kernel ends this process when the thread that started it has ended (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _limit(options: Mapping[str, Any]) -> None:
    if (group := options.get("group")) is not None:
        join(group)
    if (memory := options.get("memory")) is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    if (seconds := options.get("cpu")) is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _set_level(name: str, level: int | str) -> None:
    logging.getLogger(name).setLevel(level)


class _Relay(logging.Handler):
    """Sends log lines to the process that started this one, and does not wait for it."""

    def __init__(self, peer: PluginPeer) -> None:
        super().__init__()
        self._peer, self._process = peer, os.getpid()
        self._lines = LineBuffer[PluginLogLine](self._send)
        self.written, self.finish = self._lines.confirm, self._lines.finish

    def _send(self, lines: list[PluginLogLine], dropped: int) -> None:
        self._peer.tell(PluginLogLines(lines, dropped), lane=LOG)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
            if record.exc_info:
                text += "\n" + logging.Formatter().formatException(record.exc_info)
            if os.getpid() != self._process:  # the plugin has forked it: what it said would get between what this says
                print(
                    ascii(f"{record.levelname} {text} ({record.name}) [process {os.getpid()}]")[1:-1], file=sys.stderr
                )
                return
            # Plugins make records, too: an invalid message would end the connection.
            text = beginning_of(text)
            line = PluginLogLine(str(record.name), number(record.levelno), text, time_of(record))
            self._lines.add(line, len(text))
        except Exception:
            self.handleError(record)
