"""The process of a plugin: it answers calls until the worker or the task that started it is gone.

Tasks and connectors run on the main thread, as some libraries want it.
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
import sys
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from penstock.hosts.python.cgroup import join
from penstock.hosts.python.peer import Peer
from penstock.hosts.python.serving.connectors import ConnectorSide, Questions
from penstock.hosts.python.serving.discovery import discover
from penstock.hosts.python.serving.tasks import SinkSide, SourceSide

_SET_PDEATHSIG = 1


def serve(descriptor: int, options: Mapping[str, Any]) -> None:
    """``options``: ``lock``, a file to hold a shared lock of; ``group``, the one of ``cgroup`` to join, or None;
    ``memory`` and ``cpu``, limits in bytes and seconds; ``levels`` of loggers; ``parent``, the process with which this
    one is to end, or None.
    """
    os.set_inheritable(descriptor, False)
    if (parent := options["parent"]) is not None:
        _end_with(parent)
    _use(options["lock"])
    _limit(options)
    answers: dict[str, Callable[..., Any]] = {}
    peer = Peer(
        Connection(descriptor),
        lambda method, *args: answers[method](*args),
        lambda: ConnectionError("the worker or the task of this plugin is gone"),
        pickle.loads,
    )
    for sides in (Questions(), ConnectorSide(peer), SourceSide(peer), SinkSide(peer)):
        answers |= sides.answers()
    answers |= {"discover": discover, "level": _set_level, "ready": lambda: sys.version.split()[0]}
    logging.basicConfig(level=logging.INFO, handlers=[_Relay(peer)])
    for name, level in options.get("levels", {}).items():
        _set_level(name, level)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that of a terminal is meant for the worker
    peer.serve_here("task", at_end=_end)


def _use(path: str) -> None:
    """Hold a shared lock of this file as long as the process lives; ends the process if the environment is deleted."""
    try:
        fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_SH)
        os.stat(path)
    except FileNotFoundError:
        os._exit(1)


def _end(status: int) -> None:
    """Of this process, and of those that it has forked with ``multiprocessing``."""
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
    """Brings log lines to the process that started this one."""

    def __init__(self, peer: Peer) -> None:
        super().__init__()
        self._peer, self._process = peer, os.getpid()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
            if record.exc_info:
                text += "\n" + logging.Formatter().formatException(record.exc_info)
            if os.getpid() != self._process:  # the plugin has forked it: what it said would get between what this says
                print(f"{record.levelname} {text} ({record.name}) [process {os.getpid()}]", file=sys.stderr)
                return
            self._peer.tell("log", record.name, record.levelno, text, record.created, lane="log")
        except Exception:
            self.handleError(record)
