"""The Java plugins of ``plugin.path``: found once by a JVM, then known by the checksums of their jars.

A JVM runs Java Connect's scanners (``Discovery.java``), and ends. What it finds in a location is kept under
PENSTOCK_HOME, with the definitions of all settings, so that later starts, and tasks, need no JVM to know the plugins.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from penstock.api.processes import child_environment
from penstock.embedded.home import EmbeddedError, folder, home
from penstock.embedded.jars import lock, pinned
from penstock.embedded.java import bundled_version, chosen, is_bundled, java
from penstock.hosts.jvm.build import SOURCES, jar_set, kafka_class_path, user_class_path
from penstock.hosts.jvm.messages.base import PluginReference
from penstock.hosts.jvm.plugins.locations import Checksums, class_path_files, java_locations, write_json

log = logging.getLogger(__name__)

SCAN_SECONDS = 900.0
CLASS_PATH = Path("classpath")
"""Location of plugins on the class path, which ``user_class_path`` names. All others are absolute."""
_SAFE = "/:@!$&'()*+,;=~"
_JVM_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_DISCOVERY = SOURCES / "penstock" / "host" / "plugins"
_SOURCES = (
    "Definitions.java",
    "Discovery.java",
    "MovedClasses.java",
    "NewerClasses.java",
    "ProblemLog.java",
    "RewritingLoader.java",
    "moved-classes.txt",
)


@dataclass(frozen=True, slots=True)
class JavaPlugin:
    """A class of a location, as discovery describes it."""

    name: str
    version: str
    location: Path
    url: str
    """The location as Java prints it."""
    service: tuple[str, ...]
    """The kinds as which service manifests list it."""
    scan: tuple[str, ...]
    """The kinds as which the scan of all classes has found it."""
    document: dict[str, Any] = field(repr=False, compare=False)
    """Discovery's document, with ``config``, the definitions of its settings, or ``config_error``, what it threw."""

    @property
    def reference(self) -> PluginReference:
        """Class and location, by which a JVM makes an object: the class may be in other locations, too."""
        return PluginReference(self.name, str(self.location))

    def kinds(self, mode: str) -> tuple[str, ...]:
        """Return the kinds as which it counts in this mode of ``plugin.discovery``."""
        match mode:
            case "service_load":
                return self.service
            case "only_scan":
                return self.scan
        return tuple(dict.fromkeys((*self.scan, *self.service)))


@dataclass(frozen=True, slots=True)
class NewerClass:
    """A class of a location that is compiled for a newer Java than the one in use."""

    name: str
    kinds: tuple[str, ...]
    location: Path
    problem: str
    """The sentence that says so."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All Java plugins of a ``plugin.path``."""

    plugins: tuple[JavaPlugin, ...]
    problems: tuple[str, ...]
    """A sentence for each class that is left out, and why."""
    file: Path
    """The file for ``PluginLoaders.java``: the plugins without the definitions of their settings."""
    newer: tuple[NewerClass, ...] = ()


def find(plugin_path: Iterable[str], java_home: str | None = None, kafka: str | None = None) -> Catalogue | None:
    """Find the Java plugins in these folders and on the class path; return None, at no cost, if there are no readable
    jars. ``kafka``: the value of ``penstock.java.kafka.version``.

    Starts a JVM only if locations have changed since they were scanned. Raises EmbeddedError.
    """
    locations = java_locations(plugin_path)
    if of_user := _scanned_class_path():
        locations.append(CLASS_PATH)
    if not locations:
        return None
    checksums, salt = Checksums(), _salt(java_home, kafka)
    files: dict[Path, Path] = {}
    for each in locations:
        try:
            parts: Mapping[Path, list[Path] | None] = of_user if each == CLASS_PATH else {each: None}
            files[each] = _kept(" ".join([salt, *(checksums.of(*part) for part in parts.items())]))
        except OSError as error:
            log.error(
                "The plugins of %s can't be used, since %s can't be read: %s", each, error.filename, error.strerror
            )
    if not files:
        return None
    checksums.keep()
    unknown = [each for each, file in files.items() if not file.is_file()]
    if unknown:
        with lock(folder(home() / "hosts" / "plugins") / ".lock"):
            missing = {files[each]: each for each in unknown if not files[each].is_file()}
            _scan({each: file for file, each in missing.items()}, java_home, kafka)
    plugins: list[JavaPlugin] = []
    problems: list[str] = []
    newer: list[NewerClass] = []
    moved: set[Path] = set()
    for location, file in files.items():
        if file.is_file():
            found = orjson.loads(file.read_bytes())
            plugins += [_plugin(each, location) for each in found["plugins"]]
            problems += [each.replace(found["location"], str(location)) for each in found["problems"]]
            newer += [_newer(each, found["location"], location) for each in found["newer"]]
            if found["moved"]:
                moved.add(location)
    return Catalogue(tuple(plugins), tuple(problems), _for_loaders(plugins, moved), tuple(newer))


