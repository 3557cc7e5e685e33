"""The demo's client of the worker's REST interface: what ``curl`` would send, and answers as Python values."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx

from penstock.demo.problem import DemoError

REBALANCE_SECONDS = 60


class Rest:
    """``url`` is the worker's address. ``alive`` is asked while the worker does not answer; it raises if it is dead."""

    def __init__(self, url: str, alive: Callable[[], None]) -> None:
        self.url = url
        self._alive = alive
        self._http = httpx.Client(base_url=url, timeout=95)

    def close(self) -> None:
        self._http.close()

    def wait(self, seconds: float) -> None:
        """Returns when the worker answers requests that need its topics and its group. Raises DemoError."""
        give_up = time.monotonic() + seconds
        while not self._answers():
            self._alive()
            if time.monotonic() > give_up:
                raise DemoError(f"The worker at {self.url} did not answer within {seconds:g} s.")
            time.sleep(0.1)

    def create(self, name: str, config: dict[str, str]) -> None:
        self._ask("POST", "/connectors", {"name": name, "config": config})

    def status(self, name: str) -> dict[str, Any]:
        """Waits for it if the connector was created just now: only when it has been started is there one."""
        return self._ask("GET", f"/connectors/{name}/status", again=(404, 409))

    def tasks(self, name: str) -> list[dict[str, Any]]:
        """Those that have not ended."""
        return self.status(name)["tasks"]

    def topics(self, name: str) -> list[str]:
        """The topics that the connector has used (KIP-558)."""
        return self._ask("GET", f"/connectors/{name}/topics")[name]["topics"]

    def offsets(self, name: str) -> list[dict[str, Any]]:
        return self._ask("GET", f"/connectors/{name}/offsets")["offsets"]

    def committed(self, name: str) -> dict[int, int]:
        """Of a sink: its group's offset by partition."""
        return {each["partition"]["kafka_partition"]: each["offset"]["kafka_offset"] for each in self.offsets(name)}

    def restart(self, name: str) -> None:
        """Restart what of the connector has failed (KIP-745)."""
        self._ask("POST", f"/connectors/{name}/restart?includeTasks=true&onlyFailed=true")

    def stop(self, name: str) -> None:
        self._ask("PUT", f"/connectors/{name}/stop")

    def _answers(self) -> bool:
        try:
            return self._http.get("/health", timeout=15).status_code == 200
        except httpx.HTTPError:
            return False

    def _ask(self, method: str, path: str, body: Any = None, again: tuple[int, ...] = (409,)) -> Any:
        """Asks again while it is answered so; 409: the group is rebalancing."""
        give_up = time.monotonic() + REBALANCE_SECONDS
        try:
            while (answer := self._http.request(method, path, json=body)).status_code in again:
                self._alive()
                if time.monotonic() > give_up:
                    break
                time.sleep(0.2)
        except httpx.HTTPError as error:
            self._alive()
            raise DemoError(f"The worker did not answer {method} {self.url}{path}: {error}.") from error
        if answer.is_error:
            raise DemoError(f"The worker answered {method} {path} with {answer.status_code}: {answer.text}")
        return answer.json() if answer.content else None
