"""Commits to an Iceberg table: each batch once, whatever other runs, other writers and the catalog do.

No Spark and no Kafka: the catalog is a SQLite, tables are in a folder, and rows are read by pyiceberg's own scan.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException, ForbiddenError
from pyiceberg.table.update import RemovePartitionSpecsUpdate
from pyiceberg.transforms import BucketTransform

from penstock.api.query import BatchVersion
from penstock.spark.query.iceberg import commits
from penstock.spark.query.iceberg.commits import OutcomeUnknownError
from penstock.spark.query.iceberg.marks import PROPERTY
from spark.query.iceberg.lake import EPOCH, NAME, SINK, Run, catalog, files, foreign, ids, made


def test_a_batch_is_in_the_table_once_with_its_mark_in_the_same_snapshot(tmp_path: Path) -> None:
    run = made(tmp_path)
    assert run.write(1, 0, 1, 2)
    snapshots = len(catalog(tmp_path).load_table(NAME).snapshots())
    assert not run.write(1, 0, 1, 2)
    table = catalog(tmp_path).load_table(NAME)
    assert ids(tmp_path) == [0, 1, 2]
    assert len(table.snapshots()) == snapshots
    summary = table.current_snapshot().summary
    assert (summary["penstock.epoch"], summary["penstock.batch"]) == (EPOCH, "1")
    assert orjson.loads(summary["penstock.offsets"]) == {"flights": {"id": "topic-id", "offsets": {"0": 3}}}
    assert summary["added-records"] == "3"
    kept = orjson.loads(table.properties[PROPERTY + SINK])
    assert (kept["batch"], kept["snapshot"]) == ("1", table.current_snapshot().snapshot_id)
    mark = run.known().mark
    assert mark is not None
    assert mark.offsets == {("flights", 0): 3}


def test_the_next_run_knows_the_batches_of_the_one_before(tmp_path: Path) -> None:
    made(tmp_path).write(1, 0, 1)
    next_run = Run(tmp_path).claim(1)
    assert not next_run.write(1, 0, 1)
    assert next_run.write(2, 2)
    assert ids(tmp_path) == [0, 1, 2]


def test_a_commit_of_another_writer_is_kept(tmp_path: Path) -> None:
    run = made(tmp_path)
    run.write(1, 0, 1, before=lambda: foreign(tmp_path, 100))
    foreign(tmp_path, 101)
    run.write(2, 2)
    assert ids(tmp_path) == [0, 1, 2, 100, 101]


@pytest.mark.parametrize("changed", ["name", "id", "nothing"], ids=["another type", "the same type", "no partitions"])
def test_files_keep_their_partition_spec_though_the_table_gets_another_one(tmp_path: Path, changed: str) -> None:
    run = made(tmp_path, **{"iceberg.tables.default-partition-by": "bucket(id, 2)"})
    run.write(1, 1)

    def change() -> None:
        with catalog(tmp_path).load_table(NAME).update_spec() as update:
            update.remove_field("id_bucket")
            if changed == "name":
                update.add_field("name", "identity", "by_name")
            elif changed == "id":
                update.add_field("id", BucketTransform(16), "id_bucket_16")
        Run(tmp_path, sink="another").claim().write(1, 100)

    run.write(2, 2, 3, before=change)
    run.write(3, 4)
    found = ids(tmp_path)
    assert found == [1, 2, 3, 4, 100]
    for number in found:  # by their partitions
        assert ids(tmp_path, row_filter=f"id = {number}") == [number]
        assert ids(tmp_path, row_filter=f"name = 'n{number}'") == [number]


def test_files_keep_their_partition_spec_in_a_table_that_gets_its_first_one(tmp_path: Path) -> None:
    run = made(tmp_path)

    def change() -> None:
        with catalog(tmp_path).load_table(NAME).update_spec() as update:
            update.add_field("id", "identity", "by_id")
        foreign(tmp_path, 100)

    run.write(1, 1, 2, before=change)
    run.write(2, 3)
    for number in (1, 2, 3, 100):
        assert ids(tmp_path, row_filter=f"id = {number}") == [number]


def test_a_batch_whose_partition_spec_was_removed_is_written_again(tmp_path: Path) -> None:
    run = made(tmp_path, **{"iceberg.tables.default-partition-by": "id"})

    def change() -> None:
        table = catalog(tmp_path).load_table(NAME)
        with table.update_spec() as update:
            update.remove_field("id")
        table = catalog(tmp_path).load_table(NAME)
        table.catalog.commit_table(table, (), (RemovePartitionSpecsUpdate(spec_ids=[0]),))
        foreign(tmp_path, 100)

    with pytest.raises(CommitFailedException, match="was removed while files were written"):
        run.write(1, 1, before=change)
    assert run.write(1, 1)
    assert ids(tmp_path) == [1, 100]


def test_offsets_of_many_partitions_are_stored_once(tmp_path: Path) -> None:
    run = made(tmp_path)
    ends = {("flights", partition): 1_000_000 + partition for partition in range(1000)}
    for number in range(1, 4):
        version = BatchVersion(EPOCH, number)
        assert not run.commits.has(version)
        written = files(run.table.load(), [{"id": number, "name": "n"}])
        run.commits.commit(written, version, ends, {"flights": "topic-id"}, lambda: None)
    table = catalog(tmp_path).load_table(NAME)
    assert max(len(snapshot.model_dump_json()) for snapshot in table.snapshots()) < 2000
    next_run = Run(tmp_path).claim(3)
    mark = next_run.known().mark
    assert mark is not None
    assert mark.offsets == ends
    assert not next_run.write(3, 3)
    assert next_run.write(4, 4)


def test_two_connectors_of_one_table_do_not_disturb_each_other(tmp_path: Path) -> None:
    run = made(tmp_path)
    other = Run(tmp_path, sink="another")
    other.claim()
    run.write(1, 0, before=lambda: other.write(1, 50))
    other.write(2, 51)
    run.write(2, 1)
    assert ids(tmp_path) == [0, 1, 50, 51]


def answering(monkeypatch: pytest.MonkeyPatch, *, commits: bool, error: Exception, times: int = 1) -> None:
    """Let the catalog's answers be lost on their way, for so many requests; ``commits``: after it has committed."""
    real, left = SqlCatalog.commit_table, [times]

    def lost(self: SqlCatalog, *request: Any) -> Any:
        if not left[0]:
            return real(self, *request)
        left[0] -= 1
        if commits:
            real(self, *request)
        raise error

    monkeypatch.setattr(SqlCatalog, "commit_table", lost)


