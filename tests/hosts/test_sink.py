"""Sink tasks of jars, through the loop that all sinks run in."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hosts.conducted import ONE_JVM, Sinks, values
from penstock.api.record import SinkRecord
from penstock.core.model.skips import Skip
from penstock.hosts.jvm.tasks.sink_task import JavaSinkTask
from support.kafka.client import Kafka, Record
from support.tasks.runs import JSON, TaskRun, eventually

pytestmark = pytest.mark.integration

FUNCTION = "penstock.transforms.PythonFunction"
HEADER = {
    "transforms": "h",
    "transforms.h.type": "org.apache.kafka.connect.transforms.InsertHeader",
    "transforms.h.header": "h",
    "transforms.h.value.literal": "1",
}
"""A transform that runs in Python and leaves values as they are."""


def test_the_life_of_a_task(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    kafka.produce(topic, ["a", "b"])
    with sinks.run(topic) as run:
        eventually(lambda: sinks.written == [f"{topic}-0@0 a", f"{topic}-0@1 b"])
        eventually(lambda: any("offset=2" in each for each in sinks.calls("flush")))
        group = f"connect-{run.connector}"
        eventually(lambda: kafka.committed(group) == {(topic, 0): 2})
        assert sinks.calls("start") == [f"assigned [] in task-thread-{run.connector}-0"]
        assert "task.class" in sinks.calls("configs")[0]
        assert sinks.calls("open") == [f"[{topic}-0] of [{topic}-0]"]
        eventually(lambda: "put.nothing" in sinks.journal)
        assert run.host.topics == [topic]
    assert [line.split(" ")[0] for line in sinks.journal[-3:]] == ["flush", "close", "stop"]


def test_records_that_the_task_does_not_commit_are_read_again(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    kafka.produce(topic, ["a"])
    for times in (1, 2):
        with sinks.run(topic, flush__commits="false", name="same", **{"consumer.override.group.id": f"g-{topic}"}):
            eventually(lambda: len(sinks.written) >= times)  # noqa: B023
    assert values(sinks.written) == ["a", "a"]


def test_a_rewind(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    kafka.produce(topic, ["a", "b", "c"])
    with sinks.run(topic, rewind__once__at="1"):
        eventually(lambda: len(sinks.written) > 3 and values(sinks.written)[-1:] == ["c"])
    assert values(sinks.written)[-3:] == ["a", "b", "c"]


def test_a_retry_waits_as_long_as_the_task_says(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    kafka.produce(topic, ["a"])
    retriable = "throw org.apache.kafka.connect.errors.RetriableException not yet"
    with sinks.run(topic, timeout__ms="300", **{"at.put@1": retriable, "at.put@2": retriable}):
        eventually(lambda: values(sinks.written) == ["a"])
    assert sinks.calls("put") == ["1", "1", "1"]


def test_a_pause_and_a_commit_that_the_task_asks_for(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    kafka.produce(topic, ["a", "pause", "b"])
    never = {"offset.flush.interval.ms": "600000"}
    with sinks.run(topic, never, pause__at="pause", commit__at="c", **{"consumer.override.max.poll.records": "1"}):
        eventually(lambda: values(sinks.written) == ["a", "pause", "b"])
        assert sinks.calls("resume")
        kafka.produce(topic, ["c"])
        eventually(lambda: any("offset=4" in each for each in sinks.calls("flush")))


def test_a_record_that_can_not_be_converted_keeps_no_other_from_the_task(
    sinks: Sinks, kafka: Kafka, topic: str
) -> None:
    kafka.produce(topic, ["1", "{", "3"])
    config = {"value.converter": JSON, "value.converter.schemas.enable": "false", "errors.tolerance": "all"}
    with sinks.run(topic, **config) as run:
        eventually(lambda: values(sinks.written) == ["1", "3"])
        eventually(lambda: any("offset=3" in each for each in sinks.calls("flush")))
        assert run.host.topics == [topic]


@pytest.mark.parametrize("transforms", [{}, HEADER])
def test_a_skipped_record_does_not_reach_the_task(
    sinks: Sinks, kafka: Kafka, topic: str, transforms: dict[str, str]
) -> None:
    """Both where the JVM converts the records and where they cross from Python."""
    kafka.produce(topic, ["a", "poison", "c"])
    skip = Skip(topic, 0, 1, 1, kafka.topic_id(topic))
    with sinks.run(topic, skips=(skip,), **transforms) as run:
        eventually(lambda: run.host.skipped == [skip])
        assert values(sinks.written) == ["a", "c"]
        assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 3}


def test_a_put_of_a_jar_without_any_record_left_is_committed(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    kafka.produce(topic, ["poison", "poison"])
    skip = Skip(topic, 0, 0, 1)
    with sinks.run(topic, skips=(skip,)) as run:
        eventually(lambda: run.host.skipped == [skip])
        assert kafka.committed(f"connect-{run.connector}") == {(topic, 0): 2}
        kafka.produce(topic, ["c"])
        eventually(lambda: values(sinks.written)[:1] == ["c"])
        assert values(sinks.written) == ["c"]


def test_an_errant_record_arrives_in_the_queue_as_it_was_read(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    queue = f"{topic}-dlq"
    kafka.produce(topic, ["a", Record(b"bad", b"k", headers=(("h", b"\x01"),)), "c"])
    config = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": queue,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
        "transforms": "cast",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.cast.field": "text",
        "errant": "Struct{text=bad}",
    }
    with sinks.run(topic, **config):
        eventually(lambda: values(sinks.written)[-1:] == ["Struct{text=c}"])
        eventually(lambda: queue in kafka.topics())
        eventually(lambda: kafka.values(queue))
    (letter,) = kafka.read_all(queue)
    headers = dict(letter.headers)
    assert (letter.key, letter.value, headers["h"]) == (b"k", b"bad", b"\x01")
    prefix = "__connect.errors."
    assert headers[f"{prefix}topic"] == topic.encode()
    assert headers[f"{prefix}offset"] == b"1"
    assert headers[f"{prefix}stage"] == b"TASK_PUT"
    assert headers[f"{prefix}exception.class.name"] == b"java.lang.IllegalArgumentException"
    assert headers[f"{prefix}exception.message"] == b"I do not like Struct{text=bad}"
    assert b"at penstock.tests.ConductSinkTask.take(ConductSinkTask.java:" in (
        headers[f"{prefix}exception.stacktrace"] or b""
    )


def test_an_errant_record_that_the_task_has_made_arrives_as_its_original_was_read(
    sinks: Sinks, kafka: Kafka, topic: str
) -> None:
    """The record's parts are fetched from the JVM while the task waits in its put."""
    queue = f"{topic}-dlq"
    kafka.produce(topic, ["bad", "c"])
    config = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": queue,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errant": "bad",
        "errant.own": "true",
    }
    with sinks.run(topic, **config):
        eventually(lambda: values(sinks.written)[-1:] == ["c"])
        eventually(lambda: queue in kafka.topics() and kafka.values(queue))
    assert values(sinks.written) == ["bad", "c"]
    assert kafka.values(queue) == [b"bad"]


