"""Spark sources from the outside: real streams of Spark into a real topic."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from penstock.connectors import SparkSource
from penstock.core.model.tasks import SparkDied, SparkReady, TaskEnded, TaskFailed, TaskLost, TaskPaused, TopicSeen
from support.kafka.client import Kafka
from support.process_tree import alive, command, descendants
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, Source, ids, make, stored_offsets
from support.tasks.runs import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PAGE = Path(__file__).parents[4] / "docs" / "query-tasks.md"


@pytest.fixture
def source(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> Callable[..., Source]:
    return lambda **config: Source(hosted, kafka, tmp_path, **config)


@pytest.mark.parametrize("exactly_once", [True, False])
def test_files_become_records_once_and_restarts_continue(source: Callable[..., Source], exactly_once: bool) -> None:
    with source(schema=COLUMNS, exactly_once=exactly_once, key_columns="name") as one:
        one.add("1.json", *make(0, 100))
        one.start()
        assert ids(one.wait(100)) == list(range(100))
        assert TopicSeen(one.id, 1, one.topic) in one.until(TopicSeen)
        one.add("2.json", *make(100, 110))
        one.wait(110)
        one.batch(1)
        one.stop()
        one.add("3.json", *make(110, 120))
        one.start()
        assert ids(one.wait(120)) == list(range(120))
        one.batch(2)
        keys = {(record.key, record.value) for record in one.kafka.read_all(one.topic)}
        assert (b"n1", b'{"id":1,"name":"n1"}') in keys


@pytest.mark.parametrize("exactly_once", [True, False])
def test_an_offset_is_used_only_with_the_checkpoint_that_it_is_a_batch_of(
    source: Callable[..., Source], exactly_once: bool
) -> None:
    with source(schema=COLUMNS, exactly_once=exactly_once) as one:
        one.add("1.json", *make(0, 10))
        one.start()
        one.wait(10)
        one.batch(0)
        one.stop()
        [stored] = stored_offsets(one)
        assert (stored.identity or {})["checkpoint"]
        (id,) = one.checkpoint.glob("*/penstock-id")
        id.unlink()
        (one.checkpoint / ".penstock-id.crc").unlink(missing_ok=True)
        id.write_text("of another")
        one.add("2.json", *make(10, 20))
        events = one.start(until=TaskEnded)
        one.running = False
        (reason,) = [event.trace for event in events if isinstance(event, TaskFailed)]
        assert "is another one than that of the source offset, batch 0" in reason
        one.start(on_origin_changed="continue")
        assert ids(one.wait(20)) == list(range(20))
        one.batch(1)
        one.stop()
        assert stored_offsets(one)[0].identity == {"checkpoint": "of another"}


def test_the_documented_source_works(source: Callable[..., Source]) -> None:
    config = json.loads(re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)[0])["config"]
    assert not [value for value in SparkSource().validate(config) if value.errors]
    shown = {name: value for name, value in config.items() if name in ("format", "schema", "sql", "key.columns")}
    with source(**shown) as one:
        one.add("1.json", {"carrier": "UA", "delay": 2.5}, {"carrier": "AA", "delay": -1})
        one.start()
        assert one.wait(1) == [{"carrier": "UA", "delay": 2.5}]
        assert [record.key for record in one.kafka.read_all(one.topic)] == [b"UA"]
        values = one.figures(lambda values: any(p["direction"] == "from" for p in values["penstock-places"]))
        place = next(place for place in values["penstock-places"] if place["direction"] == "from")
        assert json.loads(place["source"]) == {"source": "FileStreamSource", "offset": "logOffset"}
        assert (place["position"], place["unit"]) == (0, "offsets")


def test_sql_shapes_the_rows_and_a_batch_without_any_is_over_too(source: Callable[..., Source]) -> None:
    sql = "SELECT name, count(*) AS n FROM records WHERE id >= 10 GROUP BY name"
    with source(schema=COLUMNS, sql=sql) as one:
        one.add("1.json", *make(0, 10))
        one.start()
        one.batch(0)
        one.add("2.json", *make(10, 40))
        assert sorted((row["name"], row["n"]) for row in one.wait(3)) == [("n0", 10), ("n1", 10), ("n2", 10)]


def test_a_pause_waits_for_the_end_of_a_batch(source: Callable[..., Source]) -> None:
    with source(schema=COLUMNS) as one:
        one.add("1.json", *make(0, 10))
        assert one.start(paused=True, until=TaskPaused)[-1] == TaskPaused(one.id, 1)
        one.hosted.resume(one.id)
        one.wait(10)
        one.add("2.json", *make(10, 60_000))
        eventually(lambda: one.fine() and len(one.kafka.values(one.topic, "read_uncommitted")) > 10)
        one.hosted.pause(one.id)
        assert one.until(TaskPaused)[-1] == TaskPaused(one.id, 1)
        assert ids(one.wait(60_000)) == list(range(60_000))
        one.add("3.json", *make(60_000, 60_010))
        one.while_another_runs()
        assert len(one.values()) == 60_000
        one.hosted.resume(one.id)
        assert ids(one.wait(60_010)) == list(range(60_010))


def test_a_stop_sends_nothing_of_a_batch_that_waits_for_the_end_of_a_pause(source: Callable[..., Source]) -> None:
    with source(schema=COLUMNS, exactly_once=False) as one:
        one.add("1.json", *make(0, 10))
        one.start()
        one.batch(0)
        one.hosted.pause(one.id)
        one.until(TaskPaused)
        one.add("2.json", *make(10, 20))
        one.while_another_runs()
        one.stop()
        one.while_another_runs()
        assert ids(one.values()) == list(range(10))


def test_rows_are_written_once_when_spark_is_killed(source: Callable[..., Source]) -> None:
    rate = {"format": "rate-micro-batch", "path": "", "option_numPartitions": "2", "schema": ""}
    with source(**rate, **{"option.rowsPerBatch": "5000", "sql": "SELECT value AS id FROM records"}) as one:
        one.start()
        one.batch(2)
        os.kill(one.hosted.query_driver.process_id, signal.SIGKILL)
        lost = [event for event in one.ended() if isinstance(event, TaskLost)]
        assert "ended with Spark" in lost[0].reason
        one.hosted.events.until(SparkDied)
        one.hosted.events.until(SparkReady)
        one.start()
        one.batch(5)
        one.stop()
        last = (one.committed() or {})["batch"]
        assert ids(one.wait(5000 * (last + 1))) == list(range(5000 * (last + 1)))


def test_a_partition_that_spark_retries_is_sent_once(source: Callable[..., Source]) -> None:
    rate = {"format": "rate-micro-batch", "path": "", "option_numPartitions": "1", "schema": ""}
    with source(**rate, **{"option.rowsPerBatch": "200000", "sql": "SELECT value AS id FROM records"}) as one:
        one.start()
        eventually(lambda: one.fine() and one.kafka.values(one.topic, "read_uncommitted"))
        senders = [each for each in descendants(one.hosted.query_driver.process_id) if is_python_of_spark(each)]
        assert senders
        for each in senders:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        one.batch(1)
        one.stop()
        last = (one.committed() or {})["batch"]
        assert ids(one.wait(200_000 * (last + 1))) == list(range(200_000 * (last + 1)))


def test_a_partition_whose_process_dies_is_sent_again_before_the_offset_is_stored(
    source: Callable[..., Source], tmp_path: Path
) -> None:
    died = tmp_path / "died"
    function = {"transforms": "dying", "transforms.dying.type": "penstock.transforms.PythonFunction"}
    config = {**function, "transforms.dying.function": "loops:die_once"}
    with source(schema=COLUMNS, exactly_once=False, **config) as one:
        rows = make(0, 25_000)
        rows[22_000]["name"] = str(died)
        one.add("1.json", *rows)
        one.start()
        one.batch(0)
        assert died.exists()
        assert set(ids(one.values())) == set(range(25_000))
        values = one.figures(lambda values: values["source-record-write-total"] == 25_000)
        assert values["penstock-sent-by"] == "executors"


def test_a_stop_ends_a_process_that_sends(source: Callable[..., Source], tmp_path: Path) -> None:
    """Spark itself does not end one whose rows it has not all passed on yet."""
    hung = tmp_path / "hung"
    rate = {"format": "rate-micro-batch", "path": "", "option_numPartitions": "1", "schema": ""}
    function = {"transforms": "hang", "transforms.hang.type": "penstock.transforms.PythonFunction"}
    sql = f"SELECT value AS id, CASE WHEN value = 15000 THEN '{hung}' ELSE 'n' END AS name FROM records"
    config = {**rate, **function, "transforms.hang.function": "loops:hang", "option.rowsPerBatch": "1000000"}
    with source(**config, sql=sql, exactly_once=False) as one:
        one.start()
        process = psutil.Process(int(eventually(lambda: one.fine() and hung.exists() and hung.read_text())))
        one.stop()
        eventually(lambda: not alive(process))
        assert one.committed() is None


def test_a_record_that_fails_ends_the_task_and_is_not_tried_again(source: Callable[..., Source]) -> None:
    cast = {"type": "org.apache.kafka.connect.transforms.Cast$Value", "spec": "name:int32"}
    config = {"transforms": "cast", **{f"transforms.cast.{name}": value for name, value in cast.items()}}
    with source(schema=COLUMNS, exactly_once=False, **config) as one:
        one.add("1.json", *({"id": i, "name": str(i)} for i in range(10)), {"id": 10, "name": "ten"})
        one.start()
        assert "Tolerance exceeded in error handler" in one.failure()
        assert ids(one.values()) == list(range(10))
        assert one.committed() is None


def is_python_of_spark(process: psutil.Process) -> bool:
    """Return whether Spark has forked the process for rows; False for the one that it was forked from."""
    try:
        parent = process.parent()
    except psutil.NoSuchProcess:
        return False
    return parent is not None and all("penstock.spark.daemon" in command(each) for each in (process, parent))


def test_a_batch_that_spark_has_not_noted_is_passed_by(source: Callable[..., Source]) -> None:
    """The checkpoint stands as it does when Spark is killed between Connect's commit and its own."""
    with source(schema=COLUMNS) as one:
        one.add("1.json", *make(0, 10))
        one.start()
        one.wait(10)
        commits = one.checkpoint / one.name / "commits"
        noted = (commits / "0", commits / ".0.crc")
        eventually(lambda: all(file.exists() for file in noted))
        one.stop()
        for file in noted:
            file.unlink()
        one.add("2.json", *make(10, 15))
        one.start()
        assert ids(one.wait(15)) == list(range(15))


