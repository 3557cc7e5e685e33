"""Runs of one connector beside each other: only the latest commits to its Iceberg table.

No Spark and no Kafka, see ``test_commits``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from penstock.api.query import BatchVersion
from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.pipeline.task import TaskFencedError
from penstock.spark.query.iceberg.target import IcebergTarget
from penstock.spark.query.limits import QueryLimits
from penstock.spark.query.safe import Safe
from penstock.spark.query.sink.tables.target import SinkOwner
from spark.query.iceberg.lake import EPOCH, NAME, Run, catalog, config, ids, made, roll_back


def test_a_zombie_loses_against_a_run_that_has_only_begun(tmp_path: Path) -> None:
    zombie = made(tmp_path)
    zombie.write(1, 0)
    with pytest.raises(TaskFencedError, match="has taken over"):
        zombie.write(2, 1, before=lambda: Run(tmp_path).claim(1))
    with pytest.raises(TaskFencedError, match="has taken over"):
        zombie.write(2, 1)
    assert ids(tmp_path) == [0]


def test_a_zombie_loses_against_a_run_that_has_written_the_same_batch(tmp_path: Path) -> None:
    zombie = made(tmp_path)
    with pytest.raises(TaskFencedError):
        zombie.write(1, 0, 1, before=lambda: Run(tmp_path).claim().write(1, 0, 1))
    assert ids(tmp_path) == [0, 1]


def test_a_zombie_loses_though_the_rows_of_its_successor_were_rolled_back(tmp_path: Path) -> None:
    zombie = made(tmp_path)
    zombie.write(1, 0)
    Run(tmp_path).claim(1).write(2, 1)
    roll_back(tmp_path, 2)
    with pytest.raises(TaskFencedError, match="generation 2"):
        zombie.write(2, 1)
    with pytest.raises(TaskFencedError, match="generation 2"):
        zombie.claim(1)
    assert ids(tmp_path) == [0]


@pytest.mark.parametrize("epoch", [EPOCH, "aaaaaaaa.cccccccc"], ids=["the same epoch", "another epoch"])
def test_a_run_that_claims_late_does_not_write_behind_its_successor(tmp_path: Path, epoch: str) -> None:
    """It has begun when there was no table, and brokers without transactions do not fence it."""
    zombie, successor = Run(tmp_path), made(tmp_path)
    successor.write(1, 1)
    successor.write(2, 2)
    with pytest.raises(TaskFencedError, match=rf"has batch {EPOCH}-2 .*{epoch}-1 is not the next one"):
        zombie.claim(0, epoch=epoch)
    assert successor.write(3, 3)
    assert ids(tmp_path) == [1, 2, 3]


def test_a_run_with_a_successor_is_confirmed_before_it_claims_the_table(tmp_path: Path) -> None:
    with Safe("127.0.0.1") as safe:
        zombie = IcebergTarget(SinkSettings.of(config(tmp_path)), SinkOwner("c", "g", "n"), safe, QueryLimits())
    zombie.begin(BatchVersion(EPOCH, 0), {})
    made(tmp_path)
    snapshot = catalog(tmp_path).load_table(NAME).current_snapshot()

    def confirm() -> None:
        raise TaskFencedError("Another run of this task has been started")

    with pytest.raises(TaskFencedError):
        zombie.add_nothing(BatchVersion(EPOCH, 1), confirm)
    assert catalog(tmp_path).load_table(NAME).current_snapshot() == snapshot


def test_a_batch_is_not_written_after_a_later_one(tmp_path: Path) -> None:
    run = made(tmp_path)
    run.write(1, 1)
    run.write(2, 2)
    with pytest.raises(TaskFencedError, match="is not the next one"):
        run.write(1, 1)
    assert ids(tmp_path) == [1, 2]


def test_a_batch_that_a_frozen_run_has_committed_last_is_not_written_again(tmp_path: Path) -> None:
    made(tmp_path).write(1, 0, 1)
    assert not Run(tmp_path).claim(0).write(1, 0, 1)
    assert ids(tmp_path) == [0, 1]


def test_a_run_whose_claim_is_overtaken_claims_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path)
    slow, real = Run(tmp_path), SqlCatalog.commit_table

    def overtaken(self: SqlCatalog, *request: Any) -> Any:
        monkeypatch.setattr(SqlCatalog, "commit_table", real)
        Run(tmp_path).claim()
        return real(self, *request)

    monkeypatch.setattr(SqlCatalog, "commit_table", overtaken)
    slow.claim()
    assert slow.write(1, 0)
    mark = slow.known().mark
    assert mark is not None
    assert mark.generation.number == 3


def test_the_retry_of_the_users_table_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyiceberg's own commits try again as a property of the table says; a zombie would succeed."""
    zombie = made(tmp_path, **{"iceberg.tables.auto-create-props.commit.retry.num-retries": "50"})
    assert catalog(tmp_path).load_table(NAME).properties["commit.retry.num-retries"] == "50"
    asked: list[int] = []
    real = SqlCatalog.commit_table

    def counted(self: SqlCatalog, *request: Any) -> Any:
        asked.append(1)
        return real(self, *request)

    def overtake() -> None:
        Run(tmp_path).claim(0)
        monkeypatch.setattr(SqlCatalog, "commit_table", counted)

    with pytest.raises(TaskFencedError):
        zombie.write(1, 0, before=overtake)
    assert len(asked) == 1
