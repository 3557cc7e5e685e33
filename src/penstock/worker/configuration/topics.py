"""The internal topics that a worker knows, and the checks of configurations for them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from penstock.api.config import with_prefix
from penstock.api.errors import KafkaError
from penstock.api.query import QuerySinkConnector
from penstock.core.config.catalog import Kind, PluginClass
from penstock.core.config.clients import ADMIN_SETTINGS
from penstock.core.config.internal_topics import (
    OFFSETS_OF_CONNECTOR,
    TOPICS_DENIED,
    InternalTopicError,
    InternalTopics,
)
from penstock.core.config.overrides import CONSUMER, PRODUCER
from penstock.core.config.permissions.topics import (
    OFFSETS_OF_WORKER,
    OPTIONS,
    WorkerNames,
    joins_worker_group,
    name_problems,
    topic_problems,
    topic_uses,
)
from penstock.core.config.source import OFFSETS_TOPIC
from penstock.core.model.events import ConfigRead, LoopEvent
from penstock.core.model.records import ConnectorConfig
from penstock.kafka.client_settings import (
    bootstrap_servers,
    connector_consumer,
    connector_producer,
    own_client_id,
)
from penstock.kafka.fencing import transactional_id
from penstock.kafka.letters.notes import group_of
from penstock.kafka.offsets.topic import own_offsets_topic
from penstock.kafka.storage.history import topic_name
from penstock.kafka.topic_guard import ClusterIds
from penstock.settings import ExactlyOnceSource, WorkerSettings

log = logging.getLogger(__name__)

Config = Mapping[str, str]
Props = Mapping[str, str | None]
Problem = tuple[str, str]
GROUP = f"{CONSUMER}group.id"
_USES = ("configs", "offsets", "statuses", "history", "audit", "cluster-id")
_AUDIT = "penstock.audit.topic"
WAIT_S = 10.0
"""Maximum wait until a record that was read counts."""


@dataclass(frozen=True, slots=True)
class KnownConnectors:
    """Facts that the worker has read about its group's connectors. Any thread may call these."""

    configs: Callable[[], Iterable[tuple[str, Config, int]]] = tuple
    """Returns each connector's name, configuration and number of tasks."""
    active: Callable[[], Iterable[tuple[str, str]]] = tuple
    """Returns active topics (KIP-558), each with the name of its connector."""
    is_source: Callable[[Config], bool] = lambda config: False
    is_query_sink: Callable[[Config], bool] = lambda config: False
    """Returns whether it is a sink whose task is a query, which keeps its position in its group."""
    resolve: Callable[[Config], dict[str, str]] = dict
    """Replaces references to config providers. May block."""
    cluster_id: Callable[[], str] = str
    """Returns the ID of the worker's cluster. May block."""


