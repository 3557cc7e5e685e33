"""Restarts connectors when values from config providers expire, as their ``config.action.reload`` says.

Java: ``WorkerConfigTransformer``. The request is for the connector alone; ``core.reconfiguration`` then configures its
tasks again if there are other values.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from penstock.core.model.events import ConfigRead, LoopEvent
from penstock.core.model.messages import Elsewhere, Reply, RestartConnector

log = logging.getLogger(__name__)

ACTION = "config.action.reload"
DELETED, REBALANCING = 404, 409
MIN_SECONDS = 1.0
"""Minimum time to a restart: values that expire at once would cause one restart after the other."""


class Reloads:
    """``submit`` takes the restarts; that of a connector which runs on another worker by then is not carried out."""

    def __init__(self, submit: Callable[[RestartConnector], Future[Reply | Elsewhere]]) -> None:
        self._submit = submit
        self._timers: dict[str, threading.Timer] = {}
        self._lock = threading.Lock()
        self._closed = False

    def starts(self, name: str, config: Mapping[str, str], ttl_ms: int | None) -> None:
        """Note that a connector starts here with this configuration, and when its values expire; None: never.

        What was due before no longer is: it concerns values that the connector had before.
        """
        with self._lock:
            self._cancel(name)
            self._schedule(name, config, ttl_ms)

    def observe(self, event: LoopEvent) -> None:
        """Forget deleted connectors. Called with every event of the worker's loop. The thread that waits for the
        restart of one that is deleted would do so for as long as its values are valid, perhaps for months.
        """
        if isinstance(event, ConfigRead):
            with self._lock:
                for name in event.deleted():
                    self._cancel(name)

    def _cancel(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()

    def _schedule(self, name: str, config: Mapping[str, str], ttl_ms: int | None) -> None:
        if self._closed or ttl_ms is None or (config.get(ACTION) or "restart").lower() != "restart":
            return
        seconds = min(max(ttl_ms / 1000, MIN_SECONDS), threading.TIMEOUT_MAX)
        log.info(
            "Scheduling a restart of connector %s in %d ms, when a value of its configuration expires",
            name,
            seconds * 1000,
        )
        timer = threading.Timer(seconds, lambda: self._restart(name, config, timer))
        timer.daemon = True
        timer.start()
        self._timers[name] = timer

    def _restart(self, name: str, config: Mapping[str, str], due: threading.Timer) -> None:
        def answered(answer: Future[Reply | Elsewhere]) -> None:
            reply = answer.result()
            if isinstance(reply, Reply) and reply.status == REBALANCING:
                with self._lock:
                    if self._timers.get(name) is due:  # else it has been started meanwhile
                        self._schedule(name, config, 0)
            elif isinstance(reply, Reply) and reply.status >= 400 and reply.status != DELETED:
                log.error(
                    "Connector %s could not be restarted after a config provider's value expired: %s", name, reply.body
                )

        self._submit(RestartConnector(name)).add_done_callback(answered)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()
