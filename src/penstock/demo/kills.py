"""Ends parts of a worker by SIGKILL, as a crash or a lack of memory would, and finds their processes for it.

The processes that work for a worker are its descendants: Spark's driver, Spark's Java, and one process for every task,
recognized by the file that it has open.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.demo.flights import DemoError

if TYPE_CHECKING:
    from psutil import Process


SPARKS_JAVA = "org.apache.spark.deploy.SparkSubmit"


class Kill(StrEnum):
    """Process to kill."""

    WORKER = "worker"
    DRIVER = "driver"
    TASK = "task"


def driver(worker: int) -> int:
    """The process of Spark's driver. Raises DemoError if there is none."""
    if found := _first_below(worker, lambda process: _drives_hosted_tasks(process.cmdline())):
        return found
    raise DemoError(f"The worker (process {worker}) has no process with Spark's driver now.")


def task(worker: int, file: Path) -> int:
    """The process of the task that reads or writes ``file``. Raises DemoError if there is none."""
    path = str(file.resolve())
    if found := _first_below(worker, lambda process: path in [each.path for each in process.open_files()]):
        return found
    raise DemoError(f"No process of the worker (process {worker}) has {file} open now.")


def only_task(worker: int) -> int:
    """The process of the worker's one hosted task. Raises DemoError if there is none."""
    if found := _first_below(driver(worker), lambda process: _is_fork(process) and _is_fork(process.parent())):
        return found
    raise DemoError(f"The worker (process {worker}) runs no task now.")


def java(worker: int) -> int:
    """Spark's Java below the driver of queries. Raises DemoError if there is none."""
    if (queries := _first_below(worker, lambda process: _drives_queries(process.cmdline()))) and (
        found := _first_below(queries, lambda process: SPARKS_JAVA in process.cmdline())
    ):
        return found
    raise DemoError(f"The worker (process {worker}) runs no Java of Spark's for queries now.")


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _first_below(pid: int, fits: Callable[[Process], bool]) -> int | None:
    """The first process below this one that ``fits``. Processes may end meanwhile."""
    import psutil  # installed together with the demo's data

    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):
                if fits(process):
                    return process.pid
    return None


def _is_fork(process: Process | None) -> bool:
    """A task is forked from Spark's daemon and shows its command."""
    return process is not None and "penstock.spark.daemon" in process.cmdline()


def _drives_queries(command: list[str]) -> bool:
    return "penstock.spark.driver" in command and command[-1] != "hosted"


def _drives_hosted_tasks(command: list[str]) -> bool:
    """Queries have a driver of their own."""
    return "penstock.spark.driver" in command and command[-1] == "hosted"
