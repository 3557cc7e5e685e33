"""The contexts of connectors and tasks on the plugin's side; methods are called in the worker or the task's process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError
from penstock.api.kafka import KafkaClients, NoKafkaClients
from penstock.api.record import SinkRecord, SourceRecord
from penstock.api.sink import TopicPartition
from penstock.hosts.python.messages import (
    AddPluginMetric,
    PausePluginPartitions,
    RaisePluginError,
    ReadAssignment,
    ReadMetricTags,
    ReadPluginOffsets,
    RemovePluginMetric,
    ReportErrantRecord,
    RequestOffsetCommit,
    RequestTaskReconfiguration,
    ResumePluginPartitions,
    RewindOffsets,
    SetPutTimeout,
)
from penstock.hosts.python.peer import PluginPeer
from penstock.hosts.python.wire import described

NO_TAGS: Mapping[str, str] = {}
BACK = "background"


@dataclass(slots=True)
class RemoteMetrics:
    """``api.PluginMetrics``, whose values stay here and are asked for."""

    peer: PluginPeer
    _values: dict[int, Callable[[], float]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=itertools.count)

    @property
    def tags(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.peer.call(ReadMetricTags(), lane=BACK)
        return found

    def add(self, name: str, description: str, value: Callable[[], float], tags: Mapping[str, str] = NO_TAGS) -> None:
        number = next(self._numbers)
        self._values[number] = value
        self.peer.call(AddPluginMetric(_text(name), _text(description), number, dict(tags)), lane=BACK)

    def remove(self, name: str, tags: Mapping[str, str] = NO_TAGS) -> None:
        self.peer.call(RemovePluginMetric(_text(name), dict(tags)), lane=BACK)

    def value(self, number: int) -> float:
        return float(self._values[number]())


def _text(given: object) -> str:
    """Return a text for a value of a plugin: an invalid message would end the connection."""
    return given if isinstance(given, str) else str(given)


NO_KAFKA = NoKafkaClients(
    "There are no Kafka clients for plugins with an environment of their own: add a client to that environment, or "
    "install the plugin without one"
)


@dataclass(frozen=True, slots=True)
class RemoteConnectorContext:
    peer: PluginPeer
    plugin_metrics: RemoteMetrics
    kafka: KafkaClients = NO_KAFKA

    def request_task_reconfiguration(self) -> None:
        self.peer.call(RequestTaskReconfiguration(), lane=BACK)

    def raise_error(self, error: BaseException) -> None:
        self.peer.call(RaisePluginError(), described(error), lane=BACK)


@dataclass(frozen=True, slots=True)
class RemoteOffsetReader:
    peer: PluginPeer

    def offset(self, partition: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any] | None]:
        asked = [None if partition is None else dict(partition) for partition in partitions]
        found: list[dict[str, Any] | None] = self.peer.call(ReadPluginOffsets(), asked, lane=BACK)
        return found


@dataclass(slots=True)
class RequestedTransactions:
    """``api.TransactionContext``; what the task asks for goes with the next batch."""

    commit: bool = False
    abort: bool = False
    _after: list[tuple[SourceRecord, bool]] = field(default_factory=list)

    def commit_transaction(self, after: SourceRecord | None = None) -> None:
        if after is None:
            self.commit = True
        else:
            self._after.append((after, False))

    def abort_transaction(self, after: SourceRecord | None = None) -> None:
        if after is None:
            self.abort = True
        else:
            self._after.append((after, True))

    def take(self, polled: Sequence[SourceRecord] | Batch | None) -> dict[str, Any]:
        """Return how transactions end with this batch: ``commit``, ``abort``, ``ends`` (rows, and whether to abort)."""
        if self._after and isinstance(polled, Batch):
            raise ConnectError("A transaction is to end after a record, but poll() gave a Batch, which has none")
        records = () if polled is None or isinstance(polled, Batch) else polled
        rows = {id(record): row for row, record in enumerate(records)} if self._after else {}
        ends = [(rows[id(record)], abort) for record, abort in self._after if id(record) in rows]
        asked = {"commit": self.commit, "abort": self.abort, "ends": sorted(ends)}
        self.commit = self.abort = False
        self._after = [each for each in self._after if id(each[0]) not in rows]
        return asked


@dataclass(frozen=True, slots=True)
class RemoteSourceContext:
    configs: Mapping[str, str]
    offset_reader: RemoteOffsetReader
    plugin_metrics: RemoteMetrics
    transaction: RequestedTransactions | None
    kafka: KafkaClients = NO_KAFKA


@dataclass(frozen=True, slots=True)
class RemoteReporter:
    peer: PluginPeer

    def report(self, record: SinkRecord, error: BaseException) -> None:
        self.peer.call(ReportErrantRecord(), Batch.of_sink_records([record]), described(error), lane=BACK)


@dataclass(frozen=True, slots=True)
class RemoteSinkContext:
    peer: PluginPeer
    configs: Mapping[str, str]
    plugin_metrics: RemoteMetrics
    errant_record_reporter: RemoteReporter | None

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self.peer.call(ReadAssignment(), lane=BACK))

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.peer.call(RewindOffsets(), dict(offsets), lane=BACK)

    def timeout(self, milliseconds: int) -> None:
        self.peer.call(SetPutTimeout(), milliseconds, lane=BACK)

    def pause(self, *partitions: TopicPartition) -> None:
        self.peer.call(PausePluginPartitions(), *partitions, lane=BACK)

    def resume(self, *partitions: TopicPartition) -> None:
        self.peer.call(ResumePluginPartitions(), *partitions, lane=BACK)

    def request_commit(self) -> None:
        self.peer.call(RequestOffsetCommit(), lane=BACK)
