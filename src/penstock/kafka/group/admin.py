"""kafka-python's admin client, for what librdkafka's can't do with consumer groups, or not without crashing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.net.compat import KafkaNetClient

from kafka import KafkaAdminClient
from penstock.kafka.group.client import client_arguments


def group_admin(settings: Mapping[str, str], client_id: str, **arguments: Any) -> KafkaAdminClient:
    """``settings``: a client's, as Java's; ``arguments``: kafka-python's that come before them.

    Blocks until a broker has answered. Raises kafka-python's errors.
    """
    given = {**client_arguments(settings, client_id), **arguments}
    network: list[KafkaNetClient] = []

    def connect(**config: Any) -> KafkaNetClient:
        network.append(KafkaNetClient(**config))
        return network[0]

    known = {name: value for name, value in given.items() if name in KafkaAdminClient.DEFAULT_CONFIG}
    try:
        return KafkaAdminClient(**known, kafka_client=connect)
    except BaseException:
        # An admin client that no broker answers leaves its thread and its sockets behind.
        for client in network:
            client.close()
        raise
