"""The kit for plugin authors: its documentation is an example that runs."""

from __future__ import annotations

import doctest

import pytest

from penstock.api import testing
from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.sink import SinkTask, TopicPartition
from penstock.api.source import SourceTask
from penstock.api.testing import apply, run_sink, run_source, sink_record
from penstock.api.transform import Transformation


def test_the_example_in_the_documentation_runs() -> None:
    result = doctest.testmod(testing)
    assert result.attempted > 10
    assert result.failed == 0


class Endless(SourceTask):
    def poll(self) -> Batch:
        return Batch.of("t", [1, 2])


def test_polls_are_counted_if_a_number_is_given() -> None:
    assert len(run_source(Endless, {}, polls=3)) == 6


def test_a_task_that_never_ends_is_an_error() -> None:
    with pytest.raises(AssertionError, match="Endless gave records at each of"):
        run_source(Endless, {})


class Broken(SourceTask):
    stopped = False

    def poll(self) -> None:
        raise ConnectError("the source is gone")

    def stop(self) -> None:
        Broken.stopped = True


def test_a_failing_task_is_stopped_and_its_error_raised() -> None:
    with pytest.raises(ConnectError, match="the source is gone"):
        run_source(Broken, {})
    assert Broken.stopped


class Moody(SinkTask):
    """Refuses the first put, reports odd numbers, and lets only even ones be committed."""

    def start(self, config: object) -> None:
        self.taken: list[int] = []
        self.tries = 0

    def put(self, records: object) -> None:
        self.tries += 1
        if self.tries == 1:
            raise RetriableError("not yet")
        for record in records:  # type: ignore[attr-defined]
            if record.value % 2:
                self.context.errant_record_reporter.report(record, ValueError("odd"))  # type: ignore[union-attr]

    def pre_commit(self, offsets: object) -> dict[TopicPartition, int]:
        return {partition: offset - 1 for partition, offset in offsets.items()}  # type: ignore[attr-defined]


def test_a_sink_is_given_the_same_records_again_and_its_reports_are_kept() -> None:
    run = run_sink(Moody, {}, [sink_record(n, partition=n % 2) for n in range(4)])
    assert [record.value for record, _ in run.reported] == [1, 3]
    assert run.committed == {TopicPartition("test", 0): 1, TopicPartition("test", 1): 1}


class FirstOnly(Transformation):
    def apply_batch(self, batch: Batch) -> Batch:
        return batch.select([0])


def test_a_transform_that_treats_batches_otherwise_than_records_is_found_out() -> None:
    with pytest.raises(AssertionError, match="one by one"):
        apply(FirstOnly, [sink_record(1), sink_record(2)])
