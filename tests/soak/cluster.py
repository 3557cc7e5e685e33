"""Three workers of one group that are killed and started again, and an operator who asks until it is done."""

from __future__ import annotations

import random
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

import httpx
import psutil

from support.process_tree import alive, command, frozen
from support.worker_process import WorkerProcess

WORKERS = 3
PATIENCE = 900.0
"""Seconds within which a request must have been carried out, whatever is killed meanwhile."""
TO_SETTLE = 300.0
"""Seconds within which all must run and make progress again after the last fault."""
LAST_BREATH = 30.0
"""Seconds that a killed worker's processes may outlive it: their lease, and some more on a busy machine."""

UNHANDLED = ("The worker could not handle", "The worker could not carry out", "Hosting task ")


class Cluster:
    """Used as a context manager: the workers run inside. ``settings`` are added to those of every worker, and win.

    Worker ids are the same after a new start, as they would be in reality; so ports are below those that systems give
    to connections.
    """

    def __init__(self, bootstrap: str, folder: Path, workers: int = WORKERS, **settings: str) -> None:
        group = f"soak-{uuid.uuid4().hex[:8]}"
        self.mark = f"-Dtest.cluster={group}"
        """An option of Java that marks the JVMs of plugins as this cluster's, see ``penstock.java.opts``."""
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
            worker.http.patience = 0.0  # another one may have joined already
        self.retries = 0
        self.survivors: list[str] = []
        """Sentences on processes that outlived their worker for too long."""
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
        """SIGKILL. Its processes must follow by themselves, see ``watch_doomed``."""
        below = [(each, command(each)) for each in worker.descendants()]
        worker.kill()
        self._doomed |= {each: (time.monotonic(), f"{said[:60]} of worker {worker.name}") for each, said in below}

    def watch_doomed(self) -> None:
        """Called now and then: note who has outlived his worker by more than LAST_BREATH seconds, not counting those in
        which it was frozen.
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
        """Ask one worker after the other until one has done it.

        Conflicts, workers that are gone, and followers that have not read yet what others know are no reason to give
        up; AssertionError for other answers, and after PATIENCE seconds.
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
            assert time.monotonic() < deadline, f"{method} {path} was not done within {PATIENCE:g} s, at last: {said}"
            self.retries += 1
            time.sleep(0.3)

    def figures(self) -> dict[str, object]:
        """Called at the end."""
        self.watch_doomed()
        return {
            "requests repeated": self.retries,
            "processes that outlived a worker": len(self.survivors),
            "events not handled": len(self.mishaps()),
        }

    def mishaps(self) -> list[str]:
        """Lines of the logs that tell of events which a worker could not handle."""
        return [
            f"{worker.name}: {line}"
            for worker in self.workers
            for line in worker.log.read_text(errors="replace").splitlines()
            if any(sentence in line for sentence in UNHANDLED) and " ERROR " in line
        ]


def status(cluster: Cluster, name: str) -> Any:
    return cluster.request("GET", f"/connectors/{name}/status").json()


def states(cluster: Cluster, name: str) -> list[str]:
    found = status(cluster, name)
    return [found["connector"]["state"], *(task["state"] for task in found["tasks"])]


def kill(process: psutil.Process) -> None:
    """SIGKILL, if it is still there."""
    with suppress(psutil.NoSuchProcess):
        process.kill()


def _free_ports(first: int) -> Iterator[int]:
    for port in range(first, first + 1000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                yield port
