"""A broker that can be frozen, killed and started again on its data, with a proxy before it.

Its controller is a process of its own, which has no faults. A broker that is its own controller takes itself for the
leader of its partitions when it has been killed and starts again, coordinates transactions, and is then fenced as the
broker that it was before. While its partitions have no leader it may drop the markers of transactions that were about
to end ("likely deleted already and hence can be skipped"), and call them complete: nobody reads past such a
transaction, ever.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from faults.joining import joining
from faults.proxy import Proxy
from penstock.embedded import Broker, EmbeddedError
from penstock.embedded.ports import ports

ATTEMPTS = 4
"""A machine under load may not start it within the time that a broker has for that."""

SEGMENT = str(4 << 20)
SETTINGS = {
    "broker.session.timeout.ms": "1500",
    "broker.heartbeat.interval.ms": "300",
    "log.segment.bytes": SEGMENT,
    "offsets.topic.segment.bytes": SEGMENT,
    "transaction.state.log.segment.bytes": SEGMENT,
}
"""One that was killed reads the last segments of its logs again before it serves anybody: with Kafka's of 1 GB that
is all that it ever had, which took 13 s after an hour of faults. It is fenced before it is there again.
"""


class FaultyBroker:
    """``bootstrap`` leads to it directly, ``proxied`` through ``proxy``. Used as a context manager."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        """``folder`` keeps its data, and must be empty."""
        self._folder, self._settings = folder, {**SETTINGS, **(settings or {})}
        self._port, self._behind = ports(0)
        self.proxy = Proxy(self._behind)
        self._controller = Broker(folder / "controller", extra={**self._settings, "process.roles": "controller"})
        self._broker: Broker
        self._starting = threading.Lock()
        self._stack = ExitStack()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def proxied(self) -> str:
        return f"127.0.0.1:{self.proxy.port}"

    def __enter__(self) -> Self:
        with self._stack:
            self._stack.enter_context(self.proxy)
            self._stack.enter_context(self._controller)
            self._broker = self._joining()
            self._stack.enter_context(self._broker)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.thaw()
        self._stack.close()

    @property
    def running(self) -> bool:
        return self._broker.running

    def freeze(self) -> None:
        """Freeze the broker; if it is being started, wait for that first."""
        with self._starting:
            self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill_and_start(self) -> None:
        """SIGKILL; returns when it answers again."""
        with self._starting:
            self._signal(signal.SIGKILL)
            self._broker.stop()
            for left in reversed(range(ATTEMPTS)):
                try:
                    self._broker.start()
                    break
                except EmbeddedError:
                    if not left:
                        raise

    def _joining(self) -> Broker:
        listeners = {
            "listeners": f"PROXIED://127.0.0.1:{self._behind}",
            "advertised.listeners": f"PROXIED://127.0.0.1:{self.proxy.port}",
            "listener.security.protocol.map": "PROXIED:PLAINTEXT",
        }
        folder = self._folder / "broker"
        return joining(self._folder / "controller", folder, self._port, {**listeners, **self._settings})

    def _signal(self, number: signal.Signals) -> None:
        if self._broker.pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._broker.pid, number)