@dataclass(frozen=True, slots=True)
class WorkerTopics:
    """The internal topics of one worker. Its methods may block; any thread may call them."""

    settings: WorkerSettings
    known: KnownConnectors = field(default_factory=KnownConnectors)
    clusters: ClusterIds = field(default_factory=ClusterIds)

    def internal(self) -> InternalTopics:
        """Return all internal topics that are known now, with the IDs of their clusters."""
        return replace(self._here(), cluster=self.known.cluster_id(), elsewhere=tuple(self._elsewhere()))

    def _here(self) -> InternalTopics:
        """Return the topics of the worker's cluster, whose ID is left open."""
        config, owners = self.settings.config, dict[str, str]()
        for _, topic, servers in self._of_connectors():
            if servers is None:
                owners[topic] = OFFSETS_OF_CONNECTOR
        owners |= {topic: f"the worker's `{_AUDIT}`" for topic in [(config.get(_AUDIT) or "").strip()] if topic}
        if self.settings.distributed:
            if history := topic_name(config):
                owners[history] = "the history topic of the worker"
            owners[config["status.storage.topic"].strip()] = "the worker's `status.storage.topic`"
            owners[config["offset.storage.topic"].strip()] = OFFSETS_OF_WORKER
            owners[config["config.storage.topic"].strip()] = "the worker's `config.storage.topic`"
        denied = tuple(self.settings.values.get(TOPICS_DENIED) or ())
        return InternalTopics(owners, denied, servers=bootstrap_servers(config))

    def _elsewhere(self) -> Iterator[tuple[str, str]]:
        for _, topic, settings in self._of_connectors():
            if settings is not None and (cluster := self.clusters.of(settings)):
                yield cluster, topic

    def _of_connectors(self) -> Iterator[tuple[str, str, Config | None]]:
        """Yield the connectors that have an offsets topic of their own, with its name, and the settings of a client of
        its cluster; None for one that has an address in common with the worker's.
        """
        worker = self.settings.config
        exactly_once = self.settings.exactly_once is ExactlyOnceSource.ENABLED
        if not self.settings.distributed:
            return
        for name, config, _ in self.known.configs():
            elsewhere = f"{PRODUCER}bootstrap.servers" in config
            if not (config.get(OFFSETS_TOPIC) or (elsewhere and exactly_once)) or not self.known.is_source(config):
                continue
            try:
                resolved = {**self.known.resolve(config), "name": name}
            except (KafkaError, ValueError, OSError) as error:
                log.warning("The offsets topic of connector %s is not known: %s", name, error)
                continue
            if topic := own_offsets_topic(worker, resolved):
                settings = connector_producer(worker, resolved, "penstock-cluster-id")
                here = InternalTopics(servers=bootstrap_servers(worker)).is_here(bootstrap_servers(settings))
                yield name, topic, None if here else settings

    # -- a connector's configuration

    def problems(self, found: PluginClass | None, props: Props, *, may_connect: Callable[[], bool]) -> list[Problem]:
        """Find settings of a resolved configuration that name what is internal.

        ``may_connect`` returns whether its clients' settings are allowed, so that their brokers may be asked for the ID
        of their cluster; otherwise clusters with other addresses than the worker's are left to the check at run time.
        """
        if found is None:
            return []
        given = {name: value for name, value in props.items() if value is not None}
        source = Kind.SOURCE in found.kinds
        internal = self._here()
        asks = self._may_be_elsewhere(found.java_name, given, source, internal) and may_connect()
        if asks:
            internal = self.internal()

        def cluster_of(client: str) -> str | None:
            settings = self._client(client, given)
            if internal.is_here(bootstrap_servers(settings)):
                return internal.cluster
            return self.clusters.of(settings) if asks else None

        return [
            *topic_problems(found.java_name, given, source, internal, cluster_of),
            *self._of_offsets(found.java_name, given, source, internal),
            *(() if source else self._of_group(found, given)),
            *(name_problems(given, self._names(given.get("name", ""))) if _has_names(given) else ()),
        ]

    def check(self, found: PluginClass | None, props: Props, *, may_connect: Callable[[], bool]) -> None:
        """Do the same before clients are made. Raises InternalTopicError."""
        for key, problem in self.problems(found, props, may_connect=may_connect):
            raise InternalTopicError(f"{key}: {problem}")
        if found is not None and Kind.SINK in found.kinds:
            given = {name: value for name, value in props.items() if value is not None}
            group = connector_consumer(self.settings.config, given, "")["group.id"]
            if joins := joins_worker_group(group, self._names()):
                raise InternalTopicError(joins)

    def _may_be_elsewhere(self, connector: str, props: Config, source: bool, internal: InternalTopics) -> bool:
        """Whether a topic has an internal one's name, and its client other addresses than the worker."""
        return any(
            not internal.is_here(bootstrap_servers(self._client(use.client, props)))
            and (internal.suspects({use.topic}, writing=use.writing) or self._has_offsets(use.topic))
            for use in topic_uses(connector, props, source)
        )

    def _has_offsets(self, topic: str) -> bool:
        return any(name == topic for _, name, servers in self._of_connectors() if servers is not None)

    def _client(self, prefix: str, props: Config) -> dict[str, str]:
        """Return the settings of a connector's client by their prefix, see ``TopicUse``."""
        worker = self.settings.config
        if prefix == PRODUCER:
            return connector_producer(worker, props, "penstock-cluster-id")
        if prefix == CONSUMER:
            return connector_consumer(worker, props, "penstock-cluster-id")
        own = with_prefix(props, prefix)
        if prefix == OPTIONS:  # Spark takes names of options in any case
            lower = {name.strip().casefold(): value for name, value in props.items()}
            own = with_prefix(lower, prefix)
        return {name: value for name, value in own.items() if name in ADMIN_SETTINGS.keys}

    def _of_offsets(self, connector: str, props: Config, source: bool, internal: InternalTopics) -> Iterator[Problem]:
        """Yield a topic for the connector's own offsets in which other connectors have records: it would become
        internal, and theirs would be refused.
        """
        topic = own_offsets_topic(self.settings.config, props) if source and self.settings.distributed else None
        if (
            topic is None
            or topic in internal.owners
            or not internal.is_here(connector_producer(self.settings.config, props, "")["bootstrap.servers"])
        ):
            return
        own, others = props.get("name", ""), set[str]()
        others |= {name for active, name in self.known.active() if active == topic}
        for name, config, _ in self.known.configs():
            if any(
                use.topic == topic
                and not use.offsets
                and internal.is_here(bootstrap_servers(self._client(use.client, config)))
                for use in topic_uses("", config, self.known.is_source(config))
            ):
                others.add(name)
        if others - {own}:
            yield OFFSETS_TOPIC, f"{topic} has records of other connectors: name a topic for offsets alone"

    def _of_group(self, found: PluginClass, props: Config) -> Iterator[Problem]:
        """Yield a group that another sink of this worker's group has, if one of the two is a query: its position is the
        group's offsets with their metadata, and the other's commits would replace it. Ordinary sinks may share a group.
        """
        own, query = props.get("name"), isinstance(found.type, type) and issubclass(found.type, QuerySinkConnector)
        if own is None:
            return
        group, brokers = self._group_of(own, props)
        for name, config, _ in self.known.configs():
            if name == own or (GROUP not in props and GROUP not in config):
                continue
            try:
                given = config.get(GROUP, "") + config.get(f"{CONSUMER}bootstrap.servers", "")
                resolved = self.known.resolve(config) if "${" in given else config
            except (KafkaError, ValueError, OSError) as error:
                log.warning("The consumer group of connector %s is not known: %s", name, error)
                continue
            its_group, its_brokers = self._group_of(name, resolved)
            if group != its_group or brokers.isdisjoint(its_brokers) or self.known.is_source(config):
                continue
            if query or self.known.is_query_sink(config):
                yield (
                    GROUP if GROUP in props else "name",
                    f"Consumer group {group} is that of connector {name}, and {own if query else name} keeps its "
                    "position in its group alone: each would continue at the other's position. Use a group that no "
                    "other connector has",
                )

    def _group_of(self, name: str, props: Config) -> tuple[str, frozenset[str]]:
        """Return the consumer group of a sink and the addresses of its brokers."""
        given = {key: props[key] for key in (GROUP, f"{CONSUMER}bootstrap.servers") if key in props}
        settings = connector_consumer(self.settings.config, {**given, "name": name}, "")
        return settings["group.id"], frozenset(each.strip() for each in bootstrap_servers(settings).split(","))

    def _names(self, connector: str | None = None) -> WorkerNames:
        worker, group = self.settings.config, self.settings.group
        if group is None or connector is None:
            return WorkerNames(None if group is None else group.group_id, (), ())
        id = group.group_id
        transactional = {f"connect-cluster-{id}"}
        for name, _, tasks in self.known.configs():
            if name != connector:
                transactional |= {group_of(name), *(transactional_id(id, name, task) for task in range(max(tasks, 1)))}
        clients = {own_client_id(worker, use) for use in _USES}
        return WorkerNames(id, clients | {f"{each}-leader" for each in clients}, transactional)