LOST = [
    CommitStateUnknownException("502"),
    ConnectionResetError("Connection reset by peer"),
    TimeoutError("timed out"),
]


@pytest.mark.parametrize("error", LOST, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("commits", [True, False], ids=["committed", "not committed"])
def test_an_unknown_outcome_is_looked_up_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: bool, error: Exception
) -> None:
    run = made(tmp_path)
    run.write(1, 0)
    answering(monkeypatch, commits=commits, error=error)
    assert run.write(2, 1, 2)
    assert ids(tmp_path) == [0, 1, 2]
    assert run.write(3, 3)
    assert ids(tmp_path) == [0, 1, 2, 3]


def test_a_claim_of_unknown_outcome_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path).write(1, 0)
    answering(monkeypatch, commits=True, error=LOST[0])
    assert Run(tmp_path).claim(1).write(2, 1)
    assert ids(tmp_path) == [0, 1]


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "not committed"])
def test_nothing_is_retried_or_deleted_while_the_table_can_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: bool
) -> None:
    run = made(tmp_path)
    run.write(1, 0)
    requests: list[str] = []
    kept = set((tmp_path / "warehouse").rglob("*.*"))
    with monkeypatch.context() as patch:
        real = SqlCatalog.commit_table

        def commit(self: SqlCatalog, *request: Any) -> Any:
            requests.append("commit")
            if commits:
                real(self, *request)
            patch.setattr(SqlCatalog, "load_table", refuse)
            raise ConnectionResetError("Connection reset by peer")

        def refuse(self: SqlCatalog, name: Any) -> Any:
            raise ConnectionRefusedError("Connection refused")

        patch.setattr(SqlCatalog, "commit_table", commit)
        with pytest.raises(OutcomeUnknownError, match=r"is not known \(Connection reset by peer\)"):
            run.write(2, 1)
    assert requests == ["commit"]
    made_meanwhile = set((tmp_path / "warehouse").rglob("*.*")) - kept
    assert any(each.suffix == ".parquet" for each in made_meanwhile)
    assert kept <= set((tmp_path / "warehouse").rglob("*.*"))
    # The task writes the same batch once more.
    assert run.write(2, 1) is not commits
    assert run.write(3, 2)
    assert ids(tmp_path) == [0, 1, 2]


