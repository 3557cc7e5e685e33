"""A mirror connector's configuration: typed values, the names of its topics, and the settings of its clients; and the
base of the connectors.

Clients of the source cluster get ``source.cluster.*`` (addresses and security), then ``consumer.*``, ``producer.*`` or
``admin.*``, then ``source.consumer.*`` and so on; and correspondingly those of the target cluster. Java: the methods of
``MirrorConnectorConfig`` and of its subclasses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from penstock import KAFKA_VERSION
from penstock.api.check import KafkaTarget, TargetCheck
from penstock.api.config import ConfigDef, ConfigValue, with_prefix
from penstock.api.connector import SourceConnector
from penstock.api.errors import ConfigError, KafkaError
from penstock.api.kafka import KafkaAdmin, KafkaClients
from penstock.api.kafka_security import SECURITY_SETTINGS
from penstock.api.runtime_hooks import ShowsRuntimeSettings
from penstock.api.sink import TopicPartition
from penstock.connectors.mirror.classes import FORWARDING_ADMIN, configured
from penstock.connectors.mirror.classes.filters import (
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
)
from penstock.connectors.mirror.classes.policy import DefaultReplicationPolicy
from penstock.connectors.mirror.settings import Settings

# These begin like settings of clients, but are the connector's own.
_NOT_CLIENTS = {"consumer.poll.timeout.ms", "admin.timeout.ms"}
PREFIXES = (
    *(f"{cluster}.{of}." for cluster in ("source", "target") for of in ("cluster", "admin", "consumer", "producer")),
    *("admin.", "consumer.", "producer.", "topic.filter.", "group.filter.", "replication.policy.", "config."),
)
"""Prefixes of settings of clients, and of classes of the user's own."""
_CLUSTER_WIDE = {"bootstrap.servers", *SECURITY_SETTINGS.keys}


def consumer_settings(config: Mapping[str, str], cluster: str) -> dict[str, str]:
    """The settings of consumers of a cluster, ``source`` or ``target``, without ``client.id``."""
    settings = _client_settings(config, cluster, "consumer")
    return {"auto.offset.reset": "earliest", **settings, "enable.auto.commit": "false"}


def _client_settings(config: Mapping[str, str], cluster: str, client: str) -> dict[str, str]:
    given = {name: value for name, value in config.items() if name not in _NOT_CLIENTS}
    shared = with_prefix(given, f"{cluster}.cluster.")
    overrides = {"producer": "override."}.get(client)  # those belong to the worker's own producer of the task
    own = {
        name: value
        for name, value in with_prefix(given, f"{client}.").items()
        if overrides is None or not name.startswith(overrides)
    }
    return {
        **{name: value for name, value in shared.items() if name in _CLUSTER_WIDE},
        **own,
        **with_prefix(given, f"{cluster}.{client}."),
    }


