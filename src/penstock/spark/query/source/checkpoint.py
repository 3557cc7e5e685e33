"""The checkpoint of a source: the folder in which Spark logs what each batch consists of.

Connect's offset, the number of the last batch that is in the topic, is the truth. Spark writes down a batch before it
is begun and once more after its offset is committed, so the folder is one batch ahead at most, and that batch has the
same rows when it is sent again. When an operator alters the offset, the folder is reset to it, if it
reaches so far back.

The folder says whose it is, so that a connector of the same name in another cluster does not use it too. It has an id,
which is stored with Connect's offsets: a number is that of a batch in the folder with this id.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from penstock.api.errors import ConnectError
from penstock.api.origin import ON_ORIGIN_CHANGED, OriginPolicy, origin_changed
from penstock.spark.query.folder import HadoopFolder

log = logging.getLogger(__name__)

MAX_NAME_BYTES = 255
"""Maximum of bytes of a name in most file systems."""
OWNER = "penstock-owner"
"""The file that names the owner of the checkpoint."""
IDENTITY = "penstock-id"
"""The file with the id of the checkpoint."""
RESTART = "the checkpoint is emptied, and the query starts from the beginning"
PROCEED = "the query continues after the batch with this number in the checkpoint that is there"
BEGUN, DONE = "offsets", "commits"
"""Spark's names of its two logs, folders with one file for each batch."""


def folder_name(connector: str) -> str:
    """The name of the connector's folder: of none that is another folder's, as ``..`` is, and none that is too long for
    a file system, as 29 characters of Chinese are.
    """
    quoted = quote(connector, safe="")
    if len(quoted) > MAX_NAME_BYTES:
        return f"{quoted[:180]}-{hashlib.sha256(connector.encode()).hexdigest()}"
    return quoted.replace(".", "%2E") if set(quoted) <= {"."} else quoted


def owner_of(cluster: str, group: str) -> str:
    """Return the name of a connector's cluster: the id of its Kafka and the worker group, if any."""
    return f"Kafka cluster {cluster or '?'}, group {group or '?'}"


def files_of_batch(read: Callable[[str], str | None], batch: int) -> list[str]:
    """Return the URIs of the files that a batch is read from, by Spark's notes; none if it is not read from files.

    ``read`` returns the content of a file of the checkpoint, None if there is none. Raises ConnectError for notes that
    lack a file list.
    """
    end, start = (_log_offset(read(f"{BEGUN}/{number}")) for number in (batch, batch - 1))
    if end is None:
        return []
    found = []
    for number in range(0 if start is None else start + 1, end + 1):
        text = read(f"sources/0/{number}") or read(f"sources/0/{number}.compact")
        if text is None:
            raise ConnectError(f"The files of batch {batch} can't be checked: Spark's list {number} of them is missing")
        entries = [json.loads(line) for line in text.splitlines()[1:]]
        found += [entry["path"] for entry in entries if entry["batchId"] == number]
    return found


def _log_offset(offsets: str | None) -> int | None:
    """Return the number of the last list of files in a batch's offsets, which are a line for each source."""
    last = (offsets or "").strip().rpartition("\n")[2]
    if not last.startswith("{"):
        return None
    offset = json.loads(last).get("logOffset")
    return None if offset is None else int(offset)


class SourceCheckpoint:
    """The checkpoint of one connector, in a folder of its name. Methods raise what the file system raises."""

    def __init__(self, jvm: Any, configuration: Any, location: str, connector: str, owner: str) -> None:
        """``configuration``: Hadoop's. ``owner``: the cluster of the connector, as ``owner_of`` names it."""
        self.path = f"{location.rstrip('/')}/{folder_name(connector)}"
        self._owner, self._id = owner, ""
        self._folder = HadoopFolder(jvm, configuration, self.path)
        self._name = jvm.org.apache.hadoop.fs.Path
        self._files = self._name(self.path).getFileSystem(configuration)

    def files_of(self, batch: int) -> list[str]:
        """Return the files of a batch that has begun, see ``files_of_batch``."""
        return files_of_batch(self._folder.read, batch)

    def identity(self) -> dict[str, str]:
        """Return the identity to store with offsets; called after ``follow``."""
        return {"checkpoint": self._id}

    def follow(
        self,
        committed: int | None,
        identity: Mapping[str, Any] | None = None,
        policy: OriginPolicy = OriginPolicy.FAIL,
    ) -> int | None:
        """Called before the query starts: continue after this batch (-1: with the first), or start over if there
        is no offset. ``identity``: the one that was stored with the offset. Return the batch after which it continues.

        Raises ConnectError if that can't be done.
        """
        self._claim()
        if committed is not None and identity is not None and identity.get("checkpoint") != self._id:
            if self._batches(BEGUN) and policy is OriginPolicy.FAIL:
                raise origin_changed(self._change(committed), RESTART, PROCEED)
            if policy is not OriginPolicy.FAIL:
                log.warning("%s. %s=%s", self._change(committed), ON_ORIGIN_CHANGED, policy)
            if policy is OriginPolicy.RESTART:
                committed = None
                self._folder.delete("")
                self._claim()
        self._continue(committed)
        return committed

    def _change(self, committed: int) -> str:
        return (
            f"The checkpoint {self.path} is another one than that of the source offset, batch {committed}: it was "
            "replaced, or emptied and used again"
        )

    def _continue(self, committed: int | None) -> None:
        begun, done = self._batches(BEGUN), self._batches(DONE)
        if committed is None:
            if done:
                log.info("There is no source offset; emptying %s and starting the query from the beginning", self.path)
                self._folder.delete("")
                self._claim()
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

    def _claim(self) -> None:
        if not self._folder.publish(OWNER, self._owner):
            self._check_owner()
        self._folder.publish(IDENTITY, secrets.token_hex(8))
        self._id = self._folder.read(IDENTITY) or ""

    def _check_owner(self) -> None:
        owner = self._folder.read(OWNER)
        if owner != self._owner:
            raise ConnectError(
                f"The checkpoint {self.path} belongs to the connector of this name in another cluster ({owner}; this "
                f"one is {self._owner}). Set another checkpoint.location. If the connector has moved here from that "
                f"cluster, delete {self._folder.full(OWNER)}"
            )

    def _batches(self, log_name: str) -> list[int]:
        folder = self._name(f"{self.path}/{log_name}")
        if not self._files.exists(folder):
            return []
        names = [str(status.getPath().getName()) for status in self._files.listStatus(folder)]
        return sorted(int(name) for name in names if name.isdigit())
