"""The task that runs a tap again and again, each time from the state that it has come to.

At least once: a tap may send again what it sent before its last state, and many do so by design.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import KafkaError
from penstock.api.source import SourceTask
from penstock.connectors.singer.messages import Messages, Row, selected
from penstock.connectors.singer.settings import SingerSettings, check_settings, offset_of, state_of
from penstock.connectors.singer.tap import Tap, discover

_QUIET_SECONDS = 0.5
"""After so long without a line the last record is sent, though a state for it may come."""
_WAIT_SECONDS = 5.0
"""How long a poll waits for the first line; less, if the task is stopped."""
_IDLE_SECONDS = 0.5


class SingerSourceTask(SourceTask):
    java_name = "penstock.connectors.SingerSourceTask"

    def __init__(self) -> None:
        self._tap: Tap | None = None
        self._failure: KafkaError | None = None
        self._stopped = False

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = settings = SingerSettings.of(config)
        check_settings(settings)
        self._given = json.loads(settings.singer_config.value)
        self._messages = Messages(state_of(self.context.offset_reader.offset(settings.partition)))
        self._due = 0.0
        self._catalog: dict[str, Any] | None = None

    def poll(self) -> Batch | None:
        messages = self._messages
        if self._tap is None and not messages.rows:
            if self._failure is not None:
                raise self._failure
            if self._stopped or time.monotonic() < self._due:
                return None
            self._run()
        everything = self._tap is None or self._read(self._tap)
        rows, states = messages.take(self._settings.batch_max_rows, all=everything)
        return self._batch(rows, states) if rows else None

    def idle(self) -> float:
        return max(0.0, min(self._due - time.monotonic(), _IDLE_SECONDS))

    def stop(self) -> None:
        self._stopped = True
        if self._tap is not None:
            self._tap.kill()

    def _run(self) -> None:
        settings = self._settings
        if self._catalog is None:
            given = settings.singer_catalog
            found = discover(settings.singer_tap, self._given) if given is None else json.loads(given)
            self._catalog = selected(found, settings.singer_streams, every=given is None)
        files = {"config": self._given, "catalog": self._catalog}
        if self._messages.state is not None:
            files["state"] = self._messages.state
        self._tap = Tap(settings.singer_tap, files)
        if self._stopped:
            self._tap.kill()

    def _read(self, tap: Tap) -> bool:
        """Take lines until there are enough rows, or none is there; whether all rows may be sent.

        Those before an error may; the error is raised when they are.
        """
        messages, first = self._messages, True
        seconds = _QUIET_SECONDS if messages.rows else _WAIT_SECONDS
        try:
            while len(messages.rows) <= self._settings.batch_max_rows:
                line = tap.line(seconds)
                if line is None:
                    return first
                messages.add(line)
                first, seconds = False, 0.0 if messages.rows else _WAIT_SECONDS
            return False
        except EOFError:
            self._tap = None
            self._due = time.monotonic() + self._settings.poll_interval_ms / 1000
            if not self._stopped:
                self._failure = tap.failure()
            return True
        except KafkaError as error:
            self._tap, self._failure = None, error
            return True
        finally:
            if self._tap is None:
                tap.kill()

    def _batch(self, rows: list[Row], states: list[Any]) -> Batch:
        prefix, now = self._settings.topic_prefix, int(time.time() * 1000)
        return Batch.of(
            [prefix + row.stream for row in rows],
            [row.value for row in rows],
            value_schema=[row.value_schema for row in rows],
            keys=[row.key for row in rows],
            key_schema=[row.key_schema for row in rows],
            timestamps=[now] * len(rows),
            origin=SourceOrigin([self._settings.partition] * len(rows), [offset_of(state) for state in states]),
        )
