"""Hosts of JDBC URLs, as the check of a database finds them."""

from __future__ import annotations

import pytest

from penstock.api.jdbc_targets import addresses


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://db/app", [("db", 5432)]),
        ("postgresql://db:6432/app?ssl=true", [("db", 6432)]),
        ("postgresql://a:1,b/app", [("a", 1), ("b", 5432)]),
        ("postgresql://[::1]:5433/app", [("::1", 5433)]),
        ("mysql://ann:secret@db:3307/app", [("db", 3307)]),
        ("sqlserver://db;databaseName=app", [("db", 1433)]),
        ("sqlserver://db:1434;databaseName=app", [("db", 1434)]),
        ("sqlserver://db\\instance:1434;databaseName=app", [("db", 1434)]),
        ("oracle:thin:@//db:1522/service", [("db", 1522)]),
        ("oracle:thin:@db:1522:sid", [("db", 1522)]),
        ("oracle:thin:@(DESCRIPTION=(ADDRESS=(HOST=db)))", []),
        ("postgresql://db:99999/app", []),
        ("snowflake://account.example.com/", []),
        ("postgresql:app", []),
    ],
)
def test_hosts_of_urls(url: str, expected: list[tuple[str, int]]) -> None:
    kind, _, rest = url.partition(":")
    assert addresses(kind, rest) == expected
