"""A Connect cluster as the benchmark sees it: its REST API, and its worker's process for memory."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from bench.processes import listening

OURS = "penstock"
"""The name of a cluster of ours."""
PATIENCE = 300.0
"""Seconds within which an expected event must happen."""
STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
STRINGS = {"key.converter": STRING, "value.converter": STRING}


class CaseError(Exception):
    """A case cannot continue; the message gives the reason."""


class Cluster(Protocol):
    """A cluster in which connectors run."""

    name: str

    def put(self, name: str, config: dict[str, str]) -> None:
        """Create a connector, with string converters unless it names others."""

    def delete(self, name: str) -> None: ...

    def check(self, name: str) -> None:
        """Raises CaseError with the trace if a part of the connector has failed."""


@dataclass(eq=False)
class Connect:
    """A cluster of one worker."""

    name: str
    url: str

    def __post_init__(self) -> None:
        self.http = httpx.Client(base_url=self.url, timeout=100)
        self.pid = listening(httpx.URL(self.url).port or 80)
        """PID of the worker; None if it is not on this machine, or may not be inspected."""

    def close(self) -> None:
        self.http.close()

    def put(self, name: str, config: dict[str, str]) -> None:
        body = {"name": name, **STRINGS, **config}
        self._unless_rebalancing("PUT", f"/connectors/{name}/config", json=body).raise_for_status()

    def delete(self, name: str) -> None:
        self._unless_rebalancing("DELETE", f"/connectors/{name}").raise_for_status()

    def restart(self, name: str) -> None:
        """Restart the connector and its tasks with one request."""
        path = f"/connectors/{name}/restart?includeTasks=true"
        self._unless_rebalancing("POST", path).raise_for_status()

    def _unless_rebalancing(self, method: str, path: str, **request: Any) -> httpx.Response:
        end = time.monotonic() + PATIENCE
        while (answer := self.http.request(method, path, **request)).status_code == 409 and time.monotonic() < end:
            time.sleep(0.2)
        return answer

    def running(self, name: str, since: float, tasks: int = 1) -> float:
        """Wait until the connector and its tasks run; return the milliseconds since ``since``
        (``time.perf_counter``).
        """
        while time.perf_counter() - since < PATIENCE:
            answer = self.http.get(f"/connectors/{name}/status")
            if answer.status_code == 200:
                status = answer.json()
                if [part["state"] for part in (status["connector"], *status["tasks"])] == ["RUNNING"] * (tasks + 1):
                    return (time.perf_counter() - since) * 1000
                self._check(name, status)
            time.sleep(0.005)
        raise CaseError(f"{self.name}: connector {name} did not run within {PATIENCE:g} s")

    def check(self, name: str) -> None:
        answer = self.http.get(f"/connectors/{name}/status")
        if answer.status_code == 200:
            self._check(name, answer.json())

    def _check(self, name: str, status: dict[str, Any]) -> None:
        for part in (status["connector"], *status["tasks"]):
            if part["state"] == "FAILED":
                raise CaseError(f"{self.name}: connector {name} has failed:\n{part.get('trace', '')[:2000]}")
