"""``SourceTask.commit`` and ``commit_record`` with exactly once while there is nothing to send (KAFKA-14727)."""

from __future__ import annotations

import time
from typing import Any

import pytest

from penstock.api.errors import RetriableError
from support.kafka.client import Kafka
from support.tasks.runs import MemoryHost, TaskRun, eventually, new_name
from support.tasks.scripted_source import AcknowledgedSource, ScriptedSource, records, scripted

pytestmark = pytest.mark.integration

DROP_ALL = {"transforms": "drop", "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter"}


def interval(milliseconds: int) -> dict[str, str]:
    return {"transaction.boundary": "interval", "transaction.boundary.interval.ms": str(milliseconds)}


class Journal(AcknowledgedSource):
    """Notes each call in the class's ``calls``: ``poll``, which has ended then, and ``commit``."""

    calls: list[str]

    def poll(self) -> Any:
        polled = super().poll()
        self.calls.append("poll")
        return polled

    def commit(self) -> None:
        self.calls.append("commit")


def journal(*batches: Any, **members: Any) -> Any:
    return scripted(*batches, base=Journal, calls=[], **members)


def run(task: Any, kafka: Kafka, offsets_topic: str, config: dict[str, str] | None = None, **spec: Any) -> TaskRun:
    once = {"exactly_once": True, "offsets_topic": offsets_topic, "group_id": new_name("g")}
    return TaskRun(task, kafka.bootstrap, config or {}, **{**once, **spec})


def test_each_empty_poll_ends_an_empty_transaction(kafka: Kafka, topic: str, offsets_topic: str) -> None:
    task = journal(records(topic, "a", "b", "c"))
    with run(task, kafka, offsets_topic):
        eventually(lambda: task.calls.count("commit") > 5)
        made = task.calls[:10]
    assert made == ["poll", "commit"] * 5
    assert [r.offset for r in kafka.read_all(topic)] == [0, 1, 2]


def test_each_interval_ends_an_empty_transaction(kafka: Kafka, topic: str, offsets_topic: str) -> None:
    began = time.monotonic()
    task = journal(records(topic, "a"))
    with run(task, kafka, offsets_topic, interval(300)):
        eventually(lambda: task.calls.count("commit") > 4)
        made, seconds = list(task.calls), time.monotonic() - began
    assert made.count("commit") <= seconds / 0.3
    assert made.count("poll") > 2 * made.count("commit"), "not after each poll"


def test_only_a_request_ends_an_empty_transaction_of_the_connector(
    kafka: Kafka, topic: str, offsets_topic: str
) -> None:
    def request(self: ScriptedSource) -> None:
        self.context.transaction.commit_transaction()  # type: ignore[union-attr]

    def abort(self: ScriptedSource) -> None:
        self.context.transaction.abort_transaction()  # type: ignore[union-attr]

    task = journal(None, request, None, None, abort, None)
    with run(task, kafka, offsets_topic, {"transaction.boundary": "connector"}):
        eventually(lambda: task.calls.count("poll") > 10)
        made = task.calls[:10]
    assert made == ["poll", "poll", "commit", *["poll"] * 3, "commit", *["poll"] * 3]


def test_a_poll_that_is_to_be_retried_ends_an_empty_transaction(kafka: Kafka, topic: str, offsets_topic: str) -> None:
    task = journal(RetriableError("later"), records(topic, "a"))
    with run(task, kafka, offsets_topic):
        eventually(lambda: kafka.values(topic) == [b"a"])
        assert task.calls[:3] == ["commit", "poll", "commit"]


def test_a_paused_task_commits_once(kafka: Kafka, topic: str, offsets_topic: str) -> None:
    task = journal(records(topic, "a"))
    with run(task, kafka, offsets_topic, interval(100)) as paused:
        eventually(lambda: task.calls.count("commit") > 2)
        paused.control.pause()
        eventually(lambda: paused.host.states[-1] == "paused")
        made = list(task.calls)
        paused.turns("pausing", 20)
        assert made[-1] == "commit"
        assert task.calls == made


@pytest.mark.parametrize("config", [{}, interval(100)], ids=["poll", "interval"])
def test_records_that_are_all_dropped_are_acknowledged(
    kafka: Kafka, topic: str, offsets_topic: str, config: dict[str, str]
) -> None:
    """They are acknowledged even if the task waits for long after a poll without records."""
    task = journal(records(topic, "a", "b"), idle=lambda self: 600.0)
    with run(task, kafka, offsets_topic, {**DROP_ALL, **config}):
        eventually(lambda: task.acknowledged)
        eventually(lambda: "commit" in task.calls)
    assert task.acknowledged == [("a", -1), ("b", -1)]
    assert kafka.values(topic) == []


@pytest.mark.parametrize("exactly_once", [True, False])
def test_an_idle_task_has_no_unacknowledged_records(
    kafka: Kafka, topic: str, offsets_topic: str, exactly_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The producer counts its statistics among its messages."""
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(MemoryHost, "metrics", lambda self, values: seen.append(values))
    task = scripted(records(topic, "a", "b", "c"))
    with run(task, kafka, offsets_topic, exactly_once=exactly_once):
        eventually(lambda: len(seen) > 1)
    assert {each["source-record-active-count"] for each in seen} == {0}
    assert {each["source-record-active-count-max"] for each in seen} == {3}


def test_commit_is_called_while_idle_without_exactly_once(kafka: Kafka, topic: str) -> None:
    task = journal(records(topic, "a", "b"))
    with TaskRun(task, kafka.bootstrap, DROP_ALL, {"offset.flush.interval.ms": "100"}):
        eventually(lambda: task.calls.count("commit") > 3)
    assert task.acknowledged == [("a", -1), ("b", -1)]
