"""All that a consumer group has committed, read and written by kafka-python.

librdkafka's admin client can do that too, but it crashes the whole process when the group's coordinator has moved or is
not there yet (librdkafka issue 5040), and its Python client writes metadata with a zero byte at the end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import closing

from kafka.structs import OffsetAndMetadata

from kafka import KafkaAdminClient
from kafka import TopicPartition as GroupPartition
from kafka import errors as group_errors
from penstock.api.sink import TopicPartition
from penstock.kafka.group.admin import group_admin

_PAUSE_S = 0.5


class GroupOffsets:
    """One connection, which is made when it is first needed and again after an error.

    ``settings``: a client's, as Java's. Every method may be called from any thread; ``close`` waits for a request.
    """

    def __init__(self, settings: Mapping[str, str], client_id: str) -> None:
        self._settings, self._client_id = settings, client_id
        self._client: KafkaAdminClient | None = None
        self._lock = threading.Lock()

    def committed(self, group: str, timeout: float) -> dict[TopicPartition, tuple[int, str]]:
        """Offset and metadata by partition; empty if there is no such group.

        Blocks; retries retriable errors for ``timeout`` seconds. Raises kafka-python's errors.
        """
        until = time.monotonic() + timeout
        while True:
            try:
                with self._lock:
                    return self._read(group)
            except group_errors.GroupIdNotFoundError:
                return {}
            except group_errors.KafkaError as error:
                self.close()
                if not error.retriable or time.monotonic() > until:
                    raise
                time.sleep(_PAUSE_S)

    def _read(self, group: str) -> dict[TopicPartition, tuple[int, str]]:
        answers = self._connected().list_group_offsets({group: None})[group]
        return {
            TopicPartition(each.topic, each.partition): (known.offset, known.metadata or "")
            for each, known in answers.items()
            if known.offset >= 0
        }

    def _connected(self) -> KafkaAdminClient:
        if self._client is None:
            self._client = group_admin(self._settings, self._client_id)
        return self._client

    def commit(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """Commit offset and metadata by partition for a group without members.

        Blocks. Raises kafka-python's errors: UnknownMemberIdError if the group has members.
        """
        request = {GroupPartition(*partition): OffsetAndMetadata(*known, -1) for partition, known in offsets.items()}
        try:
            with self._lock:
                answers = self._connected().alter_group_offsets(group, request)
        except group_errors.KafkaError:
            self.close()
            raise
        for error in answers.values():
            if error is not group_errors.NoError:
                raise error()

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
            if client is not None:
                client.close()


def committed_offsets(
    settings: Mapping[str, str], client_id: str, group: str, timeout: float
) -> dict[TopicPartition, int]:
    """By partition, as ``GroupOffsets.committed``, with a connection for this call alone."""
    with closing(GroupOffsets(settings, client_id)) as offsets:
        return {partition: offset for partition, (offset, _) in offsets.committed(group, timeout).items()}
