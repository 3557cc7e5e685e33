"""Environments in an archive, which Spark brings to the executors of a cluster (``spark.archives``).

A virtual environment may be moved, as long as the Python that it was made with is where it was: ``bin/python`` is a
link to that, and what else is in ``bin`` is not used.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Sequence
from pathlib import Path

from penstock.hosts.python.environment import Environment

FOLDER = "penstock-plugins"
"""The folder in which Spark unpacks the archive, where tasks run: its name in ``spark.archives``, after a ``#``."""


def pack(found: Sequence[Environment], archive: Path) -> None:
    """Written beside its place first, so that a worker which starts meanwhile sees all of it or none."""
    unfinished = archive.with_name(f".{archive.name}.{os.getpid()}")
    try:
        with tarfile.open(unfinished, "w:gz", compresslevel=1) as tar:
            for each in found:
                tar.add(each.folder, each.folder.name)
        unfinished.replace(archive)
    finally:
        unfinished.unlink(missing_ok=True)


def here(folder: Path) -> Path:
    """Where an environment is on this machine: in its place, or in the archive."""
    packed = Path.cwd() / FOLDER / folder.name
    return packed if packed.exists() and not folder.exists() else folder
