"""A run of a tap: a process that gets files of JSON and writes messages.

Its configuration, which has secrets, is in memory only. Of the environment it gets what every program needs, not what
the worker was given.
"""

from __future__ import annotations

import fcntl
import json
import os
import queue
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any

from penstock.api.errors import ConnectError
from penstock.embedded.leash import leashed

_NEEDED = frozenset(
    {
        *("PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    }
)
_LINES_AHEAD = 5000
_LAST_WORDS = 20
"""Lines of its standard error that an error shows."""
DISCOVERY_SECONDS = 300.0
_LEAST_DESCRIPTOR = 64
"""The shell of the leash uses the first ones."""


class Tap:
    """``files`` are the options and their values: ``{"config": {...}}``. ``kill`` it at the end, from any thread."""

    def __init__(self, command: str, files: Mapping[str, Any], *flags: str) -> None:
        self._lines: queue.Queue[bytes | None] = queue.Queue(_LINES_AHEAD)
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._killed, self._lock = False, threading.Lock()
        environment = {name: value for name, value in os.environ.items() if name in _NEEDED}
        with _in_memory(files) as paths:
            options = [part for name, (path, _) in paths.items() for part in (f"--{name}", path)]
            self._process = subprocess.Popen(
                leashed([command, *options, *flags]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=environment,
                pass_fds=[descriptor for _, descriptor in paths.values()],
            )
        self._readers = [
            threading.Thread(target=reads, args=(pipe,), name=f"tap-{reads.__name__}", daemon=True)
            for reads, pipe in ((self._read, self._process.stdout), (self._listen, self._process.stderr))
        ]
        for reader in self._readers:
            reader.start()

    def line(self, seconds: float) -> bytes | None:
        """The next line of its output; None if there is none yet. Raises EOFError at its end."""
        try:
            found = self._lines.get(timeout=seconds) if seconds else self._lines.get_nowait()
        except queue.Empty:
            return None
        if found is None:
            self._lines.put(None)
            raise EOFError
        return found

    def failure(self) -> ConnectError | None:
        """Called after its last line: None if it has ended well."""
        status = self._process.wait()
        self._readers[1].join(10)
        if status == 0:
            return None
        words = "\n".join(self._last_words) or "it has said nothing"
        return ConnectError(f"The tap has ended with status {status}: {words}")

    def kill(self) -> None:
        with self._lock:
            if self._killed:
                return
            self._killed = True
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            assert self._process.stdin is not None
            self._process.stdin.close()

    def _read(self, out: IO[bytes]) -> None:
        for line in out:
            self._put(line)
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        """Waits for room; once the tap is killed only its end is taken."""
        while not self._killed:
            with suppress(queue.Full):
                return self._lines.put(line, timeout=0.5)
        if line is None:
            with suppress(queue.Full):
                self._lines.put_nowait(None)
        return None

    def _listen(self, out: IO[bytes]) -> None:
        for line in out:
            self._last_words.append(line.decode(errors="replace").rstrip())


def discover(command: str, config: Any) -> dict[str, Any]:
    """The tap's catalog. Raises ConnectError."""
    tap = Tap(command, {"config": config}, "--discover")
    lines: list[bytes] = []
    try:
        with suppress(EOFError):
            while (line := tap.line(DISCOVERY_SECONDS)) is not None:
                lines.append(line)
            raise ConnectError(f"The tap has not told its catalog (--discover) within {DISCOVERY_SECONDS:g} s")
        if failure := tap.failure():
            raise failure
    finally:
        tap.kill()
    try:
        found = json.loads(b"".join(lines))
    except ValueError as error:
        raise ConnectError(f"The tap's catalog (--discover) is no JSON: {error}; set singer.catalog") from None
    if not isinstance(found, dict):
        raise ConnectError("The tap's catalog (--discover) is no object: set singer.catalog")
    return found


@contextmanager
def _in_memory(files: Mapping[str, Any]) -> Iterator[dict[str, tuple[str, int]]]:
    """Paths and descriptors of files that the process inherits."""
    opened: dict[str, tuple[str, int]] = {}
    try:
        for name, content in files.items():
            made = os.memfd_create(f"{name}.json")
            descriptor = fcntl.fcntl(made, fcntl.F_DUPFD_CLOEXEC, _LEAST_DESCRIPTOR)
            os.close(made)
            opened[name] = f"/proc/self/fd/{descriptor}", descriptor
            with open(descriptor, "wb", closefd=False) as file:
                file.write(json.dumps(content).encode())
        yield opened
    finally:
        for _, descriptor in opened.values():
            os.close(descriptor)
