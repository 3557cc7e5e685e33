"""A Singer target, run in a separate process as a sink."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.api import schema as s
from penstock.api.batch import Batch
from penstock.api.errors import ConfigError, ConnectError, DataError, NotReadyError
from penstock.api.record import SinkRecord
from penstock.api.sink import TopicPartition
from penstock.api.testing import MemorySinkContext, numbered, sink_record
from penstock.api.testing.contract import SinkContract
from penstock.connectors import SingerSink
from penstock.connectors.singer.sink import SingerSinkTask
from support.waiting import until

PATIENCE = 900.0
ORDER = s.struct(("id", s.INT64), ("note", s.OPTIONAL_STRING))
ZERO, ONE = TopicPartition("test", 0), TopicPartition("test", 1)


def config(target: Path, **of_target: Any) -> dict[str, str]:
    return {
        "singer.target": str(target),
        "singer.config": json.dumps({"file": str(target.parent / "out"), **of_target}),
        "singer.state.timeout.ms": "60000",
    }


def orders(count: int, begin: int = 0, schema: s.Schema | None = ORDER) -> list[SinkRecord]:
    """Return records from ``begin`` on, of two partitions in turn."""
    values = [{"id": number, "note": None} for number in range(count)]
    rows = [sink_record(value, partition=value["id"] % 2, value_schema=schema) for value in values]  # type: ignore[operator]
    return list(numbered(rows))[begin:]


def written(target: Path) -> list[Any]:
    out = target.parent / "out"
    return [json.loads(line)["record"] for line in out.read_text().splitlines()] if out.exists() else []


@contextmanager
def started(settings: Mapping[str, str]) -> Iterator[SingerSinkTask]:
    task = SingerSinkTask()
    task.context = MemorySinkContext(settings, frozenset({ZERO, ONE}))
    task.start(settings)
    task.open([ZERO, ONE])
    try:
        yield task
    finally:
        task.stop()


def put(task: SingerSinkTask, rows: Sequence[SinkRecord]) -> None:
    task.put_batch(Batch.of_sink_records(rows))


def ends(rows: Sequence[SinkRecord]) -> dict[TopicPartition, int]:
    return {_of(row): row.offset + 1 for row in rows}


def test_offsets_of_told_states_are_committed(target: Path) -> None:
    rows = orders(6)
    with started(config(target)) as task:
        put(task, rows)
        assert task.pre_commit(ends(rows)) == {ZERO: 3, ONE: 3}
        assert written(target) == [row.value for row in rows]


def test_a_target_that_tells_states_only_at_its_end_is_ended(target: Path, tmp_path: Path) -> None:
    rows, log = orders(8), tmp_path / "log"
    with started(config(target, every=1000, log=str(log)) | {"singer.state.timeout.ms": "0"}) as task:
        for part in (rows[:4], rows[4:]):
            until(lambda part=part: _taken(task, part), "a run has ended", PATIENCE)  # type: ignore[misc]
            until(lambda part=part: task.pre_commit(ends(part)) == ends(part), "its state", PATIENCE)  # type: ignore[misc]
    assert written(target) == [row.value for row in rows]
    runs = {line.split()[0] for line in log.read_text().splitlines()}
    assert len(runs) == 2
    assert log.read_text().count("SCHEMA") == 2, "each run gets the schema"


def _taken(task: SingerSinkTask, rows: Sequence[SinkRecord]) -> bool:
    try:
        put(task, rows)
    except NotReadyError:
        return False
    return True


@pytest.mark.parametrize("dies", range(10))
def test_a_target_killed_anywhere_loses_nothing(target: Path, dies: int) -> None:
    """The target is killed at that message; the next run gets the records that were not committed."""
    rows, committed = orders(6), {ZERO: 0, ONE: 0}

    def put_and_commit(task: SingerSinkTask) -> None:
        for row in rows:
            put(task, [row])
            committed.update(task.pre_commit({_of(row): row.offset + 1}))

    with started(config(target, dies=dies)) as task, pytest.raises(ConnectError, match="ended with status -9"):
        put_and_commit(task)
    durable = [row.value for row in rows if row.offset < committed[_of(row)]]
    assert all(each in written(target) for each in durable)
    assert len(durable) == max(0, (dies - 1) // 2), "a message is a schema, or a record and then a state"
    with started(config(target)) as task:
        put(task, [row for row in rows if row.offset >= committed[_of(row)]])
        assert task.pre_commit(ends(rows)) == ends(rows)
    assert {each["id"] for each in written(target)} == set(range(6))


def _of(row: SinkRecord) -> TopicPartition:
    return TopicPartition(row.topic, row.partition or 0)


def test_a_failure_has_the_last_words(target: Path) -> None:
    with started(config(target, fails=1)) as task:
        put(task, orders(2))
        for _ in range(2):
            with pytest.raises(ConnectError, match="The target has ended with status 3: no such table"):
                task.pre_commit({ZERO: 1, ONE: 1})
        with pytest.raises(ConnectError, match="no such table"):
            put(task, orders(2))


def test_a_target_that_tells_nothing_is_refused(target: Path) -> None:
    with started(config(target, every=1000, silent=True) | {"singer.state.timeout.ms": "0"}) as task:
        put(task, orders(2))
        with pytest.raises(ConnectError, match="without telling the last state that it was given"):
            until(lambda: task.pre_commit({ZERO: 1, ONE: 1}) and None, "its end", PATIENCE)


def test_a_target_that_does_not_end_is_refused_at_last(target: Path) -> None:
    settings = config(target, every=1000, stays=600) | {"singer.state.timeout.ms": "0", "singer.end.timeout.ms": "1"}
    with started(settings) as task:
        put(task, orders(2))
        with pytest.raises(ConnectError, match=r"has not ended within 1 ms .* \(`singer.end.timeout.ms`\)"):
            until(lambda: task.pre_commit({ZERO: 1, ONE: 1}) and None, "its end", PATIENCE)


def test_partitions_that_were_taken_away_are_not_committed(target: Path) -> None:
    rows, go = orders(6), target.parent / "go"
    with started(config(target, every=1000, waits=str(go)) | {"singer.state.timeout.ms": "0"}) as task:
        put(task, rows)
        assert task.pre_commit(ends(rows)) == {}
        task.close([ONE])
        go.touch()

        def told() -> bool:
            task._settle()
            return bool(task._durable)

        until(told, "the state", PATIENCE)
        assert task._durable == {ZERO: 3}, (
            "the state does not cover the other partition, which may return at another offset"
        )


@pytest.mark.parametrize("commits", [True, False], ids=["revoked", "lost"])
def test_a_target_does_not_go_on_with_records_of_partitions_that_were_taken_away(
    target: Path, tmp_path: Path, commits: bool
) -> None:
    """Another task reads the records again; a late write of this one could overwrite newer data."""
    rows, log, go = orders(6), tmp_path / "log", tmp_path / "go"
    with started(config(target, every=1000, waits=str(go), log=str(log)) | {"singer.state.timeout.ms": "0"}) as task:
        put(task, rows)
        until(lambda: log.exists() and log.read_text(), "the target reads", PATIENCE)
        process = psutil.Process(int(log.read_text().split()[0]))
        assert not commits or task.pre_commit(ends(rows)) == {}
        task.close([ZERO, ONE])
        until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, "it has ended", PATIENCE)
        go.touch()
        task.open([ZERO, ONE])
        assert task.pre_commit({ZERO: 0, ONE: 0}) == {ZERO: 0, ONE: 0}, "offsets of the lost run do not count"
        put(task, rows)
        until(lambda: task.pre_commit(ends(rows)) == ends(rows), "its state", PATIENCE)
        assert written(target)[-6:] == [row.value for row in rows]


def test_a_target_that_holds_nothing_goes_on_when_partitions_come_back(target: Path, tmp_path: Path) -> None:
    rows, log = orders(6), tmp_path / "log"
    with started(config(target, log=str(log))) as task:
        for part in (rows[:4], rows[4:]):
            put(task, part)
            assert task.pre_commit(ends(part)) == ends(part)
            task.close([ZERO, ONE])
            task.open([ZERO, ONE])
    assert len({line.split()[0] for line in log.read_text().splitlines()}) == 1
    assert written(target) == [row.value for row in rows]


class NoReporter(MemorySinkContext):
    errant_record_reporter = None  # type: ignore[assignment]


def test_null_values_are_ignored_or_refused_as_configured(target: Path) -> None:
    rows = orders(4)
    rows[3] = rows[3].with_(value=None, value_schema=None)
    with started(config(target)) as task:
        task.context = NoReporter({}, frozenset())
        with pytest.raises(DataError, match="Singer has no message for what is deleted"):
            put(task, rows)
        task.context = context = MemorySinkContext({}, frozenset())
        put(task, rows)
        assert task.pre_commit(ends(rows)) == ends(rows)
        ((record, error),) = context.reported
        assert (record.offset, record.value) == (rows[3].offset, None)
        assert "A record of topic test can't be written: it has no value" in str(error)
    with started(config(target) | {"behavior.on.null.values": "ignore"}) as task:
        put(task, rows)
        assert task.pre_commit(ends(rows)) == ends(rows)
    assert [each["id"] for each in written(target)] == [0, 1, 2, 0, 1, 2]


def test_a_stop_ends_the_target_and_all_of_it(target: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started(config(target, stays=600, log=str(log))) as task:
        put(task, orders(2))
        assert task.pre_commit({ZERO: 1, ONE: 1}) == {ZERO: 1, ONE: 1}
        process = psutil.Process(int(log.read_text().split()[0]))
        group = os.getpgid(process.pid)
        task._patience = 0.0
    gone = (psutil.NoSuchProcess, ProcessLookupError)

    def left() -> list[int]:
        found = []
        for each in psutil.process_iter():
            try:
                if os.getpgid(each.pid) == group and each.status() != psutil.STATUS_ZOMBIE:
                    found.append(each.pid)
            except gone:
                continue
        return found

    until(lambda: not left(), "the target and its leash are gone", PATIENCE)


def test_a_slow_target_makes_records_wait(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.connectors.singer.sink._ROOM_SECONDS", 0.0)
    wide = [sink_record({"id": number, "note": "x" * 200_000}, value_schema=ORDER) for number in range(3)]
    rows = list(numbered(wide))
    with started(config(target, pause=0.5)) as task:
        waits = 0
        for row in rows:
            while not _taken(task, [row]):
                waits += 1
        assert waits
        assert task.pre_commit({ZERO: 3}) == {ZERO: 3}
    assert [each["id"] for each in written(target)] == [0, 1, 2]


def test_validation_finds_wrong_settings_of_a_sink(target: Path) -> None:
    given = {"singer.target": str(target), "singer.config": "[1]", "pk.fields": "id", "singer.stream.name.format": " "}
    errors = {value.name: value.errors for value in SingerSink().validate(given) if value.errors}
    assert errors == {
        "singer.config": ["has to be a JSON object"],
        "pk.fields": ["pk.mode=none has no key: set pk.mode, or leave pk.fields out"],
        "singer.stream.name.format": ["has to name a stream"],
    }
    with pytest.raises(ConfigError, match="there is no such executable on this machine"), started(config(Path("/no"))):
        pass


class TestContract(SinkContract):
    """The sink contract, for a target that emits each state."""

    @pytest.fixture(autouse=True)
    def _target(self, target: Path) -> None:
        self.target = target

    def task_class(self) -> type[SingerSinkTask]:
        return SingerSinkTask

    def config(self) -> dict[str, str]:
        return config(self.target)

    def records(self) -> list[SinkRecord]:
        return orders(8)

    def changed_records(self) -> list[SinkRecord]:
        schema = s.struct(("name", s.STRING))
        return [sink_record({"name": "Ada"}, value_schema=schema), sink_record({"plain": 1})]

    def written(self) -> list[Any]:
        return written(self.target)
