"""A connector's offsets, read and changed at a client's request, and given to its tasks (KIP-875, KIP-618).

Sources have theirs in a topic or a file, sinks in their consumer group. The connector's class may refuse changes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

from penstock.api.connector import Connector, SinkConnector, SourceConnector
from penstock.api.errors import AlreadyExistsError, ConnectError, KafkaError, NotFoundError
from penstock.api.origin import is_origin
from penstock.api.query import QueryConnector
from penstock.core.config.overrides import ADMIN, CONSUMER, PRODUCER
from penstock.core.model.messages import OffsetChanges, PluginFailed, Refused
from penstock.core.model.tasks import OffsetsReported
from penstock.hosts.jvm.errors import BadRequestError
from penstock.hosts.jvm.plugins.connector import JavaConnector
from penstock.kafka.background import NO_DEADLINE, Deadline
from penstock.kafka.fencing import TIMEOUT_S as FENCING_S
from penstock.kafka.fencing import fence_query
from penstock.kafka.offsets.entries import StoredOffset
from penstock.kafka.offsets.sink_connectors import SinkConnectorOffsets, SinkOffsetError, as_json, parse
from penstock.kafka.offsets.source_connectors import SourceConnectorOffsets
from penstock.kafka.offsets.topic import OffsetStore, own_offsets_topic
from penstock.pipeline.task import CommittedOffset, CommittedOffsets
from penstock.plugins import Plugins
from penstock.spark.query.sink.progress import new_root, offset_of_root, place_of_root

log = logging.getLogger(__name__)

Config = Mapping[str, str]

TIMEOUT_S = 90.0
"""Time limit for an access to offsets, for a client's request or a task's start."""


class OffsetsAccess:
    """Every method but ``store`` may block."""

    def __init__(
        self,
        worker: Config,
        store: OffsetStore,
        plugins: Plugins,
        resolve: Callable[[Config], dict[str, str]],
        new: Callable[[Config], Connector],
        check: Callable[[Config, Collection[str]], None],
    ) -> None:
        """``new`` makes a connector of the class that a configuration names, if that is allowed. ``check`` raises
        ConnectError for overrides, of clients with these prefixes, that are not.
        """
        self._worker, self._plugins, self._resolve, self._new = worker, plugins, resolve, new
        self._check = check
        self._sources, self._sinks, self._store = (
            SourceConnectorOffsets(worker, store),
            SinkConnectorOffsets(worker),
            store,
        )

    def read(self, connector: str, config: Config) -> list[dict[str, Any]]:
        """Read offsets as ``GET /connectors/{name}/offsets`` shows them.

        Raises Refused if the class is not installed.
        """
        kind = self._plugins.kind(config)
        if kind == "unknown":
            self._plugins.connector(config)  # which says what there is instead
        resolved = {**self._resolve(config), "name": connector}
        if kind == "sink":
            self._check(resolved, (CONSUMER, ADMIN))
            return as_json(await_result(lambda done: self._sinks.read(resolved, done)))
        self._check(resolved, self._of_offsets(resolved))
        stored = self._of_source(resolved)
        return [
            {"partition": each.partition, "offset": each.offset}
            for each in stored
            if each.partition is not None and not is_origin(each.partition)
        ]

    def write(
        self, connector: str, config: Config, offsets: OffsetChanges | None, deadline: Deadline = NO_DEADLINE
    ) -> str:
        """Alter them, or reset all (None); the message for the client. Raises Refused, and TimeoutError.

        Java checks its timer after ``alterOffsets``: what it has answered with an error is not written later.
        """
        resolved = {**self._resolve(config), "name": connector}
        plugin = self._new(resolved)
        if isinstance(plugin, SinkConnector):
            fencing = (PRODUCER,) if isinstance(plugin, QueryConnector) else ()
            self._check(resolved, (CONSUMER, ADMIN, *fencing))
            external = self._write_sink(plugin, resolved, offsets, deadline)
        elif isinstance(plugin, SourceConnector):
            self._check(resolved, self._of_offsets(resolved))
            external = self._write_source(plugin, resolved, offsets, deadline)
        done = "reset" if offsets is None else "altered"
        if external:
            return f"The offsets for this connector have been {done} successfully"
        return (
            f"The Connect framework-managed offsets for this connector have been {done} successfully. However, if this "
            f"connector manages offsets externally, they will need to be manually {done} in the system that the "
            "connector uses."
        )

    def topics(self, connector: str, config: Config) -> tuple[str | None, str | None]:
        """See ``specs.OffsetsForTasks``; does not block."""
        shared = self._worker.get("offset.storage.topic")
        own = own_offsets_topic(self._worker, {**config, "name": connector})
        return own or shared, shared if own else None

    def for_task(self, connector: str, config: Config) -> CommittedOffsets:
        stored = self._of_source({**config, "name": connector})
        return tuple(CommittedOffset(*each) for each in stored)

    def store(self, event: OffsetsReported) -> None:
        """Standalone mode: store the offsets that a task has reported."""

        def stored(error: Exception | None) -> None:
            if error is not None:
                log.error("The offsets of %s could not be stored: %s", event.id, error)

        self._store.write(event.id.connector, list(event.offsets), stored)

    def _of_offsets(self, config: Config) -> tuple[str, ...]:
        """The clients of a source that reach its offsets; Java asks about its producer in any case."""
        return (PRODUCER,) if own_offsets_topic(self._worker, config) is None else (PRODUCER, CONSUMER, ADMIN)

    def _of_source(self, config: Config) -> list[StoredOffset]:
        return await_result(lambda done: self._sources.read(config, done))

    def _write_source(
        self, plugin: SourceConnector, config: Config, offsets: OffsetChanges | None, deadline: Deadline
    ) -> bool:
        pairs: Any = offsets
        if offsets is None:
            pairs = [(p, None) for p, *_ in self._of_source(config) if p is not None]
        for partition, offset in pairs:
            _check_primitive(partition or {})
            _check_primitive(offset or {})
        whose = f"source connector {config['name']}"
        external = _asked(plugin, whose, lambda: plugin.alter_offsets(config, list(pairs)))
        known = None if offsets is None else [(p, o) for p, o in pairs if p is not None]
        await_result(lambda done: self._sources.write(config, known, done, deadline))
        return external

    def _begin_epochs(self, connector: str) -> None:
        """The offsets of a query are reset by request, and do not just disappear: it may begin again."""
        root = [(place_of_root(connector), offset_of_root(new_root()))]

        def write(done: Callable[[Any, Exception | None], None]) -> None:
            self._store.write(connector, root, lambda error: done(None, error))

        await_result(write)

    def _write_sink(
        self, plugin: SinkConnector, config: Config, offsets: OffsetChanges | None, deadline: Deadline
    ) -> bool:
        try:
            changes = None if offsets is None else parse(offsets)
        except SinkOffsetError as error:
            raise Refused(400, str(error)) from error
        if isinstance(plugin, QueryConnector):
            # It commits to a group without members, which accepts a commit after this change too.
            fence_query(self._worker, config, deadline.within(FENCING_S))
            if changes is None or None in changes.values():
                deadline.check()
                self._begin_epochs(config["name"])
        places = (
            dict.fromkeys(await_result(lambda done: self._sinks.read(config, done))) if changes is None else changes
        )
        changed = {tuple(place): to for place, to in places.items()}
        external = _asked(plugin, f"sink connector {config['name']}", lambda: plugin.alter_offsets(config, changed))
        try:
            await_result(lambda done: self._sinks.write(config, changes, done, deadline))
        except ConnectError as error:
            raise Refused(400, str(error)) from error
        return external


def _check_primitive(fields: Mapping[str, object]) -> None:
    """Raises Refused for what a source partition or offset can't hold (Java: OffsetUtils.validateFormat)."""
    for name, value in fields.items():
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            kind = "class java.math.BigInteger"
        elif isinstance(value, list):
            kind = "ARRAY"
        elif isinstance(value, dict):
            kind = "MAP"
        else:
            continue
        raise Refused(400, f"Offsets may only contain primitive types as values, but field {name} contains {kind}")


