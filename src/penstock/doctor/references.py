"""Classes, methods and fields of Kafka that plugins from jars refer to and that the host's JVM lacks.

A jar that was built for another Kafka fails with NoClassDefFoundError or NoSuchMethodError when it gets to such a
place. Its references show that before. Only those to ``org.apache.kafka`` are looked at: other classes are the plugin's
own, or belong to optional parts that refer to classes which nobody has.
"""

from __future__ import annotations

import contextlib
import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from penstock.doctor.class_files import ClassFile, ClassFileError, MemberReference
from penstock.doctor.findings import Finding, Section, Verdict
from penstock.hosts.jvm.build import SOURCES
from penstock.hosts.jvm.plugins.locations import java_files

KAFKA = "org/apache/kafka/"
MAX_CLASS = 16 << 20
"""Bytes of a class that is read."""
MAX_SHOWN = 5
"""Missing classes or members that are named of each plugin location."""
_OF_PLUGINS = re.compile(
    r"org/apache/kafka/(?:connect/(?:transforms/(?!Transformation$|predicates/Predicate$)|json/|file/|mirror/|converters/"
    r"|storage/(?:StringConverter|SimpleHeaderConverter)\b|rest/basic/auth/extension/"
    r"|connector/policy/(?!ConnectorClientConfig(?:OverridePolicy|Request(?:\$ClientType)?)$))"
    r"|common/config/provider/(?!ConfigProvider$))"
)
"""Kafka's classes that a plugin may bring though the host has them (Java: ``PluginUtils.shouldLoadInIsolation``)."""

_MOVED = SOURCES / "penstock" / "host" / "plugins" / "moved-classes.txt"


class JarClasses:
    """Classes of jars, by their names with slashes. Read when they are asked for. Closed like a file."""

    def __init__(self, jars: Iterable[Path]) -> None:
        self._open = contextlib.ExitStack()
        self._places: dict[str, zipfile.ZipFile] = {}
        self._read: dict[str, ClassFile | None] = {}
        for jar in jars:
            with contextlib.suppress(*_UNREADABLE):
                archive = self._open.enter_context(zipfile.ZipFile(jar))
                for name in archive.namelist():
                    if name.endswith(".class"):
                        self._places.setdefault(name[: -len(".class")], archive)

    def __enter__(self) -> JarClasses:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def get(self, name: str) -> ClassFile | None:
        """Return the class, or None if it is not there or can't be read."""
        if name not in self._read:
            archive, found = self._places.get(name), None
            if archive is not None:
                with contextlib.suppress(ClassFileError, *_UNREADABLE):
                    found = ClassFile(_content(archive, f"{name}.class"))
            self._read[name] = found
        return self._read[name]

    def has(self, reference: MemberReference) -> bool:
        """Return whether the owner or one of its parents has the member, or may have it, being in none of the jars."""
        waiting, seen = [reference.owner], set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            found = self.get(name)
            if found is None:
                if name == "java/lang/Object" and reference.name not in _OF_OBJECT:
                    continue
                return True
            try:
                if (reference.name, reference.descriptor) in found.members:
                    return True
                waiting += () if reference.name == "<init>" else found.parents
            except ClassFileError:
                return True
        return False


_OF_OBJECT = frozenset(
    {"clone", "equals", "finalize", "getClass", "hashCode", "notify", "notifyAll", "toString", "wait"}
)


class MovedNames:
    """Names that loaders of plugins replace, since the host has the classes under others; ``MovedClasses.java``."""

    def __init__(self, host: JarClasses, brought: Collection[str] = ()) -> None:
        """``brought``: classes of the plugin itself, whose names are left."""
        self._names: dict[str, str] = {}
        for line in _MOVED.read_text("utf-8").splitlines():
            if line and not line.startswith("#"):
                older, sign, newer = line.split(" ")
                if newer in host and older not in host:
                    self._names[older] = newer
                elif older in host and newer not in host and sign == "=":
                    self._names[newer] = older
        self._names = {
            name: here
            for name, here in self._names.items()
            if name not in brought and name.partition("$")[0] not in brought
        }

    def here(self, name: str) -> str:
        """Return the name that the class has in the host."""
        outer, dollar, nested = name.partition("$")
        return self._names.get(name) or f"{self._names.get(outer, outer)}{dollar}{nested}"

    def reference_here(self, reference: MemberReference) -> MemberReference:
        """Return a reference with the names that its classes have in the host."""
        descriptor = re.sub(r"(?<=L)org/apache/kafka/[^;]+", lambda found: self.here(found[0]), reference.descriptor)
        return MemberReference(self.here(reference.owner), reference.name, descriptor)