def _scanned_class_path() -> dict[Path, list[Path]]:
    """Return the entries of the user's class path that may have plugins, and the files that decide on them."""
    return {entry: found for entry in user_class_path() if (found := list(class_path_files(entry)))}


def _kept(text: str) -> Path:
    return home() / "hosts" / "plugins" / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"


def _salt(java_home: str | None, kafka: str | None) -> str:
    """Return what else decides on the outcome: the Java, told by its file rather than by asking it, our program, and
    the class path of Java Connect, by which plugins may name their version.
    """
    own = hashlib.sha256(b"".join((_DISCOVERY / name).read_bytes() for name in _SOURCES))
    own.update(" ".join(jar.sha256 for jar in pinned(jar_set(kafka))).encode())
    named = java_home or os.environ.get("JAVA_HOME")
    found = Path(named, "bin", "java") if named else Path(shutil.which("java") or "")
    if not found.is_file() or (named and is_bundled(Path(named))):
        # Processes below Spark's have its launcher as their JAVA_HOME.
        return f"{own.hexdigest()} bundled {bundled_version()}"
    return f"{own.hexdigest()} {found.resolve()} {found.resolve().stat().st_mtime_ns}"


def url_of(location: Path) -> str:
    """Return a location as Java prints it."""
    if location == CLASS_PATH:
        return str(location)
    return f"file:{quote(str(location), safe=_SAFE)}{'/' if location.is_dir() else ''}"


def _newer(document: dict[str, Any], scanned: str, location: Path) -> NewerClass:
    problem = document["problem"].replace(scanned, str(location))
    return NewerClass(document["class"], tuple(document["kinds"]), location, problem)


def _plugin(document: dict[str, Any], location: Path) -> JavaPlugin:
    return JavaPlugin(
        document["class"],
        document["version"],
        location,
        url_of(location),
        tuple(document["service"]),
        tuple(document["scan"]),
        document,
    )


def _for_loaders(plugins: Sequence[JavaPlugin], moved: Collection[Path]) -> Path:
    locations: dict[Path, list[dict[str, Any]]] = {}
    for each in plugins:
        shown = {"class": each.name, "version": each.version, "kinds": each.kinds("hybrid_warn")}
        locations.setdefault(each.location, []).append(shown)
    content = [
        {"location": str(location), "plugins": found, "moved": location in moved}
        for location, found in locations.items()
    ]
    file = _kept(f"loaders {orjson.dumps(content).decode()}")
    if not file.is_file():
        write_json(file, content)
    return file


def java_executable(java_home: str | None) -> Path:
    """Return the Java of ``penstock.java.home``, otherwise that of ``embedded.java``. Raises EmbeddedError.

    In a worker and in the processes that it starts the latter is Spark's, which the worker has made their JAVA_HOME.
    """
    return (chosen(Path(java_home).expanduser(), "penstock.java.home") if java_home else java()).executable


def _scan(files: dict[Path, Path], java_home: str | None, kafka: str | None) -> None:
    """Scan locations and keep what is found. If classes end the JVM, each location is scanned alone."""
    if not files:
        return
    log.info("Looking for Java plugins in %s", ", ".join(map(str, files)))
    executable, jars = java_executable(java_home), kafka_class_path(kafka)
    found, said = _run(executable, jars, list(files))
    if not found and len(files) > 1:
        for each, file in files.items():
            found, said = _run(executable, jars, [each])
            _keep({each: file}, found, said)
    else:
        _keep(files, found, said)


def _keep(files: dict[Path, Path], found: list[dict[str, Any]], said: str) -> None:
    if not found:
        log.error("The plugins of %s can't be used, since looking for them failed: %s", *files, said)
    for document in found:
        write_json(files[Path(document["location"])], document)


def _run(executable: Path, jars: Sequence[Path], locations: list[Path]) -> tuple[list[dict[str, Any]], str]:
    of_user = list(_scanned_class_path())
    with tempfile.TemporaryDirectory(prefix="penstock-discovery-") as scratch:
        out = Path(scratch, "found.json")
        command = [
            str(executable),
            *_JVM_OPTIONS,
            f"-Dpenstock.class.path={os.pathsep.join(map(str, of_user))}",
            "-cp",
            os.pathsep.join(map(str, [*jars, *of_user])),
            "penstock.host.plugins.Discovery",
        ]
        try:
            done = subprocess.run(
                [*command, str(out), *map(str, locations)],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SCAN_SECONDS,
                check=False,
                cwd=scratch,
                env=child_environment(),
            )
        except subprocess.TimeoutExpired:
            return [], f"it took longer than {SCAN_SECONDS:g} s"
        except OSError as error:
            raise EmbeddedError(f"{executable} can't be started: {error.strerror}") from error
        if not out.is_file():
            last = "\n".join((done.stderr + done.stdout).strip().splitlines()[-10:])
            return [], f"its JVM ended with exit code {done.returncode}\n{last}".strip()
        found: list[dict[str, Any]] = orjson.loads(out.read_bytes())
        return found, ""
