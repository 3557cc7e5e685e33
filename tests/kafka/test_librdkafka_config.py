from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from penstock.api.config import ConfigDef
from penstock.api.errors import ConfigError, KafkaError
from penstock.core.config.clients import ADMIN_SETTINGS, CONSUMER_SETTINGS, PRODUCER_SETTINGS
from penstock.kafka.clients import admin_config, consumer_config, new_producer, producer_config
from penstock.kafka.librdkafka_config import ADMIN, CONSUMER, IGNORED, PRODUCER, Counterpart
from penstock.kafka.security.settings import SECURITY


@pytest.mark.parametrize(
    ("java", "native"),
    [
        ({"acks": "1"}, {"acks": "1"}),
        ({"buffer.memory": "33554432"}, {"queue.buffering.max.kbytes": 32768}),
        ({"max.request.size": "5000000"}, {"message.max.bytes": 5_000_000, "queue.buffering.max.kbytes": 131_072}),
        ({"max.request.size": "200000000"}, {"queue.buffering.max.kbytes": 195_313}),
        ({"buffer.memory": "1000"}, {"queue.buffering.max.kbytes": 1024}),
        ({"delivery.timeout.ms": "2147483647"}, {"message.timeout.ms": 0}),
        ({"request.timeout.ms": " 5000 "}, {"request.timeout.ms": 5000, "socket.timeout.ms": 5000}),
        ({"compression.type": "zstd", "compression.zstd.level": "7"}, {"compression.level": 7}),
        ({"partitioner.ignore.keys": "true"}, {"partitioner": "random"}),
        ({"partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner"}, {"partitioner": "random"}),
        ({}, {"partitioner": "murmur2_random", "message.max.bytes": 1_048_576, "message.timeout.ms": 120_000}),
        (
            {"transactional.id": "x", "transaction.timeout.ms": "2000", "delivery.timeout.ms": "9000"},
            {"transactional.id": "x", "message.timeout.ms": 2000, "socket.timeout.ms": 2000},
        ),
        ({"transactional.id": "x", "linger.ms": "90000"}, {"linger.ms": 59_999, "message.timeout.ms": 60_000}),
    ],
)
def test_producer_settings(java: dict[str, str], native: dict[str, object]):
    config = producer_config(java)
    assert {name: config.get(name) for name in native} == native


def test_the_level_of_another_compression_is_left_out():
    config = producer_config({"compression.type": "lz4", "compression.zstd.level": "7"})
    assert not [name for name in config if "level" in name]


ASSIGNORS = "org.apache.kafka.clients.consumer."


@pytest.mark.parametrize(
    ("java", "native"),
    [
        ({}, {"isolation.level": "read_uncommitted", "fetch.queue.backoff.ms": 5, "allow.auto.create.topics": True}),
        ({"auto.offset.reset": "none"}, {"auto.offset.reset": "error"}),
        ({"fetch.max.wait.ms": "60000"}, {"fetch.wait.max.ms": 60_000, "socket.timeout.ms": 61_000}),
        ({"fetch.max.bytes": "200000000"}, {"receive.message.max.bytes": 200_000_512}),
        ({"max.poll.interval.ms": "5000"}, {"session.timeout.ms": 5000}),
        ({"max.poll.interval.ms": "3000"}, {"session.timeout.ms": 3000, "heartbeat.interval.ms": 1000}),
        ({"session.timeout.ms": "600000"}, {"session.timeout.ms": 300_000, "heartbeat.interval.ms": 3000}),
        ({"session.timeout.ms": "600000", "max.poll.interval.ms": "900000"}, {"session.timeout.ms": 600_000}),
        (
            {"partition.assignment.strategy": f"{ASSIGNORS}RangeAssignor,{ASSIGNORS}CooperativeStickyAssignor"},
            {"partition.assignment.strategy": "range"},
        ),
        (
            {"partition.assignment.strategy": f"{ASSIGNORS}CooperativeStickyAssignor"},
            {"partition.assignment.strategy": "cooperative-sticky"},
        ),
        ({"group.protocol": "CONSUMER"}, {"group.protocol": "consumer", "partition.assignment.strategy": None}),
        ({"max.poll.records": "5"}, {"max.poll.records": None}),
    ],
)
def test_consumer_settings(java: dict[str, str], native: dict[str, object]):
    config = consumer_config(java)
    assert {name: config.get(name) for name in native} == native


