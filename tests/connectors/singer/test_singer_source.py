"""A Singer tap, run in a separate process as a source."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConfigError, ConnectError
from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.api.testing.contract import SourceContract
from penstock.connectors import SingerSource
from penstock.connectors.singer.settings import offset_of
from penstock.connectors.singer.source import SingerSourceTask
from support.waiting import until

PATIENCE = 900.0
TAP = {"tap": "tap-numbers"}


def config(tap: Path, **of_tap: Any) -> dict[str, str]:
    return {
        "singer.tap": str(tap),
        "singer.config": json.dumps({"to": 6, **of_tap}),
        "singer.streams": "orders",
        "topic.prefix": "shop-",
        "poll.interval.ms": "0",
        "batch.max.rows": "4",
    }


@contextmanager
def started(settings: dict[str, str], state: Any = None) -> Iterator[SingerSourceTask]:
    task = SingerSourceTask()
    known = [] if state is None else [(TAP, offset_of(state))]
    task.context = MemorySourceContext(settings, MemoryOffsets(known))
    task.start(settings)
    try:
        yield task
    finally:
        task.stop()


def polled(task: SingerSourceTask) -> tuple[list[tuple[str, Any]], list[Any]]:
    """Return the topics and values, and the states behind them."""
    batch: Batch | None = until(task.poll, "records", PATIENCE)
    assert isinstance(batch.origin, SourceOrigin)
    states = [json.loads(offset["state"]) for offset in batch.origin.offsets]
    assert set(map(json.dumps, batch.origin.partitions)) == {json.dumps(TAP)}
    return list(zip(batch.topics, batch.values, strict=True)), states


def read(task: SingerSourceTask, count: int) -> tuple[list[int], list[Any]]:
    ids: list[int] = []
    states: list[Any] = []
    while len(ids) < count:
        rows, behind = polled(task)
        assert len(rows) <= 4
        ids += [value["id"] for _, value in rows]
        states += behind
    return ids, states


def test_records_come_with_the_state_behind_them(tap: Path) -> None:
    with started(config(tap, every=3)) as task:
        ids, states = read(task, 6)
    assert ids == [0, 1, 2, 3, 4, 5]
    assert states == [None, None, {"orders": 3}, {"orders": 3}, {"orders": 3}, {"orders": 6}]


def test_tap_continues_from_its_last_state(tap: Path) -> None:
    with started(config(tap, every=3), state={"orders": 4}) as task:
        ids, states = read(task, 2)
    assert (ids, states) == ([4, 5], [{"orders": 4}, {"orders": 6}])


def test_a_tap_that_has_ended_is_run_again_from_where_it_was(tap: Path, tmp_path: Path) -> None:
    log = tmp_path / "runs"
    with started(config(tap, log=str(log))) as task:
        read(task, 6)
        until(lambda: task.poll() or len(log.read_text().splitlines()) >= 3, "three runs", PATIENCE)
        assert task.poll() is None, "there is nothing new"


def test_all_streams_of_the_catalog(tap: Path) -> None:
    settings = config(tap)
    del settings["singer.streams"]
    with started(settings) as task:
        rows: list[tuple[str, Any]] = []
        while len(rows) < 7:
            rows += polled(task)[0]
    assert rows[:2] == [("shop-users", {"name": "Ada"}), ("shop-orders", {"id": 0, "price": 0.0, "note": None})]


def test_the_last_record_comes_though_the_tap_goes_on(tap: Path) -> None:
    with started(config(tap, stays=600)) as task:
        assert read(task, 6)[0] == [0, 1, 2, 3, 4, 5]


def test_records_before_a_failure_of_the_tap_are_sent(tap: Path) -> None:
    with started(config(tap, words="no such shop")) as task:
        assert read(task, 6)[0] == [0, 1, 2, 3, 4, 5]
        with pytest.raises(ConnectError, match="The tap has ended with status 3: no such shop"):
            until(task.poll, "the failure", PATIENCE)


@pytest.mark.parametrize("cut", range(10))
def test_a_restart_anywhere_loses_nothing(tap: Path, cut: int) -> None:
    """The tap is killed after ``cut`` records; those since the last state are read again."""
    settings = config(tap, to=12, every=3)
    first: list[int] = []
    states: list[Any] = []
    with started(settings) as task:
        while len(first) <= cut:
            rows, behind = polled(task)
            first += [value["id"] for _, value in rows]
            states += behind
    committed = states[cut]
    begin = committed["orders"] if committed else 0
    assert begin <= cut + 1
    assert begin > cut - 3, "only records since the last state are read again"
    with started(settings, committed) as task:
        assert read(task, 12 - begin)[0] == list(range(begin, 12))


def test_a_stop_ends_the_tap_and_all_of_it(tap: Path, tmp_path: Path) -> None:
    log = tmp_path / "runs"
    with started(config(tap, stays=600, log=str(log))) as task:
        read(task, 6)
        (process,) = [psutil.Process(int(line.split()[0])) for line in log.read_text().splitlines()]
        group = os.getpgid(process.pid)
    until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, "the tap is gone", PATIENCE)
    until(lambda: not [each for each in psutil.process_iter() if _group(each) == group], "and its leash", PATIENCE)
    assert task.poll() is None


def _group(process: psutil.Process) -> int | None:
    try:
        return os.getpgid(process.pid) if process.status() != psutil.STATUS_ZOMBIE else None
    except (ProcessLookupError, psutil.NoSuchProcess):
        return None


def test_little_of_the_environment_is_the_taps(tap: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    log = tmp_path / "runs"
    with started(config(tap, log=str(log))) as task:
        read(task, 6)
    assert "'PATH'" in log.read_text()
    assert "AWS" not in log.read_text()


def test_validation_finds_wrong_texts_of_json_in_a_source(tap: Path) -> None:
    values = SingerSource().validate({"singer.tap": str(tap), "singer.config": "[1]", "singer.catalog": "{}"})
    errors = {value.name: value.errors for value in values if value.errors}
    assert set(errors) == {"singer.config", "singer.catalog"}
    assert errors["singer.config"] == ["has to be a JSON object"]
    assert errors["singer.catalog"] == ["has to be a JSON object with the list `streams`"]
    with pytest.raises(ConfigError, match="there is no such executable on this machine"), started(config(Path("/no"))):
        pass


def test_offsets_may_be_altered() -> None:
    connector = SingerSource()
    assert connector.alter_offsets({}, [(TAP, {"state": '{"orders": 3}'}), (TAP, None)])
    for partition, offset in ((TAP, {"state": 3}), (TAP, {"state": "{"}), (TAP, {"at": "3"}), ({"topic": "t"}, None)):
        with pytest.raises(ConnectError):
            connector.alter_offsets({}, [(partition, offset)])


class TestContract(SourceContract):
    """The source contract, for a tap that writes its state after each record."""

    @pytest.fixture(autouse=True)
    def _tap(self, tap: Path) -> None:
        self.tap = tap

    def task_class(self) -> type[SingerSourceTask]:
        return SingerSourceTask

    def config(self) -> dict[str, str]:
        return config(self.tap) | {"poll.interval.ms": "60000"}
