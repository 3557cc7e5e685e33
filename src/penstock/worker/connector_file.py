"""Connector configurations in files, for the start of a standalone worker and for ``penstock apply``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.api.errors import ConfigError
from penstock.core.model import messages as m
from penstock.files import read_file
from penstock.http import bodies
from penstock.http.routes.connectors import CREATION, beginning
from penstock.java.errors import PropertiesError
from penstock.java.properties import parse_properties

log = logging.getLogger(__name__)

_OF_ANSWERS = ("tasks", "type")


def read_connector(path: Path, default_name: str | None = None) -> m.CreateConnector:
    """Read a connector's configuration file: JSON, as a plain object of settings or as ``POST /connectors`` takes it
    and ``GET /connectors/{name}`` returns it, or Java properties. The content decides which it is; but a ``.json`` file
    must be JSON. ``default_name`` is that of plain settings without a name, which are refused if there is none.

    Java: ``ConnectStandalone.parseConnectorConfigurationFile``, which tries these in this order, and takes names as
    they are, with blanks around them.
    """
    try:
        return parse_connector(path, read_file(path, regular=False), default_name)
    except OSError as error:
        raise ConfigError(f"The connector's file {path} cannot be read: {error.strerror}") from error


def parse_connector(
    path: Path, content: bytes, default_name: str | None = None, prepared: Callable[[str], str] = str
) -> m.CreateConnector:
    """Parse content as ``read_connector`` does; the path is for messages. ``prepared`` is called with the text, before
    it is read.
    """
    try:
        document = _document(path, content, prepared)
        if not isinstance(document, dict):
            raise ConfigError(f"The connector's file {path} is not a connector configuration: expected a JSON object")
        if "config" in document and any(isinstance(value, dict | list) for value in document.values()):
            return _of_request(path, document)
        config = bodies.config(document, "it")
        if default_name is not None:
            config = {"name": default_name, **config}
        return m.CreateConnector(_name(path, config), config)
    except m.Refused as error:
        raise ConfigError(f"The connector's file {path} is not a connector configuration: {error}") from error


def _of_request(path: Path, document: dict[str, Any]) -> m.CreateConnector:
    """Members that such a request does not have are ignored, with a warning but for those of an answer."""
    if unknown := sorted(document.keys() - {*CREATION, *_OF_ANSWERS}):
        log.warning("%s has members without effect: %s; they may be %s", path, ", ".join(unknown), ", ".join(CREATION))
    config = bodies.config(document["config"], "'config'")
    name = _name(path, {"name": bodies.text(document.get("name"), "'name'")})
    if config.setdefault("name", name) != name:
        raise ConfigError(
            f"Connector name configuration in 'config' doesn't match the one specified in 'name' at '{path}'"
        )
    return m.CreateConnector(name, config, *beginning(document))


def _name(path: Path, config: dict[str, str | None]) -> str:
    name = config.get("name")
    if name is None:
        raise ConfigError(f"Connector configuration at '{path}' is missing the mandatory 'name' configuration")
    return name


def _document(path: Path, content: bytes, prepared: Callable[[str], str]) -> Any:
    if not content.strip():
        raise ConfigError(f"The connector's file {path} is empty; expected a JSON object of settings")
    try:
        return bodies.parse(_as_json(content, prepared), "it")
    except m.Refused:
        if path.suffix == ".json":
            raise
        try:
            return parse_properties(prepared(content.decode("iso-8859-1")))  # as Java reads it
        except PropertiesError as error:
            raise ConfigError(f"The connector's file {path} cannot be read: {error}") from error


def _as_json(content: bytes, prepared: Callable[[str], str]) -> bytes:
    try:
        return prepared(content.decode("utf-8")).encode()
    except UnicodeDecodeError:  # properties, or JSON in UTF-16
        return content
