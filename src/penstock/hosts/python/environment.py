"""The environments in the folders of ``plugin.path``: what is installed, and what has been removed.

Each is a folder with a virtual environment, in which a file, written last, says what connectors it has. An environment
that is replaced or removed loses that file at once, and stays on disk as long as a process of it runs: each holds a
shared lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

MARK = "penstock-plugin.json"
RETIRED = ".removed.json"
LOCK = ".in-use"  # uv locks a file .lock


@dataclass(frozen=True, slots=True)
class Environment:
    folder: Path
    name: str
    version: str
    python: str
    """The version of its interpreter."""
    connectors: tuple[Mapping[str, Any], ...]
    """As ``serving.discovery`` describes them."""
    left_out: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """None if there is no environment, or none any more."""
        try:
            said = json.loads((folder / MARK).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        parts = (tuple(said[name]) for name in ("connectors", "left_out"))
        return cls(folder, said["name"], said["version"], said["python"], *parts)

    def write(self) -> None:
        """The plugin is installed as soon as this is done; workers look at the folder that it is in."""
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
        """Not a plugin any more from now on."""
        with contextlib.suppress(FileNotFoundError):
            (self.folder / MARK).rename(self.folder / RETIRED)
        os.utime(self.folder.parent)


def environments(plugin_path: Iterable[str]) -> list[Environment]:
    """Those of all entries, by name."""
    folders = (folder for entry in plugin_path for folder in _folders(Path(entry).expanduser()))
    found = (Environment.read(folder.resolve()) for folder in folders)
    return sorted((each for each in found if each is not None), key=lambda each: (each.name, str(each.folder)))


def signature(plugin_path: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """It changes when something is installed or removed in one of these folders. Asked for often."""
    found = []
    for entry in plugin_path:
        try:
            stat = os.stat(entry)
            found.append((stat.st_mtime_ns, stat.st_ctime_ns))
        except OSError:
            found.append((0, 0))
    return tuple(found)


def is_environment(folder: Path) -> bool:
    """Whether there is one in this folder, or was: nothing else is to be looked for in it. None is in a folder that
    can't be read.
    """
    return os.path.exists(folder / MARK) or os.path.exists(folder / RETIRED)


def sweep(entry: Path) -> list[Path]:
    """Delete what has been removed and is not used by any process; returns what is still used."""
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
    """Whether no process uses this environment; none begins to while this lasts."""
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
    """An error of a file system counts as in use."""
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
