"""The task that appends records to a file, a line each. Java: ``FileStreamSinkTask``.

As in Java, lines are in the file when ``put_batch`` returns; they are not forced to the disk. Unlike Java's, which
ignores such errors, this task fails when lines can't be written or the file was deleted: their offsets are then not
committed, so the next run writes them again. A failed write of a batch is rolled back.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping

from penstock import KAFKA_VERSION
from penstock.api.batch import Batch
from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConnectError
from penstock.api.paths import open_allowed
from penstock.api.sink import SinkTask, TopicPartition
from penstock.api.values import to_lines

log = logging.getLogger(__name__)

SINK_CONFIG = ConfigDef().define(
    "file",
    ConfigType.STRING,
    None,
    None,
    Importance.HIGH,
    "Destination filename. If not specified, the standard output will be used",
)


class FileStreamSinkTask(SinkTask):
    """Appends to one file, created if it does not exist, or writes to the standard output if ``file`` is not set."""

    java_name = "org.apache.kafka.connect.file.FileStreamSinkTask"

    _fd: int | None = None

    @classmethod
    def version(cls) -> str:
        return KAFKA_VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self._filename: str | None = SINK_CONFIG.parse(config)["file"] or None
        if self._filename is None:
            return
        try:
            self._fd = open_allowed(self._filename, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except (OSError, ValueError) as e:
            raise ConnectError(f"Couldn't find or create file '{self._filename}' for FileStreamSinkTask") from e

    def put_batch(self, batch: Batch) -> None:
        if not len(batch):
            return
        lines = to_lines(batch.value_schemas, batch.value_column)
        if self._fd is None:
            sys.stdout.write(str(lines, "utf-8"))
        else:
            self._append(self._fd, lines)

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        if self._fd is None:
            sys.stdout.flush()
        else:
            self._check_there(self._fd)

    def stop(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _append(self, fd: int, data: bytes | memoryview) -> None:
        self._check_there(fd)
        before, written = os.fstat(fd).st_size, 0
        try:
            while written < len(data):
                written += os.write(fd, data[written:] if written else data)
        except OSError as e:
            if os.fstat(fd).st_size == before + written:
                os.ftruncate(fd, before)
            raise ConnectError(f"Couldn't write {len(data)} bytes to file {self._filename}: {e.strerror}") from e

    def _check_there(self, fd: int) -> None:
        if os.fstat(fd).st_nlink == 0:
            raise ConnectError(
                f"File {self._filename} was deleted while it was written to: lines since the last commit of offsets "
                "are gone with it. They are written again when the task is restarted."
            )
