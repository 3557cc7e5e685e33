"""Workers of each kind for the probes: those of Java Connect, and Penstock's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from calls.drive import SETTINGS
from hosts.python.plugins import wheel
from penstock.embedded.jars import jars
from penstock.hosts.jvm.build import jar_of
from penstock.hosts.python.install import install
from support.java_worker import JavaWorker
from support.worker_process import WorkerProcess

HERE = Path(__file__).parent
PACKAGE = "penstock.tests.calls"
PARTS = {each.lower(): f"Probe{each}" for each in ("Source", "Sink", "Converter", "Transform", "Predicate")}
JAVA = {part: f"{PACKAGE}.{name}" for part, name in PARTS.items()}
PYTHON = {part: f"calls_probe.{name}" for part, name in PARTS.items()}
ENTRY_POINTS = {kind: f"isolated_probe:{PARTS[kind]}" for kind in ("source", "sink")}
OBSERVED = HERE / "java.json"
"""The cells of Java Connect, by mode; written by ``python -m calls.record``."""


def observed() -> dict[str, Any]:
    return json.loads(OBSERVED.read_text("utf-8"))["modes"]


def jar_folder(folder: Path) -> Path:
    """Make a folder for ``plugin.path`` with the probes in Java. Raises EmbeddedError."""
    plugin = folder / "jars" / "calls"
    plugin.mkdir(parents=True, exist_ok=True)
    jar = jar_of(HERE / "java", "test-calls", jars("connect"))
    if not (plugin / jar.name).exists():
        (plugin / jar.name).symlink_to(jar)
    return plugin.parent


class JavaStandalone(JavaWorker):
    """Java Connect in standalone mode."""

    def command(self, properties: Path) -> list[str]:
        return [part.replace("ConnectDistributed", "ConnectStandalone") for part in super().command(properties)]


class OurStandalone(WorkerProcess):
    def command(self, properties: Path) -> list[str]:
        return ["standalone" if part == "distributed" else part for part in super().command(properties)]


KINDS: dict[str, dict[str, type[WorkerProcess]]] = {
    "java": {"distributed": JavaWorker, "exactly once": JavaWorker, "standalone": JavaStandalone},
    "ours": {"distributed": WorkerProcess, "exactly once": WorkerProcess, "standalone": OurStandalone},
}


@contextmanager
def workers(
    whose: str, bootstrap: str, folder: Path, plugin_path: str, kinds: tuple[str, ...]
) -> Iterator[dict[str, WorkerProcess]]:
    """Start one worker of each kind at once; ``whose`` is "java" or "ours"."""
    made = {}
    for kind in kinds:
        own = folder / kind.replace(" ", "-")
        own.mkdir()
        support = "enabled" if kind == "exactly once" else "disabled"
        settings = {**SETTINGS, "plugin.path": plugin_path, "exactly.once.source.support": support}
        if kind == "standalone":
            settings["offset.storage.file.filename"] = str(own / "offsets")
        made[kind] = KINDS[whose][kind](bootstrap, own, **settings)
        if kind == "standalone":
            for name in ("exactly.once.source.support", "group.id", "heartbeat.interval.ms"):
                made[kind].settings.pop(name, None)
            for name in [name for name in made[kind].settings if ".storage." in name and "file" not in name]:
                del made[kind].settings[name]
    with ExitStack() as stack, ThreadPoolExecutor(len(made)) as pool:
        for _, worker in zip(made, pool.map(stack.enter_context, made.values()), strict=True):
            worker.http.headers["bootstrap"] = bootstrap
        yield made


def environment_folder(folder: Path) -> Path:
    """Make a folder for ``plugin.path`` with the Python connectors in a separate environment."""
    text = (HERE / "plugin" / "calls_probe.py").read_text("utf-8")
    made = wheel(folder / "wheel", "isolated-probe", "1.0", {"isolated_probe.py": text}, ["penstock"], ENTRY_POINTS)
    install(made, folder / "environments")
    return folder / "environments"
