"""The checkpoint of a source: the folder in which Spark logs what each batch consists of.

Connect's offset, the number of the last batch that is in the topic, is the truth. Spark writes down a batch before it
is begun and once more after its offset is committed, so the folder is one batch ahead at most, and that batch has the
same rows when it is sent again. When an operator alters the offset, the folder is reset to it, if it
reaches so far back.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from penstock.api.errors import ConnectError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

BEGUN, DONE = "offsets", "commits"
"""Spark's names of its two logs, folders with one file for each batch."""


class Checkpoint:
    """Of one connector, whose folder has its name. Methods raise what Spark's file systems raise."""

    def __init__(self, session: SparkSession, location: str, connector: str) -> None:
        self.path = f"{location.rstrip('/')}/{quote(connector, safe='')}"
        jvm: Any = session._jvm
        self._name = jvm.org.apache.hadoop.fs.Path
        self._files = self._name(self.path).getFileSystem(session.sparkContext._jsc.hadoopConfiguration())

    def follow(self, committed: int | None) -> None:
        """Called before the query starts: continue after this batch (-1: with the first), or start over if there
        is no offset.

        Raises ConnectError if that can't be done.
        """
        begun, done = self._batches(BEGUN), self._batches(DONE)
        if committed is None:
            if done:
                log.info("There is no source offset; emptying %s and starting the query from the beginning", self.path)
                self._files.delete(self._name(self.path), True)
            return
        if committed >= 0 and committed not in begun:
            known = f"knows batches {begun[0]} to {begun[-1]} only" if begun else "knows no batch"
            raise ConnectError(
                f"The source offset says that batch {committed} is in the topic, but the checkpoint {self.path} "
                f"{known}. Restore the checkpoint, or stop the connector and reset its offsets to start over"
            )
        for log_name, last in ((DONE, committed), (BEGUN, committed + 1)):
            for batch in reversed(self._batches(log_name)):
                if batch > last:
                    self._files.delete(self._name(f"{self.path}/{log_name}/{batch}"), False)

    def _batches(self, log_name: str) -> list[int]:
        folder = self._name(f"{self.path}/{log_name}")
        if not self._files.exists(folder):
            return []
        names = [str(status.getPath().getName()) for status in self._files.listStatus(folder)]
        return sorted(int(name) for name in names if name.isdigit())
