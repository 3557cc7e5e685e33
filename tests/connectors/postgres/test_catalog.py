"""Types that the catalog reads from the server's tables, without a server."""

from __future__ import annotations

from typing import Any

from penstock.connectors.postgres.catalog import GONE, PgType, PostgresCatalog
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.values.types import value_type

GIVEN = {"database.hostname": "h", "database.user": "u", "database.dbname": "d", "topic.prefix": "p"}
MOOD = ("public", "mood", "e", 0, -1, "E", 0, ["sad", "ok"])


class Types(PostgresCatalog):
    """A catalog with the rows of ``known``, by OID, instead of a server."""

    def __init__(self, **known: tuple[Any, ...]) -> None:
        super().__init__(None)
        self.known = known

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        found = self.known.get(f"of_{values[0]}")
        return [] if found is None else [found]


def test_a_dropped_type_is_as_it_was_known_last() -> None:
    types = Types(of_7=MOOD)
    assert types.type(7) == PgType("mood", "e", 0, -1, 0, ("sad", "ok"))
    types.known = {}
    for _ in range(2):
        types.forget_types()
        assert types.type(7).labels == ("sad", "ok")


def test_a_column_of_a_dropped_type_that_was_never_known_is_left_out() -> None:
    types = Types()
    assert types.type(7) is GONE
    assert value_type(types.type, PostgresSettings.of(GIVEN), 7, -1) is None
