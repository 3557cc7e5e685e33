"""Plugins that fork processes, as with ``multiprocessing``: these are no part of the task's."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import Any

import pytest

from penstock.spark import task
from penstock.spark.channel import TaskChannel
from penstock.spark.messages.task import DoneReport, LogReport, TaskSubmission
from penstock.spark.run.task_link import LogRelay
from support.spark.meeting import WHO, meeting


def forked(work: Callable[[], object]) -> int:
    """Fork a process that does this and stays; return its ID."""
    if pid := os.fork():
        return pid
    try:
        work()
        signal.pause()
    finally:
        os._exit(0)


def joined(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_what_a_forked_process_logs_breaks_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    with meeting() as (worker, outcome):
        worker.admit()
        channel: TaskChannel = outcome.get(timeout=900)[0]
        relay = LogRelay(channel)

        def work() -> None:
            relay.handle(logging.LogRecord("plugin", logging.WARNING, "x.py", 1, "at work", (), None))
            os.write(writing, b"!")

        child = forked(work)
        try:
            assert os.read(reading, 1) == b"!"
            relay.handle(logging.LogRecord("plugin", logging.WARNING, "x.py", 1, "all well", (), None))
            channel.send(DoneReport())
            line = worker.receive()
            assert isinstance(line, LogReport)
            assert [each.text for each in line.lines] == ["all well"]
            assert worker.receive() == DoneReport()
        finally:
            joined(child)
            channel._socket.close()
    assert f"at work (plugin) [process {child}]" in capfd.readouterr().err


def test_a_forked_process_does_not_hold_the_connection_open() -> None:
    """Otherwise the worker would not notice that the task's process has ended."""
    reading, writing = os.pipe()
    with meeting() as (worker, outcome):
        worker.admit()
        channel: TaskChannel = outcome.get(timeout=900)[0]
        descriptor = channel._socket.fileno()

        def work() -> None:
            try:
                os.fstat(descriptor)
                os.write(writing, b"open")
            except OSError:
                os.write(writing, b"closed")

        child = forked(work)
        try:
            assert os.read(reading, 10) == b"closed"
        finally:
            joined(child)
            channel._socket.close()


def test_processes_of_a_plugin_end_with_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))

    def host_task(payload: Any, attempt: int) -> None:
        child.start()

    monkeypatch.setattr(task, "end_with_parent", lambda parent: None)
    monkeypatch.setattr(task, "host_task", host_task)
    task.host(TaskSubmission(("", 0), "", "", WHO), ())
    try:
        assert wait([child.sentinel], timeout=900), "it lives on"
    finally:
        child.kill()
