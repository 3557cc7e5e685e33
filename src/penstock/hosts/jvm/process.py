"""JVMs for plugins: started, or joined if they run.

A JVM has a key. Any process of this user on this machine that needs the JVM of a key starts it under a file lock, or
joins it by its socket. The JVM's folder, which only this user may enter, holds the socket and what it prints; plugins
run in the directory of the process that starts the JVM, since file names in configurations may be relative. A JVM ends
some seconds after its last session, so it never outlives the processes that use it for long.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import logging
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.api.errors import ConnectError
from penstock.api.processes import child_environment, java_options
from penstock.embedded import class_data
from penstock.embedded.home import home
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.messages.worker import OpenSession
from penstock.hosts.jvm.session import Answer, JvmSession, unanswered

log = logging.getLogger(__name__)

START_SECONDS = 120.0
ATTEMPTS = 5
MAX_FOLDER_BYTES = 74
"""Bytes of the folder's path: below it are 33 more to a socket, whose path may have 107."""
END_SECONDS = 3.0
"""Time limit for the exit status of a JVM whose connection has ended."""
DEFAULT_OPTIONS = ("-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-Xshare:auto", "-XX:TieredStopAtLevel=4")
CLASS_DATA = "host"
"""The name of the archive of a host's classes, which ``class_data.py`` beside this file makes."""
OUT_OF_MEMORY = 3
"""The exit code that ``-XX:+ExitOnOutOfMemoryError`` gives."""
_SIGNAL = re.compile(r"^#\s+(SIG[A-Z]+) \(0x", re.MULTILINE)
_FRAME = re.compile(r"^# Problematic frame:\n# (.+)$", re.MULTILINE)
_MAIN = "penstock.host.Main"
_CURRENT = "current"
# The shell notes the exit status, which only the parent of a process gets, for all processes that have sessions.
_NOTED = 'p=$1; shift; "$@"; s=$?; if [ -e "$p/ended" ]; then rm -rf "$p"; else echo $s > "$p/exit"; fi'


class JvmStartError(ConnectError):
    """A JVM did not start; the message is what it printed last."""


@dataclass(frozen=True, slots=True)
class JvmSpec:
    """A JVM, and the key by which it is found."""

    key: str
    java: Path
    """The executable."""
    class_path: Sequence[Path]
    options: Sequence[str] = ()
    """Options of Java, after the defaults."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the host; Java: ``Host.settings()``."""

    def folder(self) -> Path:
        """Return the folder of all JVMs of this key; other options, jars or settings make another JVM."""
        parts = [self.key, str(self.java), *map(str, self.class_path), *self.options]
        text = "\n".join([*parts, json.dumps(self.settings, sort_keys=True)])
        return base_folder() / hashlib.sha256(text.encode()).hexdigest()[:16]


def open_session(spec: JvmSpec, about: OpenSession, answer: Answer = unanswered) -> JvmSession:
    """Open a session with the JVM of this spec, which is started if it does not run. Raises JvmStartError.

    ``answer`` takes what the plugins of the session send.
    """
    folder = spec.folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for _ in range(ATTEMPTS):
        with _lock(folder / "lock"):
            place, connection = _joined(folder) or _start(spec, folder)
        try:
            return JvmSession(connection, about, answer, _end_of(place))
        except HostLost:
            connection.close()  # it was about to end
            with _lock(folder / "lock"):
                _forget(folder, place)
    raise JvmStartError(f"The JVM of {about.name} ends each time it has started")


def base_folder() -> Path:
    """Return the folder of this user's JVMs, which nobody else may enter; all processes of the user find the same.

    Another user may have made one of this name in the shared folder of temporary files: then the next place counts.
    Raises JvmStartError if there is none.
    """
    problems = []
    for base in _places():
        problem = _made_private(base)
        if problem is None:
            return base
        problems.append(f"{base} {problem}")
    raise JvmStartError(f"There is no private folder for JVMs of plugins: {'; '.join(problems)}")


def _places() -> Iterator[Path]:
    name = f"penstock-jvm-{os.getuid()}"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and os.access(runtime, os.W_OK):
        yield Path(runtime) / name
    yield Path("/tmp") / name
    yield home() / "run"


