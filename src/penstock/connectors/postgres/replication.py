"""The replication slot, and the stream of changes that it gives."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.api.errors import ConnectError, RetriableError
from penstock.connectors.postgres.catalog import PostgresCatalog
from penstock.connectors.postgres.connection import connect, driver, unreachable
from penstock.connectors.postgres.origin import LogOrigin, ServerLog, number_of, switches_of, text_of
from penstock.connectors.postgres.settings import PostgresSettings

_SLOT = """
SELECT plugin, slot_type, database, active, confirmed_flush_lsn - '0/0'::pg_lsn, wal_status
FROM pg_replication_slots WHERE slot_name = %s
"""
RELEASE_SECONDS = 2.0
"""Maximum of seconds that the server takes to notice that the slot's last reader has disconnected."""
PARENTHESES, FAILOVER = 150_000, 170_000
"""The versions of PostgreSQL from which options of CREATE_REPLICATION_SLOT are in parentheses, and may say FAILOVER."""


@dataclass(frozen=True, slots=True)
class NewSlot:
    """``snapshot`` is exported: it shows what was committed before ``lsn``, while the connection does nothing else."""

    lsn: int
    snapshot: str


class Replication:
    """One replication connection: creates slots, then streams."""

    def __init__(self, settings: PostgresSettings) -> None:
        self._settings = settings
        self._connection = connect(settings, replication=True)
        self._cursor = self._connection.cursor()
        self.streams = False

    def create_slot(self, name: str, temporary: bool = False) -> NewSlot:
        version, failover = self._connection.server_version, self._settings.failover
        if failover and version < FAILOVER:
            raise ConnectError("slot.failover needs PostgreSQL 17; this server is older: leave it out")
        sql = create_slot(name, version, temporary, failover)
        _, lsn, snapshot, _ = self._row(sql)
        return NewSlot(number_of(lsn), snapshot)

    def log(self) -> ServerLog:
        """Return the identity and the end of the server's log; call it before ``start``."""
        system, timeline, end, _ = self._row("IDENTIFY_SYSTEM")
        return ServerLog(LogOrigin(str(system), int(timeline)), number_of(end))

    def switches(self, timeline: int) -> dict[int, int]:
        """Return the timelines that this one descends from, each with the position at which it was left."""
        if timeline == 1:
            return {}
        _, history = self._row(f"TIMELINE_HISTORY {timeline}")
        return switches_of(bytes(history).decode() if not isinstance(history, str) else history)

    def start(self, lsn: int) -> None:
        """Stream the transactions that commit at this position or later; confirmed ones are not repeated."""
        publication = self._settings.publication.replace('"', '""').replace("'", "''")
        options = f"proto_version '1', publication_names '\"{publication}\"'"
        sql = f'START_REPLICATION SLOT "{self._settings.slot}" LOGICAL {text_of(lsn)} ({options})'
        give_up = time.monotonic() + RELEASE_SECONDS
        while not self.streams:
            try:
                self._cursor.start_replication_expert(sql, decode=False, status_interval=self._settings.status_interval)
                self.streams = True
            except driver().errors.ObjectInUse as error:
                if time.monotonic() > give_up:
                    raise RetriableError(f"{str(error).strip()}; a slot has one reader") from error
                time.sleep(0.02)
            except driver().errors.UndefinedObject as error:  # it was dropped just now; what that means is found next
                raise RetriableError(str(unreachable(error, self._settings))) from error
            except driver().Error as error:
                raise unreachable(error, self._settings) from error

    def messages(self) -> Iterator[tuple[bytes, int]]:
        """Yield the messages that have arrived, each with its position in the server's log."""
        try:
            while (message := self._cursor.read_message()) is not None:
                yield message.payload, message.data_start
        except driver().Error as error:
            raise unreachable(error, self._settings) from error

    @property
    def sent(self) -> int:
        """The position up to which the server has sent its log; read it after ``messages`` has given everything."""
        return int(self._cursor.wal_end)

    def confirm(self, lsn: int) -> None:
        """The server may forget what is before."""
        try:
            self._cursor.send_feedback(write_lsn=lsn, flush_lsn=lsn, apply_lsn=lsn, reply=False, force=True)
        except driver().Error as error:
            raise unreachable(error, self._settings) from error

    def fileno(self) -> int:
        return int(self._connection.fileno())

    def close(self) -> None:
        self._connection.close()

    def _row(self, sql: str) -> tuple[Any, ...]:
        try:
            self._cursor.execute(sql)
            row: tuple[Any, ...] = self._cursor.fetchone()
            return row
        except driver().Error as error:
            raise ConnectError(f"{str(error).strip()}: {sql}") from error


def create_slot(name: str, version: int, temporary: bool, failover: bool) -> str:
    """The command; the words differ between versions."""
    kind = " TEMPORARY" if temporary else ""
    if version < PARENTHESES:
        return f'CREATE_REPLICATION_SLOT "{name}"{kind} LOGICAL pgoutput EXPORT_SNAPSHOT'
    options = "SNAPSHOT 'export', FAILOVER" if failover and not temporary else "SNAPSHOT 'export'"
    return f'CREATE_REPLICATION_SLOT "{name}"{kind} LOGICAL pgoutput ({options})'


def slot_position(catalog: PostgresCatalog, settings: PostgresSettings) -> int | None:
    """Return the slot's confirmed position, or None if it does not exist. Raises ConnectError if it can't be used."""
    found = catalog.rows(_SLOT, settings.slot)
    if not found:
        return None
    plugin, kind, database, _, confirmed, status = found[0]
    here = settings.connection["dbname"]
    if kind != "logical" or plugin != "pgoutput" or database != here:
        raise ConnectError(
            f"The replication slot {settings.slot} is {kind}, of plugin {plugin} and database {database}; slot.name "
            f"must name a logical one of pgoutput in {here}, or one that does not exist yet"
        )
    if status == "lost":
        raise ConnectError(
            f"The replication slot {settings.slot} is lost: the server has removed log that it needs (see PostgreSQL's "
            "max_slot_wal_keep_size). Drop it, and delete the connector's offsets, to begin with a snapshot again"
        )
    return int(confirmed)
