"""The sink connector of Singer: tasks that run a target each.

A task commits the offsets of the last state that the target has told. At least once: records that a target has written
after its last state it gets again, after a restart.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

from penstock import __version__
from penstock.api.batch import Batch
from penstock.api.check import CheckStep, TargetCheck, program
from penstock.api.connector import SinkConnector
from penstock.api.errors import ConnectError, DataError, NotReadyError
from penstock.api.simple_connector import SimpleConnector
from penstock.api.sink import SinkTask, TopicPartition
from penstock.connectors.singer.sink_settings import SingerSinkSettings, check_target, sink_problems
from penstock.connectors.singer.streams import Streams
from penstock.connectors.singer.target import TargetProcess


class SingerSink(SimpleConnector, SinkConnector):
    """Sends records of topics to streams of a Singer target."""

    java_name = "penstock.connectors.SingerSink"
    settings = SingerSinkSettings.config_def()

    @classmethod
    def version(cls) -> str:
        return __version__

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return sink_problems(config)

    def check_target(self, config: Mapping[str, str]) -> TargetCheck:
        yield program("target", SingerSinkSettings.of(config).singer_target)
        yield CheckStep("target", "login", "not checked", "A check runs no targets")

    def task_class(self) -> type[SingerSinkTask]:
        return SingerSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config] * max_tasks

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        """The group's offsets are all there is."""
        return True


_ROOM_SECONDS = 2.0
"""Seconds that a put waits for a slow target before it asks for the same records again."""

Offsets = dict[TopicPartition, int]


class SingerSinkTask(SinkTask):
    java_name = "penstock.connectors.SingerSinkTask"

    def __init__(self) -> None:
        self._target: TargetProcess | None = None
        self._given: dict[int, Offsets] = {}
        """The offsets of the states that the target was given and has not told."""
        self._durable: Offsets = {}

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = settings = SingerSinkSettings.of(config)
        check_target(settings.singer_target)
        self._config = json.loads(settings.singer_config.value)
        self._patience = settings.singer_state_timeout_ms / 1000

    def put_batch(self, batch: Batch) -> None:
        self._settle()
        if self._settings.behavior_on_null_values == "ignore" and None in batch.values:
            batch = batch.select([number for number, value in enumerate(batch.values) if value is not None])
        if not len(batch):
            return
        target = self._running()
        if target is None or not target.has_room(_ROOM_SECONDS):
            raise NotReadyError("The target has not read yet what it was given before")
        if lines := self._streams.lines(batch, lambda number, error: self._refuse(batch, number, error)):
            target.write(b"".join(lines))

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self._settle()
        target = self._target
        if target is None:
            self._durable.update(offsets)
        elif target.ended_at is None:
            number = target.write_state(_bookmarks(offsets))
            self._given[number] = dict(offsets)
            if not target.tells(number, self._patience):
                target.end()
        if self._target is not None and self._target.ended_at is not None:
            self._target.ends(self._patience)
        self._settle()
        return {each: min(at, self._durable[each]) for each, at in offsets.items() if each in self._durable}

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Forget these partitions: states that the target tells later do not cover them, since they may come again with
        other offsets.

        If none is left, the target does not go on with records that it holds: they are read again, perhaps by another
        task, over whose later values it would write these.
        """
        for offsets in (self._durable, *self._given.values()):
            for partition in partitions:
                offsets.pop(partition, None)
        target = self._target
        if target is None or target.over or not target.holds or not self.context.assignment <= set(partitions):
            return
        target.end()
        if not target.ends(self._patience):
            target.kill()
            self._target = None
            self._given.clear()

    def stop(self) -> None:
        """The target gets some time to write what it holds."""
        if self._target is not None:
            self._target.end()
            self._target.ends(self._patience)
            self._target.kill()

    def _running(self) -> TargetProcess | None:
        """Return the running target, started if necessary; None while the last run has not ended."""
        if self._target is not None and self._target.ended_at is not None:
            self._target.ends(_ROOM_SECONDS)
            self._settle()
            if self._target is not None:
                return None
        if self._target is None:
            settings = self._settings
            self._streams = Streams(settings.singer_stream_name_format, settings.pk_mode, settings.pk_fields or ())
            self._target = TargetProcess(settings.singer_target, {"config": self._config})
        return self._target

    def _settle(self) -> None:
        """Take what the target has told, and its end. Raises ConnectError if it has ended otherwise than it should."""
        target = self._target
        if target is None:
            return
        over = target.over
        for number in [each for each in self._given if each <= target.told]:
            self._durable.update(self._given.pop(number))
        if failure := self._failure_of(target, over):
            raise failure
        if over:
            target.kill()
            self._target = None

    def _failure_of(self, target: TargetProcess, over: bool) -> ConnectError | None:
        most = self._settings.singer_end_timeout_ms
        if not over:
            if target.ended_at is None or time.monotonic() < target.ended_at + most / 1000:
                return None
            return ConnectError(
                f"The target has not ended within {most} ms after the end of its input (`singer.end.timeout.ms`)"
            )
        if failure := target.failure():
            return failure
        if target.ended_at is None:
            return ConnectError("The target has ended before the end of its input")
        if self._given:
            return ConnectError(
                "The target has ended without telling the last state that it was given, so that no offsets can be "
                "committed: a target writes states to its standard output"
            )
        return None

    def _refuse(self, batch: Batch, number: int, error: DataError) -> None:
        reporter = self.context.errant_record_reporter
        if reporter is None:
            raise error
        reporter.report(batch.row(number), error)  # type: ignore[arg-type]


def _bookmarks(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Return the offsets as Singer's bookmarks, by topic and partition."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), at in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = at
    return found
