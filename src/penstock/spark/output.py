"""Output of Spark's driver and Java, and of the processes that they start on this machine.

It has texts of plugins, sources and connectors, so each line is made by the formatter of the worker's log: masked,
escaped, and with a beginning that no text of it can make. Standard output and error stay what they are. Executors of a
cluster write into files of Spark's, on other machines.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import time
from typing import BinaryIO

MAX_LINE = 1 << 16
"""Maximum of bytes of a line; a longer one is written as several."""
MAX_LINES = 2000
"""Maximum of lines of a second; more are counted, and left out, so that neither Spark nor the worker waits for them."""
LOGGER = "penstock.spark.output"
_LEVEL = re.compile(r"[\d/:., -]{8,40}\s(TRACE|DEBUG|INFO|WARN|ERROR|FATAL|CRITICAL)(?:ING)?\b")
_NUMBERS = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50, "CRITICAL": 50}


class OutputCopy:
    """Thread that writes the lines of a pipe to a descriptor of this process, until nobody has the pipe any more."""

    def __init__(self, pipe: BinaryIO, to: int) -> None:
        self._pipe, self._to = pipe, to
        self._level = logging.WARNING
        self._thread = threading.Thread(target=self._copy, name="spark-output", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until all has been written, but not for longer."""
        self._thread.join(seconds)

    def _copy(self) -> None:
        began, taken, left_out = time.monotonic(), 0, 0
        with self._pipe:
            while line := self._pipe.readline(MAX_LINE):
                if (now := time.monotonic()) - began >= 1:
                    if left_out:
                        self._write(f"{left_out} lines of Spark and its tasks were left out: too many at once")
                    began, taken, left_out = now, 0, 0
                taken += 1
                if taken > MAX_LINES:
                    left_out += 1
                    continue
                self._write(line.decode("utf-8", "backslashreplace").rstrip("\r\n"))
        if left_out:
            self._write(f"{left_out} lines of Spark and its tasks were left out: too many at once")

    def _write(self, text: str) -> None:
        if found := _LEVEL.match(text):
            self._level = _NUMBERS[found[1]]
        record = logging.LogRecord(LOGGER, self._level, "", 0, "%s", (text,), None)
        data = (_formatted(record) + "\n").encode("utf-8", "backslashreplace")
        with contextlib.suppress(OSError):  # nobody reads it; what comes next has to be taken, or Java would wait
            while data:
                data = data[os.write(self._to, data) :]


def _formatted(record: logging.LogRecord) -> str:
    """Return the line by the first formatter of the root logger, which is the log's; elsewhere in ASCII."""
    for handler in logging.getLogger().handlers:
        if handler.formatter is not None:
            handler.filter(record)  # adds what the formatter needs
            return handler.formatter.format(record)
    return f"{record.levelname} {ascii(record.getMessage())[1:-1]} ({record.name})"
