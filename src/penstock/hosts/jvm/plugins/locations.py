"""The locations of Java plugins in ``plugin.path``, and their checksums.

An entry of ``plugin.path`` is a folder; each jar and each folder with jars or classes in it is one plugin location.
Java: ``PluginUtils.pluginLocations``. Functions of ``os.path`` treat unreadable files as absent, where ``Path`` raises.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import orjson

from penstock.embedded.home import folder, home, writing
from penstock.embedded.jars import lock
from penstock.hosts.python.environment import is_environment

_ARCHIVES = (".jar", ".zip")


def java_locations(plugin_path: Iterable[str]) -> list[Path]:
    """Return the locations of all entries, each once. Unreadable files and folders count as absent."""
    found: dict[Path, None] = {}
    for entry in plugin_path:
        path = Path(entry).expanduser().absolute()
        if os.path.isfile(path):
            candidates = [path]
        else:
            try:
                candidates = sorted(path.iterdir())
            except OSError:
                continue
        found |= dict.fromkeys(each for each in candidates if is_java(each))
    return list(found)


def is_java(path: Path) -> bool:
    """Return whether this file or folder is a location of Java plugins: a jar, or a folder with jars or classes."""
    if os.path.isdir(path):
        if is_environment(path):  # of Python; packages of it may have jars
            return False
        return any(each.suffix.lower() != ".zip" for each in java_files(path))
    suffix = path.suffix.lower()
    return suffix == ".jar" or (suffix == ".zip" and _has_classes(path))


def java_files(location: Path) -> Iterator[Path]:
    """Yield the jars, other archives and classes of a location.

    Each folder is visited once, however many links lead to it; broken links are skipped.
    """
    if os.path.isfile(location):
        yield location
        return
    seen: set[str] = set()
    for where, folders, names in os.walk(location, followlinks=True):
        if (real := os.path.realpath(where)) in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each != "__pycache__")
        named = (Path(where, name) for name in sorted(names) if name.lower().endswith((*_ARCHIVES, ".class")))
        yield from (file for file in named if os.path.exists(file))


def class_path_files(entry: Path) -> Iterator[Path]:
    """Yield the files of an entry of the class path that decide on its plugins.

    This is a jar itself; of a folder, the classes and the manifests of services. Links to folders are not followed.
    """
    if not os.path.isdir(entry):
        yield entry
        return
    for where, folders, names in os.walk(entry):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        is_services = Path(where) == entry / "META-INF" / "services"
        named = (Path(where, name) for name in sorted(names) if is_services or name.endswith(".class"))
        yield from (file for file in named if os.path.isfile(file))


def _has_classes(archive: Path) -> bool:
    try:
        with zipfile.ZipFile(archive) as content:
            return any(name.endswith(".class") for name in content.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


class Checksums:
    """SHA-256 checksums of files, each computed once as long as size and time stay the same."""

    def __init__(self) -> None:
        self._file = home() / "hosts" / "checksums.json"
        self._known: dict[str, list[int | str]] = {}
        with contextlib.suppress(OSError, ValueError):
            self._known = orjson.loads(self._file.read_bytes())
        self._added: dict[str, list[int | str]] = {}

    def of(self, location: Path, files: Iterable[Path] | None = None) -> str:
        """Return the checksum of all files of a location, or of these ones, and their names in it."""
        seen = hashlib.sha256()
        for file in java_files(location) if files is None else files:
            seen.update(f"{file.relative_to(location)} {self._of_file(file)}\n".encode())
        return seen.hexdigest()

    def _of_file(self, file: Path) -> str:
        stat = file.stat()
        known = self._known.get(str(file))
        if known is not None and known[:2] == [stat.st_size, stat.st_mtime_ns]:
            return str(known[2])
        with file.open("rb") as content:
            checksum = hashlib.file_digest(content, "sha256").hexdigest()
        self._added[str(file)] = self._known[str(file)] = [stat.st_size, stat.st_mtime_ns, checksum]
        return checksum

    def keep(self) -> None:
        """Save the checksums that were not known."""
        if self._added:
            with lock(folder(self._file.parent) / ".checksums"):
                merged: Mapping[str, object] = {}
                with contextlib.suppress(OSError, ValueError):
                    merged = orjson.loads(self._file.read_bytes())
                write_json(self._file, {**merged, **self._added})
            self._added = {}


def write_json(file: Path, content: object) -> None:
    """Write a file of JSON whole or not at all: readers never see a part of it."""
    draft = file.with_name(f".{file.name}-{os.getpid()}-{threading.get_ident()}")
    with writing(file):
        draft.write_bytes(orjson.dumps(content))
        draft.replace(file)