def test_a_catalog_that_refuses_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made(tmp_path)
    answering(monkeypatch, commits=False, error=ForbiddenError("no right to write"), times=2)
    with pytest.raises(ForbiddenError):
        run.write(1, 0)
    with pytest.raises(ForbiddenError):
        run.write(1, 0)
    assert run.write(1, 0)


@pytest.mark.parametrize("error", [ValueError("bad"), TypeError("bad"), NotImplementedError("bad")], ids=repr)
def test_an_error_of_the_library_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    run = made(tmp_path)
    answering(monkeypatch, commits=False, error=error)
    with pytest.raises(type(error), match="bad"):
        run.write(1, 0)
    assert run.write(1, 0)


def test_the_last_error_of_all_attempts_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made(tmp_path)
    monkeypatch.setattr(commits, "ATTEMPTS", 2)
    answering(monkeypatch, commits=False, error=ConnectionResetError("Connection reset by peer"), times=2)
    with pytest.raises(CommitFailedException, match=r"in 2 attempts: Connection reset by peer") as caught:
        run.write(1, 0)
    assert isinstance(caught.value.__cause__, ConnectionResetError)
    assert run.write(1, 0)


def test_a_late_request_of_an_attempt_that_was_given_up_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog gets a request whose answer the run has stopped waiting for after the run has committed again."""
    run, real = made(tmp_path), SqlCatalog.commit_table
    kept: list[Callable[[], Any]] = []

    def delayed(self: SqlCatalog, *request: Any) -> Any:
        if not kept:
            kept.append(lambda: real(self, *request))
            raise TimeoutError("timed out")
        return real(self, *request)

    monkeypatch.setattr(SqlCatalog, "commit_table", delayed)
    run.write(1, 0, 1)
    with pytest.raises(Exception, match="has changed"):
        kept[0]()
    assert ids(tmp_path) == [0, 1]


def test_commits_go_to_their_branch_which_begins_where_main_ends(tmp_path: Path) -> None:
    made(tmp_path).write(1, 0)
    run = Run(tmp_path, branch="audit", sink="auditor")
    run.claim()
    run.write(1, 1)
    foreign(tmp_path, 100)
    run.write(2, 2)
    assert ids(tmp_path) == [0, 100]
    audited = catalog(tmp_path).load_table(NAME).scan().use_ref("audit").to_arrow().to_pylist()
    assert sorted(row["id"] for row in audited) == [0, 1, 2]


KILLED = """
import os, signal, sys
from pathlib import Path
from pyiceberg.catalog.sql import SqlCatalog
from spark.query.iceberg.lake import EPOCH, NAME, SINK, Run, catalog, files, foreign, ids, made
place, when = Path(sys.argv[1]), sys.argv[2]
run, real = Run(place).claim(1), SqlCatalog.commit_table
def commit(self, *request):
    if when == "after":
        real(self, *request)
    os.kill(os.getpid(), signal.SIGKILL)
SqlCatalog.commit_table = commit
run.write(2, 1, 2)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_run_that_is_killed_around_its_commit_loses_and_doubles_nothing(tmp_path: Path, when: str) -> None:
    made(tmp_path).write(1, 0)
    path = os.pathsep.join(each for each in sys.path if each)
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), when], env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert ran.returncode == -signal.SIGKILL
    assert ids(tmp_path) == ([0, 1, 2] if when == "after" else [0])
    assert Run(tmp_path).claim(1).write(2, 1, 2) is (when == "before")
    assert ids(tmp_path) == [0, 1, 2]


def test_names_of_files_never_repeat(tmp_path: Path) -> None:
    run = made(tmp_path)
    table = run.table.load()
    names = [each.file_path for _ in range(3) for each in files(table, [{"id": 1, "name": "a"}], "1-aa-epoch-7")]
    assert len(set(names)) == 3
    assert all("/1-aa-epoch-7-" in name for name in names)


def test_manifests_are_merged_unless_the_table_says_otherwise(tmp_path: Path) -> None:
    count = {"iceberg.tables.auto-create-props.commit.manifest.min-count-to-merge": "3"}
    run = made(tmp_path, **count)
    for number in range(1, 8):
        run.write(number, number)
    table = catalog(tmp_path).load_table(NAME)
    assert ids(tmp_path) == list(range(1, 8))
    assert len(table.current_snapshot().manifests(table.io)) < 7
