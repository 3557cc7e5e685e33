"""A tap or a target: a process that gets files of JSON.

Its configuration, which has secrets, is in memory only. Of the environment it gets what every program needs, not what
the worker was given.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

from penstock.api.errors import ConnectError
from penstock.api.processes import leashed, leashed_beside

_NEEDED = frozenset(
    {
        *("PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    }
)
_LAST_WORDS = 20
"""Lines of its standard error that an error shows."""
_MIN_DESCRIPTOR = 64
"""The shell of the leash uses the first ones."""


class SingerProcess:
    """A process of Singer. ``files``: options and their values, ``{"config": {...}}``. Any thread may ``kill`` it."""

    kind: str
    """The name of the process in errors."""

    def __init__(
        self, command: str, files: Mapping[str, Any], *flags: str, program: Sequence[str] = (), reads: bool = False
    ) -> None:
        """``program``: what comes before the options. ``reads``: it reads ``feed``; without it its standard input is
        empty.
        """
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._killed, self._lock = False, threading.Lock()
        environment = {name: value for name, value in os.environ.items() if name in _NEEDED}
        with _in_memory(files) as paths, _leash(reads) as (leash, self._leash):
            options = [part for name, (path, _) in paths.items() for part in (f"--{name}", path)]
            given = [command, *program, *options, *flags]
            process = subprocess.Popen(
                leashed(given) if leash is None else leashed_beside(leash, given),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=environment,
                pass_fds=[descriptor for _, descriptor in paths.values()] + ([] if leash is None else [leash]),
            )
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._feed, self._out = process, process.stdin, process.stdout
        self._listener = self._thread(self._listen, process.stderr)

    def failure(self) -> ConnectError | None:
        """Called after its last line: None if it has ended well."""
        status = self._process.wait()
        self._listener.join(10)
        if status == 0:
            return None
        words = "\n".join(self._last_words) or "it has said nothing"
        return ConnectError(f"The {self.kind} has ended with status {status}: {words}")

    def kill(self) -> None:
        with self._lock:
            if self._killed:
                return
            self._killed = True
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if self._leash is not None:
                os.close(self._leash)
            with suppress(OSError):
                self._feed.close()

    def _thread(self, reads: Any, *given: Any) -> threading.Thread:
        thread = threading.Thread(target=reads, args=given, name=f"{self.kind}-{reads.__name__}", daemon=True)
        thread.start()
        return thread

    def _listen(self, out: IO[bytes]) -> None:
        for line in out:
            self._last_words.append(line.decode(errors="replace").rstrip())


@contextmanager
def _leash(beside: bool) -> Iterator[tuple[int | None, int | None]]:
    """The end of a pipe that the process inherits, and ours."""
    if not beside:
        yield None, None
        return
    read, ours = os.pipe()
    inherited = fcntl.fcntl(read, fcntl.F_DUPFD_CLOEXEC, _MIN_DESCRIPTOR)
    os.close(read)
    try:
        yield inherited, ours
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(inherited)


@contextmanager
def _in_memory(files: Mapping[str, Any]) -> Iterator[dict[str, tuple[str, int]]]:
    """Return paths and descriptors of files that the process inherits."""
    opened: dict[str, tuple[str, int]] = {}
    try:
        for name, content in files.items():
            made = os.memfd_create(f"{name}.json")
            descriptor = fcntl.fcntl(made, fcntl.F_DUPFD_CLOEXEC, _MIN_DESCRIPTOR)
            os.close(made)
            opened[name] = f"/proc/self/fd/{descriptor}", descriptor
            with open(descriptor, "wb", closefd=False) as file:
                file.write(json.dumps(content).encode())
        yield opened
    finally:
        for _, descriptor in opened.values():
            os.close(descriptor)
