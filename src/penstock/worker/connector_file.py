"""Connectors in files: what a standalone worker starts with, and what is applied to a cluster."""

from __future__ import annotations

from pathlib import Path

from penstock.api.errors import ConfigError
from penstock.core import messages as m
from penstock.core.properties import parse_properties
from penstock.http import bodies
from penstock.http.connectors import creation


def read_connector(path: Path) -> m.CreateConnector:
    """A connector's configuration file.

    Java properties, or JSON as a plain object of settings or as ``POST /connectors`` takes it.
    """
    try:
        content = path.read_bytes()
        if path.suffix != ".json":
            config = parse_properties(content.decode("iso-8859-1"))
            return creation({"name": config.get("name"), "config": config})
        document = bodies.parse(content)
        if isinstance(document, dict) and "config" not in document:
            document = {"name": document.get("name"), "config": document}
        return creation(document)
    except OSError as error:
        raise ConfigError(f"The connector's file {path} cannot be read: {error.strerror}") from error
    except (ValueError, m.Refused) as error:
        raise ConfigError(f"The connector's file {path} is not a connector configuration: {error}") from error
