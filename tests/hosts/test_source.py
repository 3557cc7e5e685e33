"""Source tasks of jars, through the loop that all sources run in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.api.batch import Batch
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.tasks.source_task import JavaSourceTask
from penstock.pipeline.source.delivery_tracking import wants_acknowledgements
from penstock.spark.run.stall_watch import described
from support.kafka.client import Kafka
from support.tasks.runs import JSON, TaskRun, eventually, new_name
from support.worker_process import QUICK_JAVA

from .plugins import plugin_path

pytestmark = pytest.mark.integration

FILE = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "task.class": "org.apache.kafka.connect.file.FileStreamSourceTask",
}


@pytest.fixture
def topic(kafka: Kafka) -> str:
    return kafka.create_topic()


@pytest.fixture
def offsets_topic(kafka: Kafka) -> str:
    return kafka.create_topic(config={"cleanup.policy": "compact"})


def lines(file: Path, *values: str) -> None:
    with file.open("a") as out:
        out.write("".join(f"{value}\n" for value in values))


def stored(kafka: Kafka, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    return [(r.key, r.value) for r in kafka.read_all(topic)]


@pytest.fixture
def file_source(bootstrap: str, tmp_path: Path, topic: str) -> Any:
    """Runs Kafka's own file source from its jar."""
    path = plugin_path(tmp_path / "plugins", "connect-file")

    def run(
        worker: dict[str, str] | None = None,
        config: dict[str, str] | None = None,
        task: Any = JavaSourceTask,
        **spec: Any,
    ) -> TaskRun:
        own = {**FILE, "file": str(tmp_path / "in"), "topic": topic, **(config or {})}
        worker = {"penstock.java.opts": f"{QUICK_JAVA} -Xmx128m", **(worker or {})}
        return TaskRun(task, bootstrap, own, worker, plugin_path=(path,), **spec)

    return run


def test_records_and_offsets(file_source: Any, kafka: Kafka, tmp_path: Path, topic: str, offsets_topic: str) -> None:
    lines(tmp_path / "in", "one", "two")
    with file_source(offsets_topic=offsets_topic) as run:
        eventually(lambda: kafka.values(topic) == [b"one", b"two"])
        key = f'["{run.connector}",{{"filename":"{tmp_path / "in"}"}}]'.encode()
        eventually(lambda: stored(kafka, offsets_topic) == [(key, b'{"position":8}')])
        assert run.host.topics == [topic]
        assert run.host.states == ["running"]
        lines(tmp_path / "in", "three")
        eventually(lambda: len(kafka.values(topic)) == 3)
    assert stored(kafka, offsets_topic)[-1] == (key, b'{"position":14}')


def test_it_continues_at_its_offset(file_source: Any, kafka: Kafka, tmp_path: Path, topic: str) -> None:
    lines(tmp_path / "in", "one", "two")
    with file_source(offsets=(({"filename": str(tmp_path / "in")}, {"position": 4}, None),)):
        eventually(lambda: kafka.values(topic))
    assert kafka.values(topic) == [b"two"]


def test_what_was_polled_ahead_is_sent_before_the_end(
    file_source: Any, kafka: Kafka, tmp_path: Path, topic: str
) -> None:
    long = [digit * 600 for digit in "123"]  # it reads 1024 characters at a time
    lines(tmp_path / "in", *long)

    class Stopping(JavaSourceTask):
        """Stops when the plugin has been polled for the batch after the first."""

        def __new__(cls) -> JavaSourceTask:
            task = JavaSourceTask()
            poll = task.poll

            def poll_and_stop() -> Batch | None:
                batch = poll()
                if batch is not None and not run.control.stopping:
                    eventually(lambda: task.awaited and task._polling.done.is_set())  # type: ignore[union-attr]
                    run.control.stop()
                return batch

            task.poll = poll_and_stop  # type: ignore[method-assign]
            return task

    run = file_source(config={"batch.size": "1"}, task=Stopping)
    with run:
        run.join()
    assert kafka.values(topic) == [line.encode() for line in long[:2]]


