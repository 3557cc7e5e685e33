"""Everything that a worker does with Kafka, on a broker with authentication; and its messages when access is denied."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AclOperation, ResourceType

from penstock.api.config import with_prefix
from penstock.api.sink import TopicPartition
from penstock.core.group.membership import ClusterConfigSnapshot, Failed, Joined
from penstock.core.model.records import ConnectorConfig, ConnectorStatus, TargetState
from penstock.kafka.background import await_done
from penstock.kafka.client_settings import connector_consumer, connector_producer, transactional_producer
from penstock.kafka.clients import init_transactions, new_consumer, new_producer
from penstock.kafka.fencing import fence_task
from penstock.kafka.group.member import GroupMember
from penstock.kafka.group.removal import MemberRemoval
from penstock.kafka.offsets.sink_connectors import SinkConnectorOffsets
from penstock.kafka.offsets.source_connectors import SourceConnectorOffsets
from penstock.kafka.offsets.topic import worker_offsets
from penstock.kafka.security.authorization import NotAllowedError
from penstock.kafka.storage.stores import ConfigStore, StatusStore
from support.kafka.secured_broker import Secured, secured_broker
from support.waiting import Inbox, answer, until

pytestmark = pytest.mark.integration

CREATE, DESCRIBE, READ, WRITE = AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE
DELETE = AclOperation.DELETE


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_broker(tmp_path_factory.mktemp("stores")) as broker:
        yield broker


def worker(login: dict[str, str], name: str) -> dict[str, str]:
    """Return a worker's settings, with which its connectors' clients log in too."""
    security = {key: value for key, value in login.items() if key != "bootstrap.servers"}
    return {
        **login,
        **{f"{client}.{key}": value for client in ("producer", "consumer", "admin") for key, value in security.items()},
        "group.id": f"{name}-group",
        "exactly.once.source.support": "enabled",
        **{f"{kind}.storage.topic": f"{name}-{kind}" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
    }


def grant_all(secured: Secured, principal: str, name: str) -> None:
    """Grant the rights that a worker of this name and its connectors need."""
    secured.grant(principal, ResourceType.TOPIC, name, CREATE, DESCRIBE, READ, WRITE)
    secured.grant(principal, ResourceType.GROUP, f"{name}-group", READ)
    secured.grant(principal, ResourceType.GROUP, f"connect-{name}", READ, DELETE)
    for id in (f"connect-cluster-{name}", f"{name}-group"):
        secured.grant(principal, ResourceType.TRANSACTIONAL_ID, id, WRITE, DESCRIBE)


def started(store: Any, caught_up: Inbox) -> Any:
    store.start()
    caught_up.next()
    return store


def joined(settings: dict[str, str], seconds: float = 30.0) -> Joined | Failed:
    """Try to join the worker's group and return the outcome."""
    events, over = Inbox(), threading.Event()
    member = GroupMember(settings, settings["group.id"], "http://w:8083/", "sessioned", 0, events)
    member.publish(ClusterConfigSnapshot(0))
    member.start()
    ticking = threading.Thread(target=lambda: [member.tick() for _ in iter(lambda: over.wait(0.1), True)])
    ticking.start()
    try:
        while not isinstance(event := events.next(), Joined | Failed):
            pass
        return event
    finally:
        over.set()
        ticking.join()
        member.leave_and_stop(seconds)


