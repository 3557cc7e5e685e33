"""Looks at the topics and offsets of the sinks whose connectors this worker runs, for the attention list.

Every ``LOOK_S`` seconds, sinks whose consumers have the same settings are looked at together, so that those without
overrides cost a few requests, however many they are. A cluster that does not answer holds up one of ``LOOKERS``
threads, for as long as its requests may take, and delays none that are looked at by the others.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from penstock.api.errors import ConnectError
from penstock.core.attention.rows import Row
from penstock.core.attention.sinks import SinkWatch
from penstock.core.config.overrides import CONSUMER
from penstock.core.config.sink import TOPICS, TOPICS_REGEX
from penstock.core.herder import Herder
from penstock.core.model.events import LoopEvent
from penstock.core.model.state import STARTED
from penstock.core.model.tasks import TaskId, TaskMetrics
from penstock.kafka.admin import sentence
from penstock.kafka.client_settings import connector_consumer
from penstock.kafka.offsets.sink_looks import CLIENT, LookedAt, look, places_with_records
from penstock.threads import Threads
from penstock.worker.monitoring.attention import OwnRows

log = logging.getLogger(__name__)

Config = Mapping[str, str]

FIRST_S, LOOK_S = 3.0, 30.0
"""Intervals of rounds, while no sink runs here and after it."""
LOOKERS = 8
RESOLVE_S = 10.0
"""Time for config providers to resolve the settings of one sink's consumer."""
MIN_STILL_MS = 60_000
COMMITS = 3
"""Intervals of commits without one after which a partition stands still."""
_UNRESOLVED = "a config provider, or the policy for overrides, has not returned"
_OVERRIDE = "consumer.override."
_OF_EACH = ("group.id", "client.id")
_SENT = "sink-record-send-total"


@dataclass(frozen=True, slots=True)
class _Sink:
    name: str
    config: Config
    """The settings of its consumer and its topics, with references."""

    @property
    def client(self) -> tuple[tuple[str, str], ...]:
        """The overrides that sinks share if they are looked at together."""
        overrides = {name: value for name, value in self.config.items() if name.startswith(_OVERRIDE)}
        return tuple(sorted((n, v) for n, v in overrides.items() if n.removeprefix(_OVERRIDE) not in _OF_EACH))


