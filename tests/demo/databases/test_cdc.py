"""``penstock demo cdc``: a Delta table follows a PostgreSQL while parts of the worker are killed; nothing stays."""

from __future__ import annotations

import errno
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from penstock.demo.databases import changes, connectors, postgres
from penstock.demo.flights import DemoError
from penstock.embedded.archives import unpacked
from penstock.embedded.home import EmbeddedError
from penstock.embedded.jars import jars
from support.machine import missing
from support.postgres import binaries
from support.process_tree import command
from support.waiting import until


def demo(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "penstock.cli", "demo", "cdc", *map(str, arguments)]
    env = {**os.environ, "COLUMNS": "200", **environment}
    return subprocess.run(line, capture_output=True, text=True, check=False, env=env)


@pytest.mark.integration
@pytest.mark.slow
def test_a_delta_table_equals_the_postgresql_that_it_follows(tmp_path: Path) -> None:
    if binaries() is None:
        missing("there is no PostgreSQL on this machine")
    try:
        unpacked(connectors.DEBEZIUM)
        for each in ("kafka", "spark-kafka-4.2", "delta-4.2", "jdbc-postgresql"):
            jars(each)
    except EmbeddedError as error:
        missing(f"no jars for this test: {error}")
    folder = tmp_path / "demo"
    said = demo("--records", 2000, "--folder", folder)
    assert (said.returncode, said.stderr) == (0, "")
    assert "Killed  the task of Debezium" in said.stdout
    assert "Killed  Spark's Java" in said.stdout
    assert said.stdout.count("Lost ") >= 2
    found = re.search(r"The table equals PostgreSQL's: ([\d,]+) rows, none missing, doubled or different", said.stdout)
    assert found is not None
    # As many are inserted as are deleted.
    assert abs(int(found[1].replace(",", "")) - 2000) < 20
    until(lambda: not any(str(folder) in command(each) for each in psutil.process_iter()), "the demo's end")
    server = re.search(r"PostgreSQL of its own, 127\.0\.0\.1:(\d+)", said.stdout)
    assert server is not None
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(server[1]))) == errno.ECONNREFUSED


def test_a_missing_postgresql_is_reported_with_the_package_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "DEBIAN", tmp_path)
    with pytest.raises(DemoError, match=r"There is no PostgreSQL on this machine.*apt-get install postgresql"):
        postgres.programs()


def test_fewer_flights_than_there_is_to_change_are_refused() -> None:
    said = demo("--records", 99)
    assert said.returncode == 2
    assert "at least 100 flights" in said.stderr


def test_changes_are_counted_as_the_records_that_tell_them(tmp_path: Path) -> None:
    if binaries() is None:
        missing("there is no PostgreSQL on this machine")
    with postgres.server() as server:
        assert changes.fill(server, tmp_path / "flights.csv", 500) == 500
        (before,) = server.query("SELECT count(*), max(id) FROM flights")
        assert before == ["500", "500"]
        counts = changes.change(server, 2, 3, second_half=False)
        # Three rounds have 120 parts: those of the last have 5 of 500 rows each.
        assert counts == {"updated": 5, "deleted": 5, "inserted": 5, "moved": 0}
        assert changes.records(counts) == 15
        changes.add_column(server)
        counts = changes.change(server, 0, 3, second_half=True)
        assert counts["moved"] == 5
        assert changes.records(counts) == sum(counts.values()) + 5
        (after,) = server.query("SELECT count(*), count(*) FILTER (WHERE id > 20000000) FROM flights")
        assert after == ["500", "5"]
        with pytest.raises(DemoError, match="psql has failed"):
            server.execute("SELECT nothing FROM nowhere;")
