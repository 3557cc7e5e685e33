"""All that a consumer group has committed, read by kafka-python.

librdkafka's admin client can do that too, but it crashes the whole process when the group's coordinator has moved or is
not there yet (librdkafka issue 5040).
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from kafka import KafkaAdminClient
from kafka import errors as group_errors
from penstock.api.sink import TopicPartition
from penstock.kafka.group.client import client_arguments

_PAUSE_S = 0.5


def group_admin(settings: Mapping[str, str], client_id: str) -> KafkaAdminClient:
    """``settings``: a client's, as Java's. Raises kafka-python's errors."""
    arguments = client_arguments(settings, client_id)
    return KafkaAdminClient(**{k: v for k, v in arguments.items() if k in KafkaAdminClient.DEFAULT_CONFIG})


def committed_offsets(
    settings: Mapping[str, str], client_id: str, group: str, timeout: float
) -> dict[TopicPartition, int]:
    """By partition; empty if there is no such group. Retries retriable errors for ``timeout`` seconds.

    Blocks. Raises kafka-python's errors.
    """
    until = time.monotonic() + timeout
    while True:
        try:
            return _committed(settings, client_id, group)
        except group_errors.GroupIdNotFoundError:
            return {}
        except group_errors.KafkaError as error:
            if not error.retriable or time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)


def _committed(settings: Mapping[str, str], client_id: str, group: str) -> dict[TopicPartition, int]:
    client = group_admin(settings, client_id)
    try:
        answers = client.list_group_offsets({group: None})[group]
    finally:
        client.close()
    return {TopicPartition(a.topic, a.partition): known.offset for a, known in answers.items() if known.offset >= 0}
