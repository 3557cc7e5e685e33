"""A real schema registry on this machine, for development and tests: Apicurio's, by the API of Confluent's clients.

Its archive is fetched from Maven Central when a registry is first asked for, pinned by version and checksum, and
unpacked into Penstock's cache folder. 3.0.9 is the last one that runs on Java 17.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.embedded import ivy, maven
from penstock.embedded.home import EmbeddedError, folder, home, writing
from penstock.embedded.jars import lock
from penstock.embedded.java import java
from penstock.embedded.ports import ports
from penstock.embedded.progress import progress

GROUP, ARTIFACT, VERSION, CLASSIFIER = "io.apicurio", "apicurio-registry-app", "3.0.9", "all"
SHA256 = "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43"
START_SECONDS, STOP_SECONDS = 120, 15
PATH = "/apis/ccompat/v7"
_launched: dict[int, subprocess.Popen[bytes]] = {}
"""The registries that this very process has started, by pid: their end is to be waited for."""


@dataclass(frozen=True, slots=True)
class RunningRegistry:
    """What ``registry.json`` in a registry's folder says of it while it runs."""

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
        if port in (0, running.port):
            return running
        raise EmbeddedError(
            f"A registry already runs from {directory} on port {running.port}: "
            "stop it first with `penstock registry down`, or choose another folder with --data."
        )
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
        with writing(directory):
            _file(directory).write_text(json.dumps(asdict(running)) + "\n")
    except BaseException:
        process.kill()
        process.wait()
        raise
    _launched[process.pid] = process
    return running


def status(directory: Path) -> RunningRegistry | None:
    """The registry that runs from ``directory``; None without one."""
    try:
        running = RunningRegistry(**json.loads(_file(directory).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return running if _is_alive(running.pid) else None


def down(directory: Path) -> RunningRegistry | None:
    """Stops the registry of ``directory`` and returns when it is gone, by force after 15 s; None without one."""
    running = status(directory)
    if running is not None:
        for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, 5)):
            try:
                os.kill(running.pid, number)
            except ProcessLookupError:
                break
            if _gone(running.pid, seconds):
                break
    _file(directory).unlink(missing_ok=True)
    return running


def installed() -> Path:
    """The registry's jar, in a folder with its libraries; fetched and unpacked if missing. Raises EmbeddedError.

    Safe in several processes at once.
    """
    target = home() / "jars" / f"{ARTIFACT}-{VERSION}"
    if not target.is_dir():
        with lock(folder(target.parent) / ".registry.lock"):
            if not target.is_dir():
                _install(target)
    found = sorted(target.glob("*-runner.jar"))
    if not found:
        raise EmbeddedError(f"{target} holds no registry: remove it, so that it is fetched again.")
    return found[0]


def _install(target: Path) -> None:
    repository = maven.repository()
    with writing(target.parent):
        scratch = Path(tempfile.mkdtemp(prefix=".fetch-", dir=target.parent))
    try:
        with progress(f"Fetching a schema registry (109 MB) from {repository}", 1) as advance:
            module = (GROUP, ARTIFACT, VERSION, CLASSIFIER)
            output = ivy.download([module], scratch, java(), repository, advance)
        archive = next(iter(sorted(scratch.glob(f"{ARTIFACT}-{VERSION}*.tar.gz"))), None)
        if archive is None:
            raise EmbeddedError(
                f"The schema registry could not be fetched from {repository}: {maven.reason(output)}; a network is "
                "needed once (PENSTOCK_MAVEN_REPOSITORY names another repository)."
            )
        with archive.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
                raise EmbeddedError(
                    f"{repository} served {archive.name} with another checksum than the pinned sha256 {SHA256}: it "
                    "was not kept; set PENSTOCK_MAVEN_REPOSITORY to another repository."
                )
        with writing(target.parent), tarfile.open(archive) as bundle:
            bundle.extractall(scratch / "server", filter="data")
            (scratch / "server").replace(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _launch(directory: Path, jar: Path, settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    command = [str(java().executable), "-Xmx512m", *(f"-D{key}={value}" for key, value in settings.items())]
    with writing(directory), (directory / "registry.log").open("wb") as log:
        return subprocess.Popen(
            [*command, "-jar", str(jar)],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
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


def _gone(pid: int, seconds: float) -> bool:
    give_up = time.monotonic() + seconds
    while _is_alive(pid):
        if time.monotonic() > give_up:
            return False
        time.sleep(0.05)
    return True


def _file(directory: Path) -> Path:
    return directory / "registry.json"
