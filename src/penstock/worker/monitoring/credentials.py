"""Certificates and passwords of this worker and its connectors, for the attention list: those that expire, and those
whose files have changed since they were read.
"""

from __future__ import annotations

import hashlib
import logging
import shlex
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.api.errors import ConfigError
from penstock.core.attention.rows import Row, Step, instant
from penstock.files import read_file
from penstock.kafka.security.expiry import LOCATIONS, Expiry, expiries
from penstock.settings.providers import has_reference

log = logging.getLogger(__name__)

SOON_MS = 30 * 24 * 60 * 60_000
"""Time before its end from which on a certificate has a row."""
LOOK_S = 10.0
"""Minimum time between two looks at files."""

Config = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Read:
    """Facts about the settings with which the worker or a connector was started."""

    expiries: tuple[Expiry, ...]
    given: Config
    """The settings with references or names of files, as they were given."""
    files: Mapping[str, str]
    """A digest of what was read, by setting."""
    read_ms: int


class Credentials:
    """``starts`` is called when a connector starts here, by its thread; ``rows`` from any thread."""

    def __init__(
        self,
        worker_id: str,
        worker: Config,
        resolve: Callable[[Config], Config],
        is_here: Callable[[], Collection[str]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``worker``: the worker's settings. ``resolve`` replaces references to local files, and leaves others alone.
        ``is_here`` gives the connectors that run here.
        """
        self._worker_id, self._resolve, self._is_here, self._clock = worker_id, resolve, is_here, clock
        self._lock = threading.Lock()
        self._own = self._reading(worker, worker)
        self._of: dict[str, _Read] = {}
        self._looked: tuple[float, dict[str | None, dict[str, str]]] | None = None

    def starts(self, name: str, given: Config, resolved: Config) -> None:
        """Note the certificates and files with which a connector starts. Never raises."""
        try:
            read = self._reading(given, resolved)
        except Exception:
            log.exception("The certificates of connector %s can't be looked at", name)
            return
        with self._lock:
            self._of[name] = read
            self._looked = None

    def rows(self) -> Iterator[Row]:
        now = int(self._clock() * 1000)
        here = self._is_here()
        with self._lock:
            self._of = {name: read for name, read in self._of.items() if name in here}
            of: dict[str | None, _Read] = {None: self._own}
            of.update(self._of)
        files = self._files(of)
        for name, read in of.items():
            rows = [_expiring(name, each, now) for each in read.expiries if each.time_ms - now < SOON_MS]
            changed = [key for key, digest in read.files.items() if files.get(name, {}).get(key, digest) != digest]
            if changed:
                rows.append(_outdated(name, changed, read.read_ms))
            yield from (replace(row, worker=self._worker_id) for row in rows)

    def _reading(self, given: Config, resolved: Config) -> _Read:
        named = {key: value for key, value in given.items() if has_reference(value) or _is_location(key)}
        return _Read(tuple(expiries(resolved)), named, self._digests(named), int(self._clock() * 1000))

    def _files(self, of: Mapping[str | None, _Read]) -> dict[str | None, dict[str, str]]:
        """Return the digests of today's files, as of the last look if that was lately."""
        looked, now = self._looked, time.monotonic()
        if looked is None or now - looked[0] >= LOOK_S:
            looked = self._looked = (now, {name: self._digests(read.given) for name, read in of.items()})
        return looked[1]

    def _digests(self, given: Config) -> dict[str, str]:
        """Return a digest of what each setting stands for now; settings whose files can't be read are left out."""
        found = {}
        for key, value in given.items():
            try:
                resolved = self._resolve({key: value})[key]
                content = resolved.encode()
                if _is_location(key):
                    content += read_file(resolved)
            except (OSError, ConfigError):
                continue
            if _is_location(key) or resolved != value:
                found[key] = hashlib.sha256(content).hexdigest()
        return found


def _is_location(key: str) -> bool:
    return any(key == end or key.endswith(f".{end}") for end in LOCATIONS)


def _expiring(name: str | None, expiry: Expiry, now_ms: int) -> Row:
    left = expiry.time_ms - now_ms
    what = f"The certificate of {expiry.setting} ({expiry.subject})"
    if left <= 0:
        return Row("expiring", f"{what} expired at {instant(expiry.time_ms)}", _renewal(name), name,
                   since_ms=expiry.time_ms)  # fmt: skip
    days = left // (24 * 60 * 60_000)
    when = "within a day" if days < 1 else "in 1 day" if days == 1 else f"in {days} days"
    return Row("expiring", f"{what} expires {when}, at {instant(expiry.time_ms)}", _renewal(name), name)


def _renewal(name: str | None) -> Step:
    if name is None:
        return Step("Replace it, then restart the worker", None, "workers")
    command = f"penstock restart {shlex.quote(name)} --include-tasks"
    return Step("Replace it, then restart the connector with its tasks", command, "overview")


def _outdated(name: str | None, settings: list[str], read_ms: int) -> Row:
    why = f"The files of {', '.join(sorted(settings))} have changed since they were read; the earlier content is in use"
    if name is None:
        return Row("outdated", why, Step("Restart the worker", None, "workers"), since_ms=read_ms)
    command = f"penstock restart {shlex.quote(name)} --include-tasks"
    return Row("outdated", why, Step("Restart the connector with its tasks", command, "restart"), name,
               since_ms=read_ms)  # fmt: skip