def _asked(plugin: Connector, whose: str, ask: Callable[[], bool]) -> bool:
    """The connector's own decision on new offsets. Raises Refused with its reason, of one from a jar with the status
    that Java gives it; any other error is a fault of its code, which Java shows in the log alone, but for those of
    Connect's classes.
    """
    try:
        return ask()
    except ConnectError as error:
        if not isinstance(plugin, JavaConnector):
            raise Refused(400, str(error)) from error
        log.exception("Failed to modify offsets for %s", whose)
        raise Refused(_status(error), str(error)) from error
    except TimeoutError:
        raise
    except Exception as error:
        problem = f"Failed to modify offsets for {whose}"
        if isinstance(error, KafkaError) and error.java_name.startswith("org.apache.kafka.connect.errors."):
            problem = str(error)  # Java wraps other errors only
        log.exception("%s", problem)
        raise PluginFailed(500, problem) from error


def _status(error: ConnectError) -> int:
    """Java: ``ConnectExceptionMapper``."""
    match error:
        case BadRequestError():
            return 400
        case NotFoundError():
            return 404
        case AlreadyExistsError():
            return 409
        case _:
            return 500


def await_result(start: Callable[[Callable[[Any, Exception | None], None]], None]) -> Any:
    """The result of something that calls back. Raises its error, or TimeoutError."""
    finished = threading.Event()
    outcome: list[Any] = [None, None]

    def done(result: Any, error: Exception | None) -> None:
        outcome[:] = [result, error]
        finished.set()

    start(done)
    if not finished.wait(TIMEOUT_S):
        raise TimeoutError(f"The offsets could not be accessed within {TIMEOUT_S:g} s.")
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]
