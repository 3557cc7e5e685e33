"""A folder of files to which batches are added whole and once: Parquet, ORC, JSON, CSV, text.

Spark writes a batch into a folder of its own below ``.penstock``, which readers of the table don't see. Then the list
of its files is written, in one step, and with that the batch is in the table: its files are moved to their places, by
this run or by one that finds the list. A batch that has no list yet is written anew; one that has is never written
again. Java's file sinks (HDFS, S3) do the same with names made of offsets.
"""

from __future__ import annotations

import contextlib
import json
import logging
from typing import TYPE_CHECKING, Any

from penstock.api.errors import ConnectError
from penstock.spark.query.progress import Version
from penstock.spark.query.settings import SinkSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)


HIDDEN = ".penstock"


class Files:
    """Adds batches to the folder ``settings.path``; ``writer`` is the connector's name."""

    def __init__(self, settings: SinkSettings, writer: str, session: SparkSession) -> None:
        assert settings.path is not None
        self._settings = settings
        self._jvm: Any = session._jvm
        self._path = self._jvm.org.apache.hadoop.fs.Path(settings.path)
        self._files = self._path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
        self._own = self._below(self._path, f"{HIDDEN}/{_plain(writer)}")

    def add(self, frame: DataFrame, version: Version) -> None:
        """Returns when the batch is in the table; does nothing if it is already."""
        listed = self._below(self._own, f"{version.epoch}-{version.number}.json")
        written = self._below(self._own, f"{version.epoch}-{version.number}")
        names = self._read(listed)
        if names is None:
            self._files.delete(written, True)
            writer = frame.write.format(self._settings.format).mode("overwrite").options(**self._settings.options)
            writer.partitionBy(*self._settings.partition_by).save(written.toString())
            names = self._names(written)
            self._list(listed, names)
        for name in names:
            self._move(self._below(written, name), self._below(self._path, name))
        self._files.delete(written, True)
        self._forget_others(listed)

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

    def _list(self, path: Any, names: list[str]) -> None:
        draft = path.suffix(".draft")
        stream = self._files.create(draft, True)
        stream.write(bytearray(json.dumps(names).encode()))
        stream.close()
        if not self._files.rename(draft, path):
            raise ConnectError(f"{path.toString()} can't be written: another run of the connector may be at work")

    def _read(self, path: Any) -> list[str] | None:
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        with contextlib.closing(stream):
            text = self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        names: list[str] = json.loads(text)
        return names

    def _move(self, source: Any, target: Any) -> None:
        self._files.mkdirs(target.getParent())
        if not self._files.exists(source) and self._files.exists(target):
            return  # a run before has moved it
        if not self._files.rename(source, target):
            raise ConnectError(f"{source.toString()} can't be moved to {target.toString()}")

    def _forget_others(self, listed: Any) -> None:
        """What is left of earlier batches, which are never asked for again."""
        for status in self._files.listStatus(self._own):
            if status.getPath().getName() != listed.getName():
                self._files.delete(status.getPath(), True)

    def _below(self, path: Any, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path, name)


def _plain(name: str) -> str:
    """A connector's name as the name of a folder."""
    return "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):02X}" for c in name)
