"""Return values of plugins' methods: invalid ones are refused with a message for the plugin's author."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from penstock.api import ConnectError, SinkTask, SourceRecord, SourceTask, Transformation
from penstock.api.batch import Batch, SourceOrigin
from penstock.api.columns import Table
from penstock.api.returned import idle_seconds, polled_batch, task_class, task_configs, validated
from penstock.api.testing import apply, run_sink, run_source, sink_record

RECORD = SourceRecord(topic="t", value=1)


def test_records() -> None:
    batch = polled_batch([RECORD])
    assert batch is not None
    assert list(batch.rows()) == [RECORD]
    assert polled_batch(batch) is batch
    assert polled_batch((RECORD,)) == batch


@pytest.mark.parametrize("nothing", [None, [], (), Batch.of("t", [])])
def test_no_records(nothing: Any) -> None:
    assert polled_batch(nothing) is None


@pytest.mark.parametrize(
    ("polled", "said"),
    [
        (RECORD, "poll returned a SourceRecord; expected a list of SourceRecords"),
        ((record for record in [RECORD]), "poll returned a generator; expected"),
        ({"value": 1}, "poll returned a dict that has a str in it; expected"),
        ([RECORD, {"value": 1}], "poll returned a list that has a dict in it; expected"),
    ],
)
def test_what_poll_must_not_return(polled: Any, said: str) -> None:
    with pytest.raises(ConnectError, match=said):
        polled_batch(polled)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"keys": ["k"]}, "A batch has 1 keys and 2 topics"),
        ({"partitions": [0] * 3}, "A batch has 3 partitions and 2 topics"),
        ({"timestamps": []}, "A batch has 0 timestamps and 2 topics"),
        ({"keys": Table.of({"id": [1]})}, "A batch has 1 keys and 2 topics"),
        ({"origin": SourceOrigin([{}] * 2, [{}])}, "A batch has 1 offsets of their origin and 2 topics"),
    ],
)
def test_a_batch_has_as_much_of_everything_as_records(columns: Any, said: str) -> None:
    """Otherwise the producer would send only as many records as the shortest column has."""
    with pytest.raises(ConnectError, match=said):
        polled_batch(Batch.of("t", [1, 2], **columns))


def test_the_kit_for_tests_says_the_same() -> None:
    class Task(SourceTask):
        def poll(self) -> Any:
            return [{"value": 1}]

    with pytest.raises(ConnectError, match="poll returned a list that has a dict in it"):
        run_source(Task, {}, polls=1)


class Asynchronous(SinkTask):
    async def put(self, records: Any) -> None:  # type: ignore[override]
        raise AssertionError(records)


class Yielding(SinkTask):
    def put(self, records: Any) -> Any:
        yield from records


class FlushingLater(SinkTask):
    def put(self, records: Any) -> None: ...

    async def flush(self, offsets: Any) -> None:  # type: ignore[override]
        raise AssertionError(offsets)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (Asynchronous, "put returned a coroutine and has done nothing; expected a method without `async`"),
        (Yielding, "put returned a generator and has done nothing; expected a method without `yield`"),
        (FlushingLater, "flush returned a coroutine and has done nothing"),
    ],
)
def test_records_that_a_sink_has_not_written_are_not_taken_for_written(task: type[SinkTask], said: str) -> None:
    with pytest.raises(ConnectError, match=said):
        run_sink(task, {}, [sink_record(1)])


class Counting(SinkTask):
    def put(self, records: Any) -> Any:
        self.taken = list(records)
        return len(self.taken)


def test_a_number_that_a_sink_returns_changes_nothing() -> None:
    task = Counting()
    task.put_batch(Batch.of_sink_records([sink_record(1), sink_record(2)]))
    assert len(task.taken) == 2


@pytest.mark.parametrize("record", [RECORD, sink_record(1)])
def test_what_a_transform_must_not_return(record: Any) -> None:
    class Value(Transformation):
        def apply(self, record: Any) -> Any:
            return {"value": record.value}

    with pytest.raises(ConnectError, match="apply returned a dict; expected a record"):
        apply(Value, [record])


def test_configurations() -> None:
    made = [{"a": "1"}, {}]
    assert task_configs(made) == made
    assert task_configs([]) == []


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (None, r"task_configs returned nothing \(is a `return` missing\?\); expected a list with a dict of strings"),
        ({"a": "1"}, "task_configs returned a dict; expected"),
        ("a", "task_configs returned a str; expected"),
        (["a"], "task_configs returned a list that has a str in it; expected"),
        ([{"shard": 1}], "task_configs returned an int as the setting shard; expected"),
    ],
)
def test_what_task_configs_must_not_return(made: Any, said: str) -> None:
    with pytest.raises(ConnectError, match=said):
        task_configs(made)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (None, r"task_class returned nothing \(is a `return` missing\?\); expected the class of the tasks"),
        (object(), "task_class returned an object; expected the class of the tasks, not an object of it"),
    ],
)
def test_what_task_class_must_not_return(made: Any, said: str) -> None:
    with pytest.raises(ConnectError, match=said):
        task_class(made)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (None, r"validate returned nothing \(is a `return` missing\?\); expected a list of ConfigValues"),
        (["topic"], "validate returned a list; expected a list of ConfigValues"),
    ],
)
def test_what_validate_must_not_return(made: Any, said: str) -> None:
    with pytest.raises(ConnectError, match=said):
        validated(made)


def test_the_seconds_after_a_poll_without_records() -> None:
    assert (idle_seconds(0), idle_seconds(0.5)) == (0, 0.5)
    with pytest.raises(ConnectError, match=r"^idle returned nothing \(is a `return` missing\?\); expected the seconds"):
        idle_seconds(None)
    with pytest.raises(ConnectError, match=r"^idle returned a timedelta; expected the seconds"):
        idle_seconds(timedelta(seconds=1))
