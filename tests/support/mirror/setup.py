"""A cluster mirrored to itself under another name: for the tests of the mirror connectors."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from penstock.api.kafka import KafkaClients
from penstock.connectors.mirror.classes.policy import DefaultReplicationPolicy
from penstock.kafka.connector_clients import ConnectorClients

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


@dataclass
class Context:
    """A ``ConnectorContext`` that keeps what it is asked for."""

    wanted: threading.Event = field(default_factory=threading.Event)
    errors: list[BaseException] = field(default_factory=list)
    kafka: KafkaClients = field(default_factory=ConnectorClients)

    def request_task_reconfiguration(self) -> None:
        self.wanted.set()

    def raise_error(self, error: BaseException) -> None:
        self.errors.append(error)


class OwnHeartbeats(DefaultReplicationPolicy):
    """Gives each source cluster its own topic of heartbeats: one of the usual name is mirrored by all tests."""

    def configure(self, config: Any) -> None:
        super().configure(config)
        self._source = config["source.cluster.alias"]

    def heartbeats_topic(self) -> str:
        return f"heartbeats-{self._source}"


def aliases() -> tuple[str, str]:
    """Names of a source and a target cluster, and of this test alone."""
    tag = uuid.uuid4().hex[:8]
    return f"s{tag}", f"t{tag}"


def mirror_config(bootstrap: str, source: str, target: str, **more: str) -> dict[str, str]:
    """Return a mirror's configuration. ``more``: settings, with underscores for dots, and two for a hyphen."""
    return {
        "name": f"mirror-{source}",
        "source.cluster.alias": source,
        "target.cluster.alias": target,
        "source.cluster.bootstrap.servers": bootstrap,
        "target.cluster.bootstrap.servers": bootstrap,
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "checkpoints.topic.replication.factor": "1",
        "heartbeats.topic.replication.factor": "1",
        "heartbeats.replication.enabled": "false",
        "key.converter": BYTES,
        "value.converter": BYTES,
        "header.converter": BYTES,
    } | {name.replace("__", "-").replace("_", "."): value for name, value in more.items()}


@contextmanager
def started(connector: Any, config: dict[str, str], kafka: KafkaClients | None = None) -> Iterator[Any]:
    """Start the connector, and stop it after the block; its context is a ``Context``."""
    connector.context = Context(kafka=kafka or ConnectorClients())
    connector.start(config)
    try:
        yield connector
    finally:
        connector.stop()