def test_stock_steps_run_in_the_jvm_and_python_ones_here(
    file_source: Any, kafka: Kafka, tmp_path: Path, topic: str
) -> None:
    lines(tmp_path / "in", "one", "skip", "two")
    config = {
        "transforms": "hoist,drop,insert,cast",
        "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.hoist.field": "line",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
        "transforms.drop.predicate": "tombstone",
        "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.insert.static.field": "n",
        "transforms.insert.static.value": "7",
        "transforms.insert.predicate": "named",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.cast.spec": "n:int32",
        "predicates": "tombstone,named",
        "predicates.tombstone.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
        "predicates.named.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        "predicates.named.pattern": f"{topic}.*",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }
    with file_source(config=config):
        eventually(lambda: len(kafka.values(topic)) == 3)
    assert kafka.values(topic) == [b'{"line":"%s","n":7}' % line for line in (b"one", b"skip", b"two")]


CONDUCT = {"connector.class": "penstock.tests.ConductSource", "task.class": "penstock.tests.ConductSourceTask"}


@dataclass
class Conducted:
    """Runs a source that does what its configuration says, and writes down each call."""

    bootstrap: str
    topic: str
    folder: Path

    def __call__(
        self, config: dict[str, str], worker: dict[str, str] | None = None, task: Any = JavaSourceTask, **spec: Any
    ) -> TaskRun:
        own = {**CONDUCT, "topic": self.topic, "task": "0", "journal": str(self.folder / "journal"), **config}
        path = plugin_path(self.folder / "plugins", "conduct")
        worker = {"penstock.java.opts": f"{QUICK_JAVA} -Xmx128m", **(worker or {})}
        return TaskRun(task, self.bootstrap, own, worker, plugin_path=(path,), **spec)

    def calls(self, place: str) -> list[str]:
        journal = self.folder / "journal"
        lines = journal.read_text().splitlines() if journal.exists() else []
        return [line.partition(" ")[2] for line in lines if line.partition(" ")[0] == place]


@pytest.fixture
def conduct(bootstrap: str, topic: str, tmp_path: Path) -> Conducted:
    return Conducted(bootstrap, topic, tmp_path)


def test_each_record_is_acknowledged_with_its_place(conduct: Conducted, kafka: Kafka, topic: str) -> None:
    config = {
        "records": "4",
        "transforms": "drop",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
        "transforms.drop.predicate": "none",
        "predicates": "none",
        "predicates.none.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
    }
    with conduct(config):
        eventually(lambda: len(conduct.calls("commitRecord")) == 4)
        eventually(lambda: conduct.calls("commit"))
    assert conduct.calls("commitRecord") == [f"{i} {topic}-0@{i}" for i in range(4)]
    assert conduct.calls("start") == [f"from 0 in task-thread-{run_name(conduct)}-0"]
    assert conduct.calls("stop") == [""]


def run_name(conduct: Conducted) -> str:
    """The connector's name, by that of the thread in which its task started."""
    return conduct.calls("start")[0].rpartition(" ")[2].removeprefix("task-thread-").removesuffix("-0")


def test_a_record_that_was_dropped_is_acknowledged_without_a_place(conduct: Conducted) -> None:
    config = {
        "records": "2",
        "transforms": "drop",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
    }
    with conduct(config):
        eventually(lambda: len(conduct.calls("commitRecord")) >= 2)
    assert conduct.calls("commitRecord") == ["0 nowhere", "1 nowhere"]


def test_acknowledgements_are_not_asked_for_if_the_plugin_does_nothing_with_them(
    conduct: Conducted, kafka: Kafka, topic: str, offsets_topic: str
) -> None:
    """As Debezium's source for PostgreSQL: its ``commitRecord`` is empty, its ``commit`` is not."""
    made: list[JavaSourceTask] = []

    class Noted(JavaSourceTask):
        def __new__(cls) -> JavaSourceTask:
            made.append(JavaSourceTask())
            return made[0]

    config = {"records": "4", "task.class": "penstock.tests.QuietSourceTask"}
    with conduct(config, task=Noted, exactly_once=True, offsets_topic=offsets_topic):
        eventually(lambda: conduct.calls("commit"))
        assert kafka.values(topic) == [b"0", b"1", b"2", b"3"]
    assert not wants_acknowledgements(type(made[0]))
    assert type(made[0]).commit is not JavaSourceTask.commit
    assert conduct.calls("commitRecord") == []


def test_records_that_fail_are_dead_letters_in_their_places(
    conduct: Conducted, kafka: Kafka, topic: str, offsets_topic: str
) -> None:
    letters = new_name("dead")
    config = {
        "records": "130",
        "batch": "100",
        "transforms": "cast",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.cast.spec": "int8",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "penstock.errors.deadletterqueue.topic.name": letters,
        "penstock.errors.deadletterqueue.topic.replication.factor": "1",
    }
    with conduct(config, exactly_once=True, offsets_topic=offsets_topic):
        eventually(lambda: len(kafka.values(topic)) == 128)
        eventually(lambda: stored(kafka, offsets_topic)[-1:] and stored(kafka, offsets_topic)[-1][1] == b'{"next":130}')
        eventually(lambda: len(conduct.calls("commitRecord")) == 130)
    assert kafka.values(topic) == [str(i).encode() for i in range(128)]
    assert [json.loads(value or b"")["payload"] for value in kafka.values(letters)] == ["128", "129"]


@pytest.mark.parametrize("copies", ["false", "true"])
def test_the_connector_says_where_transactions_end(
    conduct: Conducted, kafka: Kafka, topic: str, offsets_topic: str, copies: str
) -> None:
    """``copies``: by records that are equal to those it returns."""
    config = {"records": "20", "transaction.every": "5", "abort.at": "7", "transaction.boundary": "connector"}
    with conduct({**config, "transaction.copies": copies}, exactly_once=True, offsets_topic=offsets_topic):
        eventually(lambda: kafka.values(topic)[-1:] == [b"19"])
    # Records 5 to 7 were aborted; those after them came with the transaction that ended with 9.
    assert kafka.values(topic) == [str(i).encode() for i in range(20) if i not in (5, 6, 7)]


@pytest.mark.parametrize("error", ["connect.errors.RetriableException", "common.errors.DisconnectException"])
def test_a_retriable_error_is_a_poll_without_records(conduct: Conducted, kafka: Kafka, topic: str, error: str) -> None:
    with conduct({"records": "3", "at.poll@1": f"throw org.apache.kafka.{error} not now"}):
        eventually(lambda: len(kafka.values(topic)) >= 3)
    assert kafka.values(topic) == [b"0", b"1", b"2"]


def test_the_trace_of_a_failure_is_javas(conduct: Conducted) -> None:
    run = conduct({"at.poll@1": "throw java.lang.IllegalStateException broken pipes"})
    first, *rest = run.failure().splitlines()
    assert first == "java.lang.IllegalStateException: broken pipes"
    assert rest[-1].startswith("\t... ") or "Caused by: java.lang.IllegalStateException: the cause of it" in rest
    assert any(line.startswith("\tat penstock.tests.ConductSourceTask.poll(ConductSourceTask.java:") for line in rest)


def test_a_poll_that_does_not_return_is_seen_and_does_not_keep_the_task_from_ending(conduct: Conducted) -> None:
    seen: list[str] = []
    with conduct({"at.poll@1": "hang"}, {"task.shutdown.graceful.timeout.ms": "2000"}) as run:
        eventually(lambda: conduct.calls("poll"))
        # Poll after poll of the loop returns meanwhile.
        eventually(lambda: run.control.calls.report(1.0, lambda call: seen.append(described(call))) or seen)
    assert [each.partition(" since ")[0] for each in seen] == ["The task is stalled: poll has not returned"]
    assert conduct.calls("stop") == [""]


LONG = {"records": "20", "at.poll@2": "sleep 2500"}
"""Its second batch takes a while to come."""
SELDOM = {"offset.flush.interval.ms": "600000"}


def test_a_pause_waits_for_the_poll_that_goes_on(conduct: Conducted, kafka: Kafka, topic: str) -> None:
    with conduct(LONG, SELDOM) as run:
        eventually(lambda: len(conduct.calls("poll")) == 2)
        run.control.pause()
        eventually(lambda: run.host.states == ["running", "paused"])
        assert kafka.values(topic) == [str(i).encode() for i in range(20)]
        assert len(conduct.calls("poll")) == 2
        (end,) = [i for i, line in enumerate(journal(conduct)) if line == "commit"]
        assert len([line for line in journal(conduct)[:end] if line.startswith("commitRecord ")]) == 20


def test_what_a_poll_returns_after_the_request_to_stop_is_sent_and_stop_comes_last(
    conduct: Conducted, kafka: Kafka, topic: str, offsets_topic: str
) -> None:
    with conduct(LONG, {**SELDOM, "task.shutdown.graceful.timeout.ms": "60000"}, offsets_topic=offsets_topic):
        eventually(lambda: len(conduct.calls("poll")) == 2)
    assert kafka.values(topic) == [str(i).encode() for i in range(20)]
    assert stored(kafka, offsets_topic)[-1][1] == b'{"next":20}'
    assert len(conduct.calls("commitRecord")) == 20
    assert journal(conduct)[-2:] == ["commit", "stop"]


def test_a_task_commits_nothing_that_it_has_returned_and_that_is_not_sent(conduct: Conducted) -> None:
    class Early(JavaSourceTask):
        """Asks for a commit when the second batch has been returned, and not taken."""

        def __new__(cls) -> JavaSourceTask:
            task = JavaSourceTask()
            poll = task.poll

            def poll_and_commit() -> Batch | None:
                batch = poll()
                if batch is None and len(conduct.calls("poll")) == 2 and not conduct.calls("asked"):
                    eventually(lambda: task._polling is None or task._polling.done.is_set())
                    task.commit()
                    with (conduct.folder / "journal").open("a") as out:
                        out.write("asked\n")
                return batch

            task.poll = poll_and_commit  # type: ignore[method-assign]
            return task

    with conduct(LONG, SELDOM, task=Early):
        eventually(lambda: conduct.calls("asked"))
        assert conduct.calls("commit") == []
        eventually(lambda: len(conduct.calls("commitRecord")) == 20)
    assert conduct.calls("commit") == [""]


def journal(conduct: Conducted) -> list[str]:
    return (conduct.folder / "journal").read_text().splitlines()


def test_a_jvm_that_ends_is_lost_and_no_failure(conduct: Conducted) -> None:
    run = conduct({"at.poll@1": "halt 9"})
    run.join()
    assert isinstance(run.error, HostLost)
    assert (str(run.error), run.error.by_itself) == ("The JVM of the plugin exited with code 9", True)


def test_a_full_heap_is_named(conduct: Conducted) -> None:
    run = conduct({"at.poll@1": "memory"})
    run.join()
    assert isinstance(run.error, HostLost)
    expected = "The JVM of the plugin ran out of memory (penstock.java.opts sets its heap)"
    assert (str(run.error), run.error.by_itself) == (expected, True)


def test_threads_that_a_plugin_leaves_behind_end_with_the_jvm(conduct: Conducted, kafka: Kafka, topic: str) -> None:
    with conduct({"records": "1", "at.poll@1": "leak"}) as first:
        eventually(lambda: len(kafka.values(topic)) == 1)
    with conduct({"records": "1"}, connector=first.connector):
        eventually(lambda: len(kafka.values(topic)) >= 2)
    assert len(kafka.values(topic)) == 2


def test_a_thread_that_tasks_share_outlives_the_one_that_has_started_it(
    conduct: Conducted, caplog: pytest.LogCaptureFixture
) -> None:
    def lines() -> int:
        return sum(each.startswith("It serves") for each in caplog.messages)

    one_jvm = {"penstock.java.process": "worker"}
    with (
        caplog.at_level("INFO"),
        conduct({"records": "0", "at.start": "share"}, one_jvm) as first,
        conduct({"records": "0", "at.poll": "share"}, one_jvm) as second,
    ):
        eventually(lambda: len(conduct.calls("start")) == 2)
        first.stop()
        first.check()
        polls, before = len(conduct.calls("poll")), lines()
        eventually(lambda: second.error or (len(conduct.calls("poll")) > polls + 10 and lines() > before + 2))
        second.check()


def test_lines_that_a_plugin_logs_are_lines_of_this_log(conduct: Conducted, caplog: pytest.LogCaptureFixture) -> None:
    config = {
        "transforms": "cast",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.cast.spec": "int32",
        "value.converter": JSON,
        "records": "1",
    }
    with caplog.at_level("INFO"), conduct(config):
        eventually(lambda: any(each.startswith("JsonConverterConfig values") for each in caplog.messages))
    assert any("schemas.enable = " in each for each in caplog.messages)


@pytest.mark.parametrize("null", ["partition", "offset"])
def test_null_as_source_partition_or_offset(
    conduct: Conducted, kafka: Kafka, topic: str, offsets_topic: str, null: str
) -> None:
    """A function in Python between makes other records of them, which are acknowledged all the same."""
    between = {
        "transforms": "same",
        "transforms.same.type": "penstock.transforms.PythonFunction",
        "transforms.same.function": f"{same.__module__}:same",
    }
    with conduct({"records": "4", "null": null, **between}, offsets_topic=offsets_topic) as run:
        eventually(lambda: conduct.calls("commitRecord") == [f"{i} {topic}-0@{i}" for i in range(4)])
        eventually(lambda: stored(kafka, offsets_topic))
    partition, offset = ("null", b'{"next":4}') if null == "partition" else ('{"task":"0"}', None)
    assert stored(kafka, offsets_topic) == [(f'["{run.connector}",{partition}]'.encode(), offset)]
    assert kafka.values(topic) == [b"0", b"1", b"2", b"3"]


def test_the_offset_of_the_source_partition_null_after_a_restart(conduct: Conducted, kafka: Kafka, topic: str) -> None:
    with conduct({"records": "6", "null": "partition"}, offsets=((None, {"next": 4}, None),)):
        eventually(lambda: kafka.values(topic) == [b"4", b"5"])


def same(record: Any) -> Any:
    return record.with_(value=record.value)


def test_jdbc_drivers_of_the_plugins_location_are_registered(conduct: Conducted) -> None:
    with conduct({"records": "0", "driver.of": "jdbc:conduct:x"}):
        assert conduct.calls("driver") == ["penstock.tests.ConductDriver"]


def test_an_odd_offset_ends_the_task_and_does_not_hang_it(conduct: Conducted) -> None:
    assert "What a plugin has returned can't be written" in conduct({"records": "1", "odd.offsets": "true"}).failure()
