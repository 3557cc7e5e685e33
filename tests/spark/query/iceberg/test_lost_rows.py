"""Tables that were rolled back, replaced, or whose snapshots have expired: which batches they have is not guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.api.errors import ConnectError
from penstock.api.query import BatchVersion
from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.spark.query.iceberg.commits import LostRowsError, TableGoneError
from penstock.spark.query.iceberg.target import IcebergTarget
from penstock.spark.query.limits import QueryLimits
from penstock.spark.query.safe import Safe
from penstock.spark.query.sink.tables.target import SinkOwner
from spark.query.iceberg.lake import COLUMNS, EPOCH, NAME, Run, catalog, config, expire, foreign, ids, made, roll_back

ALTERED = "aaaaaaaa.cccccccc"
"""The epoch after offsets were altered."""


def target(place: Path) -> IcebergTarget:
    """Return the target of a connector's run."""
    with Safe("127.0.0.1") as safe:
        owner = SinkOwner("cluster", "connect-flights-to-lake", "flights-to-lake")
        return IcebergTarget(SinkSettings.of(config(place)), owner, safe, QueryLimits())


def compact(place: Path) -> None:
    """Write all rows to new files in one snapshot, and expire all others, as jobs of maintenance do."""
    table = catalog(place).load_table(NAME)
    table.overwrite(table.scan().to_arrow())
    expire(place, keep=1)


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
    # The offsets are altered, which begins a new epoch after the batch that the table has.
    again = Run(tmp_path).claim(1, epoch=ALTERED)
    assert again.write(2, 2, 3, epoch=ALTERED)
    assert ids(tmp_path) == [1, 2, 3]


def test_a_rollback_past_the_beginning_of_an_epoch_stops_also_the_next_run(tmp_path: Path) -> None:
    run = made(tmp_path)
    run.write(1, 1)
    run.write(2, 2)
    altered = Run(tmp_path).claim(2, epoch=ALTERED)
    altered.write(3, 3, epoch=ALTERED)
    altered.write(4, 4, epoch=ALTERED)
    roll_back(tmp_path, 3)
    assert ids(tmp_path) == [1, 2]
    with pytest.raises(LostRowsError, match=rf"has batch {EPOCH}-2 .*batch {ALTERED}-4 was"):
        Run(tmp_path).claim(4, epoch=ALTERED)
    with pytest.raises(LostRowsError):
        altered.write(5, 5, epoch=ALTERED)
    # Only its first batch, which the group has not finished, is missing.
    assert Run(tmp_path).claim(2, epoch=ALTERED).write(3, 3, epoch=ALTERED)


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


def test_a_table_that_was_recreated_in_the_midst_of_a_run_stops_the_task(tmp_path: Path) -> None:
    run = made(tmp_path)
    run.write(1, 0)
    catalog(tmp_path).drop_table(NAME)
    run.table.prepared(COLUMNS)
    with pytest.raises(LostRowsError, match="has written to another of its name"):
        run.write(2, 1)


def test_a_table_that_was_dropped_is_not_created_without_the_rows_of_earlier_batches(tmp_path: Path) -> None:
    run = target(tmp_path)
    assert run.later(BatchVersion(EPOCH, 1)) is None
    run.begin(BatchVersion(EPOCH, 0), {})
    run.shape(COLUMNS)
    run.skip(BatchVersion(EPOCH, 1))
    catalog(tmp_path).drop_table(NAME)
    for step in (
        lambda: run.shape(COLUMNS),
        lambda: run.skip(BatchVersion(EPOCH, 2)),
        lambda: run.begin(BatchVersion(EPOCH, 1), {}),
        lambda: run.later(BatchVersion(EPOCH, 2)),
        # After a restart, also of the worker.
        lambda: target(tmp_path).later(BatchVersion(EPOCH, 2)),
        lambda: target(tmp_path).begin(BatchVersion(EPOCH, 1), {}),
        lambda: target(tmp_path).shape(COLUMNS),
    ):
        with pytest.raises(
            TableGoneError, match=r"no table shop.flights, .* alter the offsets of all of its partitions"
        ):
            step()
    assert not catalog(tmp_path).table_exists(NAME)
    # The offsets are altered: the numbers of batches begin again.
    again = target(tmp_path)
    assert again.later(BatchVersion(ALTERED, 1)) is None
    again.begin(BatchVersion(ALTERED, 0), {})
    again.shape(COLUMNS)
    again.skip(BatchVersion(ALTERED, 1))
    assert catalog(tmp_path).table_exists(NAME)


def test_a_table_that_was_recreated_while_the_connector_did_not_run_stops_the_task(tmp_path: Path) -> None:
    run = made(tmp_path)
    run.write(1, 1)
    catalog(tmp_path).drop_table(NAME)
    run.table.prepared(COLUMNS)
    foreign(tmp_path, 100)
    with pytest.raises(LostRowsError, match=r"has no batch of this connector, but batch .*-1 was .* or the connector"):
        Run(tmp_path).claim(1)
    Run(tmp_path).claim(0, epoch=ALTERED).write(1, 1, epoch=ALTERED)
    assert ids(tmp_path) == [1, 100]


