"""Files of connector configurations, for a standalone worker's start and for ``penstock apply``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.api.errors import ConfigError
from penstock.core.model import messages as m
from penstock.http import bodies
from penstock.http.routes.connectors import creation
from penstock.java.errors import PropertiesError
from penstock.java.properties import parse_properties


def read_connector(path: Path, default_name: str | None = None) -> m.CreateConnector:
    """A connector's configuration file: JSON, as a plain object of settings or as ``POST /connectors`` takes it, or
    Java properties. The content decides which it is; but a ``.json`` file must be JSON. ``default_name`` is that of
    plain settings without a name, which are refused if there is none.
    """
    try:
        return parse_connector(path, path.read_bytes(), default_name)
    except OSError as error:
        raise ConfigError(f"The connector's file {path} cannot be read: {error.strerror}") from error


def parse_connector(path: Path, content: bytes, default_name: str | None = None) -> m.CreateConnector:
    """As ``read_connector``, of this content; the path is for messages."""
    try:
        document = _document(path, content)
        if isinstance(document, dict) and "config" not in document:
            if default_name is not None:
                document = {"name": default_name, **document}
            if "name" not in document:
                raise ConfigError(f"Connector configuration at '{path}' is missing the mandatory 'name' configuration")
            document = {"name": document["name"], "config": document}
        if not isinstance(document, dict):
            raise ConfigError(f"The connector's file {path} is not a connector configuration: right is a JSON object")
        return creation(document)
    except m.Refused as error:
        raise ConfigError(f"The connector's file {path} is not a connector configuration: {error}") from error


def _document(path: Path, content: bytes) -> Any:
    if not content.strip():
        raise ConfigError(f"The connector's file {path} is empty; right is a JSON object of settings")
    try:
        return bodies.parse(content, "it")
    except m.Refused:
        if path.suffix == ".json":
            raise
        try:
            return parse_properties(content.decode("iso-8859-1"))  # as Java reads it
        except PropertiesError as error:
            raise ConfigError(str(error)) from error
