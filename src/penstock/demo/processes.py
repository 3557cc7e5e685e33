"""The demo's worker."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

from penstock.demo.flights import DemoError
from penstock.embedded.ports import free_port
from penstock.embedded.server import properties_text
from penstock.trial.worker import LocalWorker

PORT = 8083
"""The one that Connect is known for; if it is taken, a free one."""

_PROPERTIES = """\
bootstrap.servers={bootstrap}
group.id=penstock-demo
listeners=http://127.0.0.1:{port}
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
config.storage.topic=connect-configs
offset.storage.topic=connect-offsets
status.storage.topic=connect-status
config.storage.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
# The demo wants to see what is done; the default is a minute.
offset.flush.interval.ms=1000
exactly.once.source.support=enabled
# A worker or a sink task that was killed can't leave its group; the least that a broker allows until it is given up.
session.timeout.ms=6000
heartbeat.interval.ms=2000
consumer.session.timeout.ms=6000
consumer.heartbeat.interval.ms=2000
"""


class WorkerProcess(LocalWorker):
    """A distributed worker whose properties and log lie in ``folder``; it has these ``settings``, too. ``leash``: it
    must not outlive this process.
    """

    def __init__(
        self, folder: Path, bootstrap: str, settings: Mapping[str, str] | None = None, *, leash: bool = True
    ) -> None:
        self.properties = folder / "worker.properties"
        super().__init__(folder, ["distributed", str(self.properties)], leash=leash)
        self._claim, port = _claimed()
        self.url = f"http://127.0.0.1:{port}"
        more = properties_text(settings or {})
        self.properties.write_text(_PROPERTIES.format(bootstrap=bootstrap, port=port) + more)

    def check(self) -> None:
        """Raises DemoError if the worker is not running."""
        if (reason := self.ended()) is not None:
            raise DemoError(reason)


def _claimed() -> tuple[socket.socket, int]:
    """A free port, and what keeps other demos from it while this one's worker does not listen yet."""
    for wanted in chain((PORT,), (free_port() for _ in range(10))):
        claim = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", wanted))
            claim.bind(f"\0penstock-demo-{wanted}")
            return claim, wanted
        claim.close()
    raise DemoError("This machine has no free port for the worker's REST interface.")
