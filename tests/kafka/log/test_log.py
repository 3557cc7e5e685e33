from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from penstock.api.errors import ConfigError, ConnectError
from penstock.api.kafka import TopicSpec
from penstock.kafka.admin import offsets_at, partition_counts
from penstock.kafka.client_settings import internal
from penstock.kafka.clients import init_transactions, new_admin, new_producer
from penstock.kafka.log.outages import Outage, Outages
from penstock.kafka.log.progress import ReadProgress
from penstock.kafka.log.reader import LogClients, LogReader, LogRecord
from penstock.kafka.log.topic import LogTopic
from penstock.kafka.log.topic_log import TopicLog
from penstock.kafka.log.writer import LogClosedError
from penstock.kafka.offsets.topic import ensure_own_topic
from penstock.kafka.storage.stores import internal_topic
from support.kafka.client import Kafka, Record
from support.kafka.golden import golden
from support.kafka.lost import reporting_no_broker
from support.waiting import SECONDS, Inbox, answer, until

pytestmark = pytest.mark.integration

COMPACT = {"cleanup.policy": "compact"}


def log_topic(name: str, partitions: int = 1, single: bool = False) -> LogTopic:
    spec = TopicSpec(name, partitions, 1, COMPACT)
    return LogTopic(
        spec=spec, setting="config.storage.topic", purpose="connector configurations", single_partition=single
    )


def clients(kafka: Kafka, **options: Any) -> LogClients:
    worker = {"bootstrap.servers": kafka.bootstrap}
    return LogClients(
        consumer=internal(worker, "consumer", "log-test"),
        producer=internal(worker, "producer", "log-test"),
        admin=internal(worker, "admin", "log-test"),
        **options,
    )


@contextmanager
def opened(topic: LogTopic, clients: LogClients) -> Iterator[tuple[TopicLog, Inbox]]:
    records, caught_up = Inbox(), Inbox()
    log = TopicLog(topic, clients, records, on_caught_up=caught_up)
    log.start()
    try:
        caught_up.next()
        yield log, records
    finally:
        log.close()


def test_a_topic_is_made_compacted_and_what_is_appended_is_read_back(kafka: Kafka):
    name = f"{kafka.create_topic()}-log"
    with opened(log_topic(name, 3), clients(kafka)) as (log, records):
        assert log.partitions == 3
        answer(log.append, [(b"a", b"1"), (b"a", None)])
        answer(log.read_to_end)
        assert [(r.key, r.value, r.offset) for r in records.records(2)] == [(b"a", b"1", 0), (b"a", None, 1)]
    with opened(log_topic(name), clients(kafka)) as (log, records):
        assert [r.value for r in records.records(2)] == [b"1", None]


@pytest.mark.parametrize("kind", ["status", "offset"])
def test_keys_go_to_the_partitions_where_java_puts_them(kafka: Kafka, kind: str):
    wanted = {g.key: g.partition for g in golden(kind)}
    topic = log_topic(f"{kafka.create_topic()}-log", golden(kind)[0].partitions)
    with opened(topic, clients(kafka)) as (log, records):
        answer(log.append, [(key, b"") for key in wanted])
        assert {r.key: r.partition for r in records.records(len(wanted))} == wanted


def test_records_appended_before_the_topic_exists_are_not_lost(kafka: Kafka):
    log = TopicLog(log_topic(f"{kafka.create_topic()}-log"), clients(kafka), records := Inbox())
    done = Inbox()
    log.append([(b"k", b"early")], done)
    log.start()
    try:
        assert done.next() is None
        assert [r.value for r in records.records(1)] == [b"early"]
    finally:
        log.close()


def test_a_topic_that_is_not_compacted_is_refused_with_javas_words(kafka: Kafka):
    name, failed = kafka.create_topic(config={"cleanup.policy": "compact,delete"}), Inbox()
    log = TopicLog(log_topic(name), clients(kafka), Inbox(), on_failed=failed)
    log.start()
    error = failed.next()
    log.close()
    assert isinstance(error, ConfigError)
    assert str(error) == (
        f"Topic '{name}' supplied via the 'config.storage.topic' property is required to have 'cleanup.policy=compact' "
        "to guarantee consistency and durability of connector configurations, but found the topic currently has "
        "'cleanup.policy=compact,delete'. Continuing would likely result in eventually losing connector configurations "
        "and problems restarting this Connect cluster in the future. Change the 'config.storage.topic' property in the "
        "Connect worker configurations to use a topic with 'cleanup.policy=compact'."
    )


def test_a_config_topic_of_several_partitions_is_refused_with_javas_words(kafka: Kafka):
    name, failed = kafka.create_topic(partitions=2, config=COMPACT), Inbox()
    log = TopicLog(log_topic(name, single=True), clients(kafka), Inbox(), on_failed=failed)
    log.start()
    error = failed.next()
    log.close()
    assert str(error) == (
        f"Topic '{name}' supplied via the 'config.storage.topic' property is required to have a single partition in "
        "order to guarantee consistency of connector configurations, but found 2 partitions."
    )


