"""Locations of JDBC drivers' jars."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from penstock.connectors.jdbc.dialects.databases import Oracle, PostgreSql
from penstock.connectors.jdbc.dialects.mysql import MySql
from penstock.embedded.jars import pinned
from penstock.spark.query.jdbc.drivers import INSTALLABLE, driver_jars, missing_driver


def jar(path: Path, driver: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/services/java.sql.Driver", f"# one\n{driver} # it\n")
    return path


def test_jars_are_found_by_the_drivers_that_they_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "nothing"))
    oracle = jar(tmp_path / "plugins" / "oracle" / "any-name.jar", "oracle.jdbc.OracleDriver")
    mysql = jar(tmp_path / "drivers" / "connector.jar", "com.mysql.cj.jdbc.Driver")
    (tmp_path / "drivers" / "broken.jar").write_text("no jar")
    plugins = [str(tmp_path / "plugins")]
    assert driver_jars(Oracle, "", plugins) == [oracle]
    assert driver_jars(Oracle, str(oracle), []) == [oracle]
    assert driver_jars(MySql, str(tmp_path / "drivers"), plugins) == [mysql]
    # With both, the URL decides.
    mariadb = jar(tmp_path / "both" / "a.jar", "org.mariadb.jdbc.Driver")
    jar(tmp_path / "both" / "another.jar", "org.mariadb.jdbc.Driver")
    assert driver_jars(MySql, f"{tmp_path / 'both'},{mysql}", []) == [mariadb, mysql]
    assert driver_jars(Oracle, str(tmp_path / "drivers"), []) == []
    assert driver_jars(None, str(tmp_path / "drivers"), plugins) == [mysql, oracle]


def test_a_missing_driver_is_named() -> None:
    text = missing_driver(PostgreSql)
    assert "postgresql-<version>.jar" in text
    assert text.endswith("or run `penstock plugins install jdbc-postgresql`")
    assert "install" not in missing_driver(Oracle)
    assert "No JDBC driver accepts connection.url" in missing_driver(None)


def test_installable_drivers_are_pinned_by_checksum() -> None:
    assert all(len(pinned(name)) == 1 for name in INSTALLABLE)
