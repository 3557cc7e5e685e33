"""The environments in the folders of ``plugin.path``: those installed, those removed, and archives of them.

Each is a folder with a virtual environment, in which a file, written last, lists its connectors. An environment that is
replaced or removed loses that file at once, and stays on disk as long as a process of it runs: each holds a shared
lock.

Spark brings archives to the executors of a cluster (``spark.archives``). A virtual environment may be moved as long as
the Python that it was made with is where it was: ``bin/python`` is a link to that, and the rest of ``bin`` is not used.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

MARK = "penstock-plugin.json"
RETIRED = ".removed.json"
LOCK = ".in-use"  # uv locks a file .lock
FOLDER = "penstock-plugins"
"""The folder in which Spark unpacks the archive, where tasks run: its name in ``spark.archives``, after a ``#``."""


@dataclass(frozen=True, slots=True)
class Environment:
    """An installed plugin with its environment."""

    folder: Path
    name: str
    version: str
    python: str
    """The version of its interpreter."""
    connectors: tuple[Mapping[str, Any], ...]
    """The connectors, as ``serving.discovery`` describes them."""
    left_out: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Read an environment; return None if there is none, or none any more."""
        try:
            said = json.loads((folder / MARK).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        parts = (tuple(said[name]) for name in ("connectors", "left_out"))
        return cls(folder, said["name"], said["version"], said["python"], *parts)

    def write(self) -> None:
        """Write the mark by which the plugin is installed; workers watch the folder that it is in."""
        said = {
            "name": self.name,
            "version": self.version,
            "python": self.python,
            "connectors": list(self.connectors),
            "left_out": list(self.left_out),
        }
        (self.folder / RETIRED).write_text(json.dumps(said, indent=1), "utf-8")
        (self.folder / RETIRED).rename(self.folder / MARK)
        os.utime(self.folder.parent)

    def retire(self) -> None:
        """Remove the mark: from now on the plugin is not installed."""
        with contextlib.suppress(FileNotFoundError):
            (self.folder / MARK).rename(self.folder / RETIRED)
        os.utime(self.folder.parent)


def environments(plugin_path: Iterable[str]) -> list[Environment]:
    """Return the environments of all entries, by name."""
    folders = (folder for entry in plugin_path for folder in _folders(Path(entry).expanduser()))
    found = (Environment.read(folder.resolve()) for folder in folders)
    return sorted((each for each in found if each is not None), key=lambda each: (each.name, str(each.folder)))


def signature(plugin_path: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Return a value that changes when a plugin is installed or removed in one of these folders. Called often."""
    found = []
    for entry in plugin_path:
        try:
            stat = os.stat(entry)
            found.append((stat.st_mtime_ns, stat.st_ctime_ns))
        except OSError:
            found.append((0, 0))
    return tuple(found)


def is_environment(folder: Path) -> bool:
    """Return whether there is or was an environment in this folder, so that no other plugin is to be looked for in it.

    A folder that can't be read has none.
    """
    return os.path.exists(folder / MARK) or os.path.exists(folder / RETIRED)


def sweep(entry: Path) -> list[Path]:
    """Delete removed environments that no process uses; return those that are still used."""
    used = []
    for folder in _folders(entry):
        if (folder / RETIRED).exists():
            with exclusive(folder) as free:
                if not free:
                    used.append(folder)
                elif (folder / RETIRED).exists():  # its installation may have ended meanwhile
                    shutil.rmtree(folder, ignore_errors=True)
    return used


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[bool]:
    """Provide whether no process uses this environment; none begins to inside."""
    try:
        lock = os.open(folder / LOCK, os.O_RDWR)  # NFS wants what is locked for oneself alone to be writable
    except OSError as error:
        yield isinstance(error, FileNotFoundError)
        return
    try:
        yield _locked(lock)
    finally:
        os.close(lock)


def _locked(lock: int) -> bool:
    """Lock a file exclusively; return False if it is in use, or the file system has no locks."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _folders(entry: Path) -> list[Path]:
    try:
        return sorted(each for each in entry.iterdir() if is_environment(each))
    except OSError:
        return []


# -- archives


def pack(found: Sequence[Environment], archive: Path) -> None:
    """Write an archive, beside its place first, so that a worker which starts meanwhile sees all of it or none."""
    unfinished = archive.with_name(f".{archive.name}.{os.getpid()}")
    try:
        with tarfile.open(unfinished, "w:gz", compresslevel=1) as tar:
            for each in found:
                tar.add(each.folder, each.folder.name)
        unfinished.replace(archive)
    finally:
        unfinished.unlink(missing_ok=True)


def here(folder: Path) -> Path:
    """Return where an environment is on this machine: in its place, or in the unpacked archive."""
    packed = Path.cwd() / FOLDER / folder.name
    return packed if packed.exists() and not folder.exists() else folder
