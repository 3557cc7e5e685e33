"""The contract of a sink task."""

from __future__ import annotations

import unittest
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.record import SinkRecord
from penstock.api.returned import ran
from penstock.api.sink import SinkTask, TopicPartition
from penstock.api.testing import MemorySinkContext, numbered

Ends = dict[TopicPartition, int]


class SinkContract:
    """Subclass it in a test module under a name that begins with ``Test``, and define the first four methods.

    Each test is an object of its own, and must find the system that is written to empty (use a fixture, as
    ``tmp_path``).
    """

    def task_class(self) -> type[SinkTask]:
        """Return the class of the tasks to test."""
        raise NotImplementedError

    def config(self) -> Mapping[str, str]:
        """Return the configuration of one task."""
        raise NotImplementedError

    def records(self) -> Sequence[SinkRecord]:
        """Return at least four records, all different, of two partitions (``sink_record(..., partition=1)``)."""
        raise NotImplementedError

    def written(self) -> Sequence[object]:
        """Return what is in the system now: one value for each record that was written, in any order."""
        raise NotImplementedError

    def expected(self, record: SinkRecord) -> object:
        """Return the value that ``written`` has for this record."""
        return record.value

    idempotent = False
    """Whether a record that is put twice is there once; most systems with keys can do that."""

    def outage(self) -> AbstractContextManager[object]:
        """A context manager (``contextlib.contextmanager``): the system that is written to can't be reached within it.

        Stop a server, hold a lock, or make what the task uses refuse, and undo that at the end.
        """
        raise unittest.SkipTest("outage() is not defined; it is a context manager within which the system is away")

    def changed_records(self) -> Sequence[SinkRecord]:
        """Records with another schema than those of ``records``."""
        raise unittest.SkipTest("changed_records() is not defined")

    # -- the tests

    def test_what_was_flushed_is_written(self) -> None:
        rows = self._rows()
        task, _ = self._started(rows)
        self._put(task, rows)
        committed = self._commit(task, _ends(rows))
        self._end(task, rows)
        assert committed == _ends(rows), f"pre_commit gives {committed} after the records up to {_ends(rows)}"
        self._is_written(rows, "after pre_commit")

    def test_a_restart_from_committed_offsets_loses_and_repeats_nothing(self) -> None:
        rows = self._rows()
        half = len(rows) // 2
        task, _ = self._started(rows)
        self._put(task, rows[:half])
        committed = self._commit(task, _ends(rows[:half]))
        self._end(task, rows)
        again, _ = self._started(rows)
        rest = [row for row in rows if row.offset >= committed.get(_of(row), 0)]
        self._put(again, rest)
        self._commit(again, _ends(rows))
        self._end(again, rows)
        self._is_written(rows, "after a restart from the committed offsets")

    def test_what_was_not_committed_is_put_again(self) -> None:
        """A task ends without a commit, as when its process is killed: nothing may be lost."""
        rows = self._rows()
        half = len(rows) // 2
        task, _ = self._started(rows)
        self._put(task, rows[:half])
        task.stop()
        again, _ = self._started(rows)
        self._put(again, rows)
        self._commit(again, _ends(rows))
        self._end(again, rows)
        self._is_written(rows, "after a task that ended without a commit", repeated=True)

    def test_a_rewind_loses_nothing(self) -> None:
        """The partitions go to the same task again, from the offsets before."""
        rows = self._rows()
        task, _ = self._started(rows)
        self._put(task, rows)
        task.close(sorted(_ends(rows)))
        task.open(sorted(_ends(rows)))
        self._put(task, rows)
        self._commit(task, _ends(rows))
        self._end(task, rows)
        self._is_written(rows, "after a rewind", repeated=True)

    def test_partitions_come_and_go(self) -> None:
        rows = self._rows()
        ends = _ends(rows)
        assert len(ends) > 1, "records() must be of two partitions"
        first, *others = sorted(ends)
        task, _ = self._started(rows, [first])
        self._put(task, [row for row in rows if _of(row) == first])
        task.open(others)
        self._commit(task, {first: ends[first]})
        task.close([first])
        self._put(task, [row for row in rows if _of(row) != first])
        self._commit(task, {partition: ends[partition] for partition in others})
        task.close(others)
        task.stop()
        self._is_written(rows, "after partitions have come and gone")

    def test_there_may_be_no_records(self) -> None:
        rows = self._rows()
        task, _ = self._started(rows)
        self._put(task, [])
        self._commit(task, {})
        self._end(task, rows)
        assert list(self.written()) == []

    def test_a_tombstone_is_written_or_refused_in_words(self) -> None:
        """A record without a value: any error must be a ConnectError, or be reported as errant."""
        rows = self._rows()
        tombstone = rows[-1].with_(value=None, value_schema=None)
        task, context = self._started(rows)
        self._put(task, rows[:-1])
        try:
            self._put(task, [tombstone])
        except ConnectError as error:
            assert str(error), f"{type(error).__name__} has no text"  # noqa: PT017
        except Exception as error:
            raise AssertionError(f"a record without a value makes the task fail with {error!r}") from error
        else:
            self._commit(task, _ends(rows))
            assert all(isinstance(error, ConnectError) for _, error in context.reported)
        finally:
            self._end(task, rows)

    def test_stop_comes_without_a_start_that_worked(self) -> None:
        task = self.task_class()()
        task.context = MemorySinkContext({}, frozenset())
        task.stop()

    def test_an_outage_is_retriable(self) -> None:
        """While its system can't be reached, ``put`` or ``pre_commit`` raises RetriableError; then it goes on."""
        rows = self._rows()
        half = len(rows) // 2
        task, _ = self._started(rows)
        self._put(task, rows[:half])
        committed = self._commit(task, _ends(rows[:half]))
        raised = None
        with self.outage():
            try:
                task.put_batch(Batch.of_sink_records(rows[half:]))
                safe = task.pre_commit(_ends(rows))
                assert {p: safe.get(p, 0) for p in committed} == committed, "what can't be written was committed"
            except RetriableError as error:
                raised = error
            except Exception as error:
                raise AssertionError(f"an outage makes the task fail with {error!r}, not a RetriableError") from error
        self._put(task, rows[half:])
        self._commit(task, _ends(rows))
        self._end(task, rows)
        self._is_written(rows, f"after an outage ({raised!r})", repeated=True)

    def test_a_change_of_the_schema_is_followed(self) -> None:
        rows = numbered([*self.records(), *self.changed_records()])
        task, _ = self._started(rows)
        self._put(task, rows)
        self._commit(task, _ends(rows))
        self._end(task, rows)
        self._is_written(rows, "with two schemas in one batch")

    # -- running it

    def _rows(self) -> list[SinkRecord]:
        rows = numbered(self.records())
        assert len(rows) > 3, f"records() must give four at least, not {len(rows)}"
        return rows

    def _started(
        self, rows: Sequence[SinkRecord], partitions: Sequence[TopicPartition] | None = None
    ) -> tuple[SinkTask, MemorySinkContext]:
        assigned = sorted(_ends(rows)) if partitions is None else list(partitions)
        task, config = self.task_class()(), dict(self.config())
        task.context = context = MemorySinkContext(config, frozenset(assigned))
        try:
            task.start(config)
            task.open(assigned)
        except BaseException:
            task.stop()
            raise
        return task, context

    @staticmethod
    def _put(task: SinkTask, rows: Sequence[SinkRecord]) -> None:
        ran("put_batch", task.put_batch(Batch.of_sink_records(list(rows))))  # type: ignore[func-returns-value]

    @staticmethod
    def _commit(task: SinkTask, ends: Ends) -> Ends:
        committed = dict(task.pre_commit(dict(ends)))
        for partition, offset in committed.items():
            assert offset <= ends.get(partition, -1), (
                f"pre_commit gives offset {offset} of {partition}, where records have been put up to {ends}"
            )
        return committed

    @staticmethod
    def _end(task: SinkTask, rows: Sequence[SinkRecord]) -> None:
        task.close(sorted(_ends(rows)))
        task.stop()

    def _is_written(self, rows: Sequence[SinkRecord], when: str, repeated: bool = False) -> None:
        wanted, found = Counter(map(_hashed, map(self.expected, rows))), Counter(map(_hashed, self.written()))
        lost = wanted - found
        assert not lost, f"{when} {lost.total()} records are not written, as {next(iter(lost))}"
        more = found - wanted
        if repeated and not self.idempotent:
            more = Counter(each for each in more if each not in wanted)
        assert not more, f"{when} {more.total()} are written too often, or were never put, as {next(iter(more))}"


def _hashed(value: Any) -> Any:
    """Values of any kind can be counted."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _of(row: SinkRecord) -> TopicPartition:
    return TopicPartition(row.topic, row.partition or 0)


def _ends(rows: Sequence[SinkRecord]) -> Ends:
    return {_of(row): row.offset + 1 for row in rows}
