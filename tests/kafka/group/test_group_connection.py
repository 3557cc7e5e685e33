from __future__ import annotations

import time
from typing import Any

import pytest
from kafka.coordinator.base import BaseCoordinator, Generation
from kafka.net.compat import KafkaNetClient
from kafka.structs import MemberState

from penstock.core.group.membership import Assignment
from penstock.kafka.group.client import client_arguments
from penstock.kafka.group.connection import GroupConnection, _Coordinator
from penstock.kafka.group.protocol import encode_assignment


def test_a_join_that_ends_while_nobody_waits_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others would wait for another rebalance, and the leader take what this member was given for lost."""
    joins = 0

    async def join(self: Any) -> bytes:
        nonlocal joins
        joins += 1
        self.state = MemberState.REBALANCING
        await self._net.sleep(0.1)
        self._generation = Generation(joins, "m", "sessioned")
        return encode_assignment(Assignment(connectors=("c",)), 2)

    monkeypatch.setattr(BaseCoordinator, "_do_join_and_sync_async", join)
    monkeypatch.setattr(BaseCoordinator, "coordinator_unknown", lambda self: False)
    arguments = client_arguments({"bootstrap.servers": "127.0.0.1:1"}, "w")
    connection = GroupConnection(arguments, "g", "http://a/", "sessioned", 0, lambda: None, "User:a")
    connection._client = KafkaNetClient(**arguments, api_version=(3, 9))
    connection._client._net.start()
    connection._coordinator = coordinator = _Coordinator(connection, connection._client)
    try:
        assert connection.join(timeout_ms=1) is None
        while not coordinator._join_task.is_done:
            time.sleep(0.01)
        first = connection.join(timeout_ms=10_000)
        assert first is not None
        assert (first.generation, first.assignment.connectors, joins) == (1, ("c",), 1)
        second = connection.join(timeout_ms=10_000)
        assert second is not None
        assert (second.generation, joins) == (2, 2)
        assert connection.join(timeout_ms=1) is None
        while not coordinator._join_task.is_done:
            time.sleep(0.01)
        coordinator.reset_generation()
        last = connection.join(timeout_ms=10_000)
        assert last is not None
        assert (last.generation, joins) == (4, 4)
    finally:
        connection.close()
