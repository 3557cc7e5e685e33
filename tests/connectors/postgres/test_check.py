"""The check of a PostgreSQL database: what it finds, and that it changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from connectors.postgres.captured import Database
from penstock.api.check import Address, CheckStep
from penstock.connectors.postgres.check import check_postgres

pytestmark = pytest.mark.integration


def found(config: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Run a check for which every address can be reached; return outcome and message by step."""
    check, steps = check_postgres(config), {}
    asked: Any = next(check)
    assert isinstance(asked, Address)
    try:
        while True:
            asked = check.send(True)
            assert isinstance(asked, CheckStep)
            steps[asked.step] = (asked.outcome, asked.message)
    except StopIteration:
        return steps


def test_a_database_that_can_be_read(database: Database) -> None:
    config = database.config()
    steps = found(config)
    assert {outcome for outcome, _ in steps.values()} == {"ok"}
    assert steps["slot"][1].endswith("does not exist yet; the task creates it")
    assert database.postgres.rows("SELECT 1 FROM pg_publication") == []
    assert database.postgres.rows(f"SELECT 1 FROM pg_replication_slots WHERE slot_name = '{database.name}'") == []


def test_wrong_logins_missing_rights_and_missing_tables(database: Database) -> None:
    config, role = database.config(), f"{database.name}_reader"
    steps = found({**config, "database.dbname": "nowhere"})
    assert list(steps) == ["login"]
    assert steps["login"][0] == "failed"
    assert '"nowhere" does not exist' in steps["login"][1]
    database.postgres.execute(f"CREATE ROLE {role} LOGIN;")
    try:
        steps = found({**config, "database.user": role})
        assert steps["login"][0] == "ok"
        assert steps["privileges"] == (
            "failed",
            f"{role} may not use replication: ALTER ROLE {role} REPLICATION, as a superuser",
        )
        assert steps["publication"][0] == "failed"
        assert steps["tables"] == ("failed", f"{role} may not SELECT from public.{database.name}")
    finally:
        database.postgres.execute(f"DROP ROLE {role};")
    assert found({**config, "table.include.list": "public.none"})["tables"][0] == "failed"
