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
- A file that was replaced or truncated while no task ran is recognized by the identity that was stored with the
  position (``file_identity``). If the file of the position is beside it under the name of a rotation, the rest of that
  and of those after it is read first; else ``on.origin.changed`` says what to do.
- A stored position beyond the end of the file at the start, without an identity (set by REST), is left as it is, as in
  Java: lines are sent once the file is longer than that.
- NUL bytes at the end of the file are room for later lines, which some writers make; they are not read.
"""

from __future__ import annotations

import logging
import os
import select
import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from penstock import KAFKA_VERSION
from penstock.api.batch import Batch, SourceOrigin
from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConnectError
from penstock.api.origin import (
    ON_ORIGIN_CHANGED,
    IdentifiedDict,
    OriginPolicy,
    define_origin_policy,
    identity_of,
    origin_changed,
)
from penstock.api.paths import open_allowed
from penstock.api.runtime_hooks import RuntimeHooks
from penstock.api.schema import BYTES, STRING
from penstock.api.source import SourceProgress, SourceTask
from penstock.api.validators import NonEmptyString, ValidString
from penstock.connectors.file_blocks import BLOCK, FileBlocks
from penstock.connectors.file_identity import HEAD, TAIL, FileIdentity, ReadFile, find_moved, last_bytes
from penstock.connectors.lines import LineOffsets, LineReader

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
_RESTART, _PROCEED = "the file is read from its beginning", "the file is read from the position"
define_origin_policy(SOURCE_CONFIG, _RESTART, _PROCEED, internal=True)


class FileStreamSourceTask(SourceTask, RuntimeHooks):
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
        self._given = ReadFile(0, b"", b"", 0)
        """The part of the file that was given in batches, or skipped at the start."""
        self._blocks = FileBlocks()
        self._later: deque[str] = deque()
        """The files that are to be read before that of the setting."""
        self._begins = False
        """Whether the position 0 of another file than the committed one is to be committed."""
        self._taken: Sequence[dict[str, Any]] = ()
        """The positions of the last batch."""

    def start(self, config: Mapping[str, str]) -> None:
        values = SOURCE_CONFIG.parse(config)
        self._filename = values["file"] or None
        self._topic: str = values["topic"]
        self._limit = max(values["batch.size"], 1)
        self._text = values["value.format"] == "string"
        self._partition = {"filename": self._filename}
        self._policy = OriginPolicy(values[ON_ORIGIN_CHANGED])
        self._lines = LineReader(self._name, self._text)

    @property
    def _name(self) -> str:
        return self._filename or "stdin"

    def poll(self) -> Batch | None:
        with self._lock:
            if self._stopped or (self._file is None and (not self._open() or self._begins)):
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
                origin=self._origin(positions),
            )

    def _origin(self, positions: LineOffsets) -> SourceOrigin:
        n = len(positions)
        if self._filename is None:
            return SourceOrigin([self._partition] * n, [{"position": None}] * n)
        before = self._identified(self._partition)  # for offsets inside of the batch, if its last records are dropped
        self._given.add(*positions.first_and_last(HEAD), positions[-1]["position"])
        positions.identity = self._given.identity()
        return SourceOrigin([before] * n, positions)

    def _identified(self, members: dict[str, Any]) -> dict[str, Any]:
        identity = self._given.identity()
        return members if identity is None else IdentifiedDict(members, identity)

    def uncarried_offsets(self) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Return the position 0 of a file that is read in place of the one of the committed position."""
        with self._lock:
            begins, self._begins = self._begins, False
            if not begins or self._taken:
                return []
            return [(self._partition, self._identified({"position": 0}))]

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
        offset = self.context.offset_reader.offset(self._partition) or {}
        position = _position(offset)
        file = self._found(self._filename)
        identity = FileIdentity.stored(identity_of(offset), position)
        if identity is not None:
            file, position = self._checked(self._filename, file, identity)
        if file is None:
            if not self._missing:
                log.warning(
                    "Couldn't find file %s for FileStreamSourceTask, sleeping to wait for it to be created", self._name
                )
            self._missing = True
            return False
        self._file, self._missing = file, False
        size = os.fstat(file.fileno()).st_size
        if position > size:
            log.warning(
                "The stored position %d is beyond the end of file %s, which has %d bytes: nothing is sent until it is "
                "longer. Stop the connector and alter its offsets to read from another position.",
                position,
                self._name,
                size,
            )
        file.seek(position)
        self._lines.start_at(position)
        self._seen = min(position, size)
        try:
            self._tail, self._given = last_bytes(file, self._seen), ReadFile.opened(file, position)
        except OSError as e:
            raise ConnectError(f"Couldn't read file {self._name}: {e.strerror}") from e
        return True

    def _found(self, path: str) -> BinaryIO | None:
        """Return the opened file; None if it does not exist. Raises ConnectError."""
        try:
            return _opened(path)
        except FileNotFoundError:
            return None
        except OSError as e:
            raise ConnectError(f"Couldn't open file {path}: {e.strerror}") from e

    def _checked(self, path: str, file: BinaryIO | None, identity: FileIdentity) -> tuple[BinaryIO | None, int]:
        """Return the file with this identity and the position in it, or what ``on.origin.changed`` says of another one.

        Raises OriginChangedError.
        """
        try:
            change = None if file is None else identity.change(file)
        except OSError as e:
            raise ConnectError(f"Couldn't read file {self._name}: {e.strerror}") from e
        if file is not None and change is None:
            return file, identity.position
        if self._policy is not OriginPolicy.CONTINUE:
            moved = find_moved(path, identity, _opened)
            if moved is not None:
                if file is not None:
                    file.close()
                log.warning("File %s was moved to %s; reading the rest of that first", path, moved.path)
                self._later = deque(moved.later)
                return moved.file, identity.position
        if file is None:
            return None, identity.position
        sentence = f"File {path} {change}"
        if self._policy is OriginPolicy.FAIL:
            file.close()
            raise origin_changed(sentence, _RESTART, _PROCEED)
        log.warning("%s. %s=%s", sentence, ON_ORIGIN_CHANGED, self._policy)
        self._begins = self._policy is OriginPolicy.RESTART
        return file, 0 if self._begins else identity.position

    def _read(self) -> None:
        file = self._file
        assert file is not None
        try:
            if self._filename is None:
                if select.select([file], [], [], 0.5)[0]:
                    self._lines.feed(os.read(file.fileno(), BLOCK))
                return
            block = self._blocks.read(file)
        except OSError as e:
            raise ConnectError(f"Couldn't read file {self._name}: {e.strerror}") from e
        if not block:
            self._follow(file)
            return
        try:
            if last_bytes(file, self._seen, len(self._tail)) == self._tail:
                self._lines.feed(block)
                follows = file.tell() - len(block) == self._seen  # not if the file was shorter than its position
                self._seen = file.tell()
                self._tail = ((self._tail if follows else b"") + block[-TAIL:])[-TAIL:]
                return
        except OSError as e:
            raise ConnectError(f"Couldn't read file {self._name}: {e.strerror}") from e
        if not self._goes_back(file):
            self._truncated(file, "was truncated and written again")

    def _goes_back(self, file: BinaryIO) -> bool:
        """Go back to the end of the last line that was given, if only an incomplete line after it was changed."""
        try:
            same = self._given.same(file)
        except OSError as e:
            raise ConnectError(f"Couldn't read file {self._name}: {e.strerror}") from e
        if same:
            file.seek(self._given.position)
            self._seen, self._tail = self._given.position, self._given.tail
            self._lines.start_at(self._seen)
        return same

    def _truncated(self, file: BinaryIO, how: str) -> None:
        log.warning("File %s %s; reading it again from its beginning", self._name, how)
        file.seek(0)
        self._begin(file)

    def _begin(self, file: BinaryIO) -> None:
        """Begin with a file whose position is 0."""
        self._file, self._begins = file, True
        self._seen, self._taken, self._tail = 0, (), b""
        self._blocks.clear()
        self._given = ReadFile(0, b"", b"", os.fstat(file.fileno()).st_ino)
        self._lines.start_at(0)

    def _follow(self, file: BinaryIO) -> None:
        """At the end of the file: check whether it was replaced or truncated."""
        assert self._filename is not None
        opened = os.fstat(file.fileno())
        if opened.st_size < self._seen:
            if self._given.position > opened.st_size or not self._goes_back(file):
                self._truncated(file, f"was truncated from {self._seen} to {opened.st_size} bytes")
            return
        if not self._later:
            try:
                named = os.stat(self._filename)
            except OSError:
                return
            if (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino):
                return
        size = os.fstat(file.fileno()).st_size
        if size > file.tell() and not self._blocks.ends_at(size):  # written before the other was
            return
        self._lines.end()
        if self._lines.ready:
            return
        path = self._later[0] if self._later else self._filename
        new = self._found(path)
        if self._later:
            self._later.popleft()
            if new is None:
                raise ConnectError(f"File {path}, which was to be read before {self._filename}, is gone")
        if new is None:  # deleted meanwhile: there will be another one
            return
        log.warning("File %s was replaced; reading %s from its beginning", self._name, path)
        file.close()
        self._begin(new)
        self._begins = path == self._filename  # position 0 would be one in that file at the next start


def _position(offset: Mapping[str, Any]) -> int:
    position = offset.get("position")
    if position is None:
        return 0
    if not isinstance(position, int) or isinstance(position, bool):
        raise ConnectError("Offset position is the incorrect type")
    return position


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
