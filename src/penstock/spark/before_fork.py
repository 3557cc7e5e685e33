"""What the process does from which tasks are forked, so that what they share with it stays shared.

A page is shared until one of them writes to it; then the writer has a copy of its own. A task that waits for records
writes little, but it would write all over the pages that it shares.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import re
import sys
import tempfile
from collections.abc import Iterator

_CLASS = re.compile(r"^ *\d+ +(?P<size>\d+) +\d+ +\d+ +(?P<free>\d+)$", re.MULTILINE)
"""A line of CPython's table of its small blocks: class, size, pools, blocks in use, blocks available."""


def open_libraries() -> None:
    """Make once what OpenSSL and librdkafka make at their first use, and would make in every task.

    Neither leaves a thread behind, nor a handle that a task could use.
    """
    from confluent_kafka import Producer

    from penstock.spark.tls import prepare

    prepare()
    # Random numbers are not the parent's: each task seeds its own.
    Producer({"log_level": 0, "enable.random.seed": False})


def keep_shared() -> None:
    """Called last: the collector passes over what exists by now, and nothing is put between it."""
    gc.collect()
    with contextlib.suppress(OSError):  # tasks run without it
        fill_free_blocks()
    gc.freeze()


def fill_free_blocks() -> int:
    """Occupy the free blocks between the small objects that exist, for good. Returns how many there were. Raises
    OSError.

    What a task makes would be put there, a few bytes to a page; so it is put together, in pages of the task's own.
    """
    allocate = ctypes.PYFUNCTYPE(None, ctypes.c_size_t)(("PyObject_Malloc", ctypes.pythonapi))
    filled = 0
    for size, free in free_blocks(_allocator_statistics()):
        for _ in range(free):
            allocate(size)
        filled += free
    return filled


def free_blocks(statistics: str) -> Iterator[tuple[int, int]]:
    """Sizes of blocks, and how many of them are free, in CPython's own description of its allocator; nothing if it uses
    another.
    """
    for found in _CLASS.finditer(statistics):
        yield int(found["size"]), int(found["free"])


def _allocator_statistics() -> str:
    """CPython prints them to standard error only. Raises OSError if there is no place for a file."""
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
