"""All that a consumer group has committed, read, written and deleted by kafka-python.

librdkafka's admin client can do that too, but it crashes the whole process when the group's coordinator has moved or is
not there yet (librdkafka issue 5040), and its Python client writes metadata with a zero byte at the end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from typing import TypeVar

from kafka.protocol.consumer import OffsetCommitRequest
from kafka.structs import OffsetAndMetadata

from kafka import KafkaAdminClient
from kafka import TopicPartition as GroupPartition
from kafka import errors as group_errors
from penstock.api.sink import TopicPartition
from penstock.kafka.background import NO_DEADLINE, Deadline
from penstock.kafka.group.admin import group_admin

T = TypeVar("T")

_PAUSE_S = 0.5
_WITH_RETENTION = 4
"""The last version of the request to commit offsets that says how long they are kept."""
_LONGEST_S = 120.0
"""For all that one client does before a deadline."""
_OPERATIONS = 4
"""Maximum number of operations of one client: it connects, finds the coordinator, writes offsets and deletes others."""
_ANSWERS = (
    group_errors.GroupIdNotFoundError,
    group_errors.GroupSubscribedToTopicError,
    group_errors.NonEmptyGroupError,
    group_errors.UnknownMemberIdError,
    group_errors.UnknownTopicOrPartitionError,
)
"""After these the connection is kept and nothing is tried again; kafka-python calls the last of them retriable."""


class GroupOffsets:
    """One connection, which is made when it is first needed and again after an error.

    ``settings``: a client's, as Java's. Every method may be called from any thread; ``close`` waits for a request.
    All others block, and raise kafka-python's errors. An error that is retriable and no answer of the coordinator lets
    them try again for ``timeout`` seconds. After the deadline no request is sent; then they raise TimeoutError.
    """

    def __init__(self, settings: Mapping[str, str], client_id: str, deadline: Deadline = NO_DEADLINE) -> None:
        self._settings, self._client_id, self._deadline = settings, client_id, deadline
        self._client: KafkaAdminClient | None = None
        self._lock = threading.Lock()

    def committed(self, group: str, timeout: float) -> dict[TopicPartition, tuple[int, str]]:
        """Offset and metadata by partition; empty if there is no such group."""

        def ask(client: KafkaAdminClient) -> dict[TopicPartition, tuple[int, str]]:
            return {
                TopicPartition(each.topic, each.partition): (known.offset, known.metadata or "")
                for each, known in client.list_group_offsets({group: None})[group].items()
                if known.offset >= 0
            }

        try:
            return self._asked(ask, timeout)
        except group_errors.GroupIdNotFoundError:
            return {}

    def committed_by_group(self, groups: Iterable[str], timeout: float) -> dict[str, dict[TopicPartition, int]]:
        """Offsets of several groups by partition, in one request to each of their coordinators; raises the error of
        any of them.
        """

        def ask(client: KafkaAdminClient) -> dict[str, dict[TopicPartition, int]]:
            return {
                group: {
                    TopicPartition(each.topic, each.partition): known.offset
                    for each, known in offsets.items()
                    if known.offset >= 0
                }
                for group, offsets in client.list_group_offsets(dict.fromkeys(groups)).items()
            }

        return self._asked(ask, timeout)

    def commit(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]], timeout: float = 0.0) -> None:
        """Commit offset and metadata by partition for a group without members; UnknownMemberIdError if it has some."""
        request = {GroupPartition(*partition): OffsetAndMetadata(*known, -1) for partition, known in offsets.items()}
        self._asked(lambda client: _check(client.alter_group_offsets(group, request)), timeout)

    def keep(
        self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]], retention_ms: int, timeout: float = 0.0
    ) -> None:
        """Commit as ``commit`` does, for so long instead of ``offsets.retention.minutes`` of the broker."""
        kept = {GroupPartition(*partition): OffsetAndMetadata(*known, -1) for partition, known in offsets.items()}

        def ask(client: KafkaAdminClient) -> None:
            plain = client._alter_group_offsets_request

            def lasting(group_id: str, given: Mapping[GroupPartition, OffsetAndMetadata]) -> OffsetCommitRequest:
                request = plain(group_id, given)
                return OffsetCommitRequest(
                    group_id=group_id,
                    generation_id_or_member_epoch=request.generation_id_or_member_epoch,
                    member_id=request.member_id,
                    retention_time_ms=retention_ms,
                    topics=request.topics,
                    max_version=_WITH_RETENTION,
                )

            client._alter_group_offsets_request = lasting
            try:
                _check(client.alter_group_offsets(group, kept))
            finally:
                client._alter_group_offsets_request = plain

        self._asked(ask, timeout)

    def forget(self, group: str, partitions: Iterable[TopicPartition], timeout: float = 0.0) -> None:
        """Delete the offsets of these partitions; GroupSubscribedToTopicError if members read their topics."""
        request = [GroupPartition(*partition) for partition in partitions]
        with suppress(group_errors.GroupIdNotFoundError):
            self._asked(lambda client: _check(client.delete_group_offsets(group, request)), timeout)

    def delete(self, group: str, timeout: float = 0.0) -> None:
        """Delete the group with all its offsets; NonEmptyGroupError if it has members."""

        def ask(client: KafkaAdminClient) -> None:
            if (name := client.delete_groups([group])[group]) != "OK":
                raise getattr(group_errors, name, group_errors.UnknownError)(group)

        with suppress(group_errors.GroupIdNotFoundError):
            self._asked(ask, timeout)

    def _asked(self, ask: Callable[[KafkaAdminClient], T], timeout: float) -> T:
        until = time.monotonic() + timeout
        while True:
            try:
                with self._lock:
                    self._deadline.check()
                    if self._client is None:
                        self._client = group_admin(self._settings, self._client_id, **self._limits())
                    return ask(self._client)
            except _ANSWERS:
                raise
            except group_errors.KafkaError as error:
                self.close()
                if not error.retriable or time.monotonic() + _PAUSE_S > until:
                    raise
                time.sleep(_PAUSE_S)

    def _limits(self) -> dict[str, int]:
        """For each operation its part of the time that is left: the last request is sent before the deadline."""
        if self._deadline is NO_DEADLINE:
            return {}
        most = int(self._deadline.within(_LONGEST_S) / _OPERATIONS * 1000) + 1
        return {"bootstrap_timeout_ms": most, "request_timeout_ms": most}

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
            if client is not None:
                client.close()


def _check(errors: Mapping[GroupPartition, type[group_errors.KafkaError]]) -> None:
    for (topic, partition), error in errors.items():
        if error is not group_errors.NoError:
            raise error(f"{topic}-{partition}")


def committed_offsets(
    settings: Mapping[str, str], client_id: str, group: str, timeout: float
) -> dict[TopicPartition, int]:
    """By partition, as ``GroupOffsets.committed``, with a connection for this call alone."""
    with closing(GroupOffsets(settings, client_id)) as offsets:
        return {partition: offset for partition, (offset, _) in offsets.committed(group, timeout).items()}
