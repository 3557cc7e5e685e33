"""What permissions say of a configuration."""

from __future__ import annotations

from penstock.core.config.permissions.rules import Permissions
from penstock.plugins import Plugins

CATALOG = Plugins().catalog
FILE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def problems(permissions: Permissions, **config: str) -> dict[str, str]:
    return dict(permissions.problems(CATALOG, {key.replace("__", "."): value for key, value in config.items()}))
