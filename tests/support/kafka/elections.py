"""Three brokers, for a partition whose leader is elected from outside its in-sync replicas: its end moves back."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import NewTopic, PartitionMetadata

from faults.joining import joining
from penstock.embedded import Broker
from penstock.embedded.ports import free_port
from support.kafka.client import Kafka, answered
from support.tasks.runs import new_name
from support.waiting import SECONDS, until

EXTRA = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "2000",
}


@dataclass
class Trio:
    """Node 1 is the controller, with groups and transactions; the topic is on the others, and one can be killed."""

    kafka: Kafka
    bootstrap: str
    brokers: dict[int, Broker]

    def topic(self) -> str:
        """Led by node 2, and on node 3."""
        name = new_name("t")
        config = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
        self.kafka.create(NewTopic(name, 1, replica_assignment=[[2, 3]], config=config))
        until(lambda: self.leader(name) == 2, "the leader", SECONDS)
        return name

    def leader(self, topic: str) -> int | None:
        found = self._partition(topic)
        return found.leader if found else None

    def in_sync(self, topic: str) -> list[int]:
        found = self._partition(topic)
        return list(found.isrs) if found else []

    def _partition(self, topic: str) -> PartitionMetadata | None:
        known = answered(lambda: self.kafka.admin.list_topics(topic, timeout=SECONDS))
        return known.topics[topic].partitions.get(0)

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


@contextmanager
def three_brokers(folder: Path) -> Iterator[Trio]:
    with ExitStack() as stack:
        first = stack.enter_context(Broker(folder / "1", extra=EXTRA))
        brokers = {
            node: stack.enter_context(joining(folder / "1", folder / str(node), free_port(), EXTRA, node))
            for node in (2, 3)
        }
        bootstrap = ",".join([first.bootstrap, *(each.bootstrap for each in brokers.values())])
        kafka = Kafka(bootstrap)
        until(
            lambda: len(answered(lambda: kafka.admin.list_topics(timeout=SECONDS)).brokers) == 3, "all brokers", SECONDS
        )
        for internal in ("__consumer_offsets", "__transaction_state"):
            new = NewTopic(internal, 1, replica_assignment=[[1]], config={"cleanup.policy": "compact"})
            kafka.create(new)
        yield Trio(kafka, bootstrap, brokers)
