"""Offsets are committed while a source waits in ``poll``. Without a broker."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import DataError
from penstock.api.record import SourceRecord
from penstock.api.source import SourceTask
from penstock.core.config.internal_topics import NO_INTERNAL_TOPICS
from penstock.core.model.tasks import TaskId
from penstock.kafka.topic_guard import guard_of
from penstock.observe import add_context, log_context
from penstock.pipeline.errors import ErrorHandler, ErrorSettings
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import CommitTiming, TaskRuntime
from penstock.pipeline.source import long_polls
from penstock.pipeline.source.commit import AtLeastOnce, RecordByRecord
from penstock.pipeline.source.failed_records import SourceLogReporter
from penstock.pipeline.source.long_polls import LongPolls
from penstock.pipeline.source.loop import SourceLoop, SourceSteps, TargetTopics
from penstock.pipeline.source.offsets import SourceTaskOffsets
from penstock.pipeline.source.sending.sender import Delivered
from penstock.pipeline.task import TaskControl
from penstock.pipeline.topics import TopicReporter
from support.tasks.runs import MemoryHost
from support.tasks.specs import SOURCE
from support.waiting import SECONDS, until

ID = TaskId("c", 0)


class Quick:
    """A sender whose records arrive at once."""

    def __init__(self) -> None:
        self.lost = set[str]()
        self.taken = 0

    def __len__(self) -> int:
        return 0

    def send(self, batch: Batch, delivered: Sequence[Delivered] | None = None, ahead: Sequence[Any] = ()) -> None:
        import confluent_kafka as ck

        for each in delivered or ():
            each(None, ck.Message(topic="t", partition=0, offset=0))

    def flush(self, seconds: float) -> bool:
        return True

    def poll(self) -> None: ...

    def check(self) -> None: ...

    def unacknowledged(self) -> int:
        return 0


class Written:
    """Stands for a ``TopicCreator``, and for an ``OffsetLog``, of which it keeps the offsets."""

    def __init__(self) -> None:
        self.offsets: list[Any] = []

    def ensure(self, topics: set[str]) -> None: ...

    def idle(self) -> None: ...

    def write(self, offsets: Sequence[Any], seconds: float) -> None:
        self.offsets += [each.offset for each in offsets]


class Waiting(SourceTask):
    """Returns one batch; its next ``poll`` returns when its origin has been told that the batch is acknowledged."""

    def __init__(self, control: TaskControl) -> None:
        self._control, self.polls = control, 0
        self.acknowledged = threading.Event()

    def poll(self) -> Sequence[SourceRecord] | Batch | None:
        self.polls += 1
        if self.polls == 1:
            return Batch.of("t", [b"a"], origin=SourceOrigin([{"p": 0}], [{"o": 1}]))
        assert self.acknowledged.wait(SECONDS), "nothing was committed"
        self._control.stop()
        return None

    def commit(self) -> None:
        self.acknowledged.set()


class WaitingForRecords(Waiting):
    def commit_record(self, record: SourceRecord, topic: str, partition: int, offset: int) -> None: ...


@pytest.mark.parametrize("task_class", [Waiting, WaitingForRecords])
def test_a_source_that_waits_in_poll_for_its_commit_gets_it(
    task_class: type[Waiting], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_polls, "GRACE_S", 0.0)
    control, host, metrics, written = TaskControl(), MemoryHost(), Metrics(lambda values: None, ()), Written()
    runtime = TaskRuntime(ID, control, host, metrics, ErrorHandler(ErrorSettings(), metrics, lambda seconds: False))
    task, sender, offsets = task_class(control), Quick(), SourceTaskOffsets(SOURCE)
    policy = RecordByRecord if task_class is WaitingForRecords else AtLeastOnce
    commit = policy(runtime, task, sender, offsets, written, CommitTiming(0.2, 5.0))  # type: ignore[arg-type]
    steps = SourceSteps([], None, SourceLogReporter(ID, ErrorSettings(), metrics))
    topics = TargetTopics(TopicReporter(SOURCE, control, host), written, guard_of(NO_INTERNAL_TOPICS, {}))  # type: ignore[arg-type]
    SourceLoop(runtime, task, commit, steps, topics).run()
    assert written.offsets == [{"o": 1}]
    assert task.polls == 2


class Attributed(Written):
    """Notes whose log has what commits say."""

    def __init__(self) -> None:
        super().__init__()
        self.connectors: list[Any] = []

    def idle(self) -> None:
        record = logging.makeLogRecord({})
        add_context(record)
        self.connectors.append(record.__dict__["connector"])


class Reluctant(Quick):
    """Fails once while a commit waits for its records."""

    failed = False

    def flush(self, seconds: float) -> bool:
        if not self.failed:
            self.failed = True
            raise DataError("an offset that can't be stored")
        return True


def test_a_commit_during_a_poll_that_fails_is_not_the_last_and_logs_for_its_task(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(long_polls, "GRACE_S", 0.0)
    control, metrics, written = TaskControl(), Metrics(lambda values: None, ()), Attributed()
    runtime = TaskRuntime(
        ID, control, MemoryHost(), metrics, ErrorHandler(ErrorSettings(), metrics, lambda seconds: False)
    )
    task, sender = Waiting(control), Reluctant()
    commit = AtLeastOnce(runtime, task, sender, SourceTaskOffsets(SOURCE), written, CommitTiming(0.05, 5.0))  # type: ignore[arg-type]
    polls = commit.polls()
    assert polls is not None
    with log_context("of the task"), polls.begun(), polls.polling():
        assert task.acknowledged.wait(SECONDS), "it is the last"
    assert sender.failed
    assert set(written.connectors) == {"of the task"}
    assert "Failed to commit offsets" in caplog.text


def test_the_loop_and_commits_during_polls_never_work_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_polls, "GRACE_S", 0.0)
    at_work = threading.Lock()
    commits: list[bool] = []

    def work() -> None:
        assert at_work.acquire(blocking=False)
        time.sleep(0.001)
        at_work.release()

    def commit() -> None:
        work()
        commits.append(True)

    polls = long_polls.LongPolls(lambda: 0.0, commit)
    with polls.begun():

        def turned() -> bool:
            for _ in range(100):
                with polls.polling():
                    time.sleep(0.001)
                work()
            return len(commits) > 0

        until(turned, "a commit during a poll")
    many = len(commits)
    time.sleep(0.05)
    assert len(commits) == many, "it ends with the loop"


def test_an_interval_longer_than_a_thread_can_wait_ends_no_thread() -> None:
    polls = LongPolls(lambda: math.inf, lambda: None)
    with polls.begun(), polls.polling():
        thread = polls._thread
        assert thread is not None
        thread.join(0.1)
        assert thread.is_alive()
    thread.join(SECONDS)
    assert not thread.is_alive()
