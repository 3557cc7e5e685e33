"""Dialects by the URL of a database, or by Confluent's name of them."""

from __future__ import annotations

from penstock.api.errors import ConfigError
from penstock.connectors.jdbc.dialects.base import Dialect
from penstock.connectors.jdbc.dialects.databases import Derby, Generic, Oracle, PostgreSql, Sqlite, SqlServer
from penstock.connectors.jdbc.dialects.mysql import MySql

DIALECTS: tuple[type[Dialect], ...] = (PostgreSql, MySql, Sqlite, Derby, SqlServer, Oracle)
"""Dialects of one kind of database each."""
_ALL: tuple[type[Dialect], ...] = (*DIALECTS, Generic)
NAMES = tuple(each.name for each in _ALL)


def dialect_of(url: str, name: str = "") -> type[Dialect]:
    """Return the dialect of ``dialect.name`` if it is given, otherwise of the URL; else Generic. Raises ConfigError."""
    if name:
        for each in _ALL:
            if each.name == name:
                return each
        raise ConfigError("dialect.name", name, f"there are {', '.join(NAMES)}")
    if (found := dialect_of_url(url)) is not None:
        return found
    if url.strip().casefold().startswith("jdbc:"):
        return Generic
    # The URL may hold a password.
    raise ConfigError("connection.url has to begin with jdbc: and the kind of database, such as jdbc:postgresql:")


def dialect_of_url(url: str) -> type[Dialect] | None:
    """Return the dialect for this kind of URL, or None."""
    plain = url.strip().casefold()
    for each in DIALECTS:
        if any(plain.startswith(f"jdbc:{kind}:") for kind in each.subprotocols):
            return each
    return None
