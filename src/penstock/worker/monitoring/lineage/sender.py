"""Sends events of OpenLineage in a thread of its own: a collector that is slow or down delays nothing else."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from openlineage.client import OpenLineageClient

from penstock.api.errors import ConfigError
from penstock.core.model.events import LoopEvent
from penstock.settings.telemetry import LINEAGE_TRANSPORT
from penstock.worker.monitoring.lineage.events import JobPlace, run_event
from penstock.worker.monitoring.lineage.runs import LineageConnector, LineageRuns, RunChange

log = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Events that wait for the collector at most; further events are dropped."""
CLOSE_S = 2.0
WARN_S = 60.0
"""Seconds between two warnings that events could not be sent."""


class Lineage:
    """``observe`` is called by the worker's loop with every event and returns at once."""

    def __init__(
        self,
        config: Mapping[str, str],
        place: JobPlace,
        connector: Callable[[str], LineageConnector | None],
        resolve: Callable[[Mapping[str, str]], dict[str, str]],
    ) -> None:
        """``config``: the worker's. ``resolve`` replaces references to config providers, and may block.

        Raises ConfigError if the settings of the transport are not valid.
        """
        self._client, self._place, self._resolve = _client(config), place, resolve
        self._runs = LineageRuns(connector, time.time)
        self._waiting: queue.Queue[RunChange | None] = queue.Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._send_all, name="openlineage", daemon=True)
        self._warned = -WARN_S
        self._failed = 0

    def start(self) -> None:
        self._thread.start()

    def observe(self, event: LoopEvent) -> None:
        try:
            for change in self._runs.changes(event):
                self._add(change)
        except Exception as error:  # the worker does not depend on it
            self._unsent(str(error), error)

    def close(self) -> None:
        """Called last; waits for a moment until everything is sent."""
        if self._thread.ident is None:  # the worker could not start
            self._client.close(CLOSE_S)
            return
        for change in self._runs.abandoned():
            self._add(change)
        try:
            self._waiting.put(None, timeout=CLOSE_S)
        except queue.Full:
            return
        self._thread.join(CLOSE_S)

    def _add(self, change: RunChange) -> None:
        try:
            self._waiting.put_nowait(change)
        except queue.Full:
            self._unsent("the collector is too slow", None)

    def _send_all(self) -> None:
        while (change := self._waiting.get()) is not None:
            try:
                self._client.emit(run_event(change, self._resolve(change.connector.config), self._place))
            except Exception as error:
                self._unsent(str(error), error)
        self._client.close(CLOSE_S)

    def _unsent(self, why: str, error: Exception | None) -> None:
        self._failed += 1
        if (now := time.monotonic()) >= self._warned + WARN_S:
            self._warned = now
            log.warning("%d events of OpenLineage could not be sent so far: %s", self._failed, why)
            log.debug("The last one", exc_info=error)


def _client(config: Mapping[str, str]) -> OpenLineageClient:
    transport = _nested(
        {k.removeprefix(LINEAGE_TRANSPORT): v for k, v in config.items() if k.startswith(LINEAGE_TRANSPORT)}
    )
    if transport.get("type") == "file":
        transport.setdefault("append", "true")
        transport["append"] = str(transport["append"]).strip().lower() == "true"
    if isinstance(auth := transport.get("auth"), dict) and "apiKey" in auth:
        auth.setdefault("type", "api_key")
    try:
        if "timeout" in transport:
            transport["timeout"] = float(transport["timeout"])
        client = OpenLineageClient(config={"transport": transport} if transport else None)
    except Exception as error:
        raise ConfigError(f"The transport of `{LINEAGE_TRANSPORT}*` can't be used: {error}") from error
    if client.transport.kind == "console" and not (client.config.transport or {}).get("type"):
        raise ConfigError(
            f"Events of OpenLineage have nowhere to go: set `{LINEAGE_TRANSPORT}type` to http or file with their "
            "settings, or the variable OPENLINEAGE_URL or OPENLINEAGE_CONFIG"
        )
    return client


def _nested(flat: Mapping[str, str]) -> dict[str, Any]:
    """``auth.apiKey`` becomes a member of ``auth``."""
    found: dict[str, Any] = {}
    for name, value in flat.items():
        *outer, last = name.split(".")
        place = found
        for each in outer:
            place = place.setdefault(each, {})
        place[last] = value
    return found
