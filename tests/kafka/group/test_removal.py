"""Members of consumers whose processes were killed are removed from their groups, and no others."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from penstock.kafka.group import removal
from penstock.kafka.group.removal import MemberRemoval, Successor
from support.kafka.client import Kafka
from support.waiting import SECONDS, until

pytestmark = pytest.mark.integration

TEN_MINUTES = "600000"
CONSUMER = """
import json, sys
from confluent_kafka import Consumer

consumer = Consumer(json.loads(sys.argv[1]))
consumer.subscribe([sys.argv[2]])
said = None
while True:
    consumer.poll(0.1)
    member = [consumer.memberid(), len(consumer.assignment())]
    if member != said:
        said = member
        print(json.dumps(member), flush=True)
"""


class OtherProcess:
    """A consumer whose member no session's end removes within a test."""

    def __init__(self, bootstrap: str, group: str, topic: str, client_id: str) -> None:
        # Java's names are librdkafka's here.
        self.settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": client_id,
            "session.timeout.ms": TEN_MINUTES,
            "max.poll.interval.ms": TEN_MINUTES,
            "heartbeat.interval.ms": "200",
        }
        arguments = [sys.executable, "-c", CONSUMER, json.dumps(self.settings), topic]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        self.id, self.partitions = "", 0

    def until_it_has(self, partitions: int) -> None:
        assert self.process.stdout is not None
        while self.partitions != partitions:
            self.id, self.partitions = json.loads(self.process.stdout.readline())

    def until_it_has_an_id(self) -> None:
        assert self.process.stdout is not None
        while not self.id:
            self.id, self.partitions = json.loads(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def consumer(bootstrap: str, group: str) -> Iterator[Callable[..., OtherProcess]]:
    processes = []

    def start(topic: str, client_id: str = f"consumer-of-{group}") -> OtherProcess:
        processes.append(OtherProcess(bootstrap, group, topic, client_id))
        return processes[-1]

    yield start
    for each in processes:
        each.kill()
        assert each.process.stdout is not None
        each.process.stdout.close()


def test_remaining_members_take_over_partitions_of_killed_ones(
    kafka: Kafka, group: str, consumer: Callable[..., OtherProcess]
) -> None:
    topic, removal = kafka.create_topic(partitions=6), MemberRemoval()
    first, second, third = consumer(topic), consumer(topic), consumer(topic)
    for each in (first, second, third):
        each.until_it_has(2)
    for each in (first, second):
        each.kill()
        removal.remove(each.settings, each.id)
    before = third.id
    third.until_it_has(6)
    assert kafka.members(group) == {third.id} == {before}


def test_a_rebalance_that_waits_for_a_killed_member_ends(
    kafka: Kafka, group: str, consumer: Callable[..., OtherProcess]
) -> None:
    topic = kafka.create_topic()
    killed = consumer(topic)
    killed.until_it_has(1)
    killed.kill()
    following = consumer(topic)
    until(lambda: len(kafka.members(group)) == 2, "another member", SECONDS)
    MemberRemoval().remove(killed.settings, killed.id)
    following.until_it_has(1)
    assert kafka.members(group) == {following.id}


def test_members_of_earlier_runs_are_removed_while_the_group_waits(
    kafka: Kafka, group: str, consumer: Callable[..., OtherProcess]
) -> None:
    """Another live member with the same client.id, such as a sink's in another Connect cluster, is left alone."""
    topic, removal = kafka.create_topic(partitions=2), MemberRemoval()
    killed, other = consumer(topic), consumer(topic)
    for each in (killed, other):
        each.until_it_has(1)
    removal.replace(killed.settings, Successor(lambda: "a later run", lambda: {killed.id}))
    until(lambda: not threads(), "the end of the request", SECONDS)
    assert kafka.members(group) == {killed.id, other.id}  # the group is stable
    killed.kill()
    following, before = consumer(topic), other.id
    following.until_it_has_an_id()
    removal.replace(following.settings, Successor(lambda: following.id, lambda: {killed.id, following.id}))
    following.until_it_has(1)
    other.until_it_has(1)
    assert kafka.members(group) == {following.id, other.id}
    assert other.id == before


def test_a_member_that_no_run_of_the_task_has_been_is_never_removed(
    kafka: Kafka, group: str, consumer: Callable[..., OtherProcess]
) -> None:
    topic, removal = kafka.create_topic(), MemberRemoval()
    unknown = consumer(topic)
    unknown.until_it_has(1)
    unknown.kill()
    following = consumer(topic)
    following.until_it_has_an_id()
    removal.replace(following.settings, Successor(lambda: following.id, lambda: {following.id, "another"}))
    until(lambda: not threads(), "the end of the request", SECONDS)
    assert kafka.members(group) == {unknown.id, following.id}


def test_members_and_groups_that_are_not_there_are_no_failure(
    kafka: Kafka, group: str, consumer: Callable[..., OtherProcess], caplog: pytest.LogCaptureFixture
) -> None:
    living = consumer(kafka.create_topic())
    living.until_it_has(1)
    with caplog.at_level(logging.INFO, removal.__name__):
        MemberRemoval().remove(living.settings, "somebody")
        MemberRemoval().remove(living.settings | {"group.id": f"no-{group}"}, living.id)
        until(lambda: not threads(), "the end of the requests", SECONDS)
    assert kafka.members(group) == {living.id}
    assert not told(caplog)


def test_brokers_that_do_not_answer_are_given_up_with_one_warning(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "THREADS", 2)
    nowhere = {"bootstrap.servers": "127.0.0.1:1", "client.id": "c", "session.timeout.ms": "3000"}
    away = MemberRemoval()
    with caplog.at_level(logging.INFO, removal.__name__):
        for group in ("a", "b", "c", "a"):
            away.remove(nowhere | {"group.id": group}, "m")
        assert not told(caplog)  # the caller has waited for none of them
        assert len(threads()) <= 4  # with kafka-python's own
        until(lambda: not threads(), "the end of the requests", SECONDS)
        away.remove(nowhere | {"group.id": "a"}, "m")
        until(lambda: not threads(), "the end of the request", SECONDS)
    warnings = [record for record in told(caplog) if record.levelno == logging.WARNING]
    assert sorted(str(record.args[1]) for record in warnings if record.args) == ["a", "b", "c"]
    assert "can't be removed: KafkaTimeoutError" in warnings[0].getMessage()


def told(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return log lines of removals only: clients log too when brokers are slow."""
    return [record for record in caplog.records if record.name == removal.__name__]


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith(("member-removal", "kafka-io-c"))]
