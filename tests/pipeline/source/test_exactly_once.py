"""The loop of source tasks whose records and offsets are in transactions."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.record import SourceRecord
from penstock.api.transform import Transformation
from penstock.connectors.file_source import FileStreamSourceTask
from penstock.pipeline.source.topic_creation import TopicCreator
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun, eventually, new_name, register
from support.tasks.scripted_source import record, records, scripted

pytestmark = pytest.mark.integration

CONNECTOR = {"transaction.boundary": "connector"}


def stored(kafka: Kafka, topic: str, connector: str) -> list[bytes | None]:
    return [r.value for r in kafka.read_all(topic) if str(r.key).startswith(f'b\'["{connector}"')]


def once(topic: str, **more: Any) -> dict[str, Any]:
    return {"exactly_once": True, "offsets_topic": topic, "group_id": new_name("g"), **more}


def test_records_and_offsets_in_one_transaction(
    kafka: Kafka, bootstrap: str, tmp_path: Path, topic: str, offsets_topic: str
) -> None:
    file = tmp_path / "in"
    file.write_text("one\ntwo\n")
    config = {"file": str(file), "topic": topic}
    with TaskRun(FileStreamSourceTask, bootstrap, config, **once(offsets_topic)) as run:
        eventually(lambda: kafka.values(topic) == [b"one", b"two"])
        eventually(lambda: stored(kafka, offsets_topic, run.connector) == [b'{"position":8}'])
        assert run.host.topics == [topic]
        with file.open("a") as out:
            out.write("three\n")
        eventually(lambda: kafka.values(topic) == [b"one", b"two", b"three"])
        assert [r.offset for r in kafka.read_all(topic)] == [0, 1, 3]
        eventually(lambda: stored(kafka, offsets_topic, run.connector)[-1] == b'{"position":14}')


def test_own_offsets_are_copied_after_the_commit(kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str) -> None:
    copies = kafka.create_topic()
    task = scripted(records(topic, "a"))
    with TaskRun(task, bootstrap, {}, **once(offsets_topic, global_offsets_topic=copies)) as run:
        eventually(lambda: stored(kafka, copies, run.connector))
        # A commit is answered before it is visible; the copy is no part of it.
        eventually(lambda: stored(kafka, offsets_topic, run.connector))
    assert stored(kafka, offsets_topic, run.connector) == [b'{"o":1}']
    assert stored(kafka, copies, run.connector) == [b'{"o":1}']


def test_offsets_are_not_copied_to_their_own_topic_whose_brokers_have_other_addresses(
    kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str
) -> None:
    """A copy would not be fenced, and could come after the offset of a later transaction."""
    cluster = kafka.admin.list_topics(timeout=900).cluster_id
    task = scripted(records(topic, "a"), records(topic, "b", start=1))
    spec = once(offsets_topic, global_offsets_topic=offsets_topic, kafka_cluster_id=cluster)
    with TaskRun(task, bootstrap, {}, **spec) as run:
        eventually(lambda: b'{"o":2}' in stored(kafka, offsets_topic, run.connector))
    assert stored(kafka, offsets_topic, run.connector) == [b'{"o":1}', b'{"o":2}']


def test_an_interval_holds_records_back(kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str) -> None:
    config = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "3000"}
    task = scripted()
    with TaskRun(task, bootstrap, config, **once(offsets_topic)) as run:
        # An interval begins with the end of a pause.
        run.control.pause()
        eventually(lambda: run.host.states[-1] == "paused")
        task.batches += [records(topic, "a"), records(topic, "b", start=1)]
        run.control.resume()
        eventually(lambda: len(kafka.values(topic, "read_uncommitted")) == 2)
        eventually(lambda: kafka.values(topic) == [b"a", b"b"])
    assert [r.offset for r in kafka.read_all(topic)] == [0, 1]


def test_a_pause_and_a_stop_end_the_transaction(kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str) -> None:
    config = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "600000"}
    task = scripted(records(topic, "a"))
    with TaskRun(task, bootstrap, config, **once(offsets_topic)) as run:
        eventually(lambda: kafka.values(topic, "read_uncommitted") == [b"a"])
        run.control.pause()
        eventually(lambda: kafka.values(topic) == [b"a"])
        run.control.resume()
        task.batches.append(records(topic, "b", start=1))
        eventually(lambda: b"b" in kafka.values(topic, "read_uncommitted"))
        assert kafka.values(topic) == [b"a"]
    eventually(lambda: len(kafka.values(topic)) > 1)
    assert kafka.values(topic) == [b"a", b"b"]


def test_the_connector_defines_transactions(kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str) -> None:
    batch = records(topic, "kept 1", "kept 2", "thrown away", "kept 3")

    def poll(self: Any) -> Any:
        if not self.batches:
            return None
        transaction = self.context.transaction
        transaction.commit_transaction(after=batch[1])
        transaction.abort_transaction(after=batch[2])
        transaction.commit_transaction()
        return self.batches.pop()

    config = {"transaction.boundary": "connector"}
    with TaskRun(scripted(batch, poll=poll), bootstrap, config, **once(offsets_topic)) as run:
        eventually(lambda: kafka.values(topic) == [b"kept 1", b"kept 2", b"kept 3"])
        eventually(lambda: len(stored(kafka, offsets_topic, run.connector)) > 2)
    assert stored(kafka, offsets_topic, run.connector) == [b'{"o":2}', b'{"o":3}', b'{"o":4}']


def test_transactions_may_be_aborted_as_soon_as_others_end(
    kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str
) -> None:
    kept, thrown_away = (records(topic, *(f"{what} {i}" for i in range(40))) for what in ("kept", "thrown away"))
    turns = itertools.count()

    def poll(self: Any) -> Any:
        number, step = divmod(next(turns), 3)
        if number == 40:
            self.context.transaction.commit_transaction()
        if number >= 40:
            return None
        if step == 0:
            self.context.transaction.commit_transaction()
            return [kept[number]]
        if step == 1:
            return [thrown_away[number]]
        time.sleep(number % 4 / 1000)
        self.context.transaction.abort_transaction()
        return None

    with TaskRun(scripted(poll=poll), bootstrap, {"transaction.boundary": "connector"}, **once(offsets_topic)) as run:
        eventually(lambda: run.error or b"kept 39" in kafka.values(topic))
    assert kafka.values(topic) == [b"kept %d" % i for i in range(40)]


def test_what_the_connector_did_not_commit_is_aborted_at_the_end(
    kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str
) -> None:
    run = TaskRun(
        scripted(records(topic, "a")), bootstrap, {"transaction.boundary": "connector"}, **once(offsets_topic)
    )
    with run:
        eventually(lambda: kafka.values(topic, "read_uncommitted") == [b"a"])
    assert kafka.values(topic) == []
    assert stored(kafka, offsets_topic, run.connector) == []


def test_a_failure_aborts(kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str) -> None:
    config = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "600000"}
    task = scripted(records(topic, "a"), ConnectError("gone"))
    run = TaskRun(task, bootstrap, config, **once(offsets_topic))
    assert "gone" in run.failure()
    assert kafka.values(topic) == []
    kafka.produce(topic, ["after"])
    eventually(lambda: kafka.values(topic) == [b"after"])


def test_a_record_that_cannot_be_converted_aborts_its_transaction(
    kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str
) -> None:
    cast = {"transforms": "c", "transforms.c.type": "org.apache.kafka.connect.transforms.Cast$Value"}
    task = scripted(records(topic, "1", "2"), records(topic, "3", "no number", start=2))
    run = TaskRun(task, bootstrap, {**cast, "transforms.c.spec": "int32"}, **once(offsets_topic))
    assert "source offset {'o': 4}" in run.failure()
    eventually(lambda: kafka.values(topic) == [b"1", b"2"])
    eventually(lambda: stored(kafka, offsets_topic, run.connector) == [b'{"o":2}'])


def test_a_newer_run_fences_an_older_one(kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str) -> None:
    older, newer = scripted(records(topic, "a")), scripted()
    spec = once(offsets_topic)
    run = TaskRun(older, bootstrap, {}, connector="c", **spec).started()
    eventually(lambda: kafka.values(topic) == [b"a"])
    with TaskRun(newer, bootstrap, {}, connector="c", **spec):
        older.batches.append(records(topic, "zombie", start=1))
        trace = run.failure()
    assert "a newer run of it has taken its place" in trace
    assert "Fenced" in trace or "Epoch" in trace
    assert kafka.values(topic) == [b"a"]


def test_commit_record_is_called_after_the_transaction(
    kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str
) -> None:
    told: list[Any] = []

    def commit_record(self: Any, record: SourceRecord, topic: str, partition: int, offset: int) -> None:
        # A broker answers to a commit a little before readers see it.
        told.append((record.value, offset, eventually(lambda: [v.decode() for v in kafka.values(topic) if v])))

    with TaskRun(scripted(records(topic, "a", "b"), commit_record=commit_record), bootstrap, {}, **once(offsets_topic)):
        eventually(lambda: len(told) == 2)
    assert told == [("a", 0, ["a", "b"]), ("b", 1, ["a", "b"])]


def test_a_source_may_not_write_to_its_offsets_topic(bootstrap: str, offsets_topic: str) -> None:
    run = TaskRun(scripted(records(offsets_topic, "a")), bootstrap, {}, **once(offsets_topic))
    assert "Source tasks may not produce to their own offsets topics" in run.failure()


def test_lost_contact_ends_it_without_a_commit(kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str) -> None:
    config = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "600000"}
    run = TaskRun(scripted(records(topic, "a")), bootstrap, config, **once(offsets_topic)).started()
    eventually(lambda: kafka.values(topic, "read_uncommitted") == [b"a"])
    run.control.abort()
    run.join()
    assert kafka.values(topic) == []


def test_a_stop_while_topics_are_to_be_created_sends_nothing_of_what_was_polled_later(
    kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second record's topic is known; its offset would hide the first record for ever."""
    missing, runs = new_name("missing"), list[TaskRun]()

    def ensure(self: TopicCreator, topics: set[str]) -> None:
        if missing in topics:
            eventually(lambda: runs)
            runs[0].control.stop()
            raise RetriableError("no broker answers")

    monkeypatch.setattr(TopicCreator, "ensure", ensure)
    first, second = record(missing, "p", 1), record(topic, "p", 2)

    def poll(self: Any) -> Any:
        for each in (first, second):
            self.context.transaction.commit_transaction(after=each)
        return [first, second]

    with TaskRun(scripted(poll=poll), bootstrap, CONNECTOR, **once(offsets_topic)) as run:
        runs.append(run)
        run.thread.join()
    assert kafka.values(topic) == []
    assert stored(kafka, offsets_topic, run.connector) == []