def _made_private(folder: Path) -> str | None:
    """Create a folder unless it is there; return why it cannot be used, or None."""
    if len(os.fsencode(folder)) > MAX_FOLDER_BYTES:
        return f"has a path of more than {MAX_FOLDER_BYTES} bytes, and with that of a socket too many"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found, parent = folder.lstat(), folder.parent.stat()
    except OSError as error:
        return f"can't be made: {error.strerror}"
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        return "is no folder of this user that nobody else may enter"
    if parent.st_mode & stat.S_IWOTH and not parent.st_mode & stat.S_ISVTX:
        return "is in a folder in which others may replace it"
    return None


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _joined(folder: Path) -> tuple[Path, socket.socket] | None:
    try:
        place = folder / (folder / _CURRENT).read_text()
    except OSError:
        return None
    connection = _connected(place)
    return None if connection is None else (place, connection)


def _connected(place: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(None)  # whatever a plugin has made of ``socket.setdefaulttimeout``
    try:
        connection.connect(str(place / "socket"))
    except OSError:
        connection.close()
        return None
    return connection


def _forget(folder: Path, place: Path) -> None:
    with contextlib.suppress(OSError):
        if (folder / _CURRENT).read_text() == place.name:
            (folder / _CURRENT).unlink()


def _start(spec: JvmSpec, folder: Path) -> tuple[Path, socket.socket]:
    """Start a JVM and connect to it. Called with the lock held."""
    for old in folder.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - (old / "exit").stat().st_mtime > 2 * END_SECONDS:  # all have read why it ended
                shutil.rmtree(old, ignore_errors=True)
    place = Path(tempfile.mkdtemp(prefix="", dir=folder))
    (place / "settings.json").write_text(json.dumps(spec.settings))
    command = [
        str(spec.java),
        *DEFAULT_OPTIONS,
        *class_data.options(CLASS_DATA, spec.java, spec.class_path, spec.options),
        f"-XX:ErrorFile={place / 'crash.log'}",
        *java_options(spec.options, place / "options"),
        "-cp",
        os.pathsep.join(map(str, spec.class_path)),
        _MAIN,
        "--socket",
        str(place / "socket"),
        "--settings",
        str(place / "settings.json"),
    ]
    with (place / "output.log").open("wb") as output:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _NOTED, "sh", str(place), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=_directory() or place,
            env=child_environment(),  # without the Kerberos tickets of this process, see ``kafka.security.tickets``
            start_new_session=True,  # a signal to the group of the process that happens to start it is not meant for it
        )
    threading.Thread(target=process.wait, name="jvm-wait", daemon=True).start()
    deadline = time.monotonic() + START_SECONDS
    while (connection := _connected(place)) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            said = _last_lines(place)
            shutil.rmtree(place, ignore_errors=True)
            raise JvmStartError(f"A JVM for plugins could not be started: {said or 'it said nothing'}")
        time.sleep(0.01)
    (place / "options").unlink(missing_ok=True)  # Java has read it
    (folder / _CURRENT).write_text(place.name)
    return place, connection


def _directory() -> str | None:
    """Return the directory of this process, or None if it has been removed: no JVM can start there."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


def _last_lines(place: Path) -> str:
    try:
        return "\n".join((place / "output.log").read_text(errors="replace").splitlines()[-20:])
    except OSError:
        return ""


def _end_of(place: Path) -> Callable[[], tuple[str, bool]]:
    return lambda: how_ended(place)


def how_ended(place: Path) -> tuple[str, bool]:
    """Return why a JVM whose connection is closed has ended, and whether by itself."""
    deadline = time.monotonic() + END_SECONDS
    while True:
        try:
            code = int((place / "exit").read_text())
            break
        except (OSError, ValueError):
            if time.monotonic() > deadline:
                return "The JVM of the plugin is gone", False
            time.sleep(0.02)
    if code == OUT_OF_MEMORY and "java.lang.OutOfMemoryError" in _last_lines(place):
        return "The JVM of the plugin ran out of memory (penstock.java.opts sets its heap)", True
    if code <= 128:
        return f"The JVM of the plugin exited with code {code}", True
    name = _signal(code - 128)
    if (crash := _crash(place)) is not None:
        return f"The JVM of the plugin crashed with {crash}", True
    if name in ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE"):
        return f"The JVM of the plugin crashed with {name}", True
    return f"The JVM of the plugin was killed by {name}", False


def _crash(place: Path) -> str | None:
    """Return the signal and the frame of Java's crash report, or None if there is none."""
    try:
        text = (place / "crash.log").read_text(errors="replace")
    except OSError:
        return None
    found = _SIGNAL.search(text)
    frame = _FRAME.search(text)
    where = f" at {' '.join(frame[1].split())}" if frame else ""
    return (found[1] if found else "a fatal error") + where


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
