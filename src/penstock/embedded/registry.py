"""A real schema registry on this machine, for development and tests: Apicurio's, by the API of Confluent's clients.

Its archive is fetched from Maven Central when a registry is first asked for, pinned by version and checksum, and
unpacked into Penstock's cache folder. 3.0.9 is the last one that runs on Java 17.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.api.processes import child_environment
from penstock.embedded.archives import Archive, unpacked
from penstock.embedded.background import read, require_port, stop, write
from penstock.embedded.home import EmbeddedError, folder, home, writing
from penstock.embedded.java import java
from penstock.embedded.ports import listens, ports

ARCHIVE = Archive(
    "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43",
    *("io.apicurio", "apicurio-registry-app", "3.0.9", "all"),
    title="a schema registry (109 MB)",
)
START_SECONDS = 120
PATH = "/apis/ccompat/v7"
_launched: dict[int, subprocess.Popen[bytes]] = {}
"""The registries that this very process has started, by pid: their end is to be waited for."""


@dataclass(frozen=True, slots=True)
class RunningRegistry:
    """Running registry, as ``registry.json`` in its folder describes it."""

    pid: int
    port: int

    @property
    def url(self) -> str:
        """For ``schema.registry.url``."""
        return f"http://127.0.0.1:{self.port}{PATH}"


def default_directory() -> Path:
    return home() / "registry"


def up(directory: Path, port: int, compatibility: str = "BACKWARD", keep: bool = True) -> RunningRegistry:
    """Starts the registry of ``directory`` and returns when it answers; one that already runs there is left alone.

    ``compatibility`` is its global level, ``keep`` whether schemas outlive it; ``port`` 0 takes a free one. Raises
    EmbeddedError.
    """
    if running := status(directory):
        require_port(running, port, "registry", "registry", directory)
        return running
    folder(directory)
    jar = installed()
    port, _ = ports(port)
    settings = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": str(port),
        "quarkus.http.access-log.enabled": "false",
        # As in Confluent's registry, two texts of one schema are one schema.
        "apicurio.ccompat.use-canonical-hash": "true",
        "apicurio.ccompat.max-subjects": "1000000",
    }
    if keep:
        settings["apicurio.datasource.url"] = f"jdbc:h2:file:{directory / 'data' / 'registry'}"
    process = _launch(directory, jar, settings)
    running = RunningRegistry(process.pid, port)
    try:
        _wait(running, process, directory)
        # Confluent's registry starts with BACKWARD, this one with no level.
        _ask(running, "/config", {"compatibility": compatibility})
        write(_file(directory), running)
    except BaseException:
        process.kill()
        process.wait()
        raise
    _launched[process.pid] = process
    return running


def status(directory: Path) -> RunningRegistry | None:
    """The registry that runs from ``directory``; None without one.

    Its port must be open: the number of a process that is gone may be another's now.
    """
    running = read(_file(directory), RunningRegistry)
    return running if running is not None and _is_alive(running.pid) and listens(running.port) else None


def down(directory: Path) -> RunningRegistry | None:
    """Stops the registry of ``directory`` and returns when it is gone, by force after 15 s; None without one."""
    running = status(directory)
    if running is None:
        _file(directory).unlink(missing_ok=True)
    else:
        stop(running, lambda: not _is_alive(running.pid), _file(directory))
    return running


def installed() -> Path:
    """The registry's jar, in a folder with its libraries; fetched and unpacked if missing. Raises EmbeddedError.

    Safe in several processes at once.
    """
    target = unpacked(ARCHIVE)
    found = sorted(target.glob("*-runner.jar"))
    if not found:
        raise EmbeddedError(f"{target} holds no registry: remove it, so that it is fetched again.")
    return found[0]


def _launch(directory: Path, jar: Path, settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    command = [str(java().executable), "-Xmx512m", *(f"-D{key}={value}" for key, value in settings.items())]
    with writing(directory), (directory / "registry.log").open("wb") as log:
        return subprocess.Popen(
            [*command, "-jar", str(jar)],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=child_environment(),
            start_new_session=True,
        )


def _wait(running: RunningRegistry, process: subprocess.Popen[bytes], directory: Path) -> None:
    give_up = time.monotonic() + START_SECONDS
    log = directory / "registry.log"
    while time.monotonic() < give_up:
        if process.poll() is not None:
            raise EmbeddedError(f"The registry ended with status {process.returncode} (its log is {log}).")
        try:
            _ask(running, "/subjects")
        except (OSError, ValueError):
            time.sleep(0.1)
        else:
            return
    raise EmbeddedError(f"The registry did not answer within {START_SECONDS} s (its log is {log}).")


def _ask(running: RunningRegistry, path: str, body: Mapping[str, str] | None = None) -> None:
    request = urllib.request.Request(
        running.url + path,
        method="GET" if body is None else "PUT",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/vnd.schemaregistry.v1+json"},
    )
    # Of this machine: no proxy is asked.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=5) as reply:
        json.load(reply)


def _is_alive(pid: int) -> bool:
    if pid in _launched:
        return _launched[pid].poll() is None
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _file(directory: Path) -> Path:
    return directory / "registry.json"
