"""Workers that the benchmark starts for cases with connectors from jars: one of Penstock and one of Java Connect."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from bench import lakehouse
from bench.connect import Connect
from hosts.plugins import plugin_path
from support.java_worker import JavaWorker
from support.spark import delta
from support.worker_process import PLUGINS_JAVA, SPARKS_JAVA, WorkerProcess

_START_SECONDS = 300.0
_PLUGINS = ("connect-file", "debezium-postgres", "debezium-jdbc")


class _JavaConnect(JavaWorker):
    options = ("-Xmx1g", "-XX:+UseSerialGC")


class Workers:
    """A worker of Penstock and one of Java Connect, with the jars in ``plugin.path``; the context ends them."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._bootstrap, self._folder = bootstrap, folder
        self._ends = ExitStack()
        self._started: dict[str, Connect] = {}
        self._kind = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def of(self, case: str) -> tuple[Connect, Connect | None]:
        """Return Penstock's and Java's worker for this case; those for cases of another kind are ended. None: the case
        is compared with a plain program.
        """
        process = "worker" if case == "jar-memory-shared" else "connector"
        kind = case if case in lakehouse.CASES else process
        if kind != self._kind:
            self._close()
            plugins = ("iceberg",) if case in lakehouse.CASES else _PLUGINS
            path = plugin_path(self._folder / f"plugins-{kind}", *plugins)
            settings = {"plugin.path": path, SPARKS_JAVA: "", PLUGINS_JAVA: "", "penstock.java.process": process}
            if case in (lakehouse.DELTA, lakehouse.UPSERT):
                settings |= delta.spark_settings()
            self._start("penstock", WorkerProcess(self._bootstrap, self._folder, **settings))
            if case != lakehouse.UPSERT:
                self._start("java", _JavaConnect(self._bootstrap, self._folder, **{"plugin.path": path}))
            self._kind = kind
        return self._started["penstock"], self._started.get("java")

    def _close(self) -> None:
        self._ends.close()
        self._started.clear()
        self._kind = ""

    def _start(self, name: str, worker: WorkerProcess) -> None:
        worker.start_seconds = _START_SECONDS
        url = str(self._ends.enter_context(worker).http.base_url)
        self._started[name] = Connect(name, url)
