"""Three workers of one group that are killed and restarted, and requests that are repeated until they succeed."""

from __future__ import annotations

import random
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

import httpx
import psutil

from support.process_tree import alive, command, frozen
from support.worker_process import WorkerProcess

WORKERS = 3
PATIENCE = 900.0
"""Seconds within which a request must succeed, whatever is killed meanwhile."""
TO_SETTLE = 300.0
"""Seconds within which everything must run and make progress again after the last fault."""
LAST_BREATH = 30.0
"""Seconds for which a killed worker's processes may outlive it: their lease, and some more on a busy machine."""

UNHANDLED = ("The worker could not handle", "The worker could not carry out", "Hosting task ")


class Cluster:
    """A context manager within which the workers run. ``settings`` override those of every worker.

    Worker IDs stay the same after a restart, as in production; therefore ports are below the range of ephemeral ports.
    """

    def __init__(self, bootstrap: str, folder: Path, workers: int = WORKERS, **settings: str) -> None:
        group = f"soak-{uuid.uuid4().hex[:8]}"
        self.mark = f"-Dtest.cluster={group}"
        """Java option that marks the JVMs of plugins as this cluster's, see ``penstock.java.opts``."""
        shared = {
            "group__id": group,
            **{f"{kind}__storage__topic": f"{group}-{kind}" for kind in ("config", "offset", "status")},
            "offset__storage__partitions": "5",
            "session__timeout__ms": "10000",
            "heartbeat__interval__ms": "2000",
            "scheduled__rebalance__max__delay__ms": "2000",
            "plugin__path": str(Path(__file__).with_name("plugin.py")),
            "spark__master": "local[100]",
            "penstock__java__opts": f"-Xmx256m {self.mark}",
        }
        ports = _free_ports(random.randrange(18_000, 30_000))
        self.workers = [
            WorkerProcess(bootstrap, folder, **{**shared, **settings}, listeners=f"http://127.0.0.1:{next(ports)}")
            for _ in range(workers)
        ]
        for worker in self.workers:
            worker.http.patience = 0.0  # another worker may have joined already
        self.retries = 0
        self.survivors: list[str] = []
        """Descriptions of processes that outlived their worker for too long."""
        self._doomed: dict[psutil.Process, tuple[float, str]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack:
            for worker in self.workers:
                self._stack.push(worker.start())
            for worker in self.workers:
                worker.ready()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self.watch_doomed()
        for process in self._doomed:
            kill(process)

    def kill(self, worker: WorkerProcess) -> None:
        """Send SIGKILL. The worker's processes must end by themselves, see ``watch_doomed``."""
        below = [(each, command(each)) for each in worker.descendants()]
        worker.kill()
        self._doomed |= {each: (time.monotonic(), f"{said[:60]} of worker {worker.name}") for each, said in below}

    def watch_doomed(self) -> None:
        """Record processes that have outlived their worker by more than LAST_BREATH seconds, without times in which
        they were frozen. Called periodically.
        """
        now = time.monotonic()
        for process, (killed, what) in list(self._doomed.items()):
            if not alive(process):
                del self._doomed[process]
            elif frozen(process):
                self._doomed[process] = (now, what)
            elif now - killed > LAST_BREATH:
                del self._doomed[process]
                self.survivors.append(f"process {process.pid} ({what}) has outlived it by more than {LAST_BREATH:g} s")
                kill(process)

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
        """Send a request to one worker after the other until one has carried it out.

        It is repeated after conflicts, lost workers, and answers of followers that have not read the latest records.
        Raises AssertionError for other answers, and after PATIENCE seconds.
        """
        deadline, uncertain = time.monotonic() + PATIENCE, False
        while True:
            worker = random.choice(self.workers)
            try:
                answer = worker.http.request(method, path, json=body)
                said = f"{answer.status_code} {answer.text}"
                if answer.is_success or (uncertain and method == "DELETE" and answer.status_code == 404):
                    return answer
                uncertain = uncertain or answer.status_code == 500
                assert answer.status_code in (404, 409, 500, 503), f"{method} {path} was answered {said}"
            except httpx.TransportError as error:
                said, uncertain = repr(error), True
            assert time.monotonic() < deadline, (
                f"{method} {path} did not succeed within {PATIENCE:g} s, last answer: {said}"
            )
            self.retries += 1
            time.sleep(0.3)

    def figures(self) -> dict[str, object]:
        """Return figures for the report. Called at the end."""
        self.watch_doomed()
        return {
            "requests repeated": self.retries,
            "processes that outlived a worker": len(self.survivors),
            "events not handled": len(self.mishaps()),
        }

    def mishaps(self) -> list[str]:
        """Return log lines about events that a worker could not handle."""
        return self.logged(lambda line: " ERROR " in line and any(sentence in line for sentence in UNHANDLED))

    def logged(self, fits: Callable[[str], object]) -> list[str]:
        """Return the lines of the workers' logs for which ``fits`` is true."""
        return [
            f"{worker.name}: {line}"
            for worker in self.workers
            for line in worker.log.read_text(errors="replace").splitlines()
            if fits(line)
        ]


def status(cluster: Cluster, name: str) -> Any:
    return cluster.request("GET", f"/connectors/{name}/status").json()


def states(cluster: Cluster, name: str) -> list[str]:
    found = status(cluster, name)
    return [found["connector"]["state"], *(task["state"] for task in found["tasks"])]


def kill(process: psutil.Process) -> None:
    """Send SIGKILL if the process still exists."""
    with suppress(psutil.NoSuchProcess):
        process.kill()


def _free_ports(first: int) -> Iterator[int]:
    for port in range(first, first + 1000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                yield port
