"""Changes of the flights in PostgreSQL: rounds of inserts, updates, deletes and changes of keys, a transaction each."""

from __future__ import annotations

import csv
from pathlib import Path

from penstock.demo import flights
from penstock.demo.databases.postgres import Postgres

TABLE = "flights"
_COLUMNS = {
    "carrier": "text NOT NULL",
    "flight": "integer",
    "origin": "text NOT NULL",
    "dest": "text NOT NULL",
    "arr_delay": "integer",
    "time_hour": "timestamp(0)",
}
_COPIED = ", ".join(_COLUMNS)
NEW, MOVED = 10_000_000, 20_000_000
"""Added to the number of a flight that is copied, and of one whose number changes."""


def fill(postgres: Postgres, scratch: Path, most: int) -> int:
    """A table of the flights, numbered."""
    total = flights.write(scratch, most)
    with scratch.open() as lines:
        rows = [
            ",".join([str(id), *(row[name] for name in _COLUMNS)])
            for id, row in enumerate(csv.DictReader(lines, flights.COLUMNS), 1)
        ]
    scratch.unlink()
    columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
    postgres.execute(f"CREATE TABLE {TABLE} (id bigint PRIMARY KEY, {columns});")
    copy = f"COPY {TABLE} FROM STDIN WITH (FORMAT csv, NULL 'NA');"
    postgres.execute(copy, "\n".join(rows) + "\n\\.\n")
    return total


def add_column(postgres: Postgres) -> None:
    """Add a column to the table, as Spark's table must get it too."""
    postgres.execute(f"ALTER TABLE {TABLE} ADD COLUMN remark text;")


def change(postgres: Postgres, round: int, rounds: int, *, second_half: bool) -> dict[str, int]:
    """Change a part of the flights in a transaction; how many rows of each kind.

    Only the ``second_half`` sets the new column, and changes keys: each of these is two records at one position, of
    which Debezium can lose the second when its task is killed, as it is in the first half.
    """
    parts = rounds * 40
    remark = f", remark = 'round {round}'" if second_half else ""
    updated, deleted, inserted, moved = (f"id % {parts} = {round * 4 + kind}" for kind in range(4))
    said = postgres.execute(f"""
        BEGIN;
        UPDATE {TABLE} SET arr_delay = coalesce(arr_delay, 0) + {round + 1}{remark} WHERE {updated};
        DELETE FROM {TABLE} WHERE {deleted};
        INSERT INTO {TABLE} (id, {_COPIED}) SELECT id + {NEW}, {_COPIED} FROM {TABLE} WHERE {inserted} AND id < {NEW};
        UPDATE {TABLE} SET id = id + {MOVED} WHERE {moved} AND id < {NEW} AND {second_half};
        COMMIT;""")
    numbers = [int(each.split()[-1]) for each in said if each.split()[0] in ("UPDATE", "DELETE", "INSERT")]
    return dict(zip(("updated", "deleted", "inserted", "moved"), numbers, strict=True))


def records(counts: dict[str, int]) -> int:
    """Return the number of records of such changes: a changed key is a deletion and an insertion."""
    return sum(counts.values()) + counts["moved"]
