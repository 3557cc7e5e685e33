"""A dlt source, run in a separate process as a Connect source."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.api import schema as s
from penstock.api.batch import Batch
from penstock.api.errors import ConfigError, ConnectError
from penstock.api.record import SourceRecord
from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.api.testing.contract import SourceContract
from penstock.connectors import DltSource
from penstock.connectors.dlt.source import DltSourceTask
from support.waiting import until

pytestmark = pytest.mark.slow

PATIENCE = 900.0
SHOP = Path(__file__).with_name("shop.py")
PARTITION = {"source": "shop.py:shop"}


def config(*resources: str, source: str = f"{SHOP}:shop", **arguments: Any) -> dict[str, str]:
    return {
        "dlt.source": source,
        "dlt.arguments": json.dumps(arguments),
        "dlt.resources": ",".join(resources),
        "topic.prefix": "shop-",
        "poll.interval.ms": "60000",
        "batch.max.rows": "4",
    }


@contextmanager
def started(settings: dict[str, str], offset: Any = None) -> Iterator[DltSourceTask]:
    task = DltSourceTask()
    task.context = MemorySourceContext(settings, MemoryOffsets([] if offset is None else [(PARTITION, offset)]))
    task.start(settings)
    try:
        yield task
    finally:
        task.stop()


def read(task: DltSourceTask, count: int) -> list[SourceRecord]:
    rows: list[SourceRecord] = []
    while len(rows) < count:
        rows += until(task.poll, f"{count} records, not {len(rows)}", PATIENCE).rows()
    return rows


def read_into(rows: list[SourceRecord], task: DltSourceTask) -> None:
    while True:
        rows += read(task, 1)


def cursor(row: SourceRecord, none: Any = None) -> Any:
    """Return the last ID read from `orders`, from the state behind the row."""
    state = state_behind(row)
    return state["sources"]["shop"]["resources"]["orders"]["incremental"]["id"]["last_value"] if state else none


def state_behind(row: SourceRecord) -> Any:
    assert row.source_offset is not None
    return json.loads(row.source_offset["state"])


def test_columns_have_the_types_that_are_declared_or_found() -> None:
    with started(config("orders", to=2)) as task:
        first, second = read(task, 2)
    assert first.topic == "shop-orders"
    assert first.source_partition == PARTITION
    assert first.key_schema == s.struct(("id", s.INT64), name="orders.key")
    assert first.value_schema == s.struct(
        ("id", s.INT64),
        ("price", s.decimal(2, optional=True)),
        ("at", s.TIMESTAMP.with_(optional=True)),
        ("tags", s.OPTIONAL_STRING),
        name="orders",
    )
    moment = dt.datetime(2026, 1, 2, 4, 4, 5, 678000, tzinfo=dt.UTC)
    assert second.key == {"id": 1}
    assert second.value == {"id": 1, "price": Decimal("0.50"), "at": moment, "tags": '["x"]'}


def test_rows_in_order_have_states_after_each_page_and_go_on_from_there() -> None:
    with started(config("orders", to=6, page=2)) as task:
        rows = read(task, 6)
    assert [row.value["id"] for row in rows] == [0, 1, 2, 3, 4, 5]
    assert [cursor(row) for row in rows] == [None, 1, 1, 3, 3, 5]
    with started(config("orders", to=8, page=2), rows[3].source_offset) as task:
        assert [row.value["id"] for row in read(task, 4)] == [4, 5, 6, 7], "3 is read again, and left out by dlt"


def test_a_cursor_that_leaves_its_last_value_out_has_a_state_at_the_end_of_the_run() -> None:
    """The next page may begin with the value that the cursor leaves out."""
    with started(config("orders", to=4, page=2, start="open")) as task:
        assert [cursor(row) for row in read(task, 4)] == [None, None, None, 3]


def test_rows_in_any_order_have_a_state_at_the_end_of_the_run() -> None:
    with started(config("visits", to=3)) as task:
        rows = read(task, 3)
    assert [row.value for row in rows] == [
        {"number": each, "day": dt.date(2026, 1, 1 + each), "guest": each % 2 == 0} for each in (2, 1, 0)
    ]
    first, second, last = map(state_behind, rows)
    assert (first, second) == (None, None)
    assert last["columns"] == {"visits": {"number": "bigint", "day": "date", "guest": "bool"}}
    with started(config("visits", to=5), rows[2].source_offset) as task:
        assert [row.value["number"] for row in read(task, 2)] == [4, 3]


def test_a_killed_run_is_repeated_from_the_last_state(tmp_path: Path) -> None:
    log = tmp_path / "log"
    settings = config("orders", to=9, page=3, pause=0.5, log=str(log))
    with started(settings) as task:
        rows = read(task, 3)
        os.kill(int(log.read_text().split()[0]), signal.SIGKILL)
        with pytest.raises(ConnectError, match="The source of dlt has ended with status -9"):
            read_into(rows, task)
    assert [row.value["id"] for row in rows] == list(range(len(rows)))
    for cut, row in enumerate(rows):
        assert cut - 3 < (last := cursor(row, -1)) <= cut, "only the unfinished page is read again"
    with started(settings, rows[-1].source_offset) as task:
        assert [row.value["id"] for row in read(task, 8 - last)] == list(range(last + 1, 9))


def test_tables_by_row_variants_and_secrets() -> None:
    """A value that cannot be converted to its column's type gets a variant column, as in dlt."""
    settings = config(source=f"{SHOP}:things") | {"dlt.config": '{"sources": {"shop": {"things": {"secret": "hush"}}}}'}
    with started(settings) as task:
        rows = read(task, 4)
    assert [row.topic for row in rows] == ["shop-kind_1"] * 3 + ["shop-kind_2"]
    assert [{name: each for name, each in row.value.items() if each is not None} for row in rows] == [
        {"kind": 1, "size": 1, "secret": "hush"},
        {"kind": 1, "size": 2, "raw": b"\x00\xff", "share": Decimal("0.125")},
        {"kind": 1, "size__v_text": "tall"},
        {"kind": 2},
    ]


