from __future__ import annotations

import pytest

from penstock.kafka.client_settings import (
    connector_admin,
    connector_consumer,
    connector_producer,
    consumer_group,
    idempotence,
    internal,
    max_poll_records,
    transactional_producer,
)
from penstock.kafka.clients import consumer_config
from penstock.kafka.offsets.topic import worker_offsets
from penstock.kafka.storage.stores import ConfigStore, StatusStore

WORKER = {
    "bootstrap.servers": "a:1",
    "group.id": "workers",
    "key.converter": "x",
    "request.timeout.ms": "7",
    "producer.linger.ms": "1",
    "producer.acks": "1",
    "consumer.max.poll.records": "9",
    "admin.request.timeout.ms": "8",
}
CONNECTOR = {"name": "c", "producer.override.linger.ms": "2", "consumer.override.group.id": "mine"}


def test_a_producer_takes_connects_settings_then_the_workers_then_the_connectors():
    assert connector_producer(WORKER, CONNECTOR, "id") == {
        "bootstrap.servers": "a:1",
        "enable.idempotence": "false",
        "acks": "1",
        "max.in.flight.requests.per.connection": "1",
        "delivery.timeout.ms": "2147483647",
        "client.id": "id",
        "linger.ms": "2",
    }


def test_exactly_once_is_never_overridden(caplog: pytest.LogCaptureFixture):
    connector = {"producer.override.enable.idempotence": "false", "producer.override.transactional.id": "other"}
    settings = transactional_producer(WORKER, connector, "id", "workers-c-0")
    assert (settings["enable.idempotence"], settings["transactional.id"]) == ("true", "workers-c-0")
    assert "max.in.flight.requests.per.connection" not in settings
    assert len(caplog.records) == 2
    assert caplog.messages[0] == (
        "The value 'false' for the 'enable.idempotence' property will be ignored as it cannot be overridden for "
        "connectors when exactly-once source support is enabled. The value 'true' will be used instead."
    )


def test_a_producer_is_idempotent_if_the_users_settings_allow_it():
    of = "producer.override."
    five = "max.in.flight.requests.per.connection"
    assert idempotence({}, CONNECTOR) == {f"{of}enable.idempotence": "true", f"{of}{five}": "5"}
    assert idempotence({f"producer.{five}": "2"}, {})[f"{of}{five}"] == "2"
    assert idempotence({"producer.acks": "1"}, {f"{of}acks": "all"})
    for name, value in {"enable.idempotence": "false", "acks": "1", "retries": "0", five: "6"}.items():
        assert idempotence({}, {of + name: value}) == idempotence({f"producer.{name}": value}, {}) == {}


def test_a_consumers_group_is_the_connectors_unless_overridden():
    assert consumer_group(WORKER, {"name": "c"}) == "connect-c"
    assert consumer_group(WORKER, CONNECTOR) == "mine"
    assert connector_consumer(WORKER, {"name": "c"}, "id")["auto.offset.reset"] == "earliest"


def test_members_of_a_group_of_several_tasks_hear_of_each_other_soon():
    several = {"name": "c", "tasks.max": "2"}
    assert consumer_config(connector_consumer({}, several, "id"))["heartbeat.interval.ms"] == 500
    assert "heartbeat.interval.ms" not in connector_consumer({}, {"name": "c", "tasks.max": "1"}, "id")
    given = {**several, "consumer.override.heartbeat.interval.ms": "2000"}
    assert connector_consumer({}, given, "id")["heartbeat.interval.ms"] == "2000"
    new = {**several, "consumer.override.group.protocol": "consumer"}
    assert "heartbeat.interval.ms" not in consumer_config(connector_consumer({}, new, "id"))


def test_max_poll_records():
    assert max_poll_records(WORKER, CONNECTOR) == 9
    assert max_poll_records({}, {"name": "c"}) is None


def test_an_admin_client_also_takes_the_workers_settings_without_a_prefix():
    assert connector_admin(WORKER, CONNECTOR, "id") == {
        "bootstrap.servers": "a:1",
        "client.id": "id",
        "request.timeout.ms": "8",
    }


def test_the_workers_own_clients_take_its_settings_without_a_prefix():
    producer = internal(WORKER, "producer", "id")
    assert (producer["request.timeout.ms"], producer["acks"]) == ("7", "all")
    assert producer["enable.idempotence"] == "false"
    assert "linger.ms" not in producer
    assert "key.converter" not in producer


@pytest.mark.parametrize(
    ("more", "names"),
    [({}, "workers-"), ({"client.id": "mine"}, "workers-mine-"), ({"client.id": " "}, "workers-")],
)
def test_the_workers_own_clients_have_its_name(more: dict[str, str], names: str):
    worker = {
        **WORKER,
        **more,
        **{f"{topic}.storage.topic": topic for topic in ("config", "offset", "status")},
    }
    logs = {
        "configs": ConfigStore(worker, lambda records: None)._log,
        "statuses": StatusStore(worker, lambda records: None)._log,
        "offsets": worker_offsets(worker)._log,
    }
    for use, log in logs.items():
        clients = log.clients
        assert {each["client.id"] for each in (clients.consumer, clients.producer, clients.admin)} == {f"{names}{use}"}


@pytest.mark.parametrize(
    ("more", "committed"),
    [({}, False), ({"isolation.level": "read_committed"}, True), ({"exactly.once.source.support": "enabled"}, True)],
)
def test_a_worker_without_exactly_once_reads_what_is_committed_if_it_is_told_so(more: dict[str, str], committed: bool):
    """After exactly once has been switched off, the topic still has offsets of aborted transactions."""
    worker = {**WORKER, "config.storage.topic": "config", "offset.storage.topic": "offset", **more}
    logs = (ConfigStore(worker, lambda records: None)._log, worker_offsets(worker)._log)
    assert [log.clients.read_committed for log in logs] == [committed, committed]
