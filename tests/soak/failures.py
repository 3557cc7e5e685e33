"""Watch for failed connectors and tasks: no fault of these tests may cause a failure, since killed tasks are lost and
restarted.
"""

from __future__ import annotations

import threading

from soak.cluster import Cluster


class Failures:
    """Failures found so far. ``sentences``: a description of each."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._found: dict[str, None] = {}

    @property
    def sentences(self) -> list[str]:
        return list(self._found)

    def look(self) -> None:
        for name, found in self._cluster.request("GET", "/connectors?expand=status").json().items():
            for part in (found["status"]["connector"], *found["status"]["tasks"]):
                if part["state"] == "FAILED":
                    what = f"{name}-{part['id']}" if "id" in part else name
                    self._found[f"{what} has failed on {part['worker_id']}: {part['trace'].strip()}"] = None


class FailureWatch:
    """Checks statuses every second from ``start`` to ``stop``. It only reads, and restarts nothing."""

    def __init__(self, cluster: Cluster) -> None:
        self._failures = Failures(cluster)
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="failure watch")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> list[str]:
        """Stop, and return descriptions of the failures, with one more if the watch itself has ended early."""
        self._ended.set()
        self._thread.join()
        ended = [] if self._error is None else [f"the watch for failures has ended: {self._error!r}"]
        return self._failures.sentences + ended

    def _work(self) -> None:
        try:
            while not self._ended.wait(1.0):
                self._failures.look()
        except BaseException as error:
            self._error = error
