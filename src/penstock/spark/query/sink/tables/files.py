"""A folder of files to which batches are added whole and once: Parquet, ORC, JSON, CSV, text.

Spark writes a batch into a folder of its own below ``.penstock``, which readers of the table don't see. Then the list
of its files is published, in one step, and with that the batch is in the table: its files are moved to their places, by
this run or by one that finds the list. A batch without a list is written again; one with a list never
is. Java's file sinks (HDFS, S3) do the same with names made of offsets.

A run that was frozen may continue at any point when its successor has written this batch and others. So the list of
the last batch always remains, a run that finds the list of a later batch ends, and it deletes only what belongs to
earlier batches than its own. It looks for later lists once more after it has published its own, and before it moves
the first file: its successor deletes the list of a batch only after it has published that of a later one, so one of the
two is seen.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.api.errors import ConnectError
from penstock.api.query import BatchVersion
from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.pipeline.task import TaskFencedError
from penstock.spark.query.folder import Folder
from penstock.spark.query.sink.text_formats import writer_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HIDDEN = ".penstock"
LIST, OLD_LIST = ".list", ".json"
"""Endings of the names of lists. They differ from those of data files, since readers such as DuckDB read hidden folders
when they match ``**/*.json``. Earlier versions used the other ending.
"""
ALGORITHM = "mapreduce.fileoutputcommitter.algorithm.version"
"""The number of Hadoop's ways to move the files of Spark's tasks: by 1 they are moved twice, by 2 once. A file that a
task moves and that its batch does not list stays in the folder of that attempt, so 2 is as good; where a file is moved
by a copy, it saves one.
"""
MARKED = "mapreduce.fileoutputcommitter.marksuccessfuljobs"
"""Whether Hadoop adds ``_SUCCESS`` to the folder of a batch. The list says that a batch is complete."""
_OF_BATCH = re.compile(r"\.?([^-]+)-(\d+)[-.]")
"""Beginning of the names of lists, their drafts, and batches' folders."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch that is in the table, if perhaps not yet in its place: where it was written, and its files there."""

    folder: str
    files: list[str]


class Files:
    """Adds batches to ``folder``; ``writer`` is the name of this connector's own folder below HIDDEN."""

    def __init__(self, settings: SinkSettings, writer: str, folder: Folder) -> None:
        self._settings, self._folder, self._own = settings, folder, f"{HIDDEN}/{writer}"
        self._renamed = False

    def add(self, frame: DataFrame, version: BatchVersion, confirm: Callable[[], None]) -> None:
        """Returns when the batch is in the table; only moves its files if it is already."""
        self._rename_old_lists()
        batch = self._read(version)
        if batch is None:
            self._refuse(self._listed_after(version))
            # Not a name that another run would give, should it still be at work.
            written = f"{version.epoch}-{version.number}-{secrets.token_hex(4)}"
            batch = self._publish(version, _Batch(written, self._write(frame, f"{self._own}/{written}")), confirm)
        for name in batch.files:
            self._folder.move(f"{self._own}/{batch.folder}/{name}", name)
        self._forget_attempts(version)
        self._forget_before(version.number)

    def later(self, version: BatchVersion) -> BatchVersion | None:
        """The last batch in the table if that is a later one than this; None if this one is in the table itself."""
        self._rename_old_lists()
        return None if self._read(version) is not None else self._listed_after(version)

    def last(self) -> BatchVersion | None:
        """The last batch in the table, as far as it is known."""
        return max(self._listed(), key=lambda version: version.number, default=None)

    def _publish(self, version: BatchVersion, batch: _Batch, confirm: Callable[[], None]) -> _Batch:
        """The batch that is in the table now: this one, or this one as another run has written it."""
        confirm()
        self._refuse(self._listed_after(version))
        text = json.dumps({"folder": batch.folder, "files": batch.files})
        if not self._folder.publish(self._list_of(version), text):
            confirm()
            published = self._read(version)
            if published is None:
                raise ConnectError(f"The list of batch {version.epoch}-{version.number} can't be published")
            return published
        if (later := self._listed_after(version)) is not None:
            self._folder.delete(self._list_of(version))
            self._refuse(later)
        return batch

    def _refuse(self, later: BatchVersion | None) -> None:
        if later is not None:
            raise TaskFencedError(
                f"Another run of this task has written batch {later.epoch}-{later.number} to "
                f"{self._folder.full(self._own)}, and this one ends"
            )

    def _write(self, frame: DataFrame, path: str) -> list[str]:
        moves = {ALGORITHM: "2"} if self._folder.copies else {}
        options = {MARKED: "false", **moves, **writer_options(frame, self._settings.format), **self._settings.options}
        writer = frame.write.format(self._settings.format).options(**options)
        if self._settings.partition_by:
            writer = writer.partitionBy(*self._settings.partition_by)
        writer.save(self._folder.full(path))
        return self._folder.data_files(path)

    def _read(self, version: BatchVersion) -> _Batch | None:
        path = self._list_of(version)
        if (text := self._folder.read(path)) is None:
            return None
        try:
            return _Batch(**json.loads(text))
        except (ValueError, TypeError):
            raise ConnectError(
                f"{self._folder.full(path)}, the list of the files of a batch, is not complete. If no other run is "
                "writing it, delete it: the batch is not in the table"
            ) from None

    def _list_of(self, version: BatchVersion) -> str:
        return f"{self._own}/{version.epoch}-{version.number}{LIST}"

    def _rename_old_lists(self) -> None:
        """Called before lists are read. A list keeps its old name until it can be found by the new one."""
        if self._renamed:
            return
        for name in self._folder.children(self._own):
            if name.endswith(OLD_LIST) and _OF_BATCH.match(name) and name[0] != ".":
                text = self._folder.read(f"{self._own}/{name}")
                if text is not None:
                    self._folder.publish(f"{self._own}/{name.removesuffix(OLD_LIST)}{LIST}", text)
                self._folder.delete(f"{self._own}/{name}")
        self._renamed = True

    def _listed(self) -> list[BatchVersion]:
        names = [name for name in self._folder.children(self._own) if name.endswith(LIST) and name[0] != "."]
        found = [match for name in names if (match := _OF_BATCH.match(name))]
        return [BatchVersion(match[1], int(match[2])) for match in found]

    def _listed_after(self, version: BatchVersion) -> BatchVersion | None:
        """The last of the listed batches that a run after the one that began ``version`` has written."""
        later = [
            each
            for each in self._listed()
            if each.number > version.number or (each.number == version.number and each != version)
        ]
        return max(later, key=lambda each: each.number, default=None)

    def _forget_attempts(self, version: BatchVersion) -> None:
        """All attempts at a batch that is in its place, also those that were killed: readers may find their files."""
        for name in self._folder.children(self._own):
            if name.startswith(f"{version.epoch}-{version.number}-"):
                self._folder.delete(f"{self._own}/{name}")

    def _forget_before(self, number: int) -> None:
        """Earlier batches, which are never asked for again, and earlier attempts at them."""
        for name in self._folder.children(self._own):
            if (match := _OF_BATCH.match(name)) and int(match[2]) < number:
                self._folder.delete(f"{self._own}/{name}")


def folder_name(cluster: str, group: str, connector: str) -> str:
    """The name of the folder of one connector: another connector, another group or another cluster has another one."""
    digest = hashlib.sha256("\0".join((cluster, group, connector)).encode()).hexdigest()[:12]
    plain = "".join(c if (c.isascii() and c.isalnum()) or c in "-_" else "_" for c in connector)
    return f"{plain[:100]}-{digest}"