def test_an_errant_record_that_was_transformed_here_arrives_as_it_was_read(
    sinks: Sinks, kafka: Kafka, topic: str
) -> None:
    """The JVM has been given it again, as it is after the transform."""
    queue = f"{topic}-dlq"
    kafka.produce(topic, [Record(b"bad", b"k", headers=(("h", b"\x01"),)), "c"])
    config = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": queue,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "transforms": "mine",
        "transforms.mine.type": FUNCTION,
        "transforms.mine.function": f"{__name__}:same",
        "errant": "bad",
    }
    with sinks.run(topic, **config):
        eventually(lambda: values(sinks.written)[-1:] == ["c"])
        eventually(lambda: queue in kafka.topics() and kafka.values(queue))
    (letter,) = kafka.read_all(queue)
    assert (letter.key, letter.value, dict(letter.headers)["h"]) == (b"k", b"bad", b"\x01")


@pytest.mark.parametrize(
    ("partition", "offset", "said"),
    [("0", "-1", "seek offset must not be a negative number"), ("3", "1", "No current assignment for partition .*-3")],
)
def test_a_rewind_that_no_consumer_would_carry_out_ends_the_task(
    sinks: Sinks, kafka: Kafka, topic: str, partition: str, offset: str, said: str
) -> None:
    kafka.produce(topic, ["a"])
    failure = sinks.run(topic, seek__at="a", seek__in=partition, seek__to=offset).failure()
    assert re.search(said, failure)


