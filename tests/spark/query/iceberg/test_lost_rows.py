"""Tables that were rolled back, replaced, or whose snapshots have expired: which batches they have is not guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.api.errors import ConnectError
from penstock.api.query import BatchVersion
from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.spark.query.iceberg.commits import LostRowsError
from penstock.spark.query.iceberg.target import IcebergTarget
from penstock.spark.query.limits import QueryLimits
from penstock.spark.query.safe import Safe
from penstock.spark.query.sink.tables.target import SinkOwner
from spark.query.iceberg.lake import COLUMNS, EPOCH, NAME, Run, catalog, config, expire, foreign, ids, made, roll_back


def test_after_a_rollback_the_batch_is_not_taken_for_written(tmp_path: Path) -> None:
    run = made(tmp_path)
    for number in range(1, 4):
        run.write(number, number)
    roll_back(tmp_path, 1)
    assert ids(tmp_path) == [1, 2]
    # The group has not finished batch 3: it is written again, whatever the property says.
    next_run = Run(tmp_path).claim(2)
    assert next_run.write(3, 3)
    assert ids(tmp_path) == [1, 2, 3]


def test_a_rollback_behind_finished_batches_stops_the_task_with_what_to_do(tmp_path: Path) -> None:
    run = made(tmp_path)
    for number in range(1, 4):
        run.write(number, number)
    roll_back(tmp_path, 2)
    with pytest.raises(LostRowsError, match=rf'has batch {EPOCH}-1 .*batch {EPOCH}-3 was.*"flights": {{"0": 2}}'):
        Run(tmp_path).claim(3)
    with pytest.raises(LostRowsError, match="rolled back or replaced"):
        run.write(4, 4)
    # The offsets are altered, which begins a new epoch.
    again = Run(tmp_path).claim(3, epoch="aaaaaaaa.cccccccc")
    assert again.write(4, 2, 3, epoch="aaaaaaaa.cccccccc")
    assert ids(tmp_path) == [1, 2, 3]


def test_a_rollback_before_the_first_batch_is_found(tmp_path: Path) -> None:
    run = made(tmp_path)
    foreign(tmp_path, 100)
    run.write(1, 0)
    table = catalog(tmp_path).load_table(NAME)
    first = min(table.snapshots(), key=lambda each: each.sequence_number)
    assert first.parent_snapshot_id is None
    table.manage_snapshots().set_current_snapshot(snapshot_id=first.snapshot_id).commit()
    with pytest.raises(LostRowsError):
        Run(tmp_path).claim(1)


def test_a_table_that_was_made_anew_in_the_midst_of_a_run_stops_the_task(tmp_path: Path) -> None:
    run = made(tmp_path)
    run.write(1, 0)
    catalog(tmp_path).drop_table(NAME)
    run.table.prepared(COLUMNS)
    with pytest.raises(LostRowsError, match="has written to another of its name"):
        run.write(2, 1)


def test_a_batch_is_known_when_its_snapshot_has_expired(tmp_path: Path) -> None:
    run = made(tmp_path)
    run.write(1, 0)
    run.write(2, 1)
    foreign(tmp_path, 100)
    expire(tmp_path, keep=1)
    assert len(catalog(tmp_path).load_table(NAME).snapshots()) == 1
    next_run = Run(tmp_path)
    assert next_run.known().mark is not None
    assert next_run.known().latest == BatchVersion(EPOCH, 2)
    next_run.claim(2)
    assert not next_run.write(2, 1)
    assert next_run.write(3, 2)
    assert ids(tmp_path) == [0, 1, 2, 100]


def test_a_batch_is_known_by_its_files_when_more_snapshots_have_expired(tmp_path: Path) -> None:
    run = made(tmp_path)
    run.write(1, 0)
    for number in range(100, 103):
        foreign(tmp_path, number)
    expire(tmp_path, keep=1)
    assert Run(tmp_path).known().latest == BatchVersion(EPOCH, 1)
    assert not Run(tmp_path).claim(0).write(1, 0)


def test_a_rollback_whose_snapshots_have_expired_is_not_trusted(tmp_path: Path) -> None:
    run = made(tmp_path)
    run.write(1, 0)
    run.write(2, 1)
    roll_back(tmp_path, 1)
    for number in range(100, 103):
        foreign(tmp_path, number)
    expire(tmp_path, keep=1)
    known = Run(tmp_path).known()
    assert known.mark is None
    assert known.unclear
    with pytest.raises(LostRowsError, match="It can't be told whether"):
        Run(tmp_path).claim(2)
    assert ids(tmp_path) == [0, 100, 101, 102]


def test_a_generation_is_later_than_those_that_a_rollback_has_removed(tmp_path: Path) -> None:
    made(tmp_path).write(1, 0)
    zombie = Run(tmp_path).claim(1)
    zombie.write(2, 1)
    roll_back(tmp_path, 2)
    later = Run(tmp_path).claim(1)
    mark, own = later.known().mark, zombie.known().lost
    assert mark is not None
    assert mark.generation.number == 3
    assert own is None or own.generation.number < 3
    with pytest.raises(ConnectError):
        zombie.write(3, 2)


def test_a_batch_whose_topics_are_gone_is_not_missed(tmp_path: Path) -> None:
    """Such a batch has a number, but is not written: a table without it is no table that was rolled back."""
    run = made(tmp_path)
    run.write(1, 0)
    with Safe("127.0.0.1") as safe:
        owner = SinkOwner("cluster", "connect-flights-to-lake", "flights-to-lake")
        target, again = (IcebergTarget(SinkSettings.of(config(tmp_path)), owner, safe, QueryLimits()) for _ in range(2))
    target.covers({("flights", 0): 1}, {})
    target.begin(BatchVersion(EPOCH, 0), {})
    target.skip(BatchVersion(EPOCH, 1))
    again.begin(BatchVersion(EPOCH, 1), {})
    assert again.committed_offsets() == {("flights", 0): 1}
    assert again.later(BatchVersion(EPOCH, 1)) is None
    assert again.later(BatchVersion(EPOCH, 0)) == BatchVersion(EPOCH, 1)
