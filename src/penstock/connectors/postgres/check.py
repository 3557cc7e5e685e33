"""Check of the database of a PostgresSource: address, login, rights, slot, publication, tables. It only reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.api.check import Address, CheckStep, TargetCheck, listed
from penstock.api.errors import ConnectError, RetriableError
from penstock.connectors.postgres.catalog import PostgresCatalog
from penstock.connectors.postgres.connection import connect
from penstock.connectors.postgres.publication import captured_tables
from penstock.connectors.postgres.replication import slot_position
from penstock.connectors.postgres.settings import PostgresSettings

PART = "database"
_ME = "SELECT current_user::text, rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user"


def check_postgres(config: Mapping[str, str]) -> TargetCheck:
    settings = PostgresSettings.of(config)
    host, port = str(settings.connection["host"]), int(settings.connection["port"])
    if not host.startswith("/") and not (yield Address(PART, host, port)):
        return
    try:
        connection = connect(settings)
    except (ConnectError, RetriableError) as error:
        yield CheckStep(PART, "login", "failed", str(error))
        return
    try:
        user, name = settings.connection.get("user"), settings.connection["dbname"]
        tls = "with TLS" if connection.info.ssl_in_use else "without TLS"
        yield CheckStep(PART, "login", "ok", f"Connected to database {name} as {user}, {tls}")
        yield from _read(PostgresCatalog(connection), settings)
    finally:
        connection.close()


def _read(catalog: PostgresCatalog, settings: PostgresSettings) -> Iterator[CheckStep]:
    (level,) = catalog.rows("SELECT current_setting('wal_level')")[0]
    if level == "logical":
        yield CheckStep(PART, "replication", "ok", "wal_level is logical")
    else:
        yield CheckStep(
            PART, "replication", "failed", f"wal_level is {level}; set it to logical and restart PostgreSQL"
        )
    user, may = catalog.rows(_ME)[0]
    if may:
        yield CheckStep(PART, "privileges", "ok", f"{user} may use replication")
    else:
        yield CheckStep(
            PART,
            "privileges",
            "failed",
            f"{user} may not use replication: ALTER ROLE {user} REPLICATION, as a superuser",
        )
    yield _slot(catalog, settings)
    tables = captured_tables(catalog, settings)
    names = [str(name) for name, _, _ in tables]
    yield _publication(catalog, settings)
    if not names:
        yield CheckStep(PART, "tables", "failed", "The lists of schemas and tables choose none that exists")
        return
    allowed = "SELECT has_schema_privilege(%s, 'USAGE') AND has_table_privilege(%s::oid, 'SELECT')"
    refused = [str(name) for name, oid, _ in tables if not catalog.rows(allowed, name.schema, oid)[0][0]]
    if refused:
        yield CheckStep(PART, "tables", "failed", f"{user} may not SELECT from {listed(refused)}")
    else:
        yield CheckStep(PART, "tables", "ok", f"{len(names)} tables can be read: {listed(names)}")


def _slot(catalog: PostgresCatalog, settings: PostgresSettings) -> CheckStep:
    try:
        position = slot_position(catalog, settings)
    except ConnectError as error:
        return CheckStep(PART, "slot", "failed", str(error))
    if position is None:
        return CheckStep(
            PART, "slot", "ok", f"The replication slot {settings.slot} does not exist yet; the task creates it"
        )
    return CheckStep(PART, "slot", "ok", f"The replication slot {settings.slot} exists")


def _publication(catalog: PostgresCatalog, settings: PostgresSettings) -> CheckStep:
    name, mode = settings.publication, settings.publication_mode
    if catalog.rows("SELECT 1 FROM pg_publication WHERE pubname = %s", name):
        return CheckStep(PART, "publication", "ok", f"The publication {name} exists")
    if mode == "disabled":
        text = f"There is no publication {name}, and publication.autocreate.mode is disabled: create it"
        return CheckStep(PART, "publication", "failed", text)
    (may,) = catalog.rows("SELECT has_database_privilege(current_database(), 'CREATE')")[0]
    if not may:
        text = f"There is no publication {name}, and the user lacks the right CREATE on the database to create it"
        return CheckStep(PART, "publication", "failed", text)
    (super_user,) = catalog.rows("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")[0]
    if mode == "all_tables" and not super_user:
        text = f"There is no publication {name}, and only a superuser can create one for all tables"
        return CheckStep(PART, "publication", "failed", text)
    return CheckStep(PART, "publication", "ok", f"There is no publication {name} yet; the task creates it")
