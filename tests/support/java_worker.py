"""A real worker of Java Kafka Connect, with the interface of ``WorkerProcess``."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import httpx

from penstock.embedded.jars import jars
from penstock.embedded.java import java
from penstock.embedded.ports import ports
from support.jars import listed
from support.worker_process import QUICK_JAVA, WorkerProcess

JARS = Path(__file__).parents[1] / "compat" / "connect.jars"
LOGGING = """\
rootLogger.level=WARN
rootLogger.appenderRef.c.ref=C
appender.c.type=Console
appender.c.name=C
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=[%d] %p %m (%c)%n
"""


class JavaWorker(WorkerProcess):
    options: tuple[str, ...] = ("-Xmx512m", "-XX:+UseSerialGC", QUICK_JAVA)

    def __init__(self, bootstrap: str, folder: Path, **settings: str) -> None:
        port, _ = ports(0)
        listener = {"listeners": f"http://127.0.0.1:{port}", "plugin.discovery": "service_load"}
        super().__init__(bootstrap, folder, **{**settings, **listener})

    def stop(self) -> int:
        """SIGTERM; killed if that does not end it, as when a connector's own threads keep it from ending."""
        assert self.process is not None
        self.process.terminate()
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.process.returncode

    def command(self, properties: Path) -> list[str]:
        logging = self.folder / "log4j2.properties"
        logging.write_text(LOGGING)
        return [
            *(str(java().executable), *self.options),
            f"-Dlog4j2.configurationFile={logging}",
            *("-cp", os.pathsep.join(map(str, self.class_path()))),
            *("org.apache.kafka.connect.cli.ConnectDistributed", str(properties)),
        ]

    def class_path(self) -> list[Path]:
        return listed(JARS) + jars("kafka")

    def url(self, after: int) -> str | None:
        """Return the URL when the worker answers: its resources are available some time after its port."""
        try:
            answer = httpx.get(f"{self.settings['listeners']}/connectors", timeout=30)
        except httpx.TransportError:
            return None
        return self.settings["listeners"] if answer.status_code == 200 else None


class NewerJavaWorker(JavaWorker):
    """A worker of Java Kafka Connect 4.4.0, with no other connectors than those of its ``plugin.path``."""

    def class_path(self) -> list[Path]:
        return jars("connect-4.4")