class SinkProgress:
    """``observe`` is called by the worker's loop with every event; ``rows`` from any thread."""

    def __init__(
        self,
        worker: Config,
        herder: Herder,
        *,
        kind_of: Callable[[Config], str],
        resolve: Callable[[Config], dict[str, str]],
        check: Callable[[Config, Collection[str]], None],
        clean: Callable[[str], str] = str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``resolve`` and ``check``, of overrides that are allowed, call plugins and may block. ``clean`` removes
        secrets from a text.
        """
        self._worker, self._herder, self._kind_of = worker, herder, kind_of
        self._resolve, self._check, self._clean, self._clock = resolve, check, clean, clock
        self._lock = threading.Lock()
        self._watches: dict[str, SinkWatch] = {}
        self._sent: dict[TaskId, tuple[float, float]] = {}
        """The number of records that each task has sent to its target, and the time of its last change."""
        self._looking: set[tuple[tuple[str, str], ...]] = set()
        self._due: queue.SimpleQueue[list[_Sink]] = queue.SimpleQueue()
        self._resolving: dict[str, tuple[Config, Future[Config]]] = {}
        """The call for each sink that has not returned in time, and the settings that it resolves."""
        self._lookers = 0
        self._stopped = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name="sink-progress", daemon=True).start()

    def close(self) -> None:
        """End after the looks that are under way, for which nobody waits."""
        self._stopped.set()

    def observe(self, event: LoopEvent) -> None:
        if isinstance(event, TaskMetrics) and (total := event.values.get(_SENT)) is not None:
            known = self._sent.get(event.id)
            if known is None or known[0] != total:
                self._sent[event.id] = (total, self._clock() if total else 0.0)

    def rows(self) -> OwnRows:
        """Return the rows of the sinks whose connectors run here, and the sinks whose tasks here take records."""
        now, here = self._now(), {sink.name for sink in self._sinks()}
        with self._lock:
            rows: list[Row] = [row for name, watch in self._watches.items() if name in here for row in watch.rows(now)]
        busy = {id.connector for id, (_, at) in list(self._sent.items()) if now - at * 1000 < self._still_ms({})}
        return OwnRows(tuple(rows), frozenset(busy))

    def look(self) -> None:
        """Look at all sinks that run here, in this thread."""
        for sinks in self._together():
            self._look_at(sinks)

    # -- rounds

    def _run(self) -> None:
        while not self._stopped.wait(FIRST_S if not self._watches else LOOK_S):
            try:
                self.begin_round()
            except Exception:
                log.exception("The topics and offsets of sinks could not be looked at")

    def begin_round(self) -> None:
        """Begin to look at the sinks that run here, but for those whose last look has not ended."""
        for sinks in self._together():
            if sinks[0].client not in self._looking:  # the last look at this cluster may still be under way
                self._looking.add(sinks[0].client)
                self._due.put(sinks)
        while self._lookers < min(LOOKERS, len(self._looking)):
            self._lookers += 1
            threading.Thread(target=self._work, name="sink-looks", daemon=True).start()

    def _work(self) -> None:
        while not self._stopped.is_set():
            sinks = self._due.get()
            try:
                self._look_at(sinks)
            finally:
                self._looking.discard(sinks[0].client)

    def _together(self) -> list[list[_Sink]]:
        """Return the sinks that run here by the settings of their consumers; forget those that do not."""
        sinks, now = list(self._sinks()), self._now()
        with self._lock:
            names = {sink.name for sink in sinks}
            self._watches = {name: watch for name, watch in self._watches.items() if name in names}
            for sink in sinks:
                if sink.name not in self._watches:
                    self._watches[sink.name] = SinkWatch(sink.name, "", now, self._still_ms(sink.config))
        connectors = self._herder.state.connectors
        self._sent = {id: sent for id, sent in list(self._sent.items()) if id.connector in connectors}
        groups: dict[tuple[tuple[str, str], ...], list[_Sink]] = {}
        for sink in sinks:
            groups.setdefault(sink.client, []).append(sink)
        return list(groups.values())

    def _sinks(self) -> Iterator[_Sink]:
        state = self._herder.state
        for name in list(self._herder.work.connectors):
            known = state.connectors.get(name)
            if known is not None and state.target_state(name) == STARTED and self._kind_of(known.config) == "sink":
                config = {
                    key: value
                    for key, value in known.config.items()
                    if key in (TOPICS, TOPICS_REGEX, "tasks.max", "trigger.interval.ms") or key.startswith(_OVERRIDE)
                }
                yield _Sink(name, {**config, "name": name})

    # -- one look

    def _look_at(self, sinks: list[_Sink]) -> None:
        usable: list[tuple[_Sink, dict[str, str], LookedAt]] = []
        for sink in sinks:
            try:
                config = self._resolved(sink)
                consumer = connector_consumer(self._worker, config, CLIENT)
                usable.append((sink, consumer, LookedAt.of(config, consumer["group.id"])))
            except Exception as error:
                self._failed([sink], f"its settings can't be used: {_text(error)}")
        if not usable:
            return
        try:
            looks = look(usable[0][1], [target for _, _, target in usable])
        except Exception as error:
            servers = usable[0][1]["bootstrap.servers"]
            self._failed([sink for sink, _, _ in usable], f"the brokers at {servers} gave no answer: {_text(error)}")
            return
        for (sink, consumer, target), found in zip(usable, looks, strict=True):
            if isinstance(found, str):
                self._failed([sink], found)
                continue
            now = self._now()
            with self._lock:
                watch = self._watches.get(sink.name)
                if watch is None:
                    continue
                watch.group, watch.skips_old = target.group, consumer["auto.offset.reset"].strip() == "latest"
                watch.looked(found, now)
                suspects = watch.suspects(now)
            if suspects:
                self._confirm(watch, consumer, {place: found.positions[place].end for place in suspects}, suspects)

    def _confirm(
        self,
        watch: SinkWatch,
        consumer: Mapping[str, str],
        ends: Mapping[tuple[str, int], int],
        suspects: Mapping[tuple[str, int], int],
    ) -> None:
        try:
            found = places_with_records(consumer, ends, suspects)
        except Exception as error:
            with self._lock:
                watch.failed(self._clean(f"records could not be read: {_text(error)}"), self._now())
            return
        with self._lock:
            for place, has_records in found.items():
                watch.confirmed(place, has_records)

    def _resolved(self, sink: _Sink) -> Config:
        def resolved() -> Config:
            config = {**self._resolve(sink.config), "name": sink.name}
            self._check(config, (CONSUMER,))
            return config

        if not sink.client and not any("${" in value for value in sink.config.values()):
            return sink.config
        known, call = self._resolving.get(sink.name, (None, None))
        if call is None or known != sink.config:
            call = Threads().submit(resolved)
            self._resolving[sink.name] = sink.config, call
        elif not call.done():  # the call of an earlier look, which may never return
            raise ConnectError(_UNRESOLVED)
        try:
            return call.result(RESOLVE_S)
        except TimeoutError:
            if call.done():
                raise
            raise ConnectError(_UNRESOLVED) from None
        finally:
            if call.done():
                self._resolving.pop(sink.name, None)

    def _failed(self, sinks: list[_Sink], reason: str) -> None:
        said = self._clean(reason)
        with self._lock:
            for sink in sinks:
                if (watch := self._watches.get(sink.name)) is not None:
                    watch.failed(said, self._now())

    def _still_ms(self, config: Config) -> int:
        intervals = (self._worker.get("offset.flush.interval.ms", "60000"), config.get("trigger.interval.ms", "0"))
        return max(MIN_STILL_MS, COMMITS * max(int(each) for each in intervals if each.strip().isdecimal()))

    def _now(self) -> int:
        return int(self._clock() * 1000)


def _text(error: BaseException) -> str:
    return next(iter(sentence(error).splitlines()), type(error).__name__)
