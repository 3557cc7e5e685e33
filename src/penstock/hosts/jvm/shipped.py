"""Jars of ``plugin.path`` on their way to the executors of a Spark cluster: ``penstock.java.ship``.

The worker makes an archive of each location, and one of the class path of the JVMs; Spark sends them to each executor
once. There each is unpacked once on a machine, since it is named by the checksum of what it holds.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from penstock.embedded.home import folder, home, writing
from penstock.embedded.jars import lock
from penstock.hosts.jvm.build import kafka_class_path
from penstock.hosts.jvm.plugins.locations import Checksums, java_files, java_locations

SHIP = "penstock.java.ship"
_LOCATION, _CLASS_PATH = "penstock-location-", "penstock-class-path-"


def is_shipping(worker_config: Mapping[str, str]) -> bool:
    return worker_config.get(SHIP, "false").strip().lower() == "true"


def pack(plugin_path: Iterable[str], kafka: str | None = None) -> list[Path]:
    """Return archives of all jars that tasks may need; none without jars. ``kafka``: the value of ``KAFKA``.

    Raises EmbeddedError.
    """
    locations, checksums = java_locations(plugin_path), Checksums()
    packed = []
    for location in locations:
        try:
            checksum = checksums.of(location)
        except OSError:  # it can't be read, as the catalogue of plugins has said
            continue
        name = f"{_LOCATION}{_digest(f'{location.name} {checksum}')}.zip"
        packed.append(_archive(name, {str(file.relative_to(location.parent)): file for file in java_files(location)}))
    checksums.keep()
    if packed:
        files = {str(file.relative_to(home())): file for file in kafka_class_path(kafka)}
        packed.append(_archive(f"{_CLASS_PATH}{_digest(' '.join(sorted(files)))}.zip", files))
    return packed


def unpack(received: Path) -> tuple[str, ...]:
    """The ``plugin.path`` of what is in the archives in this folder. Raises EmbeddedError."""
    for archive in received.glob(f"{_CLASS_PATH}*.zip"):
        unpacked = _unpacked(archive)
        for file in (each for each in unpacked.rglob("*") if each.is_file()):
            _place(file, home() / file.relative_to(unpacked))
    return tuple(str(_unpacked(archive)) for archive in sorted(received.glob(f"{_LOCATION}*.zip")))


def _place(file: Path, place: Path) -> None:
    """Put a file there too, if there is none, whole or not at all."""
    if place.exists():
        return
    with writing(place):
        draft = folder(place.parent) / f".{place.name}-{os.getpid()}"
        draft.unlink(missing_ok=True)
        try:
            os.link(file, draft)
        except OSError:  # another disk, or one without links
            shutil.copyfile(file, draft)
        draft.replace(place)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _archive(name: str, files: Mapping[str, Path]) -> Path:
    """Kept by its name, which says what is in it. Jars are compressed already."""
    archive = home() / "hosts" / "shipped" / name
    if not archive.is_file():
        with lock(folder(archive.parent) / ".lock"), writing(archive):
            if not archive.is_file():
                draft = archive.with_suffix(".draft")
                with zipfile.ZipFile(draft, "w", strict_timestamps=False) as packing:
                    for inside, file in files.items():
                        packing.write(file, inside)
                draft.replace(archive)
    return archive


def _unpacked(archive: Path) -> Path:
    target = home() / "hosts" / "shipped" / archive.stem
    if not target.is_dir():
        with lock(folder(target.parent) / ".lock"), writing(target):
            if not target.is_dir():
                draft = target.with_name(f".{target.name}")  # may be there, of a process that was killed
                shutil.rmtree(draft, ignore_errors=True)
                draft.mkdir()
                with zipfile.ZipFile(archive) as packed:
                    packed.extractall(draft)
                draft.rename(target)
    return target