def test_floats_that_json_does_not_have_arrive_or_are_refused() -> None:
    with started(config(source=f"{SHOP}:measures", nested=True)) as task:
        assert [str(row.value["n"]) for row in read(task, 3)] == ["1.5", "nan", "-inf"]
        with pytest.raises(ConnectError, match="Column more of measures has NaN or infinity in a value that becomes"):
            until(task.poll, "the failure", PATIENCE)


def test_records_before_a_failure_of_the_source_are_sent() -> None:
    with started(config("orders", to=3, words="no such shop")) as task:
        assert len(read(task, 3)) == 3
        with pytest.raises(ConnectError, match=r"(?s)has ended with status 1:.*no such shop"):
            until(task.poll, "the failure", PATIENCE)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            config(source=f"{SHOP}:plain"),
            r"shop.py:plain is no source or resource of dlt \(@dlt.source, @dlt.resource\)",
        ),
        (config(source=f"{SHOP}:none"), "shop.py:none is no source or resource of dlt"),
        (config(source="no_such_module:shop"), "No module named 'no_such_module'"),
        (config("orders", "users"), "there is no resource users in the source, but orders, visits"),
    ],
)
def test_sources_that_cannot_run_fail_with_the_reason(settings: dict[str, str], sentence: str) -> None:
    with started(settings) as task, pytest.raises(ConnectError, match=sentence):
        until(task.poll, "the failure", PATIENCE)


def test_an_environment_of_its_own(tmp_path: Path) -> None:
    """An environment without dlt is refused with an error."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    settings = config() | {"dlt.python": str(tmp_path / "env" / "bin" / "python")}
    with (
        started(settings) as task,
        pytest.raises(ConnectError, match=r"dlt can't be used in .*/env: No module named"),
    ):
        until(task.poll, "the failure", PATIENCE)


def test_a_stop_ends_the_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started(config("orders", to=9, page=3, pause=600, log=str(log))) as task:
        assert [row.value["id"] for row in read(task, 3)] == [0, 1, 2], "although the run goes on"
        process = psutil.Process(int(log.read_text().split()[0]))
    until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, "it is gone", PATIENCE)
    assert task.poll() is None


def test_validation_finds_wrong_settings_of_a_dlt_source() -> None:
    values = DltSource().validate({"dlt.source": "shop", "dlt.arguments": "[1]", "dlt.config": "{"})
    errors = {value.name: value.errors for value in values if value.errors}
    assert set(errors) == {"dlt.source", "dlt.arguments", "dlt.config"}
    assert errors["dlt.source"] == ["has to be `module:name` or `/folder/file.py:name`"]
    with pytest.raises(ConfigError, match="there is no such file on this machine"), started(config(source="/no.py:a")):
        pass
    with pytest.raises(ConfigError, match="no such executable"), started(config() | {"dlt.python": "/no"}):
        pass


def test_offsets_may_be_altered() -> None:
    connector = DltSource()
    assert connector.alter_offsets({}, [(PARTITION, {"state": "{}"}), (PARTITION, None)])
    for partition, offset in ((PARTITION, {"state": 3}), (PARTITION, {"at": "{}"}), ({"tap": "t"}, None)):
        with pytest.raises(ConnectError, match="source of dlt"):
            connector.alter_offsets({}, [(partition, offset)])


class Task(DltSourceTask):
    def poll(self) -> Batch | None:
        """Poll, and remove from dlt's states where their run began: that differs after a restart."""
        found = super().poll()
        if found is None:
            return None
        rows = [replace(row, source_offset=_without_start(row)) for row in found.rows()]
        return Batch.of_source_records(rows)


def _without_start(row: SourceRecord) -> dict[str, Any]:
    return {"state": re.sub(r',"start_value":\w+', "", row.source_offset["state"])}


class TestContract(SourceContract):
    """The source contract, for rows that arrive in order, page by page."""

    def task_class(self) -> type[Task]:
        return Task

    def config(self) -> dict[str, str]:
        return config("orders", to=2, page=1)