def test_a_topic_that_may_not_be_created_is_named_with_javas_words(kafka: Kafka):
    """Kafka 4.4: ``internal.topics.automatic.creation.enable``."""
    missing, failed = f"{kafka.create_topic()}-log", Inbox()
    log = TopicLog(replace(log_topic(missing), created=False), clients(kafka), Inbox(), on_failed=failed)
    log.start()
    error = failed.next()
    log.close()
    assert isinstance(error, ConnectError)
    assert str(error) == (
        f"Topic '{missing}' specified via the 'config.storage.topic' property is missing. The config "
        "'internal.topics.automatic.creation.enable' is set to 'false', so automatic creation of internal topics is "
        "disabled. Either enable automatic creation or create the topics manually."
    )
    assert not partition_counts(new_admin({"bootstrap.servers": kafka.bootstrap}), [missing])
    there = kafka.create_topic(config=COMPACT)
    with opened(replace(log_topic(there), created=False), clients(kafka)) as (log, records):
        answer(log.append, [(b"k", b"v")])
        assert [r.value for r in records.records(1)] == [b"v"]
    wrong = kafka.create_topic(config={"cleanup.policy": "delete"})
    admin = new_admin({"bootstrap.servers": kafka.bootstrap})
    with pytest.raises(ConfigError, match=r"required to have 'cleanup\.policy=compact'"):
        replace(log_topic(wrong), created=False).ensure(admin, "User:ANONYMOUS")


def test_all_internal_topics_follow_the_setting_that_creates_them(kafka: Kafka):
    worker = {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": "g",
        "offset.storage.topic": f"{kafka.create_topic()}-offsets",
        "internal.topics.automatic.creation.enable": "false",
    }
    assert not internal_topic(worker, "offset", "x", partitions=1).created
    own = f"{kafka.create_topic()}-own"
    with pytest.raises(
        ConnectError, match=f"^Topic '{own}' specified via the 'offsets.storage.topic' property is miss"
    ):
        ensure_own_topic(worker, {"name": "c", "offsets.storage.topic": own})
    ensure_own_topic({**worker, "internal.topics.automatic.creation.enable": "true"}, {"name": "c"})
    created = {**worker, "internal.topics.automatic.creation.enable": "true", "offset.storage.replication.factor": "1"}
    ensure_own_topic(created, {"name": "c", "offsets.storage.topic": own})
    assert partition_counts(new_admin({"bootstrap.servers": kafka.bootstrap}), [own]) == {own: 25}


def test_settings_that_the_broker_does_not_take_are_refused(kafka: Kafka):
    spec = TopicSpec(f"{kafka.create_topic()}-log", 1, 1, {**COMPACT, "retention.ms": "soon"})
    failed = Inbox()
    topic = LogTopic(spec=spec, setting="status.storage.topic", purpose="x")
    log = TopicLog(topic, clients(kafka), Inbox(), on_failed=failed)
    log.start()
    error = failed.next()
    log.close()
    assert isinstance(error, ConnectError)
    assert str(error).startswith(f"Unable to create topic(s) '{spec.name}': ")


def test_reading_to_the_end_waits_for_open_transactions(kafka: Kafka):
    name = kafka.create_topic(config=COMPACT)
    producer = new_producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": f"{name}-t"})
    init_transactions(producer, 120)
    with opened(log_topic(name), clients(kafka, read_committed=True)) as (log, records):
        producer.begin_transaction()
        producer.produce(name, b"1", b"k")
        producer.flush()
        done = Inbox()
        log.read_to_end(done)
        log.read_to_end(done)
        assert records.empty()
        assert done.empty()
        producer.commit_transaction()
        assert [done.next(), done.next()] == [None, None]
        assert [r.value for r in records.records(1)] == [b"1"]


