"""JDBC drivers: jars of ``penstock.jdbc.drivers`` and ``plugin.path``, and those that ``penstock plugins install``
has fetched. They are found by what they say of themselves, ``META-INF/services/java.sql.Driver``.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from penstock.connectors.jdbc.dialects.base import Dialect
from penstock.embedded.home import home
from penstock.embedded.jars import Jar, ensure, pinned

DRIVERS = "penstock.jdbc.drivers"
"""The worker's setting: jars, and folders of jars, separated by commas."""
INSTALLABLE = {
    "jdbc-postgresql": "org.postgresql.Driver",
    "jdbc-mariadb": "org.mariadb.jdbc.Driver",
    "jdbc-sqlite": "org.sqlite.JDBC",
}
"""A driver that ``penstock plugins install`` fetches, and its class."""
_SERVICES = "META-INF/services/java.sql.Driver"
_JARS = {
    "org.postgresql.Driver": "postgresql-<version>.jar",
    "org.mariadb.jdbc.Driver": "mariadb-java-client-<version>.jar or mysql-connector-j-<version>.jar",
    "org.sqlite.JDBC": "sqlite-jdbc-<version>.jar",
    "org.apache.derby.iapi.jdbc.AutoloadedDriver": "derby-<version>.jar",
    "com.microsoft.sqlserver.jdbc.SQLServerDriver": "mssql-jdbc-<version>.jar",
    "oracle.jdbc.OracleDriver": "ojdbc17.jar",
}
_ALTERNATIVES = {"org.mariadb.jdbc.Driver": ("com.mysql.cj.jdbc.Driver", "com.mysql.jdbc.Driver")}


def install(name: str) -> list[Path]:
    """Fetch a driver, pinned by version and checksum, if it is missing. Raises EmbeddedError."""
    return ensure(pinned(name), home() / "jars")


def driver_jars(dialect: type[Dialect] | None, worker: str, plugin_path: Iterable[str]) -> list[Path]:
    """The jars with drivers for this dialect, or with any; ``worker``: the value of ``penstock.jdbc.drivers``.

    One for each driver: MariaDB's does not take every URL that MySQL's does, nor the other way round. None if Spark may
    have it already: Derby's, or one of ``spark.jars``.
    """
    if dialect is None:
        return [each for each in _candidates(worker, plugin_path) if _classes(each)]
    wanted = {dialect.driver, *_ALTERNATIVES.get(dialect.driver, ())}
    found = []
    for each in _candidates(worker, plugin_path):
        if its := wanted & set(_classes(each)):
            found.append(each)
            wanted -= its
    for name, driver in INSTALLABLE.items():
        if driver in wanted and all(_is_there(jar) for jar in pinned(name)):
            found += [home() / "jars" / jar.name for jar in pinned(name)]
    return found


def missing_driver(dialect: type[Dialect] | None) -> str:
    """Return what to do about a missing driver, as a sentence."""
    if dialect is None:
        return f"No JDBC driver accepts connection.url: put the jar of one into a folder of plugin.path or {DRIVERS}"
    jar = _JARS[dialect.driver]
    text = f"There is no JDBC driver for {dialect.subprotocols[0]}: put {jar} into a folder of plugin.path or {DRIVERS}"
    names = [name for name, driver in INSTALLABLE.items() if driver == dialect.driver]
    return f"{text}, or run `penstock plugins install {names[0]}`" if names else text


def _is_there(jar: Jar) -> bool:
    return jar.is_intact(home() / "jars")


def _candidates(worker: str, plugin_path: Iterable[str]) -> Iterator[Path]:
    for entry in (*filter(None, map(str.strip, worker.split(","))), *plugin_path):
        path = Path(entry).expanduser()
        if path.is_file():
            yield path
        else:
            yield from sorted([*path.glob("*.jar"), *path.glob("*/*.jar")])


def _classes(jar: Path) -> list[str]:
    try:
        with zipfile.ZipFile(jar) as archive:
            lines = archive.read(_SERVICES).decode().splitlines()
    except (OSError, KeyError, zipfile.BadZipFile, UnicodeDecodeError):
        return []
    return [name for line in lines if (name := line.partition("#")[0].strip())]