@pytest.mark.parametrize("how", ["SCRAM, PKCS12", "PLAIN, JKS", "certificate, PEM", "certificate, PKCS12"])
def test_a_worker_with_all_rights(secured: Secured, how: str):
    kind, _, store = how.partition(", ")
    name = secured.add_user()
    match kind:
        case "SCRAM":
            login, principal = secured.login("SCRAM-SHA-512", name, store), f"User:{name}"
        case "PLAIN":
            login, principal = secured.login("PLAIN", "plain", store), "User:plain"
        case _:
            login, principal = secured.certificate(store), "User:CN=tls-client"
    grant_all(secured, principal, name)
    settings = worker(login, name)

    event = joined(settings)
    assert isinstance(event, Joined)
    assert event.leader

    caught_up, records = Inbox(), Inbox()
    config = started(ConfigStore(settings, records, on_caught_up=caught_up), caught_up)
    status = started(StatusStore(settings, records, on_caught_up=caught_up), caught_up)
    offsets = started(worker_offsets(settings, on_caught_up=caught_up), caught_up)
    try:
        answer(config.claim_write_privileges)
        answer(config.append, [ConnectorConfig("c", {})])
        answer(config.append, [TargetState("c", "PAUSED")], privileged=False)
        assert len(records.records(1) + records.records(1)) == 2
        answer(status.append, [ConnectorStatus("c", "RUNNING", "w", 1)])
        source = {"name": f"{name}-c"}
        _tasks_work(settings, source, f"{name}-topic")
        answer(lambda done: SourceConnectorOffsets(settings, offsets).write(source, [({"p": 1}, {"o": 1})], done))
        assert [each.offset for each in offsets.snapshot(f"{name}-c")] == [{"o": 1}]
    finally:
        for each in (config, status, offsets):
            each.close()


def _tasks_work(settings: dict[str, str], source: dict[str, str], topic: str) -> None:
    """Check that a sink reads what a source writes exactly once, and that offsets can be altered and deleted."""
    sink = {"name": source["name"]}
    await_done(lambda done: SinkConnectorOffsets(settings).read(sink, lambda _, error: done(error)), "see no offsets")
    fence_task(settings, source, 0)
    make_topic(settings, topic)
    producer = new_producer(transactional_producer(settings, source, "p", f"{settings['group.id']}-c-0"))
    init_transactions(producer, 120)
    producer.begin_transaction()
    producer.produce(topic, b"value")
    producer.commit_transaction(120)
    consumer = new_consumer({**connector_consumer(settings, sink, "c"), "isolation.level": "read_committed"})
    consumer.subscribe([topic])
    message = consumer.poll(120)
    assert message is not None
    assert (message.error(), message.value()) == (None, b"value")
    consumer.commit(message, asynchronous=False)
    before = consumer.memberid()
    MemberRemoval().remove(connector_consumer(settings, sink, "c"), str(before))
    until(lambda: consumer.memberid() != before, "the removed member joins again")
    consumer.close()
    offsets = SinkConnectorOffsets(settings)
    assert answer(lambda done: offsets.read(sink, done)) == {TopicPartition(topic, 0): 1}
    answer(lambda done: offsets.write(sink, {TopicPartition(topic, 0): None}, done))  # with kafka-python
    assert answer(lambda done: offsets.read(sink, done)) == {}


def make_topic(settings: dict[str, str], topic: str) -> None:
    from penstock.api.kafka import TopicSpec
    from penstock.kafka.admin import create_topic
    from penstock.kafka.clients import make_admin

    create_topic(make_admin(settings, client_id="a"), TopicSpec(topic, 1, 1))


def test_a_connector_may_log_in_as_somebody_else(secured: Secured):
    name, other = secured.add_user(), secured.add_user()
    topic = secured.create_topic(f"{other}-topic")
    secured.grant(f"User:{other}", ResourceType.TOPIC, other, WRITE, DESCRIBE)
    login = secured.login("SCRAM-SHA-512", other, "PEM")
    connector = {"name": "c", **{f"producer.override.{key}": value for key, value in login.items()}}
    settings = worker(secured.login("SCRAM-SHA-512", name, "PEM"), name)
    for config, allowed in ((connector, True), ({"name": "c"}, False)):
        outcomes = Inbox()
        producer = new_producer(connector_producer(settings, config, "p"))
        producer.produce(topic, b"v", on_delivery=lambda error, _, outcomes=outcomes: outcomes(error))
        producer.flush(120)
        assert (outcomes.next() is None) is allowed
    assert with_prefix(connector, "producer.override.")["security.protocol"] == "SASL_SSL"


