"""A folder of files to which batches are added whole and once: Parquet, ORC, JSON, CSV, text.

Spark writes a batch into a folder of its own below ``.penstock``, which readers of the table don't see. Then the list
of its files is written, in one step, and with that the batch is in the table: its files are moved to their places, by
this run or by one that finds the list. A batch without a list is written again; one with a list never
is. Java's file sinks (HDFS, S3) do the same with names made of offsets.
"""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.api.errors import ConnectError
from penstock.spark.query.sink.offsets import Version
from penstock.spark.query.sink.settings import SinkSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)


HIDDEN = ".penstock"


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch that is in the table, if perhaps not yet in its place: where it was written, and its files there."""

    folder: str
    files: list[str]


class Files:
    """Adds batches to the folder ``settings.path``; ``writer`` is the connector's name."""

    def __init__(self, settings: SinkSettings, writer: str, session: SparkSession) -> None:
        assert settings.path is not None
        self._settings = settings
        jvm: Any = session._jvm
        # Each part of such a name is looked up in all jars.
        self._new_path, self._texts = jvm.org.apache.hadoop.fs.Path, jvm.org.apache.commons.io.IOUtils
        self._path = self._new_path(settings.path)
        self._files = self._path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
        self._own = self._below(self._path, f"{HIDDEN}/{_plain(writer)}")

    def add(self, frame: DataFrame, version: Version) -> None:
        """Returns when the batch is in the table; does nothing if it is already."""
        listed = self._below(self._own, f"{version.epoch}-{version.number}.json")
        batch = self._read(listed)
        self._forget_others(listed, batch)
        if batch is None:
            # Not a name that another run would give, should it still be at work.
            folder = f"{version.epoch}-{version.number}-{secrets.token_hex(4)}"
            batch = _Batch(folder, self._write(frame, self._below(self._own, folder)))
            self._list(listed, batch)
        written = self._below(self._own, batch.folder)
        for name in batch.files:
            self._move(self._below(written, name), self._below(self._path, name))
        self._files.delete(written, True)

    def _write(self, frame: DataFrame, folder: Any) -> list[str]:
        writer = frame.write.format(self._settings.format).options(**self._settings.options)
        if self._settings.partition_by:
            writer = writer.partitionBy(*self._settings.partition_by)
        writer.save(folder.toString())
        return self._names(folder)

    def _names(self, folder: Any) -> list[str]:
        """The data files in a folder and those below it, from there."""
        start = len(self._files.makeQualified(folder).toString()) + 1
        found = self._files.listFiles(folder, True)
        names = []
        while found.hasNext():
            path = found.next().getPath()
            if not path.getName().startswith(("_", ".")):
                names.append(path.toString()[start:])
        return sorted(names)

    def _list(self, path: Any, batch: _Batch) -> None:
        draft = self._below(self._own, f"{batch.folder}.draft")
        stream = self._files.create(draft, True)
        stream.write(bytearray(json.dumps({"folder": batch.folder, "files": batch.files}).encode()))
        stream.close()
        if self._files.exists(path) or not self._files.rename(draft, path):
            raise ConnectError(f"{path.toString()} can't be written: another run of the connector is at work")

    def _read(self, path: Any) -> _Batch | None:
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        with contextlib.closing(stream):
            text = self._texts.toString(stream, "UTF-8")
        return _Batch(**json.loads(text))

    def _move(self, source: Any, target: Any) -> None:
        self._files.mkdirs(target.getParent())
        if not self._files.exists(source) and self._files.exists(target):
            return  # a run before has moved it
        if not self._files.rename(source, target):
            raise ConnectError(f"{source.toString()} can't be moved to {target.toString()}")

    def _forget_others(self, listed: Any, batch: _Batch | None) -> None:
        """What is left of earlier batches, which are never asked for again, and of earlier attempts at this one."""
        self._files.mkdirs(self._own)
        keep = {listed.getName(), batch.folder if batch is not None else ""}
        for status in self._files.listStatus(self._own):
            if status.getPath().getName() not in keep:
                self._files.delete(status.getPath(), True)

    def _below(self, path: Any, name: str) -> Any:
        return self._new_path(path, name)


def _plain(name: str) -> str:
    """A connector's name as the name of a folder."""
    return "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):02X}" for c in name)
