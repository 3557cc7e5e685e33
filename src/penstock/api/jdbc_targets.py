"""Check of the address in a JDBC URL. The login is checked by Spark, which has the driver. Provisional."""

from __future__ import annotations

import re

from penstock.api.check import Address, CheckStep, TargetCheck, readable_file, writable_file

PART = "database"
PORTS = {
    "clickhouse": 8123,
    "db2": 50000,
    "mariadb": 3306,
    "mysql": 3306,
    "oracle": 1521,
    "postgresql": 5432,
    "redshift": 5439,
    "sqlserver": 1433,
    "trino": 8080,
    "vertica": 5433,
}
"""Ports that drivers take if a URL has none."""
_HOSTS = re.compile(r"(?://|@)(?:[^/@]*@)?([^/?;]+)")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]()=]+)(?::(\d{1,5}))?(?::[\w$]+)?")


def check_database(url: str, writes: bool) -> TargetCheck:
    """Check the hosts of a URL, one of which must be reachable, or its file."""
    kind, _, rest = url.strip().removeprefix("jdbc:").partition(":")
    if kind.lower() in ("sqlite", "duckdb"):
        path = rest.removeprefix("file:").partition("?")[0]
        if path and path != ":memory:":
            yield writable_file(PART, path) if writes else readable_file(PART, path)
        return
    found = addresses(kind.lower(), rest)
    if not found:
        yield CheckStep(PART, "dns", "not checked", f"No host is known in the URL of the kind {kind}")
    for host, port in found:
        if (yield Address(PART, host, port)):
            return


def addresses(kind: str, rest: str) -> list[tuple[str, int]]:
    """Return hosts and ports of a URL; none if it is of another form."""
    hosts = _HOSTS.search(rest)
    if hosts is None:
        return []
    found = []
    for each in hosts[1].split(","):
        match = _HOST.fullmatch(each.strip())
        port = None if match is None else int(match[2]) if match[2] else PORTS.get(kind)
        if match is None or port is None or not 0 < port < 65_536:
            return []
        found.append((match[1].strip("[]").partition("\\")[0], port))
    return found
