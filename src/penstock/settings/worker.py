"""A worker's settings, typed. ``load_settings`` reads them from a file once, at the start."""

from __future__ import annotations

import enum
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from penstock.api.config import with_prefix
from penstock.api.errors import ConfigError
from penstock.core.config.converter import CONVERTERS
from penstock.files import read_file
from penstock.java.errors import PropertiesError
from penstock.java.properties import parse_properties
from penstock.settings.alerts import check_alerts
from penstock.settings.definitions import distributed_config, standalone_config
from penstock.settings.providers import BUILT_IN, ConfigTransformer, references
from penstock.settings.telemetry import check_telemetry
from penstock.settings.unsupported_settings import refuse_java_only, unknown_settings, without_effect

log = logging.getLogger(__name__)

_LEAST_KEY_BITS = 40
_OF_GROUPS = (
    "group.id",
    "config.storage.topic",
    "offset.storage.topic",
    "status.storage.topic",
    "exactly.once.source.support",
    "exactly.once.source.enabled",
)
"""Settings that a standalone worker ignores, as in Java."""


class ExactlyOnceSource(enum.Enum):
    """``exactly.once.source.support``: a cluster is rolled to PREPARING first, so that all leaders use transactions
    (KIP-618).
    """

    DISABLED = "disabled"
    PREPARING = "preparing"
    ENABLED = "enabled"


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """An internal topic, and how to create it if it is missing. -1 is the broker's default."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]
    """Further settings of the topic; compaction is always added."""


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """The worker's membership in its group; times in milliseconds."""

    group_id: str
    session_timeout_ms: int
    heartbeat_interval_ms: int
    rebalance_timeout_ms: int
    protocol: str
    """``eager``, ``compatible`` or ``sessioned``."""
    scheduled_rebalance_max_delay_ms: int
    sync_timeout_ms: int
    unsync_backoff_ms: int
    max_bytes: int
    """Bytes of all assignments together."""


@dataclass(frozen=True, slots=True)
class SessionKeySettings:
    """Signing of requests between workers (KIP-507)."""

    ttl_ms: int
    algorithm: str
    size: int | None
    signature_algorithm: str
    verification_algorithms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """A worker's settings. ``config`` is all of them as texts, references to config providers resolved."""

    config: Mapping[str, str]
    values: Mapping[str, Any] = field(repr=False)
    """The typed values of the settings that are defined, by name."""
    bootstrap_servers: str
    client_id: str
    plugin_path: tuple[str, ...]
    override_policy: str
    topic_creation: bool
    topic_tracking: bool
    topic_tracking_reset: bool
    offset_flush_interval_ms: int
    offset_flush_timeout_ms: int
    task_shutdown_timeout_ms: int
    exactly_once: ExactlyOnceSource = ExactlyOnceSource.DISABLED
    group: GroupSettings | None = None
    """Group settings; None in standalone mode."""
    session_keys: SessionKeySettings | None = None
    config_topic: InternalTopic | None = None
    offset_topic: InternalTopic | None = None
    status_topic: InternalTopic | None = None
    offset_file: str | None = None
    """Standalone mode: the file that holds source offsets."""
    spark: Mapping[str, str] = field(default_factory=dict)

    @property
    def distributed(self) -> bool:
        return self.group is not None

    @property
    def converters(self) -> dict[str, str | None]:
        """The worker's own converter classes and their versions, by setting."""
        names = [key for name in CONVERTERS for key in (name, f"{name}.plugin.version")]
        return {name: self.values[name] for name in names}

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """The settings of this prefix, without it; ``producer.``, say."""
        return {k.removeprefix(prefix): v for k, v in self.config.items() if k.startswith(prefix) and k != prefix}

    @classmethod
    def distributed_of(cls, config: Mapping[str, str]) -> Self:
        """The settings of a worker of a group. Raises ConfigError."""
        config = _resolved(config)
        values = _parsed(config, distributed_config())
        if values["exactly.once.source.enabled"] and "exactly.once.source.support" not in config:
            exactly_once = ExactlyOnceSource.ENABLED
        else:
            exactly_once = ExactlyOnceSource(values["exactly.once.source.support"].lower())
        _check_alias(config, values, exactly_once)
        _warn_of_clients(values)
        return cls(
            **_common(config, values),
            client_id=values["client.id"],
            exactly_once=exactly_once,
            group=_group(values),
            session_keys=_session_keys(values),
            config_topic=_internal_topic(config, values, "config"),
            offset_topic=_internal_topic(config, values, "offset"),
            status_topic=_internal_topic(config, values, "status"),
        )

    @classmethod
    def standalone_of(cls, config: Mapping[str, str]) -> Self:
        """The settings of a standalone worker. Raises ConfigError."""
        config = _resolved(config)
        values = _parsed(config, standalone_config())
        for name in _OF_GROUPS:
            if name in config:
                log.warning("`%s=%s` has no effect: a standalone worker is in no group", name, config[name])
        own = {name: value for name, value in config.items() if name not in _OF_GROUPS}
        return cls(**_common(own, values), client_id="", offset_file=values["offset.storage.file.filename"])


def load_settings(path: str | Path, standalone: bool = False) -> WorkerSettings:
    """The settings in a file of Java's ``.properties`` format. Raises ConfigError, and OSError if it can't be read."""
    try:
        config = parse_properties(read_file(path, regular=False).decode("iso-8859-1"))  # as Java reads it
    except PropertiesError as error:
        raise ConfigError(f"The properties file {path} cannot be read: {error}") from error
    return WorkerSettings.standalone_of(config) if standalone else WorkerSettings.distributed_of(config)


