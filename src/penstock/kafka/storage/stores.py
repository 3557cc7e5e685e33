"""The config store and the status store: typed records in and out of their topics.

Records that are read are delivered as events, in order, from a thread of the store; records that this worker appends
come back as events like those of any other. Java: ``KafkaConfigBackingStore`` and ``KafkaStatusBackingStore`` without
their state, which is in ``core.model.state``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from penstock.api.config import with_prefix
from penstock.api.config_types import ConfigType, parse_type
from penstock.api.kafka import TopicSpec
from penstock.core.model.records import (
    ConfigRecord,
    ConfigTopicRecord,
    StatusRecord,
    StatusTopicRecord,
    TasksCommit,
    TopicStatus,
)
from penstock.kafka.client_settings import internal, own_client_id, reads_committed
from penstock.kafka.log.outages import Outages
from penstock.kafka.log.privileged_writer import PrivilegedWriter
from penstock.kafka.log.progress import Ends, OnDone
from penstock.kafka.log.reader import LogClients, LogRecord
from penstock.kafka.log.topic import LogTopic, creates_internal_topics
from penstock.kafka.log.topic_log import TopicLog
from penstock.kafka.log.writer import Pair
from penstock.kafka.storage import config_records, status_records

Settings = Mapping[str, str]


def _nothing(error: Exception | None) -> None:
    pass


class ConfigStore:
    """``start`` once, ``close`` at the end; no method blocks, callbacks come from threads of the store."""

    def __init__(
        self,
        worker: Settings,
        on_records: Callable[[list[ConfigRecord]], None],
        *,
        on_caught_up: Callable[[], None] = lambda: None,
        on_failed: Callable[[Exception], None] = lambda error: None,
        outages: Outages | None = None,
    ) -> None:
        """``worker``: its raw settings. ``on_caught_up``: once all records that were there at the start were
        delivered.
        """
        support, client_id = exactly_once_support(worker), own_client_id(worker, "configs")
        producer, consumer = (internal(worker, client, client_id) for client in ("producer", "consumer"))
        clients = LogClients(
            consumer=consumer,
            producer=producer,
            admin=internal(worker, "admin", client_id),
            read_committed=support == "enabled" or reads_committed(consumer),
            transactions=support != "disabled",
        )
        topic = internal_topic(worker, "config", "connector configurations", partitions=1)
        self._on_records = on_records
        self._log = TopicLog(
            topic, clients, self._decode, on_caught_up=on_caught_up, on_failed=on_failed, outages=outages
        )
        self._privileged: PrivilegedWriter | None = None
        if support != "disabled":
            id = f"connect-cluster-{worker['group.id']}"
            self._privileged = PrivilegedWriter(topic.spec.name, producer, id)

    def start(self) -> None:
        self._log.start()

    def append(
        self, records: Sequence[ConfigTopicRecord], on_done: OnDone = _nothing, *, privileged: bool = True
    ) -> None:
        """Append in this order; with exactly once, privileged ones in one transaction as the leader.

        Any worker may append target states, logger levels, and skips with the restart that they need, with
        ``privileged=False``; all others are the leader's.
        Without transactions a ``TasksCommit`` is sent only when all records before it have been acknowledged, so that
        it never counts for task configurations of which some are missing. Done when the records have been read back;
        with FencedError if another worker is the leader by now.
        """
        pairs = [config_records.encode_signed(record) for record in records]
        if not privileged or self._privileged is None:
            self._append_in_stages(pairs, _stages(records), on_done)
            return

        def written(ends: Ends, error: Exception | None) -> None:
            if error is None:
                self._log.read_own(ends, on_done)
            else:
                on_done(error)

        self._privileged.append(pairs, written)

    def _append_in_stages(self, pairs: Sequence[Pair], ends: Sequence[int], on_done: OnDone) -> None:
        """Append up to each of these ends once all before it has been acknowledged."""
        if len(ends) == 1:
            self._log.append(pairs, on_done, read_back=True)
            return
        end, *later = ends

        def acknowledged(error: Exception | None) -> None:
            if error is None:
                self._append_in_stages(pairs[end:], [each - end for each in later], on_done)
            else:
                on_done(error)

        self._log.append(pairs[:end], acknowledged)

    def claim_write_privileges(self, on_done: OnDone) -> None:
        """Called on becoming leader, before the first privileged append; fences the leader before."""
        if self._privileged is None:
            on_done(None)
        else:
            self._privileged.claim(on_done)

    def read_to_end(self, on_done: OnDone) -> None:
        """Done when every record that is in the topic now has been delivered."""
        self._log.read_to_end(on_done)

    def close(self) -> None:
        if self._privileged is not None:
            self._privileged.close()
        self._log.close()

    def _decode(self, records: list[LogRecord]) -> None:
        decode, is_counted = config_records.decode_signed, config_records.is_counted
        decoded = [(r, decode(r.offset, r.key, r.value, r.headers)) for r in records]
        counted = [(r, record) for r, record in decoded if record is not None or is_counted(r.value)]
        if counted:
            self._on_records([ConfigRecord(r.offset, record, r.timestamp_ms) for r, record in counted])


class StatusStore:
    """``start`` once, ``close`` at the end; no method blocks, callbacks come from threads of the store."""

    def __init__(
        self,
        worker: Settings,
        on_records: Callable[[list[StatusRecord]], None],
        *,
        on_caught_up: Callable[[], None] = lambda: None,
        on_failed: Callable[[Exception], None] = lambda error: None,
        outages: Outages | None = None,
    ) -> None:
        client_id = own_client_id(worker, "statuses")
        clients = LogClients(
            consumer=internal(worker, "consumer", client_id),
            producer=internal(worker, "producer", client_id),
            admin=internal(worker, "admin", client_id),
        )
        topic = internal_topic(worker, "status", "connector and task statuses", partitions=5)
        self._on_records = on_records
        self._log = TopicLog(
            topic, clients, self._decode, on_caught_up=on_caught_up, on_failed=on_failed, outages=outages
        )

    def start(self) -> None:
        self._log.start()

    def append(self, records: Sequence[StatusTopicRecord], on_done: OnDone = _nothing) -> None:
        """Append in this order; tombstones are records without a state, or without a task."""
        self._log.append([status_records.encode(record) for record in records], on_done)

    def read_to_end(self, on_done: OnDone) -> None:
        """Done when every record that is in the topic now has been delivered."""
        self._log.read_to_end(on_done)

    def close(self) -> None:
        self._log.close()

    def _decode(self, records: list[LogRecord]) -> None:
        decode = status_records.decode
        decoded = [(r, decode(r.partition, r.offset, r.key, r.value)) for r in records]
        events = [StatusRecord(r.partition, r.offset, _timed(record, r)) for r, record in decoded if record is not None]
        if events:
            self._on_records(events)


def _stages(records: Sequence[ConfigTopicRecord]) -> list[int]:
    """Return the points at which appending must wait for acknowledgements: before each ``TasksCommit``, and at the
    end.
    """
    commits = [place for place, record in enumerate(records) if place and isinstance(record, TasksCommit)]
    return [*commits, len(records)]


def _timed(record: StatusTopicRecord, read: LogRecord) -> StatusTopicRecord:
    return record if isinstance(record, TopicStatus) else replace(record, written_ms=read.timestamp_ms)


def internal_topic(worker: Settings, kind: str, purpose: str, partitions: int) -> LogTopic:
    """The ``config``, ``status`` or ``offset`` topic, as the worker's ``<kind>.storage.*`` settings describe it.

    Settings of the topic may be given as ``<kind>.storage.<topic setting>``; it is compacted whatever they say.
    """
    prefix = f"{kind}.storage."
    given = with_prefix(worker, prefix)
    own = {"topic", "partitions", "replication.factor", "cleanup.policy", "file.filename"}
    if kind != "config":
        partitions = parse_type(f"{prefix}partitions", given.get("partitions", partitions), ConfigType.INT)
    replication = parse_type(f"{prefix}replication.factor", given.get("replication.factor", 3), ConfigType.INT)
    configs = {name: value for name, value in given.items() if name not in own}
    return LogTopic(
        spec=TopicSpec(given["topic"], partitions, replication, {**configs, "cleanup.policy": "compact"}),
        setting=f"{prefix}topic",
        purpose=purpose,
        single_partition=kind == "config",
        created=creates_internal_topics(worker),
    )


def exactly_once_support(worker: Settings) -> str:
    """``disabled``, ``preparing`` or ``enabled``; the draft's ``exactly.once.source.enabled=true`` is the last
    (KIP-618).
    """
    if worker.get("exactly.once.source.enabled", "").strip().lower() == "true":
        return "enabled"
    return worker.get("exactly.once.source.support", "disabled").strip().lower()