@pytest.mark.parametrize("end", ["commit_transaction", "abort_transaction"])
def test_a_stop_within_a_batch_does_not_end_the_connectors_transaction(
    kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str, end: str
) -> None:
    """It asked for that at the end of the batch, of which only some records were sent."""
    runs = list[TaskRun]()

    @register
    class StoppedAtC(Transformation):
        java_name = f"x.StoppedAtC.{end}"

        def configure(self, config: Any) -> None:
            pass

        def apply_batch(self, batch: Batch) -> Batch:
            if "c" in list(batch.values):
                eventually(lambda: runs)
                runs[0].control.stop()
                raise RetriableError("the registry is away")
            return batch

    batches = [records(topic, "a", "b", "c")]

    def poll(self: Any) -> Any:
        if batches:
            getattr(self.context.transaction, end)()
        return batches.pop() if batches else None

    chain = {"transforms": "s", "transforms.s.type": StoppedAtC.java_name, "errors.retry.timeout": "-1"}
    with TaskRun(scripted(poll=poll), bootstrap, {**CONNECTOR, **chain}, **once(offsets_topic)) as run:
        runs.append(run)
        run.thread.join()
    assert kafka.values(topic, "read_uncommitted") == [b"a", b"b"]
    assert kafka.values(topic) == []
    assert stored(kafka, offsets_topic, run.connector) == []
