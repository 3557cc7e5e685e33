"""The task that reads a file line by line. Java: ``FileStreamSourceTask``.

Lines end with ``\\n``, ``\\r`` or ``\\r\\n``; an incomplete last line is read once its end is there, however long it
is. Source partition ``{"filename": …}``, source offset ``{"position": …}``: bytes up to and with the line's end. (Java
counts characters, and so resumes at a wrong position in a file that is not all ASCII.)

If the file is replaced or truncated, Java keeps reading the one that it has opened and loses the new lines. Here:
- A file that does not exist yet, or was deleted, is retried until it is there.
- A file that was replaced (renamed and recreated, as log rotation does) is read to its end, the last line even without
  an end; then the new one is read from its beginning.
- A file that has become shorter than what was read of it (truncated in place) is read again from its beginning, and
  also one that has been truncated and is as long again: the last bytes that were read are compared.
- A stored position beyond the end of the file at the start is left as it is, as in Java: lines are sent once the file
  is longer than that.
"""

from __future__ import annotations

import logging
import os
import select
import stat
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from penstock import KAFKA_VERSION
from penstock.api.batch import Batch, SourceOrigin
from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConnectError
from penstock.api.paths import open_allowed
from penstock.api.schema import BYTES, STRING
from penstock.api.source import SourceProgress, SourceTask
from penstock.api.validators import NonEmptyString, ValidString
from penstock.connectors.lines import LineReader

log = logging.getLogger(__name__)


SOURCE_CONFIG = (
    ConfigDef()
    .define(
        "file",
        ConfigType.STRING,
        None,
        None,
        Importance.HIGH,
        "Source filename. If not specified, the standard input will be used",
    )
    .define(
        "topic",
        ConfigType.STRING,
        validator=NonEmptyString(),
        importance=Importance.HIGH,
        documentation="The topic to publish data to",
    )
    .define(
        "batch.size",
        ConfigType.INT,
        2000,
        None,
        Importance.LOW,
        "The maximum number of records the source task can read from the file each time it is polled",
    )
    .define(
        "value.format",
        ConfigType.STRING,
        "string",
        ValidString("string", "bytes"),
        Importance.LOW,
        "string: lines are text in UTF-8. bytes: lines are taken as they are, whatever their encoding",
        internal=True,
    )
)

_BLOCK = 1 << 20
_TAIL = 256
"""How many of the last bytes that were read are compared with the file's before more of it is taken."""