def test_a_rewind_to_null_is_ignored(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    kafka.produce(topic, ["a"])
    with sinks.run(topic, seek__at="a", seek__in="0"):
        eventually(lambda: any("offset=1" in each for each in sinks.calls("flush")))
    assert values(sinks.written) == ["a"]


def test_an_offset_that_is_null_ends_the_task(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    kafka.produce(topic, ["a"])
    failure = sinks.run(topic, commit__null__offset="true").failure()
    assert f"preCommit has returned null as the offset of {topic}-0" in failure


@pytest.mark.parametrize("swallow", ["false", "true"])
def test_an_errant_record_ends_the_task_unless_it_is_tolerated(
    sinks: Sinks, kafka: Kafka, topic: str, swallow: str
) -> None:
    """The trace has what the sink has reported, and where."""
    kafka.produce(topic, ["bad"])
    failure = sinks.run(topic, errant="bad", swallow=swallow, errors__log__enable="true").failure()
    assert "Tolerance exceeded in error handler" in failure
    reported = failure.partition("Caused by: java.lang.IllegalArgumentException: I do not like bad\n")[2]
    assert "at penstock.tests.ConductSinkTask.report(ConductSinkTask.java:" in reported


def test_plugins_find_runtime_internals(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    kafka.produce(topic, ["a"])
    with sinks.run(topic, commit__metadata="of the plugin") as run:
        eventually(lambda: any("offset=1" in each for each in sinks.calls("flush")))
        group = f"connect-{run.connector}"
        eventually(lambda: kafka.committed(group) == {(topic, 0): 1})
        kafka.produce(topic, ["internals"])
        eventually(lambda: sinks.calls("partition"))
        assert sinks.calls("record") == ["org.apache.kafka.connect.runtime.InternalSinkRecord"]
        assert sinks.calls("original") == [f"{topic}-0@1 internals"]
        assert sinks.calls("context") == ["org.apache.kafka.connect.runtime.WorkerSinkTaskContext"]
        (found,) = sinks.calls("group")
        assert re.fullmatch(rf"{group} [1-9]\d* connector-consumer-{run.connector}-0-[-0-9a-f]+", found)
        assert sinks.calls("assignment") == [f"[{topic}-0]"]
        assert sinks.calls("position") == ["2"]
        (committed,) = sinks.calls("committed")
        assert committed == "OffsetAndMetadata{offset=1, leaderEpoch=0, metadata='of the plugin'}"
        assert sinks.calls("beginning") == [f"{{{topic}-0=0}}"]
        assert sinks.calls("end") == [f"{{{topic}-0=2}}"]
        assert sinks.calls("partition") == ["0 of 1, led by one of them: true true"]


@pytest.mark.parametrize("place", ["start", "open", "put", "close", "stop", "flush"])
def test_exceptions_of_each_method_have_the_effect_of_java(sinks: Sinks, kafka: Kafka, topic: str, place: str) -> None:
    kafka.produce(topic, ["a"])
    deed = {f"at.{place}": "throw java.lang.IllegalStateException on purpose"}
    run = sinks.run(topic, **deed)
    if place in ("stop", "flush"):  # logged, as in Java
        with run:
            eventually(lambda: values(sinks.written)[:1] == ["a"])
            if place == "flush":
                eventually(lambda: len(sinks.calls("flush")) > 1)
        return
    if place == "close":
        eventually(lambda: sinks.written)
        run.control.stop()
    failure = run.failure()
    assert "java.lang.IllegalStateException: on purpose" in failure
    assert f"at penstock.tests.ConductSinkTask.{place}(ConductSinkTask.java:" in failure
    assert "Caused by: java.lang.IllegalStateException: the cause of it" in failure
    if place == "put":
        head = (
            "org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask due to unrecoverable exception."
        )
        assert failure.startswith(head)
        assert f"\tIn a put of 1 record: topic {topic}, partition 0, offset 0\n" in failure


DETAILED = (
    '{"schema":{"type":"struct","name":"s","version":2,"optional":false,"fields":['
    '{"field":"d","type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,'
    '"parameters":{"scale":"2"},"optional":true},'
    '{"field":"t","type":"int64","name":"org.apache.kafka.connect.data.Timestamp","version":1,"optional":false},'
    '{"field":"i","type":"int16","optional":false,"default":5,"doc":"a number"},'
    '{"field":"m","type":"map","keys":{"type":"string"},"values":{"type":"int32","optional":true}}]},'
    '"payload":{"d":"AZA=","t":1700000000000,"i":7,"m":{"a":1,"b":null}}}'
)


def same(record: SinkRecord) -> SinkRecord:
    """Return the record unchanged: a transform in Python, for which records leave the JVM."""
    return replace(record, headers=record.headers)


@pytest.mark.parametrize("here", [False, True], ids=["all in the JVM", "with a step here"])
def test_schemas_arrive_with_all_details(
    bootstrap: str, kafka: Kafka, topic: str, tmp_path: Path, conduct: str, here: bool
) -> None:
    kafka.produce(topic, [Record(DETAILED, b"key", headers=(("n", b"12"), ("s", b"text"))), Record(None, b"gone")])
    own = {"transforms": "mine", "transforms.mine.type": FUNCTION, "transforms.mine.function": f"{__name__}:same"}
    config = {
        "connector.class": "penstock.tests.everything.DescribingSink",
        "task.class": "penstock.tests.everything.DescribingSink$DescribingTask",
        "topics": topic,
        "file": str(tmp_path / "out"),
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        **(own if here else {}),
    }
    with TaskRun(JavaSinkTask, bootstrap, config, ONE_JVM, plugin_path=(conduct,)):
        # A put without records makes the file.
        eventually(lambda: (tmp_path / "out").exists() and (tmp_path / "out").read_text().count("\n") == 2)
    first, second = (tmp_path / "out").read_text().splitlines()
    assert "value struct:s#2(" in first
    assert "d bytes?:org.apache.kafka.connect.data.Decimal#1{scale=2};" in first
    assert "i int16/a number=Short:5;" in first
    assert "Struct{d=BigDecimal:4.00,t=Date:1700000000000,i=Short:7,m=map{String:a=Integer:1, String:b=null},}" in first
    assert "header n int8 Byte:12 header s string String:text" in first
    assert f"{topic}-0@1 of {topic}-0@1 CreateTime" in second
    assert second.endswith("value - null")


def test_null_instead_of_offsets_ends_the_task(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    kafka.produce(topic, ["a"])
    assert (
        "The task's preCommit has returned null instead of offsets" in sinks.run(topic, commit__null="true").failure()
    )


def test_all_records_of_a_topic_that_is_created_again_while_a_jar_is_paused_arrive(
    sinks: Sinks, kafka: Kafka, topic: str
) -> None:
    """The new topic has more records than were read of the old one when the consumer sees it."""
    new = [f"new{number}" for number in range(10)]
    kafka.produce(topic, ["old0", "old1", "old2"])
    with sinks.run(topic, **{"consumer.override.metadata.max.age.ms": "500"}) as run:
        group = f"connect-{run.connector}"
        eventually(lambda: kafka.committed(group) == {(topic, 0): 3})
        run.control.pause()
        eventually(lambda: run.host.states[-1:] == ["paused"])
        kafka.renew_topic(topic)
        kafka.produce(topic, new)
        eventually(lambda: len(sinks.calls("open")) == 2)
        run.control.resume()
        eventually(lambda: kafka.committed(group) == {(topic, 0): 10})
    assert values(sinks.written) == ["old0", "old1", "old2", *new]
    assert len(sinks.calls("close")) == 2
