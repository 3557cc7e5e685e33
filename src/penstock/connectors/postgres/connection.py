"""Connections to PostgreSQL by psycopg2, which comes with ``penstock[postgres]``."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from penstock.api.errors import ConnectError, RetriableError
from penstock.connectors.postgres.settings import PostgresSettings

_TEXTS = (
    "-c datestyle=ISO -c intervalstyle=postgres -c extra_float_digits=3 -c timezone=UTC -c bytea_output=hex "
    "-c lc_monetary=C"
)
"""Options that make the output of values independent of settings of the server, the database and the user."""


def driver() -> ModuleType:
    try:
        import psycopg2
        import psycopg2.errors
        import psycopg2.extensions
        import psycopg2.extras
    except ImportError as error:
        raise ConnectError(
            "PostgresSource needs psycopg2, which is not installed here: pip install 'penstock[postgres]'"
        ) from error
    return psycopg2


def connect(settings: PostgresSettings, replication: bool = False) -> Any:
    """An ordinary connection is in autocommit. Raises RetriableError while the server does not answer."""
    psycopg2 = driver()
    more = {"connection_factory": psycopg2.extras.LogicalReplicationConnection} if replication else {}
    try:
        connection = psycopg2.connect(
            **settings.connection, options=_TEXTS, application_name="Penstock", client_encoding="UTF8", **more
        )
    except psycopg2.OperationalError as error:
        raise unreachable(error, settings) from error
    if not replication:
        connection.autocommit = True
    return connection


def unreachable(error: Exception, settings: PostgresSettings) -> ConnectError:
    """Return the error of a failed connection; a refusal, such as of a password, ends the task."""
    where = f"{settings.connection['host']}:{settings.connection['port']}"
    text = str(error).strip()
    refused = any(word in text for word in ("authentication", "does not exist", "permission", "no pg_hba.conf entry"))
    kind = ConnectError if refused else RetriableError
    return kind(f"PostgreSQL at {where} can't be used: {text}")
