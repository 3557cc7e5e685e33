"""The contract finds the faults that connectors have."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import pytest

from penstock.api import RetriableError, SinkRecord, SinkTask, SourceRecord, SourceTask
from penstock.api.testing import sink_record
from penstock.api.testing.contract import SinkContract, SourceContract, sources

TOTAL = 6


class Counting(SourceTask):
    """Keeps the contract; each subclass breaks one clause."""

    def start(self, config: Mapping[str, str]) -> None:
        self.next = self.begin((self.context.offset_reader.offset({"a": 1}) or {"next": 0})["next"])

    def begin(self, offset: int) -> int:
        return offset

    def offset(self, number: int) -> object:
        return number + 1

    def poll(self) -> list[SourceRecord]:
        numbers = range(self.next, min(TOTAL, self.next + 3))
        self.next = max(self.next, numbers.stop)
        return [
            SourceRecord(topic="t", value=n, source_partition={"a": 1}, source_offset={"next": self.offset(n)})
            for n in numbers
        ]

    def idle(self) -> float:
        return 0.0


class Skips(Counting):
    def begin(self, offset: int) -> int:
        return offset + 1 if offset else 0


class Repeats(Counting):
    def begin(self, offset: int) -> int:
        return max(0, offset - 1)


class OffsetsOfBatches(Counting):
    def offset(self, number: int) -> object:
        return number // 3 * 3 + 3


class ListsAsOffsets(Counting):
    def offset(self, number: int) -> object:
        return [number]


class Blocks(Counting):
    def poll(self) -> list[SourceRecord]:
        threading.Event().wait(60)
        return []


class Slow(Counting):
    """Gives a record at each 30th poll after a restart, and at each fifth before."""

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self.polls, self.every = 0, 30 if self.next else 5

    def poll(self) -> list[SourceRecord]:
        self.polls += 1
        return super().poll() if self.polls % self.every == 0 else []


class NeedsStart(Counting):
    def stop(self) -> None:
        assert self.next >= 0


def contract_of(task: type[SourceTask], **attributes: object) -> SourceContract:
    class Contract(SourceContract):
        quiet_seconds = 0.05

        def task_class(self) -> type[SourceTask]:
            return task

        def config(self) -> dict[str, str]:
            return {}

    for name, value in attributes.items():
        setattr(Contract, name, value)
    return Contract()


def names(of: type) -> list[str]:
    return [name for name in dir(of) if name.startswith("test_")]


def fails(contract: object, test: str) -> str | None:
    """Return the message with which the test fails, or None if it passes or is skipped."""
    run: Callable[[], None] = getattr(contract, test)
    try:
        run()
    except AssertionError as error:
        return str(error)
    except AttributeError as error:
        return repr(error)
    except Exception as error:
        if type(error).__name__ == "SkipTest":
            return None
        raise
    return None


RESTART = "test_a_restart_from_any_offset_loses_and_repeats_nothing"


def test_a_task_that_keeps_the_contract() -> None:
    assert [name for name in names(SourceContract) if fails(contract_of(Counting), name)] == []


def test_a_slow_source_keeps_the_contract() -> None:
    """The contract waits for no further record, since it compares as many as there are."""
    contract = contract_of(Slow, max_records=TOTAL, quiet_seconds=10.0)
    assert [name for name in names(SourceContract) if fails(contract, name)] == []


@pytest.mark.parametrize(
    ("task", "test", "says"),
    [
        (Skips, RESTART, "1 records of .* are lost"),
        (Repeats, RESTART, "are repeated|come in another order"),
        (OffsetsOfBatches, RESTART, "are lost"),
        (ListsAsOffsets, "test_every_record_says_where_to_resume", "only texts, numbers"),
        (Blocks, "test_stop_ends_a_poll", "has not returned"),
        (NeedsStart, "test_stop_comes_without_a_start_that_worked", "next"),
    ],
)
def test_a_source_that_breaks_it(monkeypatch: pytest.MonkeyPatch, task: type[SourceTask], test: str, says: str) -> None:
    monkeypatch.setattr(sources, "HANGS_S", 0.5)
    monkeypatch.setattr(sources, "MISSING_S", 0.1)
    with pytest.raises((AssertionError, AttributeError), match=says):
        getattr(contract_of(task), test)()


class Writing(SinkTask):
    """Keeps the contract; each subclass breaks one clause."""

    system: list[object]

    def start(self, config: Mapping[str, str]) -> None:
        self.buffer: list[object] = []

    def put(self, records: Sequence[SinkRecord]) -> None:
        self.buffer += [record.value for record in records]

    def flush(self, offsets: object) -> None:
        self.system += self.buffer
        self.buffer = []


class ForgetsToFlush(Writing):
    def flush(self, offsets: object) -> None:
        pass


class WritesAgain(Writing):
    def flush(self, offsets: object) -> None:
        self.system += self.buffer


class DropsSmallBatches(Writing):
    def flush(self, offsets: object) -> None:
        if len(self.buffer) > 3:
            super().flush(offsets)


class FailsWithoutWords(Writing):
    def put(self, records: Sequence[SinkRecord]) -> None:
        self.buffer += [record.value + "" for record in records]


class CommitsTooMuch(Writing):
    def pre_commit(self, offsets: Mapping[object, int]) -> dict[object, int]:  # type: ignore[override]
        super().pre_commit(offsets)  # type: ignore[arg-type]
        return {partition: offset + 1 for partition, offset in offsets.items()}


class NotRetriable(Writing):
    down = False

    def put(self, records: Sequence[SinkRecord]) -> None:
        if type(self).down:
            raise OSError("no connection")
        super().put(records)


class Retriable(NotRetriable):
    def put(self, records: Sequence[SinkRecord]) -> None:
        try:
            super().put(records)
        except OSError as error:
            raise RetriableError("no connection") from error


class Outage:
    def __init__(self, task: type[NotRetriable]) -> None:
        self.task = task

    def __enter__(self) -> None:
        self.task.down = True

    def __exit__(self, *_: object) -> None:
        self.task.down = False


def sink_contract_of(task: type[Writing]) -> SinkContract:
    class Contract(SinkContract):
        def task_class(self) -> type[SinkTask]:
            self.system: list[object] = getattr(self, "system", [])
            task.system = self.system
            return task

        def config(self) -> dict[str, str]:
            return {}

        def records(self) -> list[SinkRecord]:
            return [sink_record(f"v{number}", partition=number % 2) for number in range(6)]

        def written(self) -> list[object]:
            return self.system

        def outage(self) -> Outage:
            assert issubclass(task, NotRetriable)
            return Outage(task)

    return Contract()


@pytest.mark.parametrize("name", names(SinkContract))
def test_a_sink_that_keeps_the_contract(name: str) -> None:
    assert fails(sink_contract_of(Retriable), name) is None


@pytest.mark.parametrize(
    ("task", "test", "says"),
    [
        (ForgetsToFlush, "test_what_was_flushed_is_written", "6 records are not written"),
        (WritesAgain, "test_partitions_come_and_go", "too often"),
        (DropsSmallBatches, "test_a_restart_from_committed_offsets_loses_and_repeats_nothing", "not written"),
        (FailsWithoutWords, "test_a_tombstone_is_written_or_refused_in_words", "makes the task fail with TypeError"),
        (CommitsTooMuch, "test_what_was_flushed_is_written", "pre_commit gives offset"),
        (NotRetriable, "test_an_outage_is_retriable", "not a RetriableError"),
    ],
)
def test_a_sink_that_breaks_it(task: type[Writing], test: str, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        getattr(sink_contract_of(task), test)()
