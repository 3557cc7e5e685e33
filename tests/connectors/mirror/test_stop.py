"""What a connector leaves behind when it stops."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.connectors.mirror import MirrorCheckpointConnector, MirrorSourceConnector, cluster
from penstock.connectors.mirror.checkpoint import connector as checkpoint_connector
from penstock.connectors.mirror.config import MirrorConfig
from support.mirror.setup import mirror_config, started


class Client:
    """In place of an admin client, which has threads and connections for as long as somebody knows it."""


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("kind", [MirrorSourceConnector, MirrorCheckpointConnector])
def test_clients_end_with_their_connector(kind: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[Client]] = []

    def new_admin(config: MirrorConfig, at: str, role: str) -> Client:
        client = Client()
        made.append(weakref.ref(client))
        return client

    monkeypatch.setattr(MirrorConfig, "new_admin", new_admin)
    monkeypatch.setattr(cluster, "partition_counts", lambda admin, timeout: {})
    monkeypatch.setattr(cluster, "topic_rights", lambda admin, timeout: None)
    monkeypatch.setattr(cluster, "groups", lambda admin, timeout: [])
    monkeypatch.setattr(checkpoint_connector, "create_topic", lambda admin, spec, timeout: None)
    config = mirror_config("127.0.0.1:1", "a", "b", emit_offset__syncs_enabled="false")
    with started(kind(), config) as connector:
        assert [client() is not None for client in made] == [True, True]
    assert connector.task_configs(1) == []
    assert [client() for client in made] == [None, None]
