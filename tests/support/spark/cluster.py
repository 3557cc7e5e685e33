"""A standalone Spark cluster on this machine, started from the PySpark wheel: one master, some workers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

import httpx
import psutil
import pyspark

from penstock.api.processes import leashed
from penstock.spark.java import spark_java
from support.process_tree import command, descendants
from support.spark.class_data import java_options
from support.waiting import until

SECONDS = 900
INSTALLED = Path(pyspark.__file__).parent
_SMALL_JAVA = f"-XX:+UseSerialGC -Xss512k {java_options()}"

_TOLD = "Telling app of decommission executors"


class SparkCluster:
    """A cluster, as a context manager. ``cores`` is the number of each worker's slots for tasks."""

    def __init__(
        self,
        folder: Path,
        workers: int = 2,
        cores: int = 1,
        java: str = "",
        *,
        spark: Path = INSTALLED,
        java_home: Path | None = None,
    ) -> None:
        """``java``: options for the master and the workers, and ``java_home`` their Java, which is that of executors
        too. ``spark``: the folder of another Spark.
        """
        self._folder, self._count, self._cores, self._java = folder, workers, cores, java
        self._spark, self._java_home = spark, java_home
        self._stack = ExitStack()
        self._workers: list[subprocess.Popen[bytes]] = []
        self.url = ""

    def __enter__(self) -> Self:
        with self._stack:
            master = self._master = self._start("master", "master.Master", "--port", "0")
            self.url = self._said("master", master, r"Starting Spark master at (spark://\S+)")
            self.add_workers(self._count)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add_workers(self, count: int) -> None:
        """Start more workers; return when the master has registered them."""
        first = len(self._workers)
        for i in range(first, first + count):
            work = str(self._folder / f"work-{i}")
            resources = ("--cores", str(self._cores), "--memory", "1g", "--work-dir", work)
            self._workers.append(self._start(f"worker-{i}", "worker.Worker", *resources, self.url))
        for i in range(first, first + count):
            self._said(f"worker-{i}", self._workers[i], r"(Successfully registered) with master")

    def worker_of(self, process: psutil.Process) -> psutil.Process:
        """Return the worker that is an ancestor of this process."""
        above = {each.pid for each in process.parents()}
        [worker] = [worker for worker in self._workers if worker.pid in above]
        return psutil.Process(worker.pid)

    def kill(self, worker: psutil.Process) -> None:
        """Kill a worker; return when its executors have ended too: until then Spark may start tasks on them."""
        executors = [each for each in worker.children(recursive=True) if "ExecutorBackend" in command(each)]
        worker.kill()
        _, alive = psutil.wait_procs(executors, SECONDS)
        assert not alive, f"executors of a worker that was killed are alive: {alive}"

    def decommission(self, worker: psutil.Process) -> None:
        """Decommission a worker; return when the master has told applications. Needs Java's
        ``spark.decommission.enabled``.
        """
        master = self._log("master").read_text().count(_TOLD)
        worker.send_signal(signal.SIGPWR)
        until(lambda: self._log("master").read_text().count(_TOLD) > master, "the decommissioning", SECONDS)

    def kill_applications(self) -> None:
        """Kill all applications, like the links of the master's page; return when the master has removed them."""
        page = self._said("master", self._master, r"Bound MasterWebUI to \S+, and started at (http://\S+)")
        for each in httpx.get(f"{page}/json/", timeout=SECONDS).json()["activeapps"]:
            httpx.post(f"{page}/app/kill/", params={"id": each["id"], "terminate": "true"}, timeout=SECONDS)
            self._said("master", self._master, f"(Removing app {each['id']})")

    def python_processes(self) -> list[list[int]]:
        """Return for each worker its executors' Python processes: those that fork tasks, and the tasks."""
        return [
            [each.pid for each in descendants(worker.pid) if "penstock.spark.daemon" in command(each)]
            for worker in self._workers
        ]

    def _start(self, name: str, main: str, *options: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "JAVA_HOME": str(self._java_home or spark_java().home),
            "SPARK_HOME": str(self._spark),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{_SMALL_JAVA} {self._java}",
        }
        spark = str(self._spark / "bin" / "spark-class")
        at = ("--host", "127.0.0.1", "--webui-port", "0")
        with self._log(name).open("wb") as out:
            process = subprocess.Popen(
                leashed([spark, f"org.apache.spark.deploy.{main}", *at, *options]),
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                env=environment,
                start_new_session=True,
            )
        self._stack.callback(_end, process)
        return process

    def _said(self, name: str, process: subprocess.Popen[bytes], pattern: str) -> str:
        """Wait for a line of the process's log, and return the pattern's group."""
        log = self._log(name)

        def found() -> re.Match[str] | None:
            text = log.read_text()
            assert process.poll() is None, f"Spark's {name} has ended:\n{text[-3000:]}"
            return re.search(pattern, text)

        return str(until(found, f"`{pattern}` in {log}", SECONDS)[1])

    def _log(self, name: str) -> Path:
        return self._folder / f"spark-{name}.log"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(900)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdin is not None
        process.stdin.close()
