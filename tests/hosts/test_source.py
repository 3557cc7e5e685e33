"""Source tasks from jars, in the loop in which all sources run."""

from __future__ import annotations

import json

import pytest

from hosts.conducted import Conducted, stored
from penstock.hosts.jvm.tasks.source_task import JavaSourceTask
from penstock.pipeline.source.sending.delivery_tracking import wants_acknowledgements
from support.kafka.client import Kafka
from support.tasks.runs import JSON, eventually, new_name

pytestmark = pytest.mark.integration


def test_each_record_is_acknowledged_with_its_place(conducted: Conducted, kafka: Kafka, topic: str) -> None:
    config = {
        "records": "4",
        "transforms": "drop",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
        "transforms.drop.predicate": "none",
        "predicates": "none",
        "predicates.none.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
    }
    with conducted(config):
        eventually(lambda: len(conducted.calls("commitRecord")) == 4)
        eventually(lambda: conducted.calls("commit"))
    assert conducted.calls("commitRecord") == [f"{i} {topic}-0@{i}" for i in range(4)]
    assert conducted.calls("start") == [f"from 0 in task-thread-{run_name(conducted)}-0"]
    assert conducted.calls("stop") == [""]


def run_name(conducted: Conducted) -> str:
    """Return the connector's name, from that of the thread in which its task started."""
    return conducted.calls("start")[0].rpartition(" ")[2].removeprefix("task-thread-").removesuffix("-0")


def test_an_exception_that_can_not_be_asked_for_its_cause_ends_the_task(conducted: Conducted) -> None:
    assert "penstock.tests.Conduct$Broken" in conducted({"at.start": "broken"}).failure()


@pytest.mark.parametrize("place", ["start", "poll"])
def test_the_context_of_log_lines_is_that_of_java(conducted: Conducted, place: str) -> None:
    """KIP-449: plugins find it in the MDC of their thread."""
    failure = conducted({f"at.{place}": "context"}, connector="numbers").failure()
    assert "java.lang.IllegalStateException: [numbers|task-0] " in failure


def test_a_record_that_was_dropped_is_acknowledged_without_a_place(conducted: Conducted) -> None:
    config = {
        "records": "2",
        "transforms": "drop",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
    }
    with conducted(config):
        eventually(lambda: len(conducted.calls("commitRecord")) >= 2)
    assert conducted.calls("commitRecord") == ["0 nowhere", "1 nowhere"]


def test_acknowledgements_are_not_asked_for_if_the_plugin_does_nothing_with_them(
    conducted: Conducted, kafka: Kafka, topic: str, offsets_topic: str
) -> None:
    """Debezium's source for PostgreSQL is such a plugin: its ``commitRecord`` is empty, its ``commit`` is not."""
    made: list[JavaSourceTask] = []

    class Noted(JavaSourceTask):
        def __new__(cls) -> JavaSourceTask:
            made.append(JavaSourceTask())
            return made[0]

    config = {"records": "4", "task.class": "penstock.tests.QuietSourceTask"}
    with conducted(config, task=Noted, exactly_once=True, offsets_topic=offsets_topic):
        eventually(lambda: conducted.calls("commit"))
        eventually(lambda: kafka.values(topic) == [b"0", b"1", b"2", b"3"])
    assert not wants_acknowledgements(type(made[0]))
    assert type(made[0]).commit is not JavaSourceTask.commit
    assert conducted.calls("commitRecord") == []


def test_each_poll_without_records_is_followed_by_a_commit_with_exactly_once(
    conducted: Conducted, topic: str, offsets_topic: str
) -> None:
    """There is no commit during a poll, however long that takes."""

    def calls() -> list[str]:
        lines = (conducted.folder / "journal").read_text().splitlines()
        return [name for line in lines if (name := line.split(" ")[0]) in ("poll", "commit")]

    config = {"records": "1", "at.poll@4": "sleep 1000"}
    with conducted(config, exactly_once=True, offsets_topic=offsets_topic):
        eventually(lambda: len(conducted.calls("commit")) > 5)
        made = calls()[:10]
    assert made == ["poll", "commit"] * 5


