"""The process that Spark's Python processes are forked from (``spark.python.daemon.module``).

Java Connect's tasks are threads; ours are processes, and what they have in common is shared only if it was there
before the fork. So everything that tasks need is imported here, and nothing is created: a librdkafka handle or a thread
does not survive a fork. The rest is PySpark's own.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import importlib.util
import os
import pkgutil
import re
import select
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

NEEDED = (
    "confluent_kafka",
    "confluent_kafka.admin",
    "ctypes",
    "encodings.idna",  # for the first host name that is looked up
    "orjson",
    "penstock.spark.task",
    "pyspark.worker",
)
PACKAGES = ("penstock.api", "penstock.kafka", "penstock.pipeline", "penstock.connectors")


PLUGIN_PATH = "PENSTOCK_PLUGIN_PATH"
"""Set in the environment: the worker's ``plugin.path``, whose plugins are imported before tasks are forked."""
ALONE = "PENSTOCK_FORK_WITHOUT_PLUGINS"
"""Set in the environment: plugins are left to the tasks."""
FORK_WITH = "PENSTOCK_FORK_WITH"
"""Set in the environment: more modules to import, separated by commas."""

DRIVERS_PYTHON = "PENSTOCK_DRIVERS_PYTHON"
"""Set in the environment: the minor version of the driver's Python, which is that of all executors."""
OTHER_PYTHON = "This executor has another Python than the driver:"
"""Beginning of the last line of a process that ends for this reason."""

_CLASS = re.compile(r"^ *\d+ +(?P<size>\d+) +\d+ +\d+ +(?P<free>\d+)$", re.MULTILINE)
"""A line of CPython's table of its small blocks: class, size, pools, blocks in use, blocks available."""


def refuse_other_python() -> None:
    """End if this Python has another minor version than the driver's: neither could read the other's objects, and
    modules that are compiled would fail first, with errors that don't name the reason.
    """
    own = "{}.{}".format(*sys.version_info)
    if os.environ.get(DRIVERS_PYTHON, own) != own:
        sys.exit(f"{OTHER_PYTHON} {own} ({sys.executable} on {socket.gethostname()})")


def prefer_installed_pyspark() -> None:
    """Spark puts its zipped copy of PySpark and a jar on the path; where they belong to the installed PySpark, it is
    used.

    From a zip file every start would compile everything again, and every task, when it clears its import caches,
    would read the file's directory again: 13 MB and 50 ms each.
    """
    path = sys.path[:]
    archives = [entry for entry in path if Path(entry).suffix in (".zip", ".jar") and "spark" in entry]
    sys.path[:] = [entry for entry in path if entry not in archives]
    spec = importlib.util.find_spec("pyspark")
    installed = Path(spec.origin).resolve().parent if spec is not None and spec.origin else None
    # Another cluster's Spark may be of another version: its own PySpark is the one that understands it.
    if installed is None or any(installed not in Path(entry).resolve().parents for entry in archives):
        sys.path[:] = path
        return
    for known in list(sys.path_importer_cache):
        if known.startswith(tuple(archives)):
            del sys.path_importer_cache[known]


@contextmanager
def printing_elsewhere() -> Iterator[None]:
    """Send what is printed meanwhile to the standard error.

    Java reads a port from the standard output, and starts no task if something else comes first.
    """
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(own, 1)
        os.close(own)


def import_everything() -> None:
    for name in NEEDED:
        end_if_abandoned()
        importlib.import_module(name)
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            end_if_abandoned()
            # A connector may need a library that is not installed; other tasks don't.
            try:
                importlib.import_module(module.name)
            except ImportError as error:
                print(f"{module.name} can't be imported before tasks are forked: {error}", file=sys.stderr)


def end_if_abandoned() -> None:
    """End if Java is gone, which PySpark's own daemon sees only when everything has been imported."""
    poll = select.poll()
    poll.register(0, 0)
    if any(event & select.POLLHUP for _, event in poll.poll(0)):
        os._exit(0)


def import_plugins() -> None:
    """Import the worker's plugins, unless one of them starts a thread on import: then start again without them."""
    if ALONE in os.environ:
        return
    from penstock.spark.task import plugins

    with printing_elsewhere():
        plugins(tuple(path for path in os.environ.get(PLUGIN_PATH, "").split(",") if path))
    if threads() > 1:
        print(
            f"Plugins are imported by each task: some start threads, {threads() - 1} in all",
            file=sys.stderr,
            flush=True,
        )
        os.execve(sys.executable, sys.orig_argv, os.environ | {ALONE: "1"})


