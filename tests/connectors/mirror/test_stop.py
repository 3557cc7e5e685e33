"""Clients that a stopped connector must not leave behind."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from penstock.api.kafka import KafkaRequestError, TopicSpec
from penstock.connectors.mirror import MirrorCheckpointConnector, MirrorSourceConnector
from penstock.kafka.connector_clients import ConnectorAdmin, ConnectorClients
from support.mirror.setup import mirror_config, started


class Client:
    """Stands for an admin client, which keeps its threads and connections as long as anything refers to it."""

    def partition_counts(self, timeout: float) -> dict[str, int]:
        return {}

    def topic_acls(self, timeout: float) -> None:
        return None

    def usable(self, topics: Iterable[str], *, writing: bool) -> set[str]:
        return set(topics)

    def groups(self, timeout: float) -> list[str]:
        return []

    def create_topic(self, topic: TopicSpec, timeout: float) -> None:
        pass

    def close(self) -> None:
        pass


class Clients(ConnectorClients):
    """Keeps weak references to the admin clients that it makes."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[weakref.ref[Client]] = []

    def admin(self, settings: Mapping[str, str], *, asks_groups: bool = False) -> Any:
        client = Client()
        self.made.append(weakref.ref(client))
        return client


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("kind", [MirrorSourceConnector, MirrorCheckpointConnector])
def test_clients_end_with_their_connector(kind: type[Any]) -> None:
    clients = Clients()
    config = mirror_config("127.0.0.1:1", "a", "b", emit_offset__syncs_enabled="false")
    with started(kind(), config, clients) as connector:
        assert [client() is not None for client in clients.made] == [True, True]
    assert connector.task_configs(1) == []
    assert [client() for client in clients.made] == [None, None]


@pytest.mark.usefixtures("no_collection")
def test_a_request_that_fails_keeps_no_client() -> None:
    """An error in a reference cycle with its traceback would keep the client's threads until garbage is collected."""
    assert _after_failures()() is None


def _after_failures() -> weakref.ref[ConnectorAdmin]:
    admin = ConnectorClients().admin({"bootstrap.servers": "127.0.0.1:1", "client.id": "test"}, asks_groups=True)
    for ask in (admin.partition_counts, admin.topic_acls, admin.groups):
        with pytest.raises(KafkaRequestError):
            ask(0.01)
    with pytest.raises(KafkaRequestError):
        admin.is_idle("g", 0.01)
    return weakref.ref(admin)