def missing(files: Iterable[Path], host: JarClasses) -> dict[str, set[str]]:
    """Return what the classes in these jars and class files refer to and ``host`` lacks, with the classes that do."""
    files = list(files)
    own = set(_names(files))
    moved = MovedNames(host, own)
    brought = {name for name in own if _OF_PLUGINS.match(name) or name not in host}
    found: dict[str, set[str]] = defaultdict(set)
    for user, content in _classes(files):
        if KAFKA.encode() not in content or (user.startswith(KAFKA) and user not in brought):
            continue
        try:
            read = ClassFile(content)
            named = {moved.here(each) for each in read.classes() if each.startswith(KAFKA) and each not in brought}
            members = [moved.reference_here(each) for each in read.references() if each.owner not in brought]
        except ClassFileError:
            continue
        for name in named:
            if name not in host:
                found[_dotted(name)].add(_dotted(user))
        for each in members:
            if each.owner in named and each.owner in host and not host.has(each):
                found[f"{_dotted(each.owner)}.{each.name}{_arguments(each.descriptor)}"].add(_dotted(user))
    return found


_UNREADABLE = (OSError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error)
"""Errors of ``zipfile`` for damaged and encrypted archives, and for ways of compression that it does not know."""


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return an entry of an archive; nothing of a huge one."""
    return archive.read(name) if archive.getinfo(name).file_size <= MAX_CLASS else b""


def _names(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        with contextlib.suppress(ClassFileError, *_UNREADABLE):
            if file.suffix.lower() == ".class":
                yield ClassFile(file.read_bytes()).name
                continue
            with zipfile.ZipFile(file) as archive:
                yield from (name[: -len(".class")] for name in archive.namelist() if name.endswith(".class"))


def _classes(files: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    for file in files:
        with contextlib.suppress(ClassFileError, *_UNREADABLE):
            if file.suffix.lower() == ".class":
                content = file.read_bytes()
                yield ClassFile(content).name, content
                continue
            with zipfile.ZipFile(file) as archive:
                for name in archive.namelist():
                    if name.endswith(".class") and not name.startswith("META-INF/"):
                        with contextlib.suppress(*_UNREADABLE):
                            yield name[: -len(".class")], _content(archive, name)


def judge_references(
    locations: Sequence[Path], class_path: Iterable[Path], version: str, progress: Callable[[str], None]
) -> Section:
    """``progress`` is called with a sentence before each location. ``version``: of the host's Kafka."""
    findings = []
    with JarClasses(class_path) as host:
        for i, location in enumerate(locations, 1):
            progress(f"Reading the classes of {location} ({i} of {len(locations)})")
            found = missing(java_files(location), host)
            if not found:
                findings.append(Finding(Verdict.WORKS, str(location), f"all it refers to is in Kafka {version}"))
                continue
            shown = "; ".join(f"{name} (in {_users(users)})" for name, users in sorted(found.items())[:MAX_SHOWN])
            more = f"; and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
            says = f"refers to what Kafka {version} lacks, and fails where it needs that: {shown}{more}"
            findings.append(Finding(Verdict.DIFFERS, str(location), says))
    return Section("Classes of Kafka that jars refer to", tuple(findings))


def _users(users: set[str]) -> str:
    first = min(users)
    return first if len(users) == 1 else f"{first} and {len(users) - 1} more"


def _dotted(name: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in name.replace("/", "."))


def _arguments(descriptor: str) -> str:
    """Return the arguments of a method as Java writes them, such as ``(String, int)``; empty for a field."""
    if not descriptor.startswith("("):
        return ""
    found = []
    for dimensions, name, primitive in re.findall(
        r"(\[*)(?:L([^;]+);|([ZBCSIJFD]))", descriptor[1 : descriptor.index(")")]
    ):
        kind = name.rpartition("/")[2] if name else _PRIMITIVES[primitive]
        found.append(kind + "[]" * len(dimensions))
    return f"({', '.join(found)})"


_PRIMITIVES = {
    "Z": "boolean",
    "B": "byte",
    "C": "char",
    "S": "short",
    "I": "int",
    "J": "long",
    "F": "float",
    "D": "double",
}
