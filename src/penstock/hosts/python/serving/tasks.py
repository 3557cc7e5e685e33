"""The task of this process, a source or a sink."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.api.batch import Batch
from penstock.api.returned import polled_batch, ran
from penstock.api.sink import OffsetAndMetadata, SinkTask, TopicPartition
from penstock.api.source import SourceTask
from penstock.hosts.python.peer import Peer
from penstock.hosts.python.serving.contexts import (
    Metrics,
    OffsetReader,
    Reporter,
    SinkContext,
    SourceContext,
    Transaction,
)
from penstock.hosts.python.serving.discovery import named, overridden
from penstock.hosts.python.wire import whole


class SourceSide:
    def __init__(self, peer: Peer) -> None:
        self._peer, self._metrics = peer, Metrics(peer)
        self._transaction: Transaction | None = None

    def answers(self) -> dict[str, Callable[..., Any]]:
        return {
            "source.create": self.create,
            "source.start": self.start,
            "source.poll": self.poll,
            "source.call": lambda method, *args: getattr(self._task, method)(*args),
            "source.metric": self._metrics.value,
        }

    def create(self, target: str) -> list[str]:
        """Which methods the task's class overrides."""
        cls: type[SourceTask] = named(target)().task_class()
        self._task = cls()
        return overridden(cls, SourceTask)

    def start(self, config: Mapping[str, str], transactions: bool) -> None:
        self._transaction = Transaction() if transactions else None
        self._task.context = SourceContext(config, OffsetReader(self._peer), self._metrics, self._transaction)
        self._task.start(dict(config))

    def poll(self) -> tuple[Batch | None, float, dict[str, Any] | None]:
        """The records; how long to wait if there are none; what transactions are to end."""
        polled = self._task.poll()
        batch = polled_batch(polled)
        asked = None if self._transaction is None else self._transaction.take(polled)
        if batch is None:
            return None, self._task.idle(), asked
        return whole(batch), 0.0, asked


class SinkSide:
    def __init__(self, peer: Peer) -> None:
        self._peer, self._metrics = peer, Metrics(peer)

    def answers(self) -> dict[str, Callable[..., Any]]:
        return {
            "sink.create": self.create,
            "sink.start": self.start,
            "sink.pre_commit": self.pre_commit,
            "sink.call": self.call,
            "sink.metric": self._metrics.value,
        }

    def create(self, target: str) -> None:
        cls: type[SinkTask] = named(target)().task_class()
        self._task = cls()

    def start(self, config: Mapping[str, str], reports: bool) -> None:
        reporter = Reporter(self._peer) if reports else None
        self._task.context = SinkContext(self._peer, config, self._metrics, reporter)
        self._task.start(dict(config))

    def call(self, method: str, *args: Any) -> None:
        ran(method, getattr(self._task, method)(*args))

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Sequence[tuple[Any, ...]] | str | None:
        """What it agrees to, in plain values; as text if it is no offsets: an error here would count as a failure to
        commit, after which records are read again, and that of the task is for the loop to tell.
        """
        agreed: Any = self._task.pre_commit(offsets)
        try:
            return None if agreed is None else [(str(t), _int(p), *_kept(offset)) for (t, p), offset in agreed.items()]
        except (AttributeError, TypeError, ValueError):
            return repr(agreed)


def _kept(offset: Any) -> tuple[Any, ...]:
    if isinstance(offset, OffsetAndMetadata):
        return int(offset), offset.metadata, offset.leader_epoch
    return (_int(offset),)


def _int(value: Any) -> int:
    """Integers of other packages, too."""
    return int(operator.index(value))
