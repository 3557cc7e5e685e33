"""The process of a plugin: started, called and closed."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import penstock
from penstock.api.errors import ConnectError
from penstock.api.processes import child_environment
from penstock.hosts.errors import HostLost
from penstock.hosts.levels import LevelFollowers
from penstock.hosts.python.environment import LOCK, environments
from penstock.hosts.python.limits import LimitError, PluginLimits, group_for
from penstock.hosts.python.messages import (
    FROM_PLUGIN,
    TO_PLUGIN,
    CallToPlugin,
    FromPlugin,
    PluginLinesWritten,
    PluginLogLine,
    PluginLogLines,
    SetPluginLogLevel,
    ToPlugin,
)
from penstock.hosts.python.peer import LOG, OUT_OF_MEMORY, Answer, PluginPeer
from penstock.wire.lines import log_dropped

log = logging.getLogger(__name__)

BOOT = Path(__file__).with_name("boot.py")
END_SECONDS = 5.0
"""Time in which a process has to end when it is closed, before it is killed."""


def unanswered(message: FromPlugin, args: tuple[Any, ...]) -> Any:
    """Answer of a process whose plugin has no context. Raises ConnectError, which names the message."""
    raise ConnectError(f"{type(message).__name__} is not expected from this plugin")


class PluginProcess:
    """A process of a plugin. Any thread may call it. ``answer`` takes the plugin's messages other than log lines."""

    def __init__(
        self,
        folder: Path,
        name: str,
        limits: PluginLimits = PluginLimits(),
        answer: Answer = unanswered,
        with_parent: bool = False,
    ) -> None:
        """Start the process; ``with_parent``: the kernel kills it when the present thread ends.

        Raises ConnectError; and HostLost for a task whose environment has been replaced: it starts again in the newer
        one.
        """
        self._folder, self._name, self._limits = folder, name, limits
        self._answer_plugin = answer
        self._closed = False
        self._closing = threading.Lock()
        self._exceeded: LimitError | None = None
        python = folder / "bin" / "python"
        self._is_task = with_parent
        if not python.exists():
            raise self._absent()
        self._group = group_for(limits)
        self._socket, theirs = socket.socketpair()
        for each in (self._socket, theirs):
            each.setblocking(True)  # whatever another plugin has made of ``socket.setdefaulttimeout``
        options = {
            **limits.options(self._group is not None),
            "group": None if self._group is None else str(self._group.folder),
            "lock": str(folder / LOCK),
            "levels": {n: each.level for n, each in _loggers() if each.level != logging.NOTSET},
            "parent": os.getpid() if with_parent else None,
        }
        with theirs, contextlib.ExitStack() as undone:
            if self._group is not None:
                undone.callback(self._group.close)
            self._process = subprocess.Popen(
                # -I: neither PYTHONPATH, which Spark sets, nor the user's packages. -u: what is printed has left the
                # process if that ends the next moment.
                [python, "-I", "-u", BOOT, Path(penstock.__file__).parent, str(theirs.fileno()), json.dumps(options)],
                stdin=subprocess.DEVNULL,
                env=child_environment(),
                pass_fds=(theirs.fileno(),),
                # Signals to the worker's group (of a terminal, of a container's init) are the worker's to answer; a
                # task's process ends with the group that Spark kills.
                start_new_session=not with_parent,
            )
            undone.pop_all()
        self._peer = PluginPeer(self._socket, (CallToPlugin, TO_PLUGIN), FROM_PLUGIN, self._answer, self._lost)
        self._peer.start()
        self._watch = threading.Thread(target=self._see_end, name=f"end-of-{self._process.pid}", daemon=True)
        self._watch.start()

    def _see_end(self) -> None:
        """Shut the socket when the process has ended: processes that it has forked may hold its end open."""
        self._process.wait()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def answer_with(self, answer: Answer) -> None:
        """Answer the plugin's messages by this function from now on."""
        self._answer_plugin = answer

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def gone(self) -> bool:
        return self._peer.gone.is_set()

    def call(self, message: ToPlugin, *args: Any, lane: str | None = "task", timeout: float | None = None) -> Any:
        """Make a call and return its value. Raises what the plugin raises, LimitError, HostLost, TimeoutError."""
        try:
            return self._peer.call(message, *args, lane=lane, timeout=timeout)
        except MemoryError as error:
            if self._limits.memory is None:
                raise
            self._exceeded = self._limits.memory_exceeded()
            raise self._exceeded from error

    def check(self) -> None:
        """Raise LimitError if a call has ever needed more than the limit, even if that error was caught."""
        if self._exceeded is not None:
            raise self._exceeded

    def tell(self, message: ToPlugin) -> None:
        """Make a call without a reply."""
        self._peer.tell(message)

    def wait_end(self) -> BaseException | None:
        """Wait for the end of the process; return the reason, or None after ``close``."""
        self._peer.gone.wait()
        return None if self._closed else self._lost()

    def close(self) -> None:
        """End the process and wait for that. May be called several times, by any thread."""
        with self._closing:
            self._close()

    def _close(self) -> None:
        if not self._peer.gone.is_set():
            self._closed = True  # otherwise it has ended by itself
        try:
            self._socket.shutdown(socket.SHUT_WR)  # what it still logs is read
        except OSError:
            pass  # it has ended already
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._watch.join()
        if self._group is not None:
            self._group.close()
        if self._peer.gone.wait(1.0):
            self._peer.wait_lane(LOG, END_SECONDS)
            self._socket.close()

    def _answer(self, message: FromPlugin, args: tuple[Any, ...]) -> Any:
        if not isinstance(message, PluginLogLines):
            return self._answer_plugin(message, args)
        for line in message.lines:
            _log(line)
        if message.dropped:
            log_dropped(message.dropped, self._name)
        self._peer.tell(PluginLinesWritten(1), lane=LOG)
        return None

    def _lost(self) -> BaseException:
        """Return the error to raise where the process has ended."""
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return HostLost(f"The process of {self._name} does not answer any more", by_itself=True)
        if self._closed:
            return HostLost(f"The process of {self._name} has been closed")
        if not (self._folder / LOCK).exists():
            return self._absent()
        if self._group is not None and self._group.out_of_memory():
            return self._limits.memory_exceeded()
        if code == -signal.SIGXCPU:
            return self._limits.cpu_exceeded()
        if code == OUT_OF_MEMORY and self._limits.memory is not None:
            return self._limits.memory_exceeded()
        how = f"it exited with code {code}" if code >= 0 else f"it was killed by {_signal(-code)}"
        if self._limits.memory is not None:
            how += f" (it may use {self._limits.memory} bytes of memory)"
        return HostLost(f"The process of {self._name} has ended: {how}", code >= 0 or -code in _CRASHES)

    def _absent(self) -> BaseException:
        """Return the error for an environment that is not there.

        A task whose environment has been replaced knows the old one only; if the environments of a cluster's machines
        have different names, the task fails after some attempts.
        """
        plugin = self._folder.name.rpartition("-")[0]  # as it is installed
        reason = f"The plugin's environment {self._folder} is not on this machine, {socket.gethostname()}"
        if all(each.name != plugin for each in environments([str(self._folder.parent)])):
            return ConnectError(reason)
        reason += ", where there is another one of the plugin"
        return HostLost(reason, by_itself=True) if self._is_task else ConnectError(f"{reason}: restart the connector")


_CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE}


def for_task(process: PluginProcess) -> PluginProcess:
    """Have the process closed when the task of this process has ended."""
    OF_TASK.processes.append(process)
    return process


def _tell_level(process: PluginProcess, name: str) -> None:
    process.tell(SetPluginLogLevel(name, logging.getLogger(name).level))


OF_TASK = LevelFollowers(_tell_level)


def close_all() -> None:
    """Close the processes of the task that has ended."""
    while OF_TASK.processes:
        OF_TASK.processes.pop().close()


def _log(line: PluginLogLine) -> None:
    logger = logging.getLogger(line.logger)
    if logger.isEnabledFor(line.level):
        record = logger.makeRecord(line.logger, line.level, "", 0, line.text, (), None)
        record.created, record.msecs = line.created, line.created % 1 * 1000
        logger.handle(record)


def _loggers() -> list[tuple[str, logging.Logger]]:
    found = [(n, each) for n, each in logging.root.manager.loggerDict.items() if isinstance(each, logging.Logger)]
    return [("root", logging.getLogger()), *found]


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
