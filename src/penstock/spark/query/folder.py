"""Folders in any of Hadoop's file systems, which differ in how a file is published.

To publish is to make a file appear with all of its content, unless there is one already. A link does so on local
disks, a conditional PUT in object stores, a rename in HDFS and its kin.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from py4j.protocol import Py4JJavaError

from penstock.api.errors import ConnectError
from penstock.spark.releases import CONDITIONAL_PUT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OBJECT_STORES = frozenset({"s3", "s3a", "s3n", "gs", "oss", "cosn", "obs"})
"""Schemes of file systems whose rename is a copy, and whose files appear when they are closed."""
_MISSING = "java.io.FileNotFoundException"


class Folder(Protocol):
    """A folder; paths are relative to it. Methods raise what the file system raises."""

    @property
    def copies(self) -> bool:
        """Whether a file is moved by copying it, which may end between the copy and the deletion."""

    def full(self, path: str) -> str: ...

    def children(self, path: str) -> list[str]:
        """Return the names in a folder; none if it does not exist."""

    def data_files(self, path: str) -> list[str]:
        """Return the paths of all files below a folder, relative to it, without hidden ones."""

    def read(self, path: str) -> str | None:
        """Return the content of a file, or None if it does not exist."""

    def publish(self, path: str, text: str) -> bool:
        """Create a file with this text; False if it exists already. Of several processes only one succeeds."""

    def move(self, source: str, target: str) -> None:
        """Move a file, unless another process has moved it."""

    def delete(self, path: str) -> None:
        """Delete a file or folder with everything below it, if it exists."""


def folder_of(session: SparkSession, path: str) -> HadoopFolder:
    return HadoopFolder(session._jvm, session._jsparkSession.sessionState().newHadoopConf(), path)


class HadoopFolder:
    def __init__(self, jvm: Any, configuration: Any, path: str) -> None:
        # Each part of such a name is looked up in all jars.
        self._new_path, self._texts = jvm.org.apache.hadoop.fs.Path, jvm.org.apache.commons.io.IOUtils
        self._types = jvm.py4j.reflection.TypeUtil
        self._root = self._new_path(path)
        self._files = self._root.getFileSystem(configuration)
        scheme = str(self._files.getUri().getScheme())
        self.copies = scheme in _OBJECT_STORES
        self.publish: Callable[[str, str], bool] = (
            self.publish_by_link
            if scheme == "file"
            else self.publish_by_create
            if self.copies
            else self.publish_by_rename
        )

    def full(self, path: str) -> str:
        return str(self._at(path).toString())

    def children(self, path: str) -> list[str]:
        try:  # rather than asking whether it exists, to which S3 answers without the reason if it refuses
            found = self._files.listStatus(self._at(path))
        except Py4JJavaError as error:
            if not self._types.isInstanceOf(_MISSING, error.java_exception):
                raise
            return []
        return [str(status.getPath().getName()) for status in found]

    def data_files(self, path: str) -> list[str]:
        folder = self._at(path)
        if not self._files.exists(folder):  # object stores have no folders without files
            return []
        start = len(self._files.makeQualified(folder).toString()) + 1
        found = self._files.listFiles(folder, True)
        names = []
        while found.hasNext():
            file = found.next().getPath()
            if not file.getName().startswith(("_", ".")):
                names.append(str(file.toString())[start:])
        return sorted(names)

    def read(self, path: str) -> str | None:
        if not self._files.exists(self._at(path)):
            return None
        stream = self._files.open(self._at(path))
        with contextlib.closing(stream):
            return str(self._texts.toString(stream, "UTF-8"))

    def move(self, source: str, target: str) -> None:
        before, after = self._at(source), self._at(target)
        if self.copies and self._files.exists(after):  # whole, since objects appear when they are complete
            self._files.delete(before, False)
            return
        self._files.mkdirs(after.getParent())
        moved = False
        if self._files.exists(before):
            with contextlib.suppress(Py4JJavaError):
                moved = self._files.rename(before, after)
        if not moved and (self._files.exists(before) or not self._files.exists(after)):
            raise ConnectError(f"{before.toString()} can't be moved to {after.toString()}")

    def delete(self, path: str) -> None:
        self._files.delete(self._at(path), True)

    def publish_by_link(self, path: str, text: str) -> bool:
        """Publish on local disks, where Hadoop's rename replaces a file."""
        file = Path(str(self._at(path).toUri().getPath()))
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        try:
            _write_to_disk(draft, text)
            try:
                os.link(draft, file)
            except FileExistsError:
                return False
            except OSError:
                return _create_exclusively(file, text)  # a file system without links
        finally:
            draft.unlink(missing_ok=True)
        return True

    def publish_by_create(self, path: str, text: str) -> bool:
        """Publish in object stores, which can create a file only if it is missing, and store it whole or not at all."""
        file = self._at(path)
        try:
            builder = self._files.createFile(file).overwrite(False).recursive().opt(CONDITIONAL_PUT, "true")
            self._fill(builder.build(), text)
        except Py4JJavaError:
            # The answer to the request may have been lost.
            known = self.read(path)
            if known is None:
                raise
            return known == text
        return True

    def publish_by_rename(self, path: str, text: str) -> bool:
        """Publish in file systems whose rename is atomic and replaces no file."""
        file, draft = self._at(path), self._at(f"{path}.{secrets.token_hex(4)}.draft")
        self._fill(self._files.create(draft, True), text)
        try:
            if not self._files.exists(file) and self._files.rename(draft, file):
                return True
        except Py4JJavaError:
            if not self._files.exists(file):
                raise
        self._files.delete(draft, False)
        if not self._files.exists(file):
            raise ConnectError(f"{file.toString()} can't be written")
        return False

    def _fill(self, stream: Any, text: str) -> None:
        stream.write(bytearray(text.encode()))
        stream.close()

    def _at(self, path: str) -> Any:
        return self._new_path(self._root, path) if path else self._root


def _write_to_disk(file: Path, text: str, mode: str = "w") -> None:
    with file.open(mode) as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def _create_exclusively(file: Path, text: str) -> bool:
    try:
        _write_to_disk(file, text, "x")
    except FileExistsError:
        return False
    return True
