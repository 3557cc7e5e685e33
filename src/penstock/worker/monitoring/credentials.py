"""Certificates and passwords of this worker, its connectors and tasks, for the attention list: those that expire, and
those whose files have changed since they were read.
"""

from __future__ import annotations

import hashlib
import logging
import shlex
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from penstock.api.errors import ConfigError
from penstock.core.attention.rows import NextStep, Row, instant
from penstock.core.model.events import LoopEvent
from penstock.core.model.tasks import TaskEnded, TaskId, TaskRunning
from penstock.files import read_file
from penstock.kafka.security.expiry import Expiry, expiries, is_location
from penstock.settings.providers import has_reference, references

log = logging.getLogger(__name__)

DAY_MS = 24 * 60 * 60_000
SOON_MS = 30 * DAY_MS
"""Time before its end from which on a certificate has a row."""
LOOK_S = 10.0
"""Minimum time between two looks at files."""
NAMED = 3
"""Settings that a row names."""

Config = Mapping[str, str | None]
Digests = Mapping["_Named", str]


@dataclass(frozen=True, slots=True)
class _Named:
    """A value of a setting that names files: by references to config providers, or as the path of a store."""

    value: str
    is_location: bool


@dataclass(frozen=True, slots=True)
class _Read:
    """Files as they were when a run of a task, or the worker, was started."""

    run: int
    named: Mapping[str, _Named]
    """By setting."""
    digests: Digests