def test_a_table_is_created_after_batches_without_rows(tmp_path: Path) -> None:
    run = target(tmp_path)
    run.begin(BatchVersion(EPOCH, 0), {})
    for number in (1, 2):
        run.covers({("flights", 0): number}, {})
        run.skip(BatchVersion(EPOCH, number))
    assert run.later(BatchVersion(EPOCH, 3)) is None
    run.begin(BatchVersion(EPOCH, 2), {})
    run.shape(COLUMNS)
    run.covers({("flights", 0): 3}, {})
    run.skip(BatchVersion(EPOCH, 3))
    assert target(tmp_path).later(BatchVersion(EPOCH, 3)) is None
    target(tmp_path).begin(BatchVersion(EPOCH, 3), {})


def test_a_rollback_is_found_when_the_query_of_the_run_that_made_the_table_starts_again(tmp_path: Path) -> None:
    run = target(tmp_path)
    run.begin(BatchVersion(EPOCH, 0), {})
    run.shape(COLUMNS)
    for number in (1, 2):
        run.covers({("flights", 0): number}, {})
        run.skip(BatchVersion(EPOCH, number))
    roll_back(tmp_path, 1)
    with pytest.raises(LostRowsError):
        run.begin(BatchVersion(EPOCH, 2), {("flights", 0): 1})


def test_a_connector_that_has_written_to_another_table_since_is_told_so(tmp_path: Path) -> None:
    made(tmp_path).write(1, 1)
    with pytest.raises(LostRowsError, match="or the connector has written to another table since"):
        Run(tmp_path).claim(3)


def test_a_branch_that_is_to_begin_where_main_ends_has_the_batches_of_main(tmp_path: Path) -> None:
    made(tmp_path).write(1, 1)
    run = Run(tmp_path, branch="audit")
    assert run.known().latest == BatchVersion(EPOCH, 1)
    run.claim(1)
    run.write(2, 2)
    assert ids(tmp_path) == [1]
    # The branch is published and deleted.
    table = catalog(tmp_path).load_table(NAME)
    table.manage_snapshots().set_current_snapshot(snapshot_id=table.metadata.refs["audit"].snapshot_id).commit()
    catalog(tmp_path).load_table(NAME).manage_snapshots().remove_branch("audit").commit()
    assert run.write(3, 3)
    assert ids(tmp_path) == [1, 2]
    assert not Run(tmp_path, branch="audit").claim(2).write(3, 3)


def test_batches_that_went_to_another_branch_are_named_with_it(tmp_path: Path) -> None:
    made(tmp_path).write(1, 1)
    Run(tmp_path, branch="audit").claim(1).write(2, 2)
    with pytest.raises(LostRowsError, match=rf"batch {EPOCH}-2 was committed to the branch audit"):
        Run(tmp_path).claim(2)


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


@pytest.mark.parametrize("deleted", [False, True], ids=["rewritten", "deleted"])
def test_rows_that_others_have_rewritten_or_deleted_are_not_taken_for_a_rollback(tmp_path: Path, deleted: bool) -> None:
    run = made(tmp_path)
    run.write(1, 1)
    foreign(tmp_path, 100)
    if deleted:
        catalog(tmp_path).load_table(NAME).delete("id = 1")
        foreign(tmp_path, 101)
    compact(tmp_path)
    told = r'can.t be told .* have rewritten or deleted its rows.*to {"flights": {"0": 2}} to continue after'
    with pytest.raises(LostRowsError, match=told):
        Run(tmp_path).claim(1)
    with pytest.raises(LostRowsError, match=told):
        run.write(2, 2)
    # The offsets are altered as it says: the numbers continue after those of the table.
    again = Run(tmp_path)
    assert again.known().latest == BatchVersion(EPOCH, 1)
    again.claim(1, epoch=ALTERED).write(2, 2, epoch=ALTERED)
    assert ids(tmp_path) == ([2, 100, 101] if deleted else [1, 2, 100])


def test_a_rollback_to_before_the_last_rows_is_certain_though_snapshots_have_expired(tmp_path: Path) -> None:
    run = made(tmp_path)
    foreign(tmp_path, 100)
    foreign(tmp_path, 101)
    run.write(1, 1)
    table = catalog(tmp_path).load_table(NAME)
    before = table.metadata.snapshot_by_id(table.current_snapshot().parent_snapshot_id)
    table.manage_snapshots().set_current_snapshot(snapshot_id=before.snapshot_id).commit()
    table = catalog(tmp_path).load_table(NAME)
    others = [each.snapshot_id for each in table.snapshots() if each.snapshot_id != before.snapshot_id]
    table.maintenance.expire_snapshots().by_ids(others).commit()
    assert not Run(tmp_path).known().unclear
    with pytest.raises(LostRowsError, match="rolled back or replaced"):
        Run(tmp_path).claim(1)


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
    first, again = target(tmp_path), target(tmp_path)
    first.covers({("flights", 0): 1}, {})
    first.begin(BatchVersion(EPOCH, 0), {})
    first.skip(BatchVersion(EPOCH, 1))
    again.begin(BatchVersion(EPOCH, 1), {})
    assert again.committed_offsets() == {("flights", 0): 1}
    assert again.later(BatchVersion(EPOCH, 1)) is None
    assert again.later(BatchVersion(EPOCH, 0)) == BatchVersion(EPOCH, 1)
