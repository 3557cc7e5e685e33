"""A tap that is run again and again, each time from the state that it has come to.

At least once: a tap may send again what it sent before its last state, and many do so by design.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from penstock import __version__
from penstock.api.batch import Batch, SourceOrigin
from penstock.api.connector import ExactlyOnceSupport, SourceConnector
from penstock.api.errors import ConnectError, KafkaError
from penstock.api.simple_connector import SimpleConnector
from penstock.api.source import SourceTask
from penstock.api.topic_names import TopicNames
from penstock.connectors.singer.messages import Messages, StreamRow
from penstock.connectors.singer.settings import offset_of, state_of
from penstock.connectors.singer.tap import Tap

_QUIET_SECONDS = 0.5
"""After so long without a line the last record is sent, though a state for it may come."""
_WAIT_SECONDS = 5.0
"""Seconds that a poll waits for the first line; less if the task is stopped."""
_IDLE_SECONDS = 0.5


class TapRuns:
    """Runs of a tap; ``begin`` starts one from the state of the messages. Any thread may call ``stop``."""

    def __init__(self, messages: Messages, begin: Callable[[], Tap], interval_ms: int, most: int) -> None:
        self._messages, self._begin, self._most = messages, begin, most
        self._interval = interval_ms / 1000
        self._tap: Tap | None = None
        self._failure: KafkaError | None = None
        self._due = 0.0
        self._stopped = False

    def poll(self) -> tuple[list[StreamRow], list[Any]]:
        """The next rows, and the states behind them; none if there are none yet."""
        messages = self._messages
        if self._tap is None and not messages.rows:
            if self._failure is not None:
                raise self._failure
            if self._stopped or time.monotonic() < self._due:
                return [], []
            self._start()
        everything = self._tap is None or self._read(self._tap)
        return messages.take(self._most, all=everything)

    def idle(self) -> float:
        return max(0.0, min(self._due - time.monotonic(), _IDLE_SECONDS))

    def stop(self) -> None:
        self._stopped = True
        if (tap := self._tap) is not None:
            tap.kill()

    def _start(self) -> None:
        self._tap = tap = self._begin()
        if self._stopped:  # meanwhile
            tap.kill()

    def _read(self, tap: Tap) -> bool:
        """Take lines until there are enough rows, or none is there; whether all rows may be sent.

        Those before an error may; the error is raised when they are.
        """
        messages, first = self._messages, True
        seconds = _QUIET_SECONDS if messages.rows else _WAIT_SECONDS
        try:
            while len(messages.rows) <= self._most:
                line = tap.line(seconds)
                if line is None:
                    return first
                messages.add(line)
                first, seconds = False, 0.0 if messages.rows else _WAIT_SECONDS
            return False
        except EOFError:
            self._tap = None
            self._due = time.monotonic() + self._interval
            if not self._stopped:
                self._failure = tap.failure()
            return True
        except KafkaError as error:
            self._tap, self._failure = None, error
            return True
        finally:
            if self._tap is None:
                tap.kill()


def batch_of(
    rows: list[StreamRow], states: list[Any], prefix: str, partition: dict[str, Any], names: TopicNames
) -> Batch:
    """Raises ConnectError if two streams have one topic."""
    now = int(time.time() * 1000)
    topics = {stream: names.topic(prefix + stream) for stream in {row.stream for row in rows}}
    return Batch.of(
        [topics[row.stream] for row in rows],
        [row.value for row in rows],
        value_schema=[row.value_schema for row in rows],
        keys=[row.key for row in rows],
        key_schema=[row.key_schema for row in rows],
        timestamps=[now] * len(rows),
        origin=SourceOrigin([partition] * len(rows), _offsets(states)),
    )


def _offsets(states: list[Any]) -> list[dict[str, Any]]:
    """Return the offsets of rows; rows between two states share one, which may be long."""
    found: list[dict[str, Any]] = []
    for number, state in enumerate(states):
        found.append(found[-1] if number and state is states[number - 1] else offset_of(state))
    return found


class TapSource(SimpleConnector, SourceConnector):
    """Base of the connectors of such sources, with one task."""

    kind: ClassVar[str]
    """The kind of source in errors, with its article."""
    partition_key: ClassVar[str]
    """The one field of a source partition, in which the source is named."""

    @classmethod
    def version(cls) -> str:
        return __version__

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """A source begins again at its last state, which may be some records earlier."""
        return ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        key = self.partition_key
        for partition, offset in offsets:
            if set(partition or {}) != {key}:
                raise ConnectError(
                    f"{partition} is no source partition of {self.kind}: it has `{key}`, the {key}'s name"
                )
            state_of(offset, self.kind)
        return True


class TapSettings(Protocol):
    @property
    def topic_prefix(self) -> str: ...
    @property
    def partition(self) -> dict[str, Any]: ...
    @property
    def poll_interval_ms(self) -> int: ...
    @property
    def batch_max_rows(self) -> int: ...


class TapTask(SourceTask):
    """A task that polls the runs of a tap; ``start`` of a subclass calls ``run``."""

    def __init__(self) -> None:
        self._runs: TapRuns | None = None
        self._names = TopicNames()

    def run(self, messages: Messages, settings: TapSettings) -> None:
        self._prefix, self._partition = settings.topic_prefix, settings.partition
        self._runs = TapRuns(
            messages, lambda: self.begin(messages.state), settings.poll_interval_ms, settings.batch_max_rows
        )

    @abstractmethod
    def begin(self, state: Any) -> Tap:
        """Start a run from a state; None at first."""

    def poll(self) -> Batch | None:
        assert self._runs is not None
        rows, states = self._runs.poll()
        return batch_of(rows, states, self._prefix, self._partition, self._names) if rows else None

    def idle(self) -> float:
        return 0.0 if self._runs is None else self._runs.idle()

    def stop(self) -> None:
        if self._runs is not None:
            self._runs.stop()