def import_more() -> None:
    """Import what only this daemon's tasks need: there is one daemon for hosted tasks, and one for queries."""
    for name in filter(None, os.environ.get(FORK_WITH, "").split(",")):
        importlib.import_module(name)


def open_libraries() -> None:
    """Allocate once what OpenSSL and librdkafka allocate at their first use, and would allocate in every task.

    Neither leaves a thread behind, nor a handle that a task could use.
    """
    from confluent_kafka import Producer

    from penstock.spark.tls import prepare

    prepare()
    # Random numbers are not the parent's: each task seeds its own.
    Producer({"log_level": 0, "enable.random.seed": False})


def keep_shared() -> None:
    """Keep existing objects in pages shared with the tasks. Called last before tasks are forked.

    The collector skips these objects, and no task puts objects between them.
    """
    gc.collect()
    with suppress(OSError):  # tasks run without it
        fill_free_blocks()
    gc.freeze()


def fill_free_blocks() -> int:
    """Occupy the free blocks between existing small objects permanently; return how many there were. Raises OSError.

    A task's objects would be put there, a few bytes to a page; now they are together, in pages of the task's own.
    """
    allocate = ctypes.PYFUNCTYPE(None, ctypes.c_size_t)(("PyObject_Malloc", ctypes.pythonapi))
    filled = 0
    for size, free in free_blocks(_allocator_statistics()):
        for _ in range(free):
            allocate(size)
        filled += free
    return filled


def free_blocks(statistics: str) -> Iterator[tuple[int, int]]:
    """Yield block sizes with the number of free blocks, from CPython's own statistics of its allocator.

    Yields nothing if CPython uses another allocator.
    """
    for found in _CLASS.finditer(statistics):
        yield int(found["size"]), int(found["free"])


def _allocator_statistics() -> str:
    """Return what CPython prints to the standard error only. Raises OSError if there is no space for a file."""
    with tempfile.TemporaryFile() as file:
        stderr = os.dup(2)
        try:
            os.dup2(file.fileno(), 2)
            sys._debugmallocstats()
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        file.seek(0)
        return file.read().decode(errors="replace")


def report_exit_statuses() -> None:
    """Have the daemon wait for its children, where it would ignore SIGCHLD, and report their exit statuses."""
    from pyspark import daemon

    from penstock.scratch import remove_if_abandoned
    from penstock.spark import task_exit

    if not (named := os.environ.get(task_exit.FOLDER)):
        return
    folder = Path(named)

    def reap(*_: object) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                with suppress(OSError):  # the worker has ended and removed its folder
                    task_exit.report(folder, *ended)

    def instead(number: int, handler: object) -> object:
        ignored = number == signal.SIGCHLD and handler is signal.SIG_IGN
        return signal.signal(number, reap if ignored else handler)  # type: ignore[arg-type]

    # The children set SIGCHLD to its default themselves.
    vars(daemon)["signal"] = SimpleNamespace(**{**vars(signal), "signal": instead})
    # The daemon's children end by os._exit, so this is called only when the daemon ends: perhaps its worker was killed.
    atexit.register(remove_if_abandoned, folder)


def remember_connections() -> None:
    """Have each process know its connection to Java (``parent``)."""
    from pyspark import daemon

    from penstock.spark.parent import remember

    work = daemon.worker

    def worker(java: socket.socket, *more: Any) -> int:
        remember(java)
        return work(java, *more)

    vars(daemon)["worker"] = worker


def threads() -> int:
    """Return the number of threads of this process, those unknown to Python included."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def main() -> None:
    refuse_other_python()
    gc.disable()  # what is imported stays, and looking through it again and again takes a tenth of the time
    # Threads of a linear algebra library, should a plugin import one, would not survive the fork.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    prefer_installed_pyspark()
    with printing_elsewhere():
        import_everything()
    import_plugins()
    with printing_elsewhere():
        import_more()
    open_libraries()
    keep_shared()
    gc.enable()
    # Batches are lists of many young objects without cycles: with Python's own 700 the collector costs a third.
    gc.set_threshold(100_000, 50, 100)
    report_exit_statuses()
    remember_connections()
    from penstock.spark.task import FORKED_FROM

    os.environ[FORKED_FROM] = str(os.getpid())
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