class FileStreamSourceTask(SourceTask):
    """Reads one file, or the standard input if ``file`` is not set; the positions of that are not tracked."""

    java_name = "org.apache.kafka.connect.file.FileStreamSourceTask"

    @classmethod
    def version(cls) -> str:
        return KAFKA_VERSION

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._filename: str | None = None
        self._file: BinaryIO | None = None
        self._stopped = False
        self._missing = False
        self._empty = 0
        """Consecutive polls without records."""
        self._seen = 0
        self._tail = b""
        """The last bytes before ``_seen``, up to where the file has been read."""
        self._taken: Sequence[dict[str, int]] = ()
        """The positions of the last batch."""

    def start(self, config: Mapping[str, str]) -> None:
        values = SOURCE_CONFIG.parse(config)
        self._filename = values["file"] or None
        self._topic: str = values["topic"]
        self._limit = max(values["batch.size"], 1)
        self._text = values["value.format"] == "string"
        self._partition = {"filename": self._filename}
        self._lines = LineReader(self._name, self._text)

    @property
    def _name(self) -> str:
        return self._filename or "stdin"

    def poll(self) -> Batch | None:
        with self._lock:
            if self._stopped or (self._file is None and not self._open()):
                return None
            if not self._lines.ready:
                self._read()
            values, positions = self._lines.take(self._limit)
            if not values:
                self._empty += 1
                return None
            self._empty, self._taken = 0, positions
            n, now = len(values), int(time.time() * 1000)
            return Batch.of(
                self._topic,
                values,
                value_schema=STRING if self._text else BYTES,
                timestamps=[now] * n,
                origin=SourceOrigin([self._partition] * n, positions if self._filename else [{"position": None}] * n),
            )

    def idle(self) -> float:
        """Grows while there are no new lines, up to the second that Java always waits."""
        return 0.5 if self._missing else min(0.1 + 0.01 * self._empty, 1.0)

    def progress(self) -> list[SourceProgress]:
        with self._lock:
            if self._file is None or self._filename is None:
                return []
            position = self._taken[-1]["position"] if self._taken else self._lines.position
            return [SourceProgress(self._partition, position, os.fstat(self._file.fileno()).st_size, "bytes")]

    def stop(self) -> None:
        self._stopped = True
        with self._lock:
            if self._file is not None and self._filename is not None:
                self._file.close()
            self._file = None

    def _open(self) -> bool:
        if self._filename is None:
            self._file = sys.stdin.buffer
            return True
        try:
            self._file = _opened(self._filename)
        except FileNotFoundError:
            if not self._missing:
                log.warning(
                    "Couldn't find file %s for FileStreamSourceTask, sleeping to wait for it to be created", self._name
                )
            self._missing = True
            return False
        except OSError as e:
            raise ConnectError(f"Couldn't open file {self._name}: {e.strerror}") from e
        self._missing = False
        position = self._stored_position()
        size = os.fstat(self._file.fileno()).st_size
        if position > size:
            log.warning(
                "The stored position %d is beyond the end of file %s, which has %d bytes: nothing is sent until it is "
                "longer. Stop the connector and alter its offsets to read from another position.",
                position,
                self._name,
                size,
            )
        self._file.seek(position)
        self._lines.start_at(position)
        self._seen = min(position, size)
        self._tail = self._bytes_before(self._file, self._seen, _TAIL)
        return True

    def _bytes_before(self, file: BinaryIO, position: int, count: int) -> bytes:
        """Return as many of the file's bytes before this position. Raises ConnectError."""
        count = min(count, position)
        try:
            return os.pread(file.fileno(), count, position - count)
        except OSError as e:
            raise ConnectError(f"Couldn't read file {self._name}: {e.strerror}") from e

    def _stored_position(self) -> int:
        offset = self.context.offset_reader.offset(self._partition) or {}
        position = offset.get("position")
        if position is None:
            return 0
        if not isinstance(position, int) or isinstance(position, bool):
            raise ConnectError("Offset position is the incorrect type")
        return position

    def _read(self) -> None:
        file = self._file
        assert file is not None
        try:
            if self._filename is None:
                if select.select([file], [], [], 0.5)[0]:
                    self._lines.feed(os.read(file.fileno(), _BLOCK))
                return
            block = file.read(_BLOCK)
        except OSError as e:
            raise ConnectError(f"Couldn't read file {self._name}: {e.strerror}") from e
        if not block:
            self._follow(file)
        elif self._bytes_before(file, self._seen, len(self._tail)) != self._tail:
            self._truncated(file, "was truncated and written again")
        else:
            self._lines.feed(block)
            self._seen = file.tell()
            self._tail = (self._tail + block[-_TAIL:])[-_TAIL:]

    def _truncated(self, file: BinaryIO, how: str) -> None:
        log.warning("File %s %s; reading it again from its beginning", self._name, how)
        file.seek(0)
        self._seen, self._taken, self._tail = 0, (), b""
        self._lines.start_at(0)

    def _follow(self, file: BinaryIO) -> None:
        """At the end of the file: check whether it was replaced or truncated."""
        assert self._filename is not None
        opened = os.fstat(file.fileno())
        if opened.st_size < self._seen:
            self._truncated(file, f"was truncated from {self._seen} to {opened.st_size} bytes")
            return
        try:
            named = os.stat(self._filename)
        except OSError:
            return
        if (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino):
            return
        if os.fstat(file.fileno()).st_size > file.tell():  # what was written since it was read, before the other was
            return
        self._lines.end()
        if self._lines.ready:
            return
        try:
            new = _opened(self._filename)
        except FileNotFoundError:  # deleted meanwhile: there will be another one
            return
        except OSError as e:
            raise ConnectError(f"Couldn't open file {self._name}: {e.strerror}") from e
        log.warning("File %s was replaced; reading the new file from its beginning", self._name)
        file.close()
        self._file, self._seen, self._taken, self._tail = new, 0, (), b""
        self._lines.start_at(0)


def _opened(path: str) -> BinaryIO:
    """Raises OSError, and ConnectError for what has no positions: a pipe, to open which waits for who writes to it, or
    a terminal, which must not become that of a worker without one, or its end would be the worker's, by SIGHUP.
    """
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        file = open(path, "rb", 0, opener=lambda path, flags: open_allowed(path, flags | os.O_NOCTTY))  # noqa: SIM115
        if file.seekable():
            return file
        file.close()
    raise ConnectError(f"{path} is a pipe or a device, which has no positions to go on from: name a file")