def test_records_that_fail_are_dead_letters_in_their_places(
    conducted: Conducted, kafka: Kafka, topic: str, offsets_topic: str
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
    with conducted(config, exactly_once=True, offsets_topic=offsets_topic):
        eventually(lambda: len(kafka.values(topic)) == 128)
        eventually(lambda: stored(kafka, offsets_topic)[-1:] and stored(kafka, offsets_topic)[-1][1] == b'{"next":130}')
        eventually(lambda: len(conducted.calls("commitRecord")) == 130)
    assert kafka.values(topic) == [str(i).encode() for i in range(128)]
    assert [json.loads(value or b"")["payload"] for value in kafka.values(letters)] == ["128", "129"]


@pytest.mark.parametrize("copies", ["false", "true"])
def test_the_connector_says_where_transactions_end(
    conducted: Conducted, kafka: Kafka, topic: str, offsets_topic: str, copies: str
) -> None:
    """With ``copies`` it names records that are equal to those that it has returned."""
    config = {"records": "20", "transaction.every": "5", "abort.at": "7", "transaction.boundary": "connector"}
    with conducted({**config, "transaction.copies": copies}, exactly_once=True, offsets_topic=offsets_topic):
        eventually(lambda: kafka.values(topic)[-1:] == [b"19"])
    # Records 5 to 7 were aborted; those after them were in the transaction that ended with 9.
    assert kafka.values(topic) == [str(i).encode() for i in range(20) if i not in (5, 6, 7)]


@pytest.mark.parametrize("error", ["connect.errors.RetriableException", "common.errors.DisconnectException"])
def test_a_retriable_error_is_a_poll_without_records(
    conducted: Conducted, kafka: Kafka, topic: str, error: str
) -> None:
    with conducted({"records": "3", "at.poll@1": f"throw org.apache.kafka.{error} not now"}):
        eventually(lambda: len(kafka.values(topic)) >= 3)
    assert kafka.values(topic) == [b"0", b"1", b"2"]


def test_the_trace_of_a_failure_is_javas(conducted: Conducted) -> None:
    run = conducted({"at.poll@1": "throw java.lang.IllegalStateException broken pipes"})
    first, *rest = run.failure().splitlines()
    assert first == "java.lang.IllegalStateException: broken pipes"
    assert rest[-1].startswith("\t... ") or "Caused by: java.lang.IllegalStateException: the cause of it" in rest
    assert any(line.startswith("\tat penstock.tests.ConductSourceTask.poll(ConductSourceTask.java:") for line in rest)


def test_a_databases_error_keeps_its_sqlstate_and_the_errors_behind_it(conducted: Conducted) -> None:
    """Java's own trace prints neither of them."""
    trace = conducted({"at.poll@1": "throw penstock.tests.RefusedRowException batch refused"}).failure()
    lines = trace.splitlines()
    assert lines[0] == "penstock.tests.RefusedRowException: batch refused"
    assert "Caused by: java.lang.IllegalStateException: the cause of it" in lines
    assert "\tSQLSTATE 40000, error code 0 of penstock.tests.RefusedRowException" in lines
    name = "penstock.tests.RefusedRowException$ForeignKeyException"
    assert f"Next exception: {name}: no such customer" in lines
    assert f"\tSQLSTATE 23503, error code 1452 of {name}" in lines
    assert any(line.startswith("\tat penstock.tests.RefusedRowException.<init>(") for line in lines)


def test_lines_that_a_plugin_logs_are_lines_of_this_log(conducted: Conducted, caplog: pytest.LogCaptureFixture) -> None:
    config = {
        "transforms": "cast",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.cast.spec": "int32",
        "value.converter": JSON,
        "records": "1",
    }
    with caplog.at_level("INFO"), conducted(config):
        eventually(lambda: any(each.startswith("JsonConverterConfig values") for each in caplog.messages))
    assert any("schemas.enable = " in each for each in caplog.messages)


def test_jdbc_drivers_of_the_plugins_location_are_registered(conducted: Conducted) -> None:
    with conducted({"records": "0", "driver.of": "jdbc:conduct:x"}):
        assert conducted.calls("driver") == ["penstock.tests.ConductDriver"]


@pytest.mark.parametrize("exactly_once", [False, True])
@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"null": "topic"}, "Topic cannot be null. "),
        ({"partitions": "100", "partition": "99"}, "Partition 99 of topic {} with partition count 1 is not present"),
    ],
)
def test_a_record_for_no_topic_or_partition_is_named_by_its_source_offset(
    conducted: Conducted, offsets_topic: str, topic: str, exactly_once: bool, config: dict[str, str], said: str
) -> None:
    own = {"records": "5", "producer.override.max.block.ms": "500", **config}
    failure = conducted(own, exactly_once=exactly_once, offsets_topic=offsets_topic).failure()
    assert said.format(topic) in failure
    assert "source offset {'next': 1}" in failure
