"""The contract of a source task."""

from __future__ import annotations

import json
import threading
import time
import unittest
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from penstock.api.batch import Batch
from penstock.api.errors import RetriableError
from penstock.api.kafka import KafkaClients
from penstock.api.record import SourceRecord
from penstock.api.returned import idle_seconds, polled_batch
from penstock.api.source import SourceTask
from penstock.api.testing import NO_KAFKA, MemoryOffsets, MemorySourceContext, Offsets

HANGS_S = 30.0
"""A ``poll`` that has not returned so long after ``stop`` hangs."""
EMPTY_POLLS = 3
"""The number of empty polls in succession after which the source has nothing more."""
MISSING_S = 30.0
"""Seconds without a record after which a record that another run gave is lost."""
_MAX_CUTS = 12
_MIN_IDLE_S, _MAX_IDLE_S = 0.01, 0.2


class SourceContract:
    """Subclass it in a test module under a name that begins with ``Test``, and define ``task_class`` and ``config``.

    Each test runs the task several times with the same configuration, so the source must give the same records again;
    of one that never ends, ``max_records`` are compared.
    """

    max_records = 200
    quiet_seconds = 1.0
    """Seconds without a record after which the source has nothing more, with ``EMPTY_POLLS`` empty polls.

    Raise it for a source whose records come at longer intervals.
    """

    def task_class(self) -> type[SourceTask]:
        """Return the class of the tasks to test."""
        raise NotImplementedError

    def config(self) -> Mapping[str, str]:
        """Return the configuration of one task, with which there are at least two records."""
        raise NotImplementedError

    def kafka(self) -> KafkaClients:
        """Return the Kafka clients of the task's context; by default it has none."""
        return NO_KAFKA

    def outage(self) -> AbstractContextManager[object]:
        """A context manager (``contextlib.contextmanager``): the system that is read from can't be reached within it.

        Stop a server, hold a lock, or make what the task uses refuse, and undo that at the end.
        """
        raise unittest.SkipTest("outage() is not defined; it is a context manager within which the system is away")

    def change_schema(self) -> None:
        """Make the source give further records, with another schema."""
        raise unittest.SkipTest("change_schema() is not defined")

    # -- the tests

    def test_every_record_says_where_to_resume(self) -> None:
        for record in self._some_records():
            for what in ("source_partition", "source_offset"):
                position = getattr(record, what)
                assert position, f"{record} has no {what}"
                wrong = {key: each for key, each in position.items() if not _storable(key, each)}
                assert not wrong, f"only texts, numbers, booleans and None can be in a {what}, not {wrong}"
                json.dumps(position)

    def test_a_restart_from_any_offset_loses_and_repeats_nothing(self) -> None:
        records = self._some_records()
        endless = len(records) == self.max_records
        for cut in _cuts(len(records)):
            expected = len(records) - cut
            rest = self._read(_offsets(records[:cut]), limit=expected if endless else None, expected=expected)
            self._same(records[cut:], rest, f"after a restart from the offsets of the first {cut} records")

    def test_a_restart_after_the_last_record_repeats_nothing(self) -> None:
        records = self._some_records()
        if len(records) == self.max_records:
            raise unittest.SkipTest("the source never ends")
        again = self._read(_offsets(records))
        assert again == [], f"records are repeated: {again[:3]}"

    def test_a_pause_changes_nothing(self) -> None:
        """A paused task is not polled."""
        records = self._some_records()
        found = self._read(pause=0.3, limit=len(records), expected=len(records))
        self._same(records, found, "with a pause between polls")

    def test_stop_ends_a_poll(self) -> None:
        """``stop`` comes from another thread, while ``poll`` may block."""
        task = self._started()
        stopping = threading.Event()
        polled = threading.Event()
        errors: list[BaseException] = []

        def poll() -> None:
            try:
                while not stopping.is_set():
                    polled.set()
                    _poll(task)
            except BaseException as error:
                if not stopping.is_set():  # what it raises once it has been stopped is of no interest
                    errors.append(error)

        thread = threading.Thread(target=poll, daemon=True)
        thread.start()
        polled.wait()
        time.sleep(0.2)
        stopping.set()
        task.stop()
        thread.join(HANGS_S)
        assert not thread.is_alive(), f"poll has not returned within {HANGS_S:.0f} s after stop"
        assert errors == [], f"poll failed: {errors}"

    def test_stop_comes_without_a_start_that_worked(self) -> None:
        task = self.task_class()()
        task.context = MemorySourceContext({}, MemoryOffsets(), kafka=self.kafka())
        task.stop()

    def test_an_outage_is_no_end(self) -> None:
        """While its system can't be reached a task gives nothing, or raises RetriableError; then it goes on."""
        records = self._some_records()
        task = self._started()
        found: list[SourceRecord] = []
        try:
            with self.outage():
                for _ in range(3):
                    found += _poll(task)
            self._same(records, self._rest(task, found, len(records), expected=len(records)), "after an outage")
        finally:
            task.stop()

    def test_a_change_of_the_schema_is_followed(self) -> None:
        records = self._some_records()
        task = self._started()
        try:
            found = self._rest(task, [], len(records), expected=len(records))
            before = {(record.key_schema, record.value_schema) for record in found}
            self.change_schema()
            later = self._rest(task, [], self.max_records)
        finally:
            task.stop()
        after = {(record.key_schema, record.value_schema) for record in later}
        assert after - before, "there are no records with another schema"
        again = self._read(_offsets(found), limit=len(later), expected=len(later))
        self._same(later, again, "after a restart across the change of the schema")

    # -- running it

    def _some_records(self) -> list[SourceRecord]:
        records = self._read()
        assert len(records) > 1, f"config() must give two records at least, not {len(records)}"
        return records

    def _read(
        self, offsets: Offsets = (), pause: float = 0.0, limit: int | None = None, expected: int = 0
    ) -> list[SourceRecord]:
        task = self._started(offsets)
        try:
            return self._rest(task, [], self.max_records if limit is None else limit, pause, expected)
        finally:
            task.stop()

    def _rest(
        self, task: SourceTask, found: list[SourceRecord], limit: int, pause: float = 0.0, expected: int = 0
    ) -> list[SourceRecord]:
        """Poll until there are ``limit`` records, or nothing more comes: waits longer for those that are expected."""
        empty, first, last = 0, True, time.monotonic()
        while len(found) < limit:
            if len(found) < expected:
                patience = max(MISSING_S, self.quiet_seconds)
            else:
                patience = 0.0 if expected else self.quiet_seconds
            if empty >= EMPTY_POLLS and time.monotonic() - last >= patience:
                break
            records = _poll(task)
            found += records
            empty = 0 if records else empty + 1
            if not records:
                time.sleep(min(max(idle_seconds(task.idle()), _MIN_IDLE_S), _MAX_IDLE_S))
                continue
            if first:
                time.sleep(pause)
                first = False
            last = time.monotonic()
        return found[:limit]

    def _started(self, offsets: Offsets = ()) -> SourceTask:
        task = self.task_class()()
        config = dict(self.config())
        pairs = [(dict(partition), dict(offset)) for partition, offset in offsets]
        task.context = MemorySourceContext(config, MemoryOffsets(pairs), kafka=self.kafka())
        try:
            task.start(config)
        except BaseException:
            task.stop()
            raise
        return task

    @staticmethod
    def _same(expected: Sequence[SourceRecord], found: Sequence[SourceRecord], when: str) -> None:
        """The order counts in each source partition."""
        by_partition: list[dict[str, list[Any]]] = [{}, {}]
        for rows, records in zip(by_partition, (expected, found), strict=True):
            for record in records:
                where = json.dumps(record.source_partition, sort_keys=True)
                rows.setdefault(where, []).append((record.topic, record.key, record.value, record.source_offset))
        for where, wanted in by_partition[0].items():
            got = by_partition[1].get(where, [])
            lost = [row for row in wanted if row not in got]
            assert not lost, f"{when} {len(lost)} records of {where} are lost, the first {lost[0]}"
            assert len(got) == len(wanted), f"{when} records of {where} are repeated: {len(got)} for {len(wanted)}"
            assert got == wanted, f"{when} the records of {where} come in another order"
        assert by_partition[0].keys() == by_partition[1].keys(), f"{when} there are records of other source partitions"


def _poll(task: SourceTask) -> list[SourceRecord]:
    try:
        found = task.poll()
    except RetriableError:
        return []
    if found is None or polled_batch(found) is None:
        return []
    return list(found.rows()) if isinstance(found, Batch) else list(found)  # type: ignore[arg-type]


def _offsets(records: Sequence[SourceRecord]) -> Offsets:
    return [(record.source_partition, record.source_offset) for record in records]


def _cuts(records: int) -> list[int]:
    """Return where to cut: everywhere, or, of many records, at some places from the first to the last."""
    step = max(1, records // _MAX_CUTS)
    return sorted({*range(0, records, step), 1, records - 1})


def _storable(key: object, value: object) -> bool:
    return isinstance(key, str) and (value is None or isinstance(value, str | int | float | bool))
