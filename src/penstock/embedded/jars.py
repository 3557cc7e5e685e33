"""The jars that no wheel carries, from Maven Central, each pinned by version and checksum.

They are fetched with Ivy, which lies in the PySpark wheel, so no Maven is needed. The lists in ``pinned/``
are complete: no POM is read, nothing is resolved, the same bytes arrive everywhere or the start fails.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from penstock.embedded import ivy, maven
from penstock.embedded.home import EmbeddedError, folder, home, progress, writing
from penstock.embedded.java import Java, java

SETS = ("kafka", "spark-kafka-3.5", "spark-kafka-4.0", "spark-kafka-4.1", "spark-kafka-4.2", "connect", "connect-4.4")


@dataclass(frozen=True, slots=True)
class Jar:
    sha256: str
    group: str
    artifact: str
    version: str

    @property
    def name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    def is_intact(self, directory: Path) -> bool:
        """Whether its file is in ``directory`` with the pinned checksum."""
        try:
            with (directory / self.name).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256
        except FileNotFoundError:
            return False


def jars(name: str) -> list[Path]:
    """The files of a jar set (``kafka``: a broker; ``spark-kafka-4.2``: the Kafka source of that Spark; ``connect`` and
    ``connect-4.4``: the class paths of Java Connect 4.3 and 4.4), fetched when missing.

    Every file is verified, a damaged one fetched again. Safe in several processes at once; no network once cached.
    Raises EmbeddedError.
    """
    return ensure(pinned(name), home() / "jars")


def ensure(wanted: list[Jar], directory: Path) -> list[Path]:
    """The files of ``wanted`` in ``directory``, as ``jars`` promises."""
    if any(not jar.is_intact(directory) for jar in wanted):
        with lock(folder(directory) / ".lock"):
            if missing := [jar for jar in wanted if not jar.is_intact(directory)]:
                fetch(missing, directory, java(), maven.repository())
    return [directory / jar.name for jar in wanted]


def pinned(name: str) -> list[Jar]:
    """The list of a jar set, as shipped in this package."""
    lines = files("penstock.embedded").joinpath("pinned", f"{name}.jars").read_text("utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return [Jar(sha256, *coordinates.split(":")) for sha256, coordinates in rows]


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Held by one process at a time; the system lets go of it when its holder dies."""
    with writing(path):
        file = path.open("w")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fetch(wanted: list[Jar], directory: Path, runtime: Java, repository: str) -> None:
    """Downloads ``wanted`` beside ``directory`` and moves in what matches its checksum. The caller holds the lock."""
    with writing(directory):
        scratch = Path(tempfile.mkdtemp(prefix=".fetch-", dir=directory))
    try:
        with progress(f"Fetching {len(wanted)} jars from {repository}", len(wanted)) as advance:
            modules = [(jar.group, jar.artifact, jar.version) for jar in wanted]
            output = ivy.download(modules, scratch, runtime, repository, advance)
        for jar in wanted:
            if not (scratch / jar.name).is_file():
                raise EmbeddedError(_not_fetched(jar, directory, repository, output))
            if not jar.is_intact(scratch):
                raise EmbeddedError(
                    f"{repository} served {jar.name} with another checksum than the pinned sha256 {jar.sha256}: "
                    "it was not kept; tell the owner of that repository, or set PENSTOCK_MAVEN_REPOSITORY to another."
                )
            with writing(directory):
                (scratch / jar.name).replace(directory / jar.name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _not_fetched(jar: Jar, directory: Path, repository: str, output: str) -> str:
    if "No space left on device" in output:
        return f"No space is left on the disk of {directory}: free some, or choose another folder (PENSTOCK_HOME)."
    state = "is damaged" if (directory / jar.name).exists() else "is missing"
    return (
        f"{jar.name} {state} in {directory} and could not be fetched from {repository}: {maven.reason(output)}; "
        "a network is needed once (PENSTOCK_MAVEN_REPOSITORY names another repository)."
    )
