"""Permissions for tests, and their verdicts on configurations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.api.paths import path_problem
from penstock.core.config.permissions.rules import Permissions
from penstock.plugins import Plugins

CATALOG = Plugins().catalog
FILE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def problems(permissions: Permissions, **config: str) -> dict[str, str]:
    return dict(permissions.problems(CATALOG, {key.replace("__", "."): value for key, value in config.items()}))


def limited_to(folders: Iterable[str], **more: Any) -> Permissions:
    """Return the permissions of a worker with these folders in `penstock.paths.allowed`."""
    allowed = tuple(folders)
    return Permissions(path_problem=lambda given, reader: path_problem(given, allowed, reader), **more)
