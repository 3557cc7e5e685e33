"""The file that the offsets of a JDBC source belong to: compared where there are positions; without Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from penstock.api.origin import IdentifiedDict, OriginChangedError, identity_of
from penstock.connectors.jdbc.source.offsets import QUERY, TablePosition
from penstock.connectors.jdbc.source.settings import JdbcSourceSettings
from penstock.connectors.jdbc.source.tables import SourceTable
from penstock.pipeline.source.offsets import SourceTaskOffsets
from penstock.pipeline.task import CommittedOffset, TaskSpec
from penstock.spark.query.jdbc.source.database import Database
from penstock.spark.query.jdbc.source.origins import DatabaseFile, DatabaseServer, database_origin_of
from penstock.spark.query.jdbc.source.source import ReadSource
from penstock.spark.query.jdbc.source.task import JdbcSource

THINGS = SourceTable("", "", "things")
MODES = {
    "bulk": {"mode": "bulk"},
    "incrementing": {"mode": "incrementing", "incrementing.column.name": "id"},
    "timestamp": {"mode": "timestamp", "timestamp.column.name": "at"},
    "both": {"mode": "timestamp+incrementing", "timestamp.column.name": "at", "incrementing.column.name": "id"},
}
POSITIONS = [mode for mode in MODES if mode != "bulk"]
FIVE = {"incrementing": 5, "timestamp": 5, "timestamp_nanos": 5_000_000}


class Things(Database):
    """A file with a table, without its driver."""

    def __init__(self, path: Path, settings: JdbcSourceSettings) -> None:
        super().__init__(cast(Any, None), settings.connection)
        self._path = path

    def texts(self, sql: str) -> list[str]:
        return [str(self._path)]

    def tables(self, catalog: str | None, schema: str | None, types: Sequence[str]) -> list[SourceTable]:
        return [THINGS]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "app.db"
    path.touch()
    return path


def replace_file(path: Path) -> None:
    other = path.with_name("other")
    other.touch()  # while the old one is there, which has another inode then
    other.rename(path)


def started(path: Path, mode: str, *offsets: CommittedOffset, **config: str) -> Any:
    """Return a task that has found its tables, or the query."""
    spec = TaskSpec(
        connector="c", task=0, run=0, kind="query", task_class="", config={}, connector_config={}, worker_config={}
    )
    task: Any = JdbcSource(spec, cast(Any, None), cast(Any, None), lambda: None)
    given = {"connection.url": f"jdbc:sqlite:{path}", "topic.prefix": "t-", **MODES[mode], **config}
    task._settings = settings = JdbcSourceSettings.of(given)
    task._database = Things(path, settings)
    task._offsets = SourceTaskOffsets(replace(spec, offsets=offsets))
    if settings.query is not None:
        task._sources[None] = ReadSource(settings, task._database, None, TablePosition.of(task._offsets.offset(QUERY)))
    task._compare_origin()
    if settings.query is None:
        task._look_for_tables()
    return task


def stored(identity: dict[str, Any], what: dict[str, Any] | None = None) -> CommittedOffset:
    return CommittedOffset(THINGS.partition() if what is None else what, FIVE, None, identity)


def source(task: Any) -> ReadSource:
    (found,) = task._sources.values()
    assert isinstance(found, ReadSource)
    return found


def test_a_file_is_the_same_if_one_side_knows_no_time_of_creation(file: Path) -> None:
    found = DatabaseFile.at(str(file))
    later = replace(found, created=(found.created or 0) + 1)
    undated = replace(found, created=None)
    assert found.is_same(DatabaseFile.at(str(file)))
    assert found.is_same(undated)
    assert undated.is_same(found)
    assert undated.is_same(undated)
    assert not later.is_same(replace(found, created=0))
    assert not undated.is_same(replace(undated, inode=found.inode + 1))
    assert not found.is_same(DatabaseServer(str(found.inode)))
    replace_file(file)
    assert not found.is_same(DatabaseFile.at(str(file)))


@pytest.mark.parametrize(
    "origin", [DatabaseFile(2**64 - 1, 1_760_000_000_123_456_789), DatabaseFile(7, None), DatabaseServer("7")]
)
def test_an_origin_is_read_as_it_was_stored(origin: DatabaseFile | DatabaseServer) -> None:
    identity = json.loads(json.dumps(origin.members()))
    assert database_origin_of(IdentifiedDict(FIVE, identity)) == origin


def test_an_offset_without_an_origin_has_none() -> None:
    assert [database_origin_of(offset) for offset in (None, {}, FIVE, IdentifiedDict(FIVE, {}))] == [None] * 4


def test_the_text_of_a_file_has_its_time_of_creation_if_that_is_known() -> None:
    assert str(DatabaseFile(7, 1_760_000_000_123_456_789)) == "inode 7, created at 2025-10-09T08:53:20.123456789Z"
    assert str(DatabaseFile(7, None)) == "inode 7"


@pytest.mark.parametrize("mode", POSITIONS)
@pytest.mark.parametrize("knows", ["neither", "the offset", "the system"])
def test_an_offset_is_used_with_its_file_on_a_system_that_tells_more_or_less(
    file: Path, monkeypatch: pytest.MonkeyPatch, mode: str, knows: str
) -> None:
    found = DatabaseFile(file.stat().st_ino, 1_760_000_000_000_000_000)
    undated = replace(found, created=None)
    before, now = (found if knows == "the offset" else undated), (found if knows == "the system" else undated)
    monkeypatch.setattr(DatabaseFile, "at", lambda path: now)
    task = started(file, mode, stored(before.members()))
    assert source(task).position == TablePosition.of(FIVE)
    assert identity_of(source(task).partition) == now.members()


@pytest.mark.parametrize("mode", POSITIONS)
def test_an_offset_of_another_file_ends_the_task(file: Path, mode: str) -> None:
    other = DatabaseFile(file.stat().st_ino + 1, None)
    text = rf"The database's file is inode \d+.*, and the connector's offsets belong to the file that was {other}"
    with pytest.raises(OriginChangedError, match=text):
        started(file, mode, stored(other.members()))
    with pytest.raises(OriginChangedError, match=text):
        started(file, mode, stored(other.members(), QUERY), query="SELECT * FROM things")


@pytest.mark.parametrize("query", ["", "SELECT * FROM things"])
@pytest.mark.parametrize("mode", MODES)
def test_a_file_that_is_replaced_ends_only_a_task_that_has_positions_in_it(file: Path, mode: str, query: str) -> None:
    task = started(file, mode, query=query)
    source(task).position = TablePosition.of(FIVE)  # bulk may have it from another mode
    replace_file(file)
    if mode == "bulk":
        task._compare_origin()
        assert not task._database.is_replaced()  # its connection was closed, and reads the new file from now on
        return
    with pytest.raises(OriginChangedError, match="The database's file is inode"):
        task._compare_origin()


@pytest.mark.parametrize("mode", POSITIONS)
def test_a_file_that_is_replaced_before_any_row_was_read_is_read(file: Path, mode: str) -> None:
    task = started(file, mode)
    replace_file(file)
    task._compare_origin()
    assert identity_of(source(task).partition) == DatabaseFile.at(str(file)).members()


def test_bulk_leaves_a_stored_offset_with_the_file_it_belongs_to(file: Path) -> None:
    other = DatabaseFile(file.stat().st_ino + 1, None)
    task = started(file, "bulk", stored(other.members()))
    assert identity_of(source(task).partition) == other.members()
