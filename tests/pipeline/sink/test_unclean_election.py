"""A partition whose leader is elected from outside its in-sync replicas: its end moves back, and grows again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from faults.joining import joining
from penstock.api.record import SinkRecord
from penstock.api.sink import SinkTask
from penstock.embedded import Broker
from penstock.embedded.ports import free_port
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun, eventually, new_name
from support.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SECONDS = 120
EXTRA = {
    "offsets.topic.num.partitions": "1",
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "2000",
}


@dataclass
class Trio:
    """Node 1 is the controller and has the groups; the topic is on the two others, of which one can be killed."""

    kafka: Kafka
    bootstrap: str
    brokers: dict[int, Broker]

    def topic(self) -> str:
        """Led by node 2, and on node 3."""
        name = new_name("t")
        config = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
        self.kafka.admin.create_topics([NewTopic(name, 1, replica_assignment=[[2, 3]], config=config)])[name].result()
        until(lambda: self.leader(name) == 2, "the leader", SECONDS)
        return name

    def leader(self, topic: str) -> int | None:
        found = self.kafka.admin.list_topics(topic, timeout=SECONDS).topics[topic].partitions
        return found[0].leader if found else None

    def in_sync(self, topic: str) -> list[int]:
        return list(self.kafka.admin.list_topics(topic, timeout=SECONDS).topics[topic].partitions[0].isrs)

    def kill(self, node: int) -> None:
        broker = self.brokers[node]
        assert broker.pid is not None
        os.killpg(broker.pid, signal.SIGKILL)
        broker.stop()

    def diverge(self, topic: str, records: list[str]) -> None:
        """Node 2 gets these records alone."""
        self.kill(3)
        until(lambda: self.in_sync(topic) == [2], "node 3 is out of sync", SECONDS)
        self.kafka.produce(topic, records)

    def elect(self, topic: str) -> None:
        """Node 3 leads the topic, without what node 2 alone has got."""
        self.kill(2)
        self.brokers[3].start()
        until(lambda: self.leader(topic) == 3, "node 3 leads", SECONDS)


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[Trio]:
    with ExitStack() as stack:
        first = stack.enter_context(Broker(tmp_path / "1", extra=EXTRA))
        brokers = {
            node: stack.enter_context(joining(tmp_path / "1", tmp_path / str(node), free_port(), EXTRA, node))
            for node in (2, 3)
        }
        bootstrap = ",".join([first.bootstrap, *(each.bootstrap for each in brokers.values())])
        kafka = Kafka(bootstrap)
        until(lambda: len(kafka.admin.list_topics(timeout=SECONDS).brokers) == 3, "all brokers", SECONDS)
        offsets = NewTopic("__consumer_offsets", 1, replica_assignment=[[1]], config={"cleanup.policy": "compact"})
        kafka.admin.create_topics([offsets])["__consumer_offsets"].result()
        yield Trio(kafka, bootstrap, brokers)


def taking(taken: list[str]) -> Any:
    class Taking(SinkTask):
        def put(self, records: list[SinkRecord]) -> None:
            taken.extend(str(record.value) for record in records)

    Taking.__module__ = __name__
    return Taking


def test_a_sink_gets_all_records_of_a_new_leader_though_it_has_read_further(trio: Trio) -> None:
    """Also those at offsets that the sink has read on the old one, after as many new records as it had read."""
    topic, taken = trio.topic(), list[str]()
    kept, gone, new = ([f"{kind}{i}" for i in range(n)] for kind, n in (("kept", 50), ("gone", 30), ("new", 100)))
    with TaskRun(taking(taken), trio.bootstrap, {"topics": topic}, connector=new_name()):
        trio.kafka.produce(topic, kept)
        eventually(lambda: len(taken) == 50, SECONDS)
        trio.diverge(topic, gone)
        eventually(lambda: len(taken) == 80, SECONDS)
        trio.elect(topic)
        trio.kafka.produce(topic, new)
        eventually(lambda: set(new) <= set(taken), SECONDS)
    assert set(taken) == {*kept, *gone, *new}
    assert [each for each in taken if each in new][: len(new)] == new