def _resolved(config: Mapping[str, str]) -> dict[str, str]:
    """With the worker's own references resolved, by the providers that they name. Only Kafka's own are known this
    early: plugins are found where these settings say.
    """

    def built_in(kind: str, name: str) -> type:
        for each in BUILT_IN:
            if name in (each.java_name, each.__name__, each.__name__.removesuffix("ConfigProvider")):
                return each
        raise ConfigError(
            f"The worker's own settings refer to the config provider {name}. They can refer to Kafka's own only: "
            f"{', '.join(c.java_name for c in BUILT_IN)}. One of a jar or in Python is for configurations of connectors"
        )

    names = {reference.provider for value in config.values() for reference in references(value)}
    return ConfigTransformer.of(config, built_in, only=names).transform(config) if names else dict(config)


def _parsed(config: Mapping[str, str], definitions: Any) -> dict[str, Any]:
    refuse_java_only(config)
    known = set(distributed_config().keys) | set(standalone_config().keys)
    for sentence in unknown_settings(config, known) + without_effect(config):
        log.warning("%s", sentence)
    values: dict[str, Any] = definitions.parse(config)
    check_telemetry(values)
    check_alerts(values, config.keys())
    return values


def _common(config: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "config": config,
        "values": values,
        "bootstrap_servers": ",".join(values["bootstrap.servers"]),
        "plugin_path": tuple(path for path in values["plugin.path"] or () if path),
        "override_policy": values["connector.client.config.override.policy"],
        "topic_creation": values["topic.creation.enable"],
        "topic_tracking": values["topic.tracking.enable"],
        "topic_tracking_reset": values["topic.tracking.allow.reset"],
        "offset_flush_interval_ms": values["offset.flush.interval.ms"],
        "offset_flush_timeout_ms": values["offset.flush.timeout.ms"],
        "task_shutdown_timeout_ms": values["task.shutdown.graceful.timeout.ms"],
        "spark": {name: value for name, value in config.items() if name.startswith("spark.")},
    }


def _check_alias(config: Mapping[str, str], values: Mapping[str, Any], exactly_once: ExactlyOnceSource) -> None:
    alias, shipped = "exactly.once.source.enabled", "exactly.once.source.support"
    if alias in config and values[alias] is not (exactly_once is ExactlyOnceSource.ENABLED):
        raise ConfigError(
            f"`{alias}={config[alias]}` contradicts `{shipped}={config[shipped]}`; one of the two is enough"
        )


def _warn_of_clients(values: Mapping[str, Any]) -> None:
    """Java 4.4: ``DistributedConfig.postProcessParsedConfig``."""
    timeout = values["bootstrap.resolve.timeout.ms"]
    if timeout:
        log.warning(
            "The value %d for the bootstrap.resolve.timeout.ms property will be ignored as Kafka Connect does not "
            "support asynchronous bootstrap resolution. The value 0 will be used instead.",
            timeout,
        )
    idle, rebalance = values["connections.max.idle.ms"], values["rebalance.timeout.ms"]
    if 0 <= idle < rebalance:
        log.warning(
            "Configuration 'connections.max.idle.ms' with value '%d' is lower than configuration "
            "'rebalance.timeout.ms' with value '%d'. This may cause the connection to the group coordinator to be "
            "closed during an ongoing rebalance, which can prolong or disrupt group rejoin.",
            idle,
            rebalance,
        )


def _group(values: Mapping[str, Any]) -> GroupSettings:
    session, heartbeat = values["session.timeout.ms"], values["heartbeat.interval.ms"]
    if heartbeat >= session:
        problem = f"Heartbeat must be set lower than the session timeout (`session.timeout.ms={session}`)"
        raise ConfigError("heartbeat.interval.ms", heartbeat, problem)
    return GroupSettings(
        values["group.id"],
        session,
        heartbeat,
        values["rebalance.timeout.ms"],
        values["connect.protocol"].lower(),
        values["scheduled.rebalance.max.delay.ms"],
        values["worker.sync.timeout.ms"],
        values["worker.unsync.backoff.ms"],
        values["penstock.group.max.bytes"],
    )


def _session_keys(values: Mapping[str, Any]) -> SessionKeySettings:
    signature, verification = "inter.worker.signature.algorithm", "inter.worker.verification.algorithms"
    algorithm, size = values["inter.worker.key.generation.algorithm"], values["inter.worker.key.size"]
    if size is not None and size < _LEAST_KEY_BITS:
        raise ConfigError(
            f"Unable to create key generator with algorithm {algorithm} and key size {size}: "
            f"Key length must be at least {_LEAST_KEY_BITS} bits"
        )
    if values[signature] not in values[verification]:
        raise ConfigError(signature, values[signature], f"Signature algorithm must be present in {verification} list")
    return SessionKeySettings(
        values["inter.worker.key.ttl.ms"],
        values["inter.worker.key.generation.algorithm"],
        values["inter.worker.key.size"],
        values[signature],
        tuple(values[verification]),
    )


def _internal_topic(config: Mapping[str, str], values: Mapping[str, Any], kind: str) -> InternalTopic:
    prefix = f"{kind}.storage."
    own = with_prefix(config, prefix)
    if kind == "config" and "partitions" in own:
        log.warning("`%spartitions=%s` has no effect: the config topic has one partition", prefix, own["partitions"])
    if "cleanup.policy" in own:
        log.warning("`%scleanup.policy=%s` has no effect: compaction is always used", prefix, own["cleanup.policy"])
    ours = ("topic", "partitions", "replication.factor", "cleanup.policy")
    return InternalTopic(
        values[f"{prefix}topic"],
        1 if kind == "config" else values[f"{prefix}partitions"],
        values[f"{prefix}replication.factor"],
        {name: value for name, value in own.items() if name not in ours},
    )