class MirrorConfig:
    """``values`` holds the typed value of every setting. Raises ConfigError for what can't be used."""

    def __init__(self, settings: Settings, config: Mapping[str, str]) -> None:
        self.given = dict(config)
        self.values = settings.parse(config)
        admin = self.values["forwarding.admin.class"]
        if admin != FORWARDING_ADMIN:
            why = f"Other classes of admin clients are not supported; leave it out, or use {FORWARDING_ADMIN}"
            raise ConfigError("forwarding.admin.class", admin, why)
        name = "replication.policy.class"
        self.policy: DefaultReplicationPolicy = configured(name, self.values[name], "format_remote_topic", self.given)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    # -- the connector

    @property
    def name(self) -> str:
        return self.given.get("name", "")

    @property
    def source(self) -> str:
        """The alias of the source cluster."""
        alias: str = self["source.cluster.alias"]
        return alias

    @property
    def target(self) -> str:
        alias: str = self["target.cluster.alias"]
        return alias

    @property
    def label(self) -> str:
        """The name in client ids and log lines."""
        index = "" if self["task.index"] is None else f"-{self['task.index']}"
        return f"{self.source}->{self.target}|{self.name}{index}"

    @property
    def admin_timeout(self) -> float:
        """Seconds."""
        milliseconds: int = self["admin.timeout.ms"]
        return milliseconds / 1000

    def interval(self, what: str) -> float | None:
        """The seconds of ``<what>.interval.seconds``; None if ``<what>.enabled`` is false or the interval negative."""
        seconds: int = self[f"{what}.interval.seconds"]
        return seconds if self[f"{what}.enabled"] and seconds >= 0 else None

    def topic_filter(self) -> DefaultTopicFilter:
        found: DefaultTopicFilter = self._filter("topic.filter.class", "should_replicate_topic")
        return found

    def group_filter(self) -> DefaultGroupFilter:
        found: DefaultGroupFilter = self._filter("group.filter.class", "should_replicate_group")
        return found

    def config_property_filter(self) -> DefaultConfigPropertyFilter:
        found: DefaultConfigPropertyFilter = self._filter(
            "config.property.filter.class", "should_replicate_config_property"
        )
        return found

    def _filter(self, setting: str, method: str) -> Any:
        return configured(setting, self[setting], method, {**self.given, **self.values})

    # -- topics

    @property
    def offset_syncs_cluster(self) -> str:
        """``source`` or ``target``."""
        location: str = self["offset-syncs.topic.location"]
        return location

    @property
    def offset_syncs_topic(self) -> str:
        return self.policy.offset_syncs_topic(self.target if self.offset_syncs_cluster == "source" else self.source)

    @property
    def checkpoints_topic(self) -> str:
        return self.policy.checkpoints_topic(self.source)

    def task_partitions(self) -> list[TopicPartition]:
        """The source partitions that a task was given."""
        encoded = [text.rpartition("-") for text in self["task.assigned.partitions"] or ()]
        return [TopicPartition(topic, int(number)) for topic, _, number in encoded]

    # -- clients

    def check_topics(self, kafka: KafkaClients, cluster: str, topics: Iterable[str], *, writing: bool) -> None:
        """Raise ConnectError for a topic of a cluster that belongs to workers or Kafka."""
        kafka.check_topics(self.admin(cluster, "topic-guard"), topics, writing=writing)

    def admin(self, cluster: str, role: str) -> dict[str, str]:
        return self._named(_client_settings(self.given, cluster, "admin"), role)

    def new_admin(self, kafka: KafkaClients, cluster: str, role: str, *, asks_groups: bool = False) -> KafkaAdmin:
        """Raises KafkaError if no address of the cluster can be resolved."""
        settings = self.admin(cluster, role)
        try:
            return kafka.admin(settings, asks_groups=asks_groups)
        except KafkaError as e:
            raise KafkaError(f"The constructor of {FORWARDING_ADMIN} threw an exception") from e

    def producer(self, cluster: str, role: str) -> dict[str, str]:
        return self._named(_client_settings(self.given, cluster, "producer"), role)

    def consumer(self, cluster: str, role: str) -> dict[str, str]:
        return self._named(consumer_settings(self.given, cluster), role)

    def _named(self, settings: dict[str, str], role: str) -> dict[str, str]:
        own = f"{self.label}|{role}"
        given = settings.get("client.id")
        return {**settings, "client.id": own if given is None else f"{given}|{own}"}


class MirrorConnector(SourceConnector, ShowsRuntimeSettings):
    """Base of the three mirror connectors."""

    setting_prefixes = PREFIXES
    settings: ClassVar[Settings]

    @classmethod
    def version(cls) -> str:
        return KAFKA_VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return cls.settings.own

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return self.settings.validate(config)

    def check_target(self, config: Mapping[str, str]) -> TargetCheck:
        """Yield both clusters, with the settings of the clients that the connector has there."""
        mirror = MirrorConfig(self.settings, config)
        for cluster in ("source", "target"):
            yield KafkaTarget(f"{cluster} cluster", mirror.admin(cluster, "check"))