def test_there_is_room_for_the_largest_record() -> None:
    producer = new_producer({"bootstrap.servers": "127.0.0.1:1", "buffer.memory": "1000"})
    producer.produce("t", b"x" * 1_000_000)
    assert len(producer) >= 1
    producer.purge(blocking=False)


@pytest.mark.parametrize(("config", "first"), [(producer_config, 100), (consumer_config, 250), (admin_config, 250)])
def test_a_first_wait_is_as_long_as_the_kind_of_client_needs(
    config: Callable[[dict[str, str]], dict[str, object]], first: int
) -> None:
    native = config({})
    assert (native["reconnect.backoff.ms"], native["reconnect.backoff.max.ms"]) == (first, 1000)


@pytest.mark.parametrize("config", [producer_config, consumer_config, admin_config])
@pytest.mark.parametrize(
    ("java", "waits"),
    [
        ({"reconnect.backoff.ms": "5000"}, (5000, 5000)),
        ({"reconnect.backoff.max.ms": "100"}, (100, 100)),
        ({"reconnect.backoff.ms": "500", "reconnect.backoff.max.ms": "200"}, (200, 200)),
        ({"reconnect.backoff.ms": "20", "reconnect.backoff.max.ms": "200"}, (20, 200)),
    ],
)
def test_a_first_wait_is_no_longer_than_the_longest(
    config: Callable[[dict[str, str]], dict[str, object]], java: dict[str, str], waits: tuple[int, int]
) -> None:
    """librdkafka makes no client of others."""
    native = config(java)
    assert (native["reconnect.backoff.ms"], native["reconnect.backoff.max.ms"]) == waits


@pytest.mark.parametrize(
    ("java", "problem"),
    [
        ({"linger.ms": "x"}, "Invalid value x for configuration linger.ms: Not a number of type LONG"),
        ({"acks": "2"}, "Invalid value 2 for configuration acks: String must be one of: all, -1, 0, 1"),
        ({"batch.size": "-1"}, "Invalid value -1 for configuration batch.size: Value must be at least 0"),
        ({"enable.idempotence": "true", "acks": "1"}, "Must set acks to all in order to use the idempotent producer"),
        (
            {"enable.idempotence": "true", "max.in.flight.requests.per.connection": "10"},
            "max.in.flight.requests.per.connection must be set to at most 5. Current value is 10.",
        ),
        ({"transactional.id": "x", "enable.idempotence": "false"}, "Cannot set a transactional.id without also"),
        ({"delivery.timeout.ms": "0"}, "delivery.timeout.ms should be larger than linger.ms, but they are 0 and 5"),
        ({"delivery.timeout.ms": "1000", "linger.ms": "2000"}, "larger than linger.ms, but they are 1000 and 2000"),
        ({"interceptor.classes": "a.B"}, "Interceptors are Java classes and can't be run here"),
        ({"partitioner.class": "a.B"}, "Partitioners are Java classes and can't be run here"),
    ],
)
def test_invalid_producer_settings_are_refused(java: dict[str, str], problem: str):
    with pytest.raises(ConfigError) as caught:
        producer_config(java)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "java", [{"heartbeat.interval.ms": "45000"}, {"session.timeout.ms": "3000"}, {"session.timeout.ms": "1"}]
)
def test_heartbeats_that_would_come_too_late_are_refused_as_in_java(java: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="Heartbeat must be set lower than the session timeout"):
        consumer_config(java)
    assert "heartbeat.interval.ms" not in consumer_config({**java, "group.protocol": "consumer"})