class TopicUpdates:
    """Sends the internal topics to running tasks when a connector gets or loses an offsets topic of its own.

    ``observe`` is called by the worker's loop with every event; the rest is done on a thread, since it may block.
    """

    def __init__(
        self,
        topics: WorkerTopics,
        position: Callable[[], int],
        send: Callable[[InternalTopics], None],
    ) -> None:
        """``position`` returns the position after the last record of the config topic that counts."""
        self._topics, self._position, self._send = topics, position, send
        self._sent: InternalTopics | None = None
        self._wanted: int | None = None
        """Position up to which the topics are to be found; None if no thread is at work."""
        self._lock = threading.Lock()

    def observe(self, event: LoopEvent) -> None:
        if not isinstance(event, ConfigRead):
            return
        records = [entry.record for entry in event.entries if isinstance(entry.record, ConnectorConfig)]
        if any(record.config is None or _may_have_offsets(record.config) for record in records):
            with self._lock:
                works, self._wanted = self._wanted is not None, event.entries[-1].offset + 1
            if not works:
                threading.Thread(target=self._run, name="internal-topics", daemon=True).start()

    def _run(self) -> None:
        while (wanted := self._wanted) is not None:
            end = time.monotonic() + WAIT_S
            while self._position() < wanted and time.monotonic() < end:
                time.sleep(0.01)
            try:
                found = self._topics.internal()
            except Exception as error:
                log.warning("The internal topics could not be sent to running tasks: %s", error)
            else:
                if found != self._sent:
                    self._sent = found
                    self._send(found)
            with self._lock:
                if self._wanted == wanted:
                    self._wanted = None


def _may_have_offsets(config: Config) -> bool:
    return OFFSETS_TOPIC in config or f"{PRODUCER}bootstrap.servers" in config


def _has_names(props: Config) -> bool:
    return any(name.strip().endswith(("client.id", "transactional.id", "group.id")) for name in props)
