"""The task of this process on the plugin's side, a source or a sink."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from penstock.api.batch import Batch
from penstock.api.returned import polled_batch, ran
from penstock.api.sink import OffsetAndMetadata, SinkTask, TopicPartition
from penstock.api.source import SourceTask
from penstock.hosts.python.messages import (
    CallPluginSink,
    CallPluginSource,
    CreatePluginSink,
    CreatePluginSource,
    PollPlugin,
    PreCommitPlugin,
    StartPluginSink,
    StartPluginSource,
)
from penstock.hosts.python.peer import PluginPeer
from penstock.hosts.python.serving.contexts import (
    RemoteMetrics,
    RemoteOffsetReader,
    RemoteReporter,
    RemoteSinkContext,
    RemoteSourceContext,
    RequestedTransactions,
)
from penstock.hosts.python.serving.discovery import named, overridden
from penstock.hosts.python.wire import whole


class SourceSide:
    """The source task of this process."""

    def __init__(self, peer: PluginPeer) -> None:
        self._peer, self.metrics = peer, RemoteMetrics(peer)
        self._transactions: RequestedTransactions | None = None

    def answer(
        self, message: CreatePluginSource | StartPluginSource | PollPlugin | CallPluginSource, args: tuple[Any, ...]
    ) -> Any:
        """Carry out a message to the task."""
        match message:
            case CreatePluginSource(target):
                cls: type[SourceTask] = named(target)().task_class()
                self._task = cls()
                return overridden(cls, SourceTask)
            case StartPluginSource(config, transactions):
                self._start(config, transactions)
                return None
            case PollPlugin():
                return self._poll()
            case CallPluginSource(method):
                return getattr(self._task, method)(*args)
            case _:
                assert_never(message)

    def _start(self, config: Mapping[str, str], transactions: bool) -> None:
        self._transactions = RequestedTransactions() if transactions else None
        reader = RemoteOffsetReader(self._peer)
        self._task.context = RemoteSourceContext(config, reader, self.metrics, self._transactions)
        self._task.start(dict(config))

    def _poll(self) -> tuple[Batch | None, float, dict[str, Any] | None]:
        """Return the records, how long to wait if there are none, and how transactions end."""
        polled = self._task.poll()
        batch = polled_batch(polled)
        asked = None if self._transactions is None else self._transactions.take(polled)
        if batch is None:
            return None, self._task.idle(), asked
        return whole(batch), 0.0, asked


class SinkSide:
    """The sink task of this process."""

    def __init__(self, peer: PluginPeer) -> None:
        self._peer, self.metrics = peer, RemoteMetrics(peer)

    def answer(
        self, message: CreatePluginSink | StartPluginSink | CallPluginSink | PreCommitPlugin, args: tuple[Any, ...]
    ) -> Any:
        """Carry out a message to the task."""
        match message:
            case CreatePluginSink(target):
                cls: type[SinkTask] = named(target)().task_class()
                self._task = cls()
            case StartPluginSink(config, reports):
                reporter = RemoteReporter(self._peer) if reports else None
                self._task.context = RemoteSinkContext(self._peer, config, self.metrics, reporter)
                self._task.start(dict(config))
            case CallPluginSink(method):
                ran(method, getattr(self._task, method)(*args))
            case PreCommitPlugin():
                return self._pre_commit(*args)
            case _:
                assert_never(message)
        return None

    def _pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Sequence[tuple[Any, ...]] | str | None:
        """Return the offsets that the task agrees to in plain values, or what it has returned instead as text.

        An error here would count as a failure to commit, after which records are read again; that of a task which
        returns no offsets is for the loop to report.
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
