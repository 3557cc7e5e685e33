"""A real worker in a separate process, as an operator runs it, and its REST API."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import httpx
import psutil

from support.process_tree import descendants
from support.waiting import SECONDS, pause, until

STRING = "org.apache.kafka.connect.storage.StringConverter"
SPARKS_JAVA = "spark.driver.extraJavaOptions"
PLUGINS_JAVA = "penstock.java.opts"
QUICK_JAVA = "-XX:TieredStopAtLevel=1"
"""Options that halve the processor time of starting a JVM; long work would be much slower with them."""
PLAIN = {"key.converter": STRING, "value.converter": STRING}


REBALANCES = (
    "Cannot complete request momentarily due to stale configuration",
    "Cannot complete request because of a conflicting operation",
)
"""Beginnings of a worker's messages with status 409 while its group rebalances."""


class RestClient(httpx.Client):
    """A client of a worker's REST API that sends a request again while the worker's group rebalances, for up to
    ``patience`` seconds.
    """

    patience: float = SECONDS

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        began = time.monotonic()
        while True:
            answer = super().send(request, **options)
            waited = time.monotonic() - began
            if options.get("stream") or not _rebalances(answer) or waited >= self.patience:
                return answer
            time.sleep(pause(waited))


def _rebalances(answer: httpx.Response) -> bool:
    return answer.status_code == 409 and str(answer.json().get("message")).startswith(REBALANCES)


class WorkerProcess:
    """A worker. ``settings`` are written to its properties file; a port of 0 in ``listeners`` is read from its log."""

    start_seconds = 300.0
    environment: Mapping[str, str] | None = None
    """The worker's environment variables; None: those of the tests."""

    def __init__(self, bootstrap: str, folder: Path, **settings: str) -> None:
        self.name = f"w{uuid.uuid4().hex[:8]}"
        self.folder = folder
        self.log = folder / f"{self.name}.log"
        self.settings = {
            "bootstrap.servers": bootstrap,
            "group.id": self.name,
            "listeners": "http://127.0.0.1:0",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            **{f"{kind}.storage.topic": f"{self.name}-{kind}" for kind in ("config", "offset", "status")},
            **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
            # A shared broker has the internal topics of all workers; 25 and 5 partitions by default.
            **{f"{kind}.storage.partitions": "2" for kind in ("offset", "status")},
            "offset.flush.interval.ms": "500",
            "exactly.once.source.support": "enabled",
            # A member learns of a rebalance by a heartbeat; 3 s by default.
            "heartbeat.interval.ms": "500",
            SPARKS_JAVA: QUICK_JAVA,
            PLUGINS_JAVA: QUICK_JAVA,
            **{key.replace("__", "."): value for key, value in settings.items()},
        }
        self.process: subprocess.Popen[bytes] | None = None
        self.http = RestClient(timeout=SECONDS)

    def start(self) -> Self:
        properties = self.folder / f"{self.name}.properties"
        properties.write_text("".join(f"{k}={v}\n" for k, v in self.settings.items()))
        command = self.command(properties)
        with self.log.open("ab") as out:
            before = self.log.stat().st_size
            self.process = subprocess.Popen(
                command, stdout=out, stderr=out, start_new_session=True, env=self.environment
            )
        try:
            url = until(lambda: self._running_url(before), f"the worker's address in {self.log}", self.start_seconds)
        except BaseException:
            self.kill()
            raise
        self.http.base_url = httpx.URL(url)
        return self

    def ready(self) -> Self:
        """Wait until the worker is ready: it has joined its group and accepts changes."""
        until(self._healthy, f"that the worker is ready, see {self.log}", self.start_seconds)
        return self

    def _healthy(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the worker has ended:\n{self.log.read_text()[-3000:]}"
        return self.http.get("/health").status_code == 200

    def _running_url(self, after: int) -> str | None:
        assert self.process is not None
        assert self.process.poll() is None, f"the worker has ended:\n{self.log.read_text()[-3000:]}"
        return self.url(after)

    def command(self, properties: Path) -> list[str]:
        return [sys.executable, "-m", "penstock.cli", "worker", "distributed", str(properties)]

    def url(self, after: int) -> str | None:
        """Return the worker's URL, or None before it listens; ``after``: the length of the log at its start."""
        for line in self.log.read_bytes()[after:].decode().splitlines():
            if "advertised as " in line:
                return line.split("advertised as ")[1].split()[0]
        return None

    def __enter__(self) -> Self:
        self.start()
        try:
            return self.ready()
        except BaseException:
            self.kill()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.http.close()

    def stop(self) -> int:
        """Send SIGTERM, wait, and return the exit status."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(900)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def descendants(self) -> list[psutil.Process]:
        """Return all descendants of the worker's process."""
        assert self.process is not None
        return descendants(self.process.pid)

    # -- REST

    def get(self, path: str) -> Any:
        answer = self.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def put(self, name: str, **config: str) -> None:
        """Create or change a connector."""
        settings = {key.replace("__", "."): value for key, value in config.items()}
        answer = self.http.put(f"/connectors/{name}/config", json={**PLAIN, **settings})
        assert answer.status_code in (200, 201), answer.text

    def states(self, name: str) -> list[str]:
        answer = self.http.get(f"/connectors/{name}/status")
        if answer.status_code != 200:
            return []
        status = answer.json()
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]

    def running(self, name: str, tasks: int = 1) -> None:
        until(lambda: self.states(name) == ["RUNNING"] * (tasks + 1), f"{name} running: {self.states(name)}")