@pytest.mark.parametrize(
    ("rights", "problem"),
    [
        ((), "Not authorized to access topics: [{0}-config] ({1} needs DESCRIBE, READ and WRITE on Topic:{0}-config)"),
        (
            (DESCRIBE,),
            "Topic '{0}-config' supplied via the 'config.storage.topic' property does not exist, and {1} may not "
            "create it: it needs CREATE on Topic:{0}-config, or the topic must be created for it",
        ),
        ((CREATE, DESCRIBE), "Not authorized to access topics: [{0}-config] ({1} needs READ on Topic:{0}-config)"),
    ],
)
def test_a_missing_right_to_an_internal_topic_is_named(
    secured: Secured, rights: tuple[AclOperation, ...], problem: str
):
    name, failed = secured.add_user(), Inbox()
    if rights:
        secured.grant(f"User:{name}", ResourceType.TOPIC, name, *rights)
    store = ConfigStore(worker(secured.login("SCRAM-SHA-512", name, "PEM"), name), Inbox(), on_failed=failed)
    store.start()
    try:
        error = failed.next()
        assert isinstance(error, NotAllowedError)
        assert str(error) == problem.format(name, f"User:{name}")
    finally:
        store.close()


def test_a_missing_right_to_write_is_named(secured: Secured):
    name, caught_up = secured.add_user(), Inbox()
    secured.grant(f"User:{name}", ResourceType.TOPIC, name, CREATE, DESCRIBE, READ)
    settings = worker(secured.login("SCRAM-SHA-512", name, "PEM"), name)
    store = started(ConfigStore(settings, Inbox(), on_caught_up=caught_up), caught_up)
    try:
        with pytest.raises(Exception, match=rf"\(User:{name} needs WRITE on Topic:{name}-config\)"):
            answer(store.append, [TargetState("c", "PAUSED")], privileged=False)
        expected = rf"\(User:{name} needs WRITE and DESCRIBE on TransactionalId:connect-cluster-{name}-group\)"
        with pytest.raises(Exception, match=expected):
            answer(store.claim_write_privileges)
    finally:
        store.close()


def test_a_missing_right_to_a_task_s_transactional_id_is_named(secured: Secured):
    name = secured.add_user()
    settings = worker(secured.login("SCRAM-SHA-512", name, "PEM"), name)
    expected = rf"could not be fenced: .*\(User:{name} needs WRITE and DESCRIBE on TransactionalId:{name}-group-c-0\)"
    with pytest.raises(Exception, match=expected):
        fence_task(settings, {"name": "c"}, 0, 120)


def test_a_missing_right_to_the_group_is_named(secured: Secured):
    name = secured.add_user()
    event = joined(worker(secured.login("SCRAM-SHA-512", name, "PEM"), name))
    assert event == Failed(
        f"Not authorized to access group: {name}-group (User:{name} needs READ on Group:{name}-group)"
    )


def test_a_member_that_may_not_be_removed_is_named(secured: Secured, caplog: pytest.LogCaptureFixture):
    name = secured.add_user()
    login = secured.login("SCRAM-SHA-512", name, "PEM")
    MemberRemoval().remove(login | {"client.id": "c", "group.id": f"connect-{name}"}, "m-1")
    problem = f"Member m-1 of group connect-{name}, whose process has ended, can't be removed: GroupAuthorizationFailed"
    until(lambda: "can't be removed" in caplog.text, problem)
    assert problem in caplog.text


def test_a_wrong_password_is_reported(secured: Secured, caplog: pytest.LogCaptureFixture):
    login = secured.login("PLAIN", "nobody", "PEM")
    login["sasl.jaas.config"] = login["sasl.jaas.config"].replace('password="nobody"', 'password="wrong"')
    store = StatusStore(worker(login, "wrong"), Inbox())
    store.start()
    with pytest.raises(KafkaException):
        new_consumer(connector_consumer(worker(login, "wrong"), {"name": "c"}, "c")).list_topics(timeout=3)
    said = "SASL authentication error: Authentication failed"
    until(lambda: said in caplog.text, "what the clients log, on threads of their own")
    store.close()
