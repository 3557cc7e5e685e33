"""What connectors and tasks find in ``self.context``: each method is called in the worker or in the task's process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError
from penstock.api.record import SinkRecord, SourceRecord
from penstock.api.sink import TopicPartition
from penstock.hosts.python.peer import Peer
from penstock.hosts.python.wire import described

NO_TAGS: Mapping[str, str] = {}
BACK = "background"


@dataclass(slots=True)
class Metrics:
    """``api.PluginMetrics``: the values stay here and are asked for."""

    peer: Peer
    _values: dict[int, Callable[[], float]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=itertools.count)

    @property
    def tags(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.peer.call("metrics.tags", lane=BACK)
        return found

    def add(self, name: str, description: str, value: Callable[[], float], tags: Mapping[str, str] = NO_TAGS) -> None:
        number = next(self._numbers)
        self._values[number] = value
        self.peer.call("metrics.add", name, description, number, dict(tags), lane=BACK)

    def remove(self, name: str, tags: Mapping[str, str] = NO_TAGS) -> None:
        self.peer.call("metrics.remove", name, dict(tags), lane=BACK)

    def value(self, number: int) -> float:
        return float(self._values[number]())


@dataclass(frozen=True, slots=True)
class ConnectorContext:
    peer: Peer
    plugin_metrics: Metrics

    def request_task_reconfiguration(self) -> None:
        self.peer.call("context.request_task_reconfiguration", lane=BACK)

    def raise_error(self, error: BaseException) -> None:
        self.peer.call("context.raise_error", described(error), lane=BACK)


@dataclass(frozen=True, slots=True)
class OffsetReader:
    peer: Peer

    def offset(self, partition: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any] | None]:
        asked = [None if partition is None else dict(partition) for partition in partitions]
        found: list[dict[str, Any] | None] = self.peer.call("context.offsets", asked, lane=BACK)
        return found


@dataclass(slots=True)
class Transaction:
    """``api.TransactionContext``: what was asked for goes with the next batch."""

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
        """What is to end with this batch: ``commit``, ``abort``, and ``ends``: rows, and whether to abort there."""
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
class SourceContext:
    configs: Mapping[str, str]
    offset_reader: OffsetReader
    plugin_metrics: Metrics
    transaction: Transaction | None


@dataclass(frozen=True, slots=True)
class Reporter:
    peer: Peer

    def report(self, record: SinkRecord, error: BaseException) -> None:
        self.peer.call("context.report", Batch.of_sink_records([record]), described(error), lane=BACK)


@dataclass(frozen=True, slots=True)
class SinkContext:
    peer: Peer
    configs: Mapping[str, str]
    plugin_metrics: Metrics
    errant_record_reporter: Reporter | None

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self.peer.call("context.assignment", lane=BACK))

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.peer.call("context.offset", dict(offsets), lane=BACK)

    def timeout(self, milliseconds: int) -> None:
        self.peer.call("context.timeout", milliseconds, lane=BACK)

    def pause(self, *partitions: TopicPartition) -> None:
        self.peer.call("context.pause", *partitions, lane=BACK)

    def resume(self, *partitions: TopicPartition) -> None:
        self.peer.call("context.resume", *partitions, lane=BACK)

    def request_commit(self) -> None:
        self.peer.call("context.request_commit", lane=BACK)
