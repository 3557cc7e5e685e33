"""The publication: made as ``publication.autocreate.mode`` says, or given."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from penstock.api.errors import ConnectError
from penstock.connectors.postgres.catalog import PostgresCatalog, RelationName
from penstock.connectors.postgres.connection import driver
from penstock.connectors.postgres.settings import PostgresSettings

log = logging.getLogger(__name__)

_TABLES = """
SELECT n.nspname, c.relname, c.oid::bigint, c.relreplident::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY 1, 2
"""
_ROOT = "WITH (publish_via_partition_root = true)"
"""The rows of a partitioned table are changes of that table, not of its partitions."""


def captured_tables(catalog: PostgresCatalog, settings: PostgresSettings) -> list[tuple[RelationName, int, str]]:
    """The tables that the lists choose, in the order of the lists, each with its oid and replica identity."""
    found = [(RelationName(schema, name), oid, identity) for schema, name, oid, identity in catalog.rows(_TABLES)]
    chosen = [each for each in found if settings.captures(each[0].schema, each[0].name)]
    return sorted(chosen, key=lambda each: settings.place(each[0].schema, each[0].name))


def ensure_publication(catalog: PostgresCatalog, settings: PostgresSettings, tables: Sequence[RelationName]) -> None:
    """Create the publication if it is missing; with ``filtered`` it gets exactly the captured tables."""
    name = settings.publication
    exists = bool(catalog.rows("SELECT 1 FROM pg_publication WHERE pubname = %s", name))
    mode = settings.publication_mode
    if mode == "disabled" and not exists:
        raise ConnectError(
            f"There is no publication {name}, and publication.autocreate.mode is disabled: create it, or set "
            "publication.autocreate.mode to all_tables or filtered"
        )
    if mode == "disabled" or (exists and mode == "all_tables"):
        return
    if mode == "all_tables":
        _execute(catalog, f"CREATE PUBLICATION {_quoted(name)} FOR ALL TABLES {_ROOT}", settings)
        return
    if not tables:
        raise ConnectError(
            "No table is captured: table.include.list, table.exclude.list, schema.include.list and "
            "schema.exclude.list leave none for the publication"
        )
    wanted = sorted(map(str, tables))
    listed = ", ".join(f"{_quoted(each.schema)}.{_quoted(each.name)}" for each in tables)
    if not exists:
        _execute(catalog, f"CREATE PUBLICATION {_quoted(name)} FOR TABLE {listed} {_ROOT}", settings)
    elif wanted != sorted(
        f"{schema}.{table}"
        for schema, table in catalog.rows(
            "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", name
        )
    ):
        _execute(catalog, f"ALTER PUBLICATION {_quoted(name)} SET TABLE {listed}", settings)


def _execute(catalog: PostgresCatalog, sql: str, settings: PostgresSettings) -> None:
    try:
        catalog.rows(sql)
    except driver().Error as error:
        raise ConnectError(
            f"{str(error).strip()}: {sql}. Create the publication {settings.publication} as a user who may, and set "
            "publication.autocreate.mode to disabled"
        ) from error
    log.info("%s", sql)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
