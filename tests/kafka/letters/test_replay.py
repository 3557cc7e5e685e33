"""Replay of dead letters."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

import penstock.kafka.letters.replay as replays
from faults.broker import FaultyBroker
from kafka import KafkaProducer
from penstock.api.errors import ConnectError
from penstock.core.config.internal_topics import InternalTopics
from penstock.kafka.admin import NoAnswerError
from penstock.kafka.letters import notes
from penstock.kafka.letters.notes import MAX_METADATA_LENGTH, Done, done_of, keep_notes, kept_notes
from penstock.kafka.letters.queue import Letter, letter_at, letters
from penstock.kafka.letters.replay import Replay, Sent, queue_consumer, replay_producer
from penstock.kafka.letters.replay_targets import ReadTopics
from penstock.kafka.offsets.groups import GroupOffsets
from support.kafka.client import Kafka, Record
from support.tasks.runs import eventually, new_name


@contextmanager
def reading(kafka: Kafka, connector: str) -> Iterator[Consumer]:
    consumer = queue_consumer(connector, {"bootstrap.servers": kafka.bootstrap})
    try:
        yield consumer
    finally:
        consumer.close()


class Anywhere:
    """Targets of a connector that reads every topic."""

    def may_receive(self, topic: str, letter: Letter | None) -> bool:
        return True


def dead(value: str, topic: str, partition: int = 0, connector: str = "c") -> Record:
    told = {"topic": topic, "partition": str(partition), "offset": "0", "connector.name": connector}
    headers = [(f"__connect.errors.{name}", text.encode()) for name, text in told.items()]
    return Record(value, "k", 0, (("mine", b"1"), *headers), 1234)


INTERNAL = InternalTopics({"w-config": "the worker's `config.storage.topic`"})


def guarded(
    kafka: Kafka, queue: str, connector: str, reads: dict[str, str], *places: tuple[int, int], topic: str | None = ""
) -> Replay:
    """Replay the letters of a connector with this configuration, to the topics that it reads; return the finished
    replay.
    """
    internal = replace(INTERNAL, servers=kafka.bootstrap)
    with reading(kafka, connector) as consumer:
        producer = partial(replay_producer, connector, {"bootstrap.servers": kafka.bootstrap})
        read = ReadTopics.of(reads, consumer, {"bootstrap.servers": kafka.bootstrap}, internal)
        done = Replay(consumer, connector, queue, read, next(iter(read.names), None) if topic == "" else topic)
        list(done.send(producer, places))
        return done


@pytest.mark.security
@pytest.mark.integration
def test_dead_letters_go_only_to_topics_that_the_connector_reads(kafka: Kafka) -> None:
    topic, foreign, queue, c = kafka.create_topic(), kafka.create_topic(), kafka.create_topic(), new_name()
    kafka.create_topic("w-config")
    hostile = [foreign, "w-config", "__consumer_offsets", "no such", "a\x1b[2J\r\n", "", f"{topic}\0", "x" * 5000]
    letters = [dead("evil", each, 0, c) for each in hostile]
    kafka.produce(queue, [dead("a", topic, 0, c), *letters, dead("b", topic, 0, c)])
    done = guarded(kafka, queue, c, {"topics": f" {topic} , other"})
    assert (done.skipped.count, len(done.skipped.reasons)) == (8, 8)
    why = done.skipped.reasons[f"{queue}-0-1"]
    assert why == f'It names topic "{foreign}", which connector {c} does not read (topics=other,{topic})'
    assert "\x1b" not in "".join(done.skipped.reasons.values())
    assert max(map(len, done.skipped.reasons.values())) < 600
    eventually(lambda: kafka.values(topic) == [b"a", b"b"])
    assert guarded(kafka, queue, c, {"topics": topic}).skipped.count == 8, "they stay, and nothing is sent twice"
    assert guarded(kafka, queue, c, {"topics": topic}, (0, 2)).skipped.count == 1
    by_pattern = guarded(kafka, queue, c, {"topics.regex": ".*"})
    assert by_pattern.skipped.reasons.keys() >= {f"{queue}-0-2", f"{queue}-0-3"}, "internal topics"
    assert kafka.values(foreign) == [b"evil"]
    assert (kafka.values("w-config"), kafka.values(topic)) == ([], [b"a", b"b"])


@pytest.mark.security
@pytest.mark.integration
@pytest.mark.parametrize("partition", ["-1", "x", "", "٣", "9" * 40, "2147483648", "0x1", " 1", "+1"])
def test_a_hostile_partition_is_skipped(kafka: Kafka, partition: str) -> None:
    topic, queue, c = kafka.create_topic(), kafka.create_topic(), new_name()
    headers = [("topic", topic), ("partition", partition), ("connector.name", c)]
    told = tuple((f"__connect.errors.{name}", text.encode()) for name, text in headers)
    kafka.produce(queue, [Record("evil", "k", 0, told), dead("a", topic, 0, c)])
    done = guarded(kafka, queue, c, {"topics": topic})
    assert list(done.skipped.reasons) == [f"{queue}-0-0"]
    eventually(lambda: kafka.values(topic) == [b"a"])


class NotUtf8(str):
    """A name that a client sends as bytes that are not UTF-8."""

    def encode(self, *_: object) -> bytes:
        return b"\xff\xfe"


@pytest.mark.security
@pytest.mark.integration
def test_a_header_whose_name_is_not_utf8_stops_no_replay(kafka: Kafka) -> None:
    topic, queue, c = kafka.create_topic(), kafka.create_topic(), new_name()
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap)
    producer.send(queue, b"evil", b"k", headers=[(NotUtf8("x"), b"1")], partition=0)
    producer.close()
    kafka.produce(queue, [dead("a", topic, 0, c)])
    done = guarded(kafka, queue, c, {"topics": topic})
    assert done.skipped.reasons == {f"{queue}-0-0": "The name of a header is not UTF-8: it could not be sent unchanged"}
    eventually(lambda: kafka.values(topic) == [b"a"])


@pytest.mark.security
def test_a_topic_of_the_users_must_be_one_that_the_connector_reads() -> None:
    unused: Any = None
    read = ReadTopics.of({"topics": "a"}, unused, {}, INTERNAL)
    Replay(unused, "c", "q", read, "a").check_topic()
    with pytest.raises(ConnectError, match=r'"b" is no topic that connector c reads \(topics=a\)'):
        Replay(unused, "c", "q", read, "b").check_topic()


def test_letters_left_behind_stay_known_however_many_there_are() -> None:
    """In an earlier version the first of them counted as replayed when a note became too long."""
    dice = random.Random(7)
    spans, at = list[tuple[int, int]](), 5 * 10**15
    for _ in range(1800):
        first = at + dice.randint(1, 60)
        at = first + dice.randint(0, 60) + 1
        spans.append((first, at - 1))
    done = Done(5 * 10**15, spans)
    assert len(done.metadata()) <= MAX_METADATA_LENGTH
    read = Done.of(done.next, done.metadata())
    assert (read.next, read.beyond) == (done.next, done.beyond)
    few = Done(3, [(5, 5), (7, 2**63 - 1)])
    assert Done.of(3, notes._packed(few.next, few.beyond)) == few
    regular = Done(0, [(at, at) for at in range(1, 200_000, 2)])
    assert Done.of(0, regular.metadata()) == regular
    many = Done(0, [(at, at) for at in range(1, 600_000, 2)])
    with pytest.raises(ConnectError, match="Too many records of q-0 have been skipped or replayed one by one"):
        notes.offsets_to_commit("q", {0: many})


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        (KafkaError._FENCED, 0),
        (KafkaError._FATAL, 0),
        (KafkaError.INVALID_PRODUCER_EPOCH, 0),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, 1),
    ],
)
def test_a_replay_that_a_later_one_has_fenced_does_not_replace_its_notes(
    code: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, attempts, kept_for = iter(["one", "two"]), iter([None, KafkaException(KafkaError(code))]), list[str]()

    def attempt(*args: object, **named: object) -> None:
        if (error := next(attempts)) is not None:
            raise error

    monkeypatch.setattr(replays, "AT_ONCE", 1)
    monkeypatch.setattr(replays, "init_transactions", lambda producer, seconds: None)
    monkeypatch.setattr(replays, "done_of", lambda *args: {})
    monkeypatch.setattr(Replay, "planned", lambda *args: given)
    monkeypatch.setattr(Replay, "_send", attempt)
    nothing: Any = None
    sending = Replay(nothing, "c", "q", Anywhere(), keep=lambda _: kept_for.append("c")).send(lambda: nothing, ())
    with pytest.raises(ConnectError, match="could not be sent"):
        list(sending)
    assert len(kept_for) == kept


def replay(kafka: Kafka, queue: str, connector: str, *places: tuple[int, int], topic: str | None = None) -> list[str]:
    with reading(kafka, connector) as consumer:
        producer = partial(replay_producer, connector, {"bootstrap.servers": kafka.bootstrap})
        sending = Replay(consumer, connector, queue, Anywhere(), topic).send(producer, places)
        return [each.letter.position for each in sending]


@pytest.mark.integration
def test_dead_letters_are_replayed_unchanged_and_once(kafka: Kafka) -> None:
    topic, queue, c = kafka.create_topic(partitions=3), kafka.create_topic(), new_name()
    kafka.produce(queue, [dead("a", topic, 2, c), dead("foreign", topic, 0, "other"), dead("b", topic, 1, c)])
    assert replay(kafka, queue, c) == [f"{queue}-0-0", f"{queue}-0-2"]
    eventually(lambda: len(kafka.values(topic)) == 2)
    found = [(r.value, r.key, r.partition, r.headers, r.timestamp) for r in kafka.read_all(topic)]
    assert found == [
        (b"b", b"k", 1, (("mine", b"1"),), 1234),
        (b"a", b"k", 2, (("mine", b"1"),), 1234),
    ]
    assert replay(kafka, queue, c) == []
    kafka.produce(queue, [dead("c", topic, 0, c)])
    assert replay(kafka, queue, c) == [f"{queue}-0-3"]
    eventually(lambda: sorted(v for v in kafka.values(topic) if v) == [b"a", b"b", b"c"])


@pytest.mark.integration
def test_single_replayed_dead_letters_are_remembered(kafka: Kafka) -> None:
    topic, queue, c = kafka.create_topic(), kafka.create_topic(), new_name()
    kafka.produce(queue, [dead(str(i), topic, 0, c) for i in range(5)])
    assert replay(kafka, queue, c, (0, 3), (0, 1)) == [f"{queue}-0-1", f"{queue}-0-3"]
    assert replay(kafka, queue, c, (0, 3)) == []
    with reading(kafka, c) as consumer:
        assert done_of(consumer, queue) == {0: Done(0, [(1, 1), (3, 3)])}
    assert len(replay(kafka, queue, c)) == 3
    eventually(lambda: kafka.values(topic) == [b"1", b"3", b"0", b"2", b"4"])


@pytest.mark.integration
def test_a_dead_letter_without_its_topic_holds_up_no_other(kafka: Kafka) -> None:
    topic, queue, c = kafka.create_topic(), kafka.create_topic(), new_name()
    damaged = Record("damaged", "k", 0, (("__connect.errors.topic", b"\xff\xfe"), ("__connect.errors.partition", b"0")))
    kafka.produce(queue, [dead("a", topic, 0, c), Record("b", partition=0), damaged, dead("d", topic, 0, c)])
    done = guarded(kafka, queue, c, {"topics": f"{topic},other"}, topic=None)
    assert list(done.skipped.reasons) == [f"{queue}-0-1", f"{queue}-0-2"]
    assert done.skipped.reasons[f"{queue}-0-1"].startswith("It does not say from which topic it came")
    eventually(lambda: kafka.values(topic) == [b"a", b"d"])
    assert replay(kafka, queue, c, (0, 1)) == []
    assert replay(kafka, queue, c, (0, 1), topic=topic) == [f"{queue}-0-1"]
    eventually(lambda: kafka.values(topic) == [b"a", b"d", b"b"])


@pytest.mark.integration
@pytest.mark.parametrize("single", [False, True])
def test_dead_letters_that_their_topic_refuses_hold_up_no_other(kafka: Kafka, single: bool) -> None:
    """A letter may be too large by now, or have no key for a compacted topic."""
    small = kafka.create_topic(config={"max.message.bytes": "20000"})
    compacted = kafka.create_topic(config={"cleanup.policy": "compact"})
    queue, c = kafka.create_topic(), new_name()
    keyless = replace(dead("no key", compacted, 0, c), key=None)
    large = dead("x" * 30_000, small, 0, c)
    kafka.produce(queue, [dead("a", small, 0, c), large, keyless, dead("b", compacted, 0, c), dead("c", small, 0, c)])
    with reading(kafka, c) as consumer:
        done = Replay(consumer, c, queue, Anywhere())
        places = [(0, offset) for offset in range(5)] if single else []
        sent = list(done.send(partial(replay_producer, c, {"bootstrap.servers": kafka.bootstrap}), places))
    assert [each.letter.value for each in sent] == [b"a", b"b", b"c"]
    assert list(done.skipped.reasons) == [f"{queue}-0-1", f"{queue}-0-2"]
    assert done.skipped.reasons[f"{queue}-0-1"].startswith(f"Topic {small} does not take it: ")
    eventually(lambda: (kafka.values(small), kafka.values(compacted)) == ([b"a", b"c"], [b"b"]))
    assert replay(kafka, queue, c) == [], "sent letters are not sent again, and the others stay"


@pytest.mark.integration
def test_a_letter_left_behind_is_not_counted_as_replayed_between_those_of_others(kafka: Kafka) -> None:
    """Letters of other connectors are no gaps in the note: too many gaps made the first letters count as replayed."""
    topic, gone, queue, c = kafka.create_topic(), new_name("gone"), kafka.create_topic(), new_name()
    mixed = [dead(str(i), topic, 0, c if i % 2 else "other") for i in range(3000)]
    kafka.produce(queue, [dead("left", gone, 0, c), *mixed])
    assert len(replay(kafka, queue, c)) == 1500
    with reading(kafka, c) as consumer:
        assert done_of(consumer, queue) == {0: Done(0, [(1, 3000)])}
    kafka.create_topic(gone)
    assert replay(kafka, queue, c) == [f"{queue}-0-0"]


@pytest.mark.integration
def test_two_replays_at_a_time_leave_the_notes_of_the_later(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """The earlier one has read its notes, and writes them back after the later one has ended."""
    topic, queue, c = kafka.create_topic(), kafka.create_topic(), new_name()
    settings = {"bootstrap.servers": kafka.bootstrap}
    kafka.produce(queue, [dead(value, topic, 0, c) for value in "ab"])
    assert replay(kafka, queue, c, (0, 0)) == [f"{queue}-0-0"]
    write, ended = GroupOffsets.keep, list[str]()

    def late(offsets: GroupOffsets, *given: Any) -> None:
        if not ended:
            ended.append("the later one")
            assert replay(kafka, queue, c) == [f"{queue}-0-1"]
            with reading(kafka, c) as other:
                keep_notes(c, queue, settings, other)
        write(offsets, *given)

    monkeypatch.setattr(GroupOffsets, "keep", late)
    with reading(kafka, c) as consumer:
        keep_notes(c, queue, settings, consumer)
    with reading(kafka, c) as consumer:
        assert done_of(consumer, queue)[0].next == 2
    assert kept_notes(c, queue, settings)[0].next == 2
    assert replay(kafka, queue, c) == []


@pytest.mark.integration
def test_a_topic_or_partition_that_is_gone_holds_up_no_other_letter(kafka: Kafka) -> None:
    topic, queue, c, gone = kafka.create_topic(), kafka.create_topic(), new_name(), new_name("gone")
    kafka.produce(
        queue, [dead("a", topic, 0, c), dead("b", topic, 7, c), dead("c", gone, 0, c), dead("d", topic, 0, c)]
    )
    with reading(kafka, c) as consumer:
        done = Replay(consumer, c, queue, Anywhere())
        sent = list(done.send(partial(replay_producer, c, {"bootstrap.servers": kafka.bootstrap}), ()))
    assert [each.letter.value for each in sent] == [b"a", b"d"]
    assert done.skipped.reasons == {
        f"{queue}-0-1": f"It came from partition 7 of topic {topic}, which has 1",
        f"{queue}-0-2": f"It came from topic {gone}, which does not exist any more",
    }
    eventually(lambda: kafka.values(topic) == [b"a", b"d"])
    kafka.create_topic(gone)
    assert replay(kafka, queue, c) == [f"{queue}-0-2"], "sent once its topic exists, and none of the others again"
    eventually(lambda: kafka.values(gone) == [b"c"])


@pytest.mark.integration
@pytest.mark.slow
def test_replayed_letters_are_remembered_longer_than_the_broker_keeps_offsets(tmp_path: Path) -> None:
    minute = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}
    with FaultyBroker(tmp_path, minute) as broker:
        kafka, kept, other = Kafka(broker.bootstrap), new_name(), new_name()
        topic, queue = kafka.create_topic(), kafka.create_topic()
        kafka.produce(queue, [dead("a", topic, 0, kept), dead("b", topic, 0, other)])
        settings = {"bootstrap.servers": kafka.bootstrap}
        for connector in (kept, other):
            with reading(kafka, connector) as consumer:
                keep = partial(keep_notes, connector, queue, settings) if connector == kept else lambda _: None
                sending = Replay(consumer, connector, queue, Anywhere(), keep=keep)
                assert len(list(sending.send(partial(replay_producer, connector, settings), ()))) == 1

        def forgotten() -> bool:
            with reading(kafka, other) as consumer:
                return done_of(consumer, queue)[0].next == 0

        eventually(forgotten)
        copies = partial(kept_notes, kept, queue, settings)

        def left_to_the_copy() -> bool:
            with reading(kafka, kept) as consumer:
                return done_of(consumer, queue)[0].next == 0

        eventually(left_to_the_copy)
        with reading(kafka, kept) as consumer:
            assert done_of(consumer, queue, copies)[0].next == 1
            again = Replay(consumer, kept, queue, Anywhere(), kept=copies)
            assert list(again.send(partial(replay_producer, kept, settings), ())) == []


@pytest.mark.integration
def test_a_replay_ends_when_all_its_connections_were_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``rebootstrap`` librdkafka never returns from sending offsets, see ``AT_GROUPS``."""
    monkeypatch.setattr(replays, "AT_ONCE", 1)
    with FaultyBroker(tmp_path, {"log.retention.ms": "-1"}) as broker:
        kafka, c = Kafka(broker.bootstrap), new_name()
        topic, queue = kafka.create_topic(), kafka.create_topic()
        kafka.produce(queue, [dead(value, topic, 0, c) for value in "abcde"])
        hanging = {"metadata.recovery.strategy": "rebootstrap"}
        with interrupted(broker, queue, c, hanging) as rest, monkeypatch.context() as impatient:
            impatient.setattr(replays, "_PATIENCE", 5.0)
            with pytest.raises(NoAnswerError, match=r"does not come back from sending offsets\. Those of"):
                next(rest)
        with interrupted(broker, queue, c, {}) as rest:
            assert [each.letter.value for each in rest] == [b"c", b"d", b"e"]
        eventually(lambda: kafka.values(topic) == [b"a", b"b", b"c", b"d", b"e"])


@contextmanager
def interrupted(broker: FaultyBroker, queue: str, connector: str, own: dict[str, str]) -> Iterator[Iterator[Sent]]:
    """Yield the rest of a replay that lost all its connections after the first letter."""
    with reading(Kafka(broker.bootstrap), connector) as consumer:
        producer = partial(replay_producer, connector, {"bootstrap.servers": broker.proxied, **own})
        sending = Replay(consumer, connector, queue, Anywhere()).send(producer, ())
        next(sending)
        broker.proxy.reset()
        time.sleep(1)  # until the producer has noticed it
        yield sending


@pytest.mark.integration
def test_dead_letters_are_found_by_partition_and_offset(kafka: Kafka) -> None:
    queue, c = kafka.create_topic(partitions=2), new_name()
    kafka.produce(queue, [Record(str(i), partition=1) for i in range(3)])
    with reading(kafka, c) as consumer:
        assert [each.value for each in letters(consumer, queue, {0: 0, 1: 1})] == [b"1", b"2"]
        places = [(1, 2), (1, 3), (1, 99), (0, 0), (5, 0)]
        found = [letter_at(consumer, queue, partition, offset) for partition, offset in places]
    assert [each and each.value for each in found] == [b"2", None, None, None, None]