def test_a_partition_of_which_nothing_comes_any_more_gets_a_new_consumer(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """librdkafka stops so with one partition when its leader has come back with another epoch; here it is told to."""
    monkeypatch.setattr("penstock.kafka.standstill.INITIAL_TOLERANCE", 0.5)
    name, reads, records = kafka.create_topic(partitions=2, config=COMPACT), ReadProgress(), list[LogRecord]()
    reads.begin({0: 0, 1: 0})
    answers: list[Callable[[], dict[int, int]]] = [unreachable, lambda: {0: 0}, lambda: {0: 1}]
    outage = Outage("reading", threading.Event(), Outages())

    def stable(_: object) -> dict[int, int]:
        """On a busy machine it is asked once more, while the new consumer finds its broker."""
        return answers.pop(0)() if answers else {0: 0}

    reader = LogReader(name, clients(kafka), reads, records.extend, outage, stable)
    try:
        while not records:
            kafka.produce(name, [Record(b"1", b"k", 1)])
            reader.turn()
        reader._consumer.pause([TopicPartition(name, 0)])
        kafka.produce(name, [Record(b"0", b"k", 0)])
        done = Inbox()
        reads.wait_for({0: 1}, done)
        with caplog.at_level(logging.INFO):
            while done.empty():
                kafka.produce(name, [Record(b"1", b"k", 1)])
                reader.turn()
    finally:
        reader.close()
    assert done.next() is None
    assert [r.value for r in records if r.partition == 0] == [b"0"]
    # Neither brokers that do not answer nor open transactions are a reason to replace it.
    assert answers == []
    assert caplog.text.count("(partition 0 at 0, waited for 1)") == 1


def unreachable() -> dict[int, int]:
    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


def test_a_reader_that_waits_for_the_end_of_a_transaction_keeps_its_consumer(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.kafka.standstill.INITIAL_TOLERANCE", 0.3)
    name, reads, asked = kafka.create_topic(config=COMPACT), ReadProgress(), list[dict[int, int]]()
    reads.begin({0: 0})
    admin = new_admin({"bootstrap.servers": kafka.bootstrap})

    def readable(partitions: Iterable[int]) -> dict[int, int]:
        asked.append(offsets_at(admin, name, partitions, OffsetSpec.latest(), committed=True))
        return asked[-1]

    producer = new_producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": f"{name}-t"})
    init_transactions(producer, 120)
    outage = Outage("reading", threading.Event(), Outages())
    reader = LogReader(name, clients(kafka, read_committed=True), reads, lambda records: None, outage, readable)
    first = reader._consumer
    try:
        for end in (producer.abort_transaction, producer.commit_transaction):
            producer.begin_transaction()
            producer.produce(name, b"1", b"k")
            producer.flush()
            [latest] = offsets_at(admin, name, [0], OffsetSpec.latest()).values()
            reads.wait_for({0: latest}, done := Inbox())
            before = len(asked)
            while len(asked) < before + 2:
                reader.turn()
            reader._standstill.tolerated = 600.0  # what has been readable for a moment only is no standstill
            end()
            while done.empty():
                reader.turn()
        assert reader._consumer is first
        assert asked[0] == {0: 0}
    finally:
        reader.close()


def test_an_aborted_transaction_is_never_seen(kafka: Kafka):
    name = kafka.create_topic(config=COMPACT)
    producer = new_producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": f"{name}-t"})
    init_transactions(producer, 120)
    producer.begin_transaction()
    producer.produce(name, b"1", b"k")
    producer.flush()
    producer.abort_transaction()
    with opened(log_topic(name), clients(kafka, read_committed=True)) as (log, records):
        answer(log.append, [(b"k", b"2")])
        answer(log.read_to_end)
        assert [r.value for r in records.records(1)] == [b"2"]


def test_a_topic_that_is_deleted_is_created_again(kafka: Kafka, caplog: pytest.LogCaptureFixture):
    name = kafka.create_topic(config=COMPACT)
    with opened(log_topic(name), clients(kafka)) as (log, records), caplog.at_level(logging.ERROR):
        answer(log.append, [(b"k", b"1")])
        assert len(records.records(1)) == 1
        kafka.delete_topic(name)
        while f"Topic `{name}` with the connector configurations was deleted; recreating it" not in caplog.text:
            answer(log.read_to_end)
        answer(log.read_to_end)
        answer(log.append, [(b"k", b"2")])
        answer(log.read_to_end)
        assert records.records(1)[0][2:4] == (b"k", b"2")


def test_closing_the_log_fails_waiting_reads(kafka: Kafka):
    topic = log_topic("never")
    unreachable = LogClients(
        consumer={"bootstrap.servers": "127.0.0.1:1"},
        producer={"bootstrap.servers": "127.0.0.1:1"},
        admin={"bootstrap.servers": "127.0.0.1:1"},
    )
    log, done = TopicLog(topic, unreachable, Inbox()), Inbox()
    log.append([(b"k", b"v")], done)
    log.read_to_end(done)
    log.start()
    log.close()
    assert isinstance(done.next(), LogClosedError)
    assert isinstance(done.next(), LogClosedError)
    log.append([(b"k", b"v")], done)
    assert isinstance(done.next(), LogClosedError)


def test_a_producer_that_has_lost_its_brokers_is_replaced(kafka: Kafka) -> None:
    with opened(log_topic(f"{kafka.create_topic()}-log"), clients(kafka)) as (log, records):
        writer = log._writer
        answer(log.append, [(b"a", b"1")])
        lost = writer._producer
        until(
            reporting_no_broker(lambda: writer._producer is not lost, writer._statistics), "another producer", SECONDS
        )
        answer(log.append, [(b"a", b"2")])
        assert [r.value for r in records.records(2)] == [b"1", b"2"]


def test_an_admin_client_that_has_lost_its_brokers_is_replaced() -> None:
    nowhere = internal({"bootstrap.servers": "127.0.0.1:1"}, "admin", "log-test")
    log = TopicLog(log_topic("t"), LogClients(consumer=nowhere, producer=nowhere, admin=nowhere), Inbox())
    log.start()
    try:
        until(lambda: log._outage.present, "an outage", SECONDS)
        lost = log._admin
        until(reporting_no_broker(lambda: log._admin is not lost, log._statistics), "another client", SECONDS)
        assert not log._statistics.lost, "the new client starts with statistics of its own"
    finally:
        log.close()