class Credentials:
    """``starts`` is called when a connector has been checked and starts here; ``observe`` by the worker's loop with
    every event; ``rows`` from any thread.
    """

    def __init__(
        self,
        worker_id: str,
        worker: Config,
        resolve: Callable[[dict[str, str]], Mapping[str, str]],
        is_here: Callable[[], Collection[str]],
        config_of: Callable[[str], Config],
        threads: Executor,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``worker``: the worker's settings, resolved. ``resolve`` replaces references to local files, and leaves
        others alone. ``is_here`` gives the connectors that run here, ``config_of`` the configuration of one as it was
        given, empty if there is none. Files are read by ``threads``.
        """
        self._worker_id, self._resolve, self._is_here, self._config_of = worker_id, resolve, is_here, config_of
        self._threads, self._clock = threads, clock
        self._lock = threading.Lock()
        self._expiries: dict[str | None, tuple[Expiry, ...]] = {None: tuple(expiries(worker))}
        self._of: dict[TaskId | None, _Read] = {None: self._reading(0, worker)}
        self._changed_ms: dict[tuple[TaskId | None, int], int] = {}
        """Times at which changes of files were first seen, by task and run."""
        self._looked: tuple[float, Digests] | None = None

    def starts(self, name: str, resolved: Config) -> None:
        """Note the certificates with which a connector starts. Never raises: it would keep the connector from it."""
        try:
            found = tuple(expiries(resolved))
        except Exception:
            log.exception("The certificates of connector %s can't be looked at", name)
            return
        with self._lock:
            self._expiries[name] = found

    def observe(self, event: LoopEvent) -> None:
        match event:
            case TaskRunning(id=id, run=run) if (known := self._of.get(id)) is None or known.run != run:
                self._of[id] = _Read(run, {}, {})
                self._threads.submit(self._read, id, run)
            case TaskEnded(id=id):
                self._of.pop(id, None)

    def rows(self) -> Iterator[Row]:
        now, here = int(self._clock() * 1000), self._is_here()
        with self._lock:
            self._expiries = {name: each for name, each in self._expiries.items() if name is None or name in here}
            expiring = dict(self._expiries)
        reads = dict(self._of)
        files = self._look(reads.values())
        with self._lock:
            outdated = {id: changed for id, read in reads.items() if (changed := _changed(read, files))}
            runs = {(id, reads[id].run) for id in outdated}
            self._changed_ms = {run: self._changed_ms.get(run, now) for run in runs}
            since = dict(self._changed_ms)
        rows = [_expiring(name, soon, now) for name, each in expiring.items() if (soon := _soon(each, now))]
        rows += [_outdated(id, changed, since[id, reads[id].run]) for id, changed in outdated.items()]
        yield from (replace(row, worker=self._worker_id) for row in rows)

    def _read(self, id: TaskId, run: int) -> None:
        read = self._reading(run, self._config_of(id.connector))
        known = self._of.get(id)
        if known is not None and known.run == run:
            self._of[id] = read

    def _reading(self, run: int, given: Config) -> _Read:
        named = {
            key: _Named(value, is_location(key))
            for key, value in given.items()
            if value is not None and (has_reference(value) or is_location(key))
        }
        digests = self._digests(named.values())
        return _Read(run, {key: each for key, each in named.items() if each in digests}, digests)

    def _look(self, reads: Iterable[_Read]) -> Digests:
        """Return the digests of today's files, or those of the last look if that was lately."""
        looked, now = self._looked, time.monotonic()
        if looked is None or now - looked[0] >= LOOK_S:
            looked = self._looked = (now, self._digests({each for read in reads for each in read.named.values()}))
        return looked[1]

    def _digests(self, named: Iterable[_Named]) -> dict[_Named, str]:
        """Return a digest of what each value stands for now; those whose files can't be read are left out.

        Values with references to the same files are resolved together, so that each file is read once.
        """
        groups: dict[frozenset[tuple[str, str]], list[_Named]] = {}
        for each in named:
            files = frozenset((reference.provider, reference.path) for reference in references(each.value))
            groups.setdefault(files, []).append(each)
        found: dict[_Named, str] = {}
        for group in groups.values():
            try:
                resolved = self._resolve({str(number): each.value for number, each in enumerate(group)})
            except (OSError, ValueError, ConfigError):
                continue
            for number, each in enumerate(group):
                value = resolved[str(number)]
                if each.is_location or value != each.value:
                    content = _content(value) if each.is_location else b""
                    if content is not None:
                        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass") + b"\0" + content)
                        found[each] = digest.hexdigest()
        return found


def _content(path: str) -> bytes | None:
    try:
        return read_file(path)
    except (OSError, ValueError):  # a ValueError for a NUL in the path
        return None


def _changed(read: _Read, files: Digests) -> list[str]:
    """Return the settings whose files have changed; a file that can't be read now has not."""
    return sorted(key for key, each in read.named.items() if files.get(each, read.digests[each]) != read.digests[each])


def _soon(found: Iterable[Expiry], now_ms: int) -> list[Expiry]:
    """Return those that have expired or expire soon, the first to expire first."""
    return sorted((each for each in found if each.time_ms - now_ms < SOON_MS), key=lambda each: each.time_ms)


def _expiring(name: str | None, soon: list[Expiry], now_ms: int) -> Row:
    first = soon[0]
    left = first.time_ms - now_ms
    days = left // DAY_MS
    when = "expires within a day," if days < 1 else "expires in 1 day," if days == 1 else f"expires in {days} days,"
    what = f"The certificate of {_named([each.setting for each in soon])} {'expired' if left <= 0 else when}"
    step = NextStep("Replace it, then restart the worker", None, "workers")
    if name is not None:
        command = f"penstock restart {shlex.quote(name)} --include-tasks"
        step = NextStep("Replace it, then restart the connector with its tasks", command, "overview")
    since = first.time_ms if left <= 0 else first.time_ms - SOON_MS
    return Row("expiring", f"{what} at {instant(first.time_ms)}", step, name, since_ms=since)


def _outdated(id: TaskId | None, settings: list[str], since_ms: int) -> Row:
    why = f"The files of {_named(settings)} have changed since they were read; the earlier content is in use"
    if id is None:
        return Row("outdated", why, NextStep("Restart the worker", None, "workers"), since_ms=since_ms)
    command = f"penstock restart {shlex.quote(id.connector)} --include-tasks"
    step = NextStep("Restart the connector with its tasks", command, "restart")
    return Row("outdated", why, step, id.connector, (id.task,), since_ms=since_ms)


def _named(settings: list[str]) -> str:
    more = len(settings) - NAMED
    return ", ".join(settings[:NAMED]) + (f" and {more} more" if more > 0 else "")
