"""A cluster of two brokers, of which the second can be killed: the first is the controller as well."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from confluent_kafka.admin import NewTopic

from faults.joining import joining
from penstock.embedded import Broker
from penstock.embedded.ports import free_port
from support.kafka.client import Kafka
from support.waiting import until

_COORDINATORS = ("__consumer_offsets", "__transaction_state")
_EXTRA = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "2000",
}


class BrokerPair:
    """Coordinators of groups and transactions are on the second broker, and move to the first when it dies.

    Used as a context manager.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._first = Broker(folder / "first", extra=_EXTRA)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack:
            self._stack.enter_context(self._first)
            self._second = joining(self._folder / "first", self._folder / "second", free_port(), _EXTRA)
            self._stack.enter_context(self._second)
            self.bootstrap = f"{self._first.bootstrap},{self._second.bootstrap}"
            self.kafka = Kafka(self.bootstrap)
            until(lambda: len(self.kafka.admin.list_topics(timeout=900).brokers) == 2, "the second broker")
            for name in _COORDINATORS:
                self.create_topic(name, [2, 1], **{"cleanup.policy": "compact"})
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def create_topic(self, name: str, brokers: list[int], **config: str) -> str:
        """With one partition, of which the first of these brokers is the leader."""
        new = NewTopic(name, 1, replica_assignment=[brokers], config=config)
        self.kafka.create(new)
        return name

    def kill_second(self) -> None:
        assert self._second.pid is not None
        os.killpg(self._second.pid, signal.SIGKILL)
        self._second.stop()

    def start_second(self) -> None:
        self._second.start()
