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

MAX_LINE = 1 << 20
"""Maximum of bytes of a line that are looked at; of a longer one the beginning is written, as of all long lines."""
MAX_KEY_LINES = 200
"""Maximum of lines of a private key, which are left out."""
MAX_LINES = 2000
"""Maximum of lines of a second; more are counted, and left out, so that neither Spark nor the worker waits for them."""
LOGGER = "penstock.spark.output"
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?!.*-----END )")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]*|(?:Proc-Type|DEK-Info):.*")
"""A line of the text of a key, without what is around it."""
_BEFORE_KEY_LINE, _AFTER_KEY_LINE = " \t\f\v\r\n\"'>|+,\\rn", " \t\f\v\r\n\"'+,\\rn"
"""Characters around a line of a key that a program has put into quotes. To look for them by the same expression would
take hours for some lines.
"""
_LEVEL = re.compile(r"[\d/:., -]{8,40}\s(TRACE|DEBUG|INFO|WARN|ERROR|FATAL|CRITICAL)(?:ING)?\b")
_NUMBERS = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50, "CRITICAL": 50}


class OutputCopy:
    """Thread that writes the lines of a pipe to a descriptor of this process, until nobody has the pipe any more."""

    def __init__(self, pipe: BinaryIO, to: int) -> None:
        self._pipe, self._to = pipe, to
        self._level = logging.WARNING
        self._key_lines = 0
        """Number of further lines that may be of a private key."""
        self._thread = threading.Thread(target=self._copy, name="spark-output", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until all has been written, but not for longer."""
        self._thread.join(seconds)

    def _copy(self) -> None:
        began, taken, left_out = time.monotonic(), 0, 0
        with self._pipe:
            while line := self._line():
                if (now := time.monotonic()) - began >= 1:
                    if left_out:
                        self._write(f"{left_out} lines of Spark and its tasks were left out: too many at once")
                    began, taken, left_out = now, 0, 0
                text = line.decode("utf-8", "backslashreplace").rstrip("\r\n")
                if self._is_of_key(text):
                    continue
                taken += 1
                if taken > MAX_LINES:
                    left_out += 1
                    continue
                self._write(text)
        if left_out:
            self._write(f"{left_out} lines of Spark and its tasks were left out: too many at once")

    def _line(self) -> bytes:
        """Return the next line, without what is beyond its maximum: a secret that is cut could not be found."""
        line = rest = self._pipe.readline(MAX_LINE)
        while rest and not rest.endswith(b"\n"):
            rest = self._pipe.readline(MAX_LINE)
        return line

    def _is_of_key(self, text: str) -> bool:
        """Whether this line is of a private key that began in one before; its first line is masked as all texts are."""
        if self._key_lines > 0 and _KEY_LINE.fullmatch(text.lstrip(_BEFORE_KEY_LINE).rstrip(_AFTER_KEY_LINE)):
            self._key_lines -= 1
            return True
        self._key_lines = MAX_KEY_LINES if _KEY_BEGINS.search(text) else 0
        return False

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