def test_query_continues_at_connects_offset_if_the_checkpoint_reaches_back(source: Callable[..., Source]) -> None:
    with source(schema=COLUMNS, option_maxFilesPerTrigger="1") as one:
        one.start()
        for number in range(3):
            one.add(f"{number}.json", *make(10 * number, 10 * number + 10))
            one.batch(number)
        one.stop()
        one.reset({"batch": 0})  # batches 1 and 2 come again
        one.start()
        assert ids(one.wait(50)) == sorted([*range(30), *range(10, 30)])
        one.batch(2)
        one.stop()
        one.reset()
        one.start()
        one.wait(80)
        one.batch(2)
        one.stop()
        shutil.rmtree(one.checkpoint)
        (failed,) = [event for event in one.start(until=TaskEnded) if isinstance(event, TaskFailed)]
        one.running = False
        told = f"batch 2 is in the topic, but the checkpoint {one.checkpoint}/{one.name} knows no batch. Restore"
        assert told in failed.trace


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (
            {"schema": "id NUMBERISH"},
            "Invalid value id NUMBERISH for configuration schema: Spark can't read it as columns: [",
        ),
        ({"schema": "BIGINT"}, "Invalid value BIGINT for configuration schema: it is a type without a name; columns"),
        ({"format": "no-such"}, "Failed to find the data source: no-such"),
        ({"path": "/no/such/folder"}, "Spark can't read /no/such/folder as a stream: [PATH_NOT_FOUND]"),
        ({"key_columns": "nothing"}, "there is no column nothing, but id, name"),
        ({"sql": "SELECT nothing FROM records"}, "with name `nothing` cannot be resolved"),
        ({"sql": "SELECT INTERVAL '1' DAY AS x"}, "Connect has nothing like interval day, the type of value.x"),
    ],
)
def test_settings_that_can_not_be_followed_fail_at_the_start(
    source: Callable[..., Source], config: dict[str, str], told: str
) -> None:
    with source(**{"schema": COLUMNS, **config}) as one:
        (failed,) = [event for event in one.start(until=TaskEnded) if isinstance(event, TaskFailed)]
        one.running = False
        assert told in failed.trace


def test_a_result_that_two_computations_would_mix_is_refused_with_exactly_once_alone(
    source: Callable[..., Source],
) -> None:
    sql = "SELECT n, count(*) AS id FROM (SELECT substring(uuid(), 1, 1) AS n FROM records) GROUP BY n"
    with source(schema=COLUMNS, sql=sql) as one:
        one.add("1.json", *make(0, 10))
        events = one.start(until=TaskEnded)
        one.running = False
        (reason,) = [event.trace for event in events if isinstance(event, TaskFailed)]
        assert "uuid() may give another result when Spark computes a part of a batch again" in reason
        assert "(line 1, column 49)" in reason
    with source(schema=COLUMNS, sql=sql, exactly_once=False) as one:
        one.add("1.json", *make(0, 10))
        one.start()
        eventually(lambda: one.fine() and sum(row["id"] for row in one.values()) == 10)
