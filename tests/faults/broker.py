"""A broker that can be frozen, killed and started again on its data, with a proxy before it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

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
is all that it ever had, which took 13 s after an hour of faults. And it is fenced, as the broker that it was before,
soon after it has started and before it coordinates transactions. Fenced later (Kafka's 9 s), it may drop the markers
of transactions that were about to end, since their partitions have no leader for a moment ("likely deleted already
and hence can be skipped"), and call them complete: nobody reads past such a transaction, ever. This takes a broker
that is alone and its own controller.
"""


class FaultyBroker:
    """``bootstrap`` leads to it directly, ``proxied`` through ``proxy``. Used as a context manager."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        """``folder`` keeps its data, and must be empty."""
        port, behind = ports(0)
        self.proxy = Proxy(behind)
        extra = {
            "listeners": f"PROXIED://127.0.0.1:{behind}",
            "advertised.listeners": f"PROXIED://127.0.0.1:{self.proxy.port}",
            "listener.security.protocol.map": "PROXIED:PLAINTEXT",
            **SETTINGS,
            **(settings or {}),
        }
        self._broker = Broker(folder, port, extra=extra)
        self._starting = threading.Lock()
        self._stack = ExitStack()

    @property
    def bootstrap(self) -> str:
        return self._broker.bootstrap

    @property
    def proxied(self) -> str:
        return f"127.0.0.1:{self.proxy.port}"

    def __enter__(self) -> Self:
        with self._stack:
            self._stack.enter_context(self.proxy)
            self._stack.enter_context(self._broker)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.thaw()
        self._stack.close()

    def freeze(self) -> None:
        """Waits for it if it is just being started."""
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

    def _signal(self, number: signal.Signals) -> None:
        if self._broker.pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._broker.pid, number)