def test_settings_that_nobody_knows_are_accepted_with_one_warning(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        admin_config({"no.such.setting.at.all": "1"})
        admin_config({"no.such.setting.at.all": "2"})
    assert [r.getMessage() for r in caplog.records] == [
        "The admin setting `no.such.setting.at.all` is not known to Kafka's clients and has no effect"
    ]


def test_an_address_without_a_port_is_refused_as_in_java():
    with pytest.raises(KafkaError, match="^Failed to construct kafka producer$") as caught:  # noqa: RUF043
        new_producer({"bootstrap.servers": "nowhere"})
    assert str(caught.value.__cause__) == "Invalid url in bootstrap.servers: nowhere"


of_each_client = pytest.mark.parametrize(
    ("table", "definition"), [(PRODUCER, PRODUCER_SETTINGS), (CONSUMER, CONSUMER_SETTINGS), (ADMIN, ADMIN_SETTINGS)]
)
READ_ELSEWHERE = (
    "exclude.internal.topics",
    "max.poll.records",
    "sasl.jaas.config",
    "sasl.kerberos.service.name",
    "ssl.key.password",
    "ssl.keystore.",
    "ssl.truststore.",
)
"""Names, and what they begin with, of settings that have an effect without a counterpart."""


@of_each_client
def test_the_documentation_says_which_settings_have_no_effect(
    table: dict[str, Counterpart], definition: ConfigDef
) -> None:
    counterparts = {name: (table | SECURITY).get(name, IGNORED) for name in definition.keys}
    without = {name for name, counterpart in counterparts.items() if counterpart.ignored or not counterpart.to}
    without -= {name for name in without if name.startswith(READ_ELSEWHERE)}
    assert {name for name, key in definition.keys.items() if "No effect" in key.documentation} == without


@of_each_client
def test_every_counterpart_is_that_of_a_declared_setting(table: dict[str, Counterpart], definition: ConfigDef) -> None:
    assert (table.keys() | SECURITY.keys()) - definition.keys.keys() == set()


def test_assertions_are_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Tokens are requested by another kind of grant, for which librdkafka reads none of their settings."""
    login = (
        'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId="a" clientSecret="b";'
    )
    given = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": login,
        "sasl.oauthbearer.token.endpoint.url": "http://localhost:1/token",
    }
    with caplog.at_level(logging.WARNING):
        native = producer_config({**given, "sasl.oauthbearer.assertion.private.key.file": "/key.pem"})
    assert native == producer_config(given)
    assert caplog.messages == [
        "The setting `sasl.oauthbearer.assertion.private.key.file` has no effect here: "
        "tokens are requested with the client's name and secret, not by assertions"
    ]


def test_labels_for_metric_reporters_are_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert producer_config({"metrics.context.region": "eu"}) == producer_config({})
    assert caplog.messages == [
        "The setting `metrics.context.region` has no effect here: "
        "it is for metric reporters, of which there are none here"
    ]


def test_a_setting_of_java_without_a_counterpart_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        native = producer_config({"transaction.two.phase.commit.enable": "true"})
    assert "transaction.two.phase.commit.enable" not in native
    assert caplog.messages == [
        "The setting `transaction.two.phase.commit.enable` has no effect here: librdkafka has no setting like it"
    ]


def test_partitions_by_racks_are_refused_and_named() -> None:
    assert "client.rack" not in producer_config({"client.rack": "a", "partitioner.rack.aware": "false"})
    with pytest.raises(ConfigError, match=r"^Invalid value true for configuration partitioner\.rack\.aware: "):
        producer_config({"client.rack": "a", "partitioner.rack.aware": "true"})


@pytest.mark.parametrize("made", [producer_config, consumer_config, admin_config])
def test_settings_of_clients_of_kafka_4_4_are_known(
    made: Callable[[dict[str, str]], object], caplog: pytest.LogCaptureFixture
) -> None:
    new = {
        "bootstrap.resolve.timeout.ms": "1000",
        "metadata.cluster.check.enable": "true",
        "sasl.oauthbearer.allow.unverified.audience": "true",
    }
    with caplog.at_level(logging.WARNING):
        assert made(new) == made({})
    assert "is not known" not in caplog.text
    with pytest.raises(ConfigError, match=r"^Invalid value -1 for configuration bootstrap\.resolve\.timeout\.ms"):
        made({"bootstrap.resolve.timeout.ms": "-1"})
