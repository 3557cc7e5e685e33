"""The settings of a worker: Java's names, types and defaults, and Penstock's own.

Java: ``WorkerConfig``, ``DistributedConfig``, ``StandaloneConfig`` and ``RestServerConfig`` of 4.3.1, with the settings
that 4.4.0 has added. The tables are lines of name, type, importance and default, as in ``core/config/clients``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.config_tables import define_table
from penstock.api.errors import ConfigError
from penstock.api.kafka_security import SECURITY_SETTINGS
from penstock.api.validators import (
    CaseInsensitiveValidString,
    Described,
    NonEmptyString,
    ValidString,
    at_least,
    between,
)
from penstock.core.config.runtime_settings import define_worker_settings
from penstock.core.model.limits import MAX_GROUP_BYTES
from penstock.core.session_keys import DEFAULT_KEY_SIZES, DIGESTS
from penstock.settings.alerts import define_alerts
from penstock.settings.documentation import documented, of_https
from penstock.settings.security import define_access, define_permissions, define_rest_limits
from penstock.settings.telemetry import define_telemetry

_WORKER = """
key.converter CLASS HIGH !
key.converter.plugin.version STRING LOW
value.converter CLASS HIGH !
value.converter.plugin.version STRING LOW
header.converter CLASS LOW org.apache.kafka.connect.storage.SimpleHeaderConverter
header.converter.plugin.version STRING LOW
task.shutdown.graceful.timeout.ms LONG LOW 5000
offset.flush.interval.ms LONG LOW 60000
offset.flush.timeout.ms LONG LOW 5000
plugin.path LIST LOW
metric.reporters LIST LOW org.apache.kafka.common.metrics.JmxReporter
config.providers LIST LOW ""
connector.client.config.override.policy STRING MEDIUM All
connector.client.config.override.allowlist LIST LOW ""
topic.creation.enable BOOLEAN LOW true
topic.tracking.enable BOOLEAN LOW true
topic.tracking.allow.reset BOOLEAN LOW true
rest.advertised.host.name STRING LOW
rest.advertised.port INT LOW
rest.advertised.listener STRING LOW
access.control.allow.origin STRING LOW ""
access.control.allow.methods STRING LOW ""
response.http.headers.config STRING LOW ""
rest.extension.classes LIST LOW ""
"""
_DISTRIBUTED = """
session.timeout.ms INT HIGH 10000
rebalance.timeout.ms INT HIGH 60000
heartbeat.interval.ms INT HIGH 3000
client.id STRING LOW ""
connections.max.idle.ms LONG MEDIUM 540000
worker.sync.timeout.ms INT MEDIUM 3000
worker.unsync.backoff.ms INT MEDIUM 300000
inter.worker.key.size INT LOW
internal.topics.automatic.creation.enable BOOLEAN MEDIUM true
metadata.cluster.check.enable BOOLEAN LOW true
"""
_AT_LEAST_ZERO = """
request.timeout.ms INT MEDIUM 40000
metadata.max.age.ms LONG LOW 300000
reconnect.backoff.ms LONG LOW 50
reconnect.backoff.max.ms LONG LOW 1000
socket.connection.setup.timeout.ms LONG LOW 10000
socket.connection.setup.timeout.max.ms LONG LOW 30000
retry.backoff.ms LONG LOW 100
retry.backoff.max.ms LONG LOW 1000
metadata.recovery.rebootstrap.trigger.ms LONG LOW 300000
bootstrap.resolve.timeout.ms LONG LOW 0
"""
_OWN = """
java.security.auth.login.config STRING LOW
penstock.java.home STRING LOW
penstock.java.opts STRING LOW
penstock.java.ship BOOLEAN LOW false
penstock.jdbc.drivers STRING LOW
penstock.query.slots INT LOW 0
penstock.task.lease.ms LONG LOW
"""
ALGORITHMS = tuple(DIGESTS)


def standalone_config() -> ConfigDef:
    """Return the settings of a standalone worker."""
    config = _worker_config().define("offset.storage.file.filename", ConfigType.STRING, importance=Importance.HIGH)
    return documented(config)


def distributed_config() -> ConfigDef:
    """Return the settings of a worker of a group."""
    config = define_table(_worker_config(), _DISTRIBUTED)
    for key in define_table(ConfigDef(), _AT_LEAST_ZERO).keys.values():
        config.add(replace(key, validator=at_least(0)))
    for name in ("group.id", "offset.storage.topic", "config.storage.topic", "status.storage.topic"):
        config.define(name, ConfigType.STRING, validator=NonEmptyString(), importance=Importance.HIGH)
    for name in ("send.buffer.bytes", "receive.buffer.bytes"):
        config.define(name, ConfigType.INT, 131072 if name.startswith("send") else 32768, at_least(-1))
    config.add(replace(SECURITY_SETTINGS.keys[_PROTOCOL], validator=CaseInsensitiveValidString(*_PROTOCOLS)))
    support = CaseInsensitiveValidString("disabled", "preparing", "enabled")
    config.define("exactly.once.source.support", ConfigType.STRING, "disabled", support, Importance.HIGH)
    config.define("exactly.once.source.enabled", ConfigType.BOOLEAN, False, importance=Importance.HIGH)
    for topic, partitions in (("offset", 25), ("status", 5)):
        config.define(f"{topic}.storage.partitions", ConfigType.INT, partitions, _PARTITIONS, Importance.LOW)
    for topic in ("config", "offset", "status"):
        config.define(f"{topic}.storage.replication.factor", ConfigType.SHORT, 3, _REPLICATION_FACTOR, Importance.LOW)
    config.define("connect.protocol", ConfigType.STRING, "sessioned", _CONNECT_PROTOCOL, Importance.LOW)
    for name, default in (("scheduled.rebalance.max.delay.ms", 300_000), ("inter.worker.key.ttl.ms", 3_600_000)):
        config.define(name, ConfigType.INT, default, between(0, 2**31 - 1), Importance.LOW)
    config.define("inter.worker.key.generation.algorithm", ConfigType.STRING, "HmacSHA256", _ALGORITHM, Importance.LOW)
    config.define("inter.worker.signature.algorithm", ConfigType.STRING, "HmacSHA256", _ALGORITHM, Importance.LOW)
    config.define("inter.worker.verification.algorithms", ConfigType.LIST, "HmacSHA256", _ALGORITHMS, Importance.LOW)
    config.define("penstock.group.max.bytes", ConfigType.INT, MAX_GROUP_BYTES, at_least(1000), Importance.LOW)
    recovery = CaseInsensitiveValidString("rebootstrap", "none")
    config.define("metadata.recovery.strategy", ConfigType.STRING, "rebootstrap", recovery, Importance.LOW)
    return documented(config)


def _worker_config() -> ConfigDef:
    config = ConfigDef().define("bootstrap.servers", ConfigType.LIST, validator=_BOOTSTRAP, importance=Importance.HIGH)
    define_table(config, _WORKER)
    lookups = ValidString("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")
    config.define("client.dns.lookup", ConfigType.STRING, "use_all_dns_ips", lookups)
    config.define("listeners", ConfigType.LIST, "http://:8083", _LISTENERS, Importance.LOW)
    config.define("admin.listeners", ConfigType.LIST, None, _ADMIN_LISTENERS, Importance.LOW)
    discovery = CaseInsensitiveValidString("only_scan", "service_load", "hybrid_warn", "hybrid_fail")
    config.define("plugin.discovery", ConfigType.STRING, "hybrid_warn", discovery, Importance.LOW)
    kafkas = ValidString("4.3", "4.4")
    config.define("penstock.java.kafka.version", ConfigType.STRING, "4.3", kafkas, Importance.LOW)
    processes = ValidString("connector", "worker")
    config.define("penstock.java.process", ConfigType.STRING, "connector", processes, Importance.LOW)
    config.define("metrics.sample.window.ms", ConfigType.LONG, 30_000, at_least(0), Importance.LOW)
    config.define("metrics.num.samples", ConfigType.INT, 2, at_least(1), Importance.LOW)
    config.define("metrics.recording.level", ConfigType.STRING, "INFO", ValidString("INFO", "DEBUG"), Importance.LOW)
    config.define(
        "ssl.client.auth", ConfigType.STRING, "none", ValidString("required", "requested", "none"), Importance.LOW
    )
    for name, key in SECURITY_SETTINGS.keys.items():
        if name != _PROTOCOL:  # which only workers of a group have, with a check of their own
            config.add(replace(key, documentation=key.documentation + of_https(name)))
    _define_history(config)
    _define_logs(config)
    _define_page(config)
    define_telemetry(config)
    define_alerts(config)
    define_worker_settings(config)
    _define_stalls(config)
    define_rest_limits(config)
    define_permissions(config)
    define_access(config)
    return define_table(config, _OWN)


def _define_stalls(config: ConfigDef) -> None:
    config.define(
        "penstock.task.stalled.after.ms",
        ConfigType.LONG,
        300_000,
        at_least(1_000),
        Importance.LOW,
        "After so many milliseconds in one call of a method of its connector, such as `poll` or `put`, or in one batch "
        "of a query, a task is stalled: its status says so, and where it is.",
    )
    config.define(
        "penstock.stalled.action",
        ConfigType.STRING,
        "report",
        ValidString("report", "restart"),
        Importance.LOW,
        "What to do about a stalled task: `report` it, or `restart` it, by force if it does not end when stopped.",
    )
    config.define(
        "penstock.config.strict",
        ConfigType.BOOLEAN,
        False,
        importance=Importance.LOW,
        documentation="Whether a connector's configuration is refused for a setting that has no effect, a misspelt one "
        "for example. Otherwise there is a warning in the worker's log.",
    )
    config.define(
        "penstock.health.tasks",
        ConfigType.BOOLEAN,
        False,
        importance=Importance.LOW,
        documentation="Whether `GET /health` answers 500 while a connector or a task of this worker is failed or "
        "stalled, or one of its Spark applications is being started again.",
    )


def _define_history(config: ConfigDef) -> None:
    config.define(
        "penstock.history.topic",
        ConfigType.STRING,
        None,
        importance=Importance.LOW,
        documentation="The topic that keeps every version of every connector's configuration and target state, and "
        "what happened to connectors and tasks; by default the config topic's name and `-history`. Empty: no history. "
        "A standalone worker keeps it in memory.",
    )
    config.define(
        "penstock.history.retention.ms",
        ConfigType.LONG,
        90 * 24 * 3_600_000,
        at_least(60_000),
        Importance.LOW,
        "For how long the history is kept.",
    )


def _define_page(config: ConfigDef) -> None:
    config.define(
        "penstock.ui.enabled",
        ConfigType.BOOLEAN,
        True,
        importance=Importance.LOW,
        documentation="Whether the worker serves the web page `/ui`.",
    )


def _define_logs(config: ConfigDef) -> None:
    config.define("penstock.log.format", ConfigType.STRING, "text", ValidString("text", "json"), Importance.LOW)
    config.define(
        "penstock.logs.lines",
        ConfigType.INT,
        500,
        between(0, 10_000),
        Importance.LOW,
        "How many of the last log lines of each connector and its tasks a worker keeps in memory, for `penstock logs`.",
    )


_PROTOCOL = "security.protocol"
_PROTOCOLS = ("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT")


def _check_bootstrap(name: str, value: Any) -> None:
    if not value:
        raise ConfigError(f"`{name}` is empty; expected addresses of brokers, such as `localhost:9092`")


def _check_listeners(name: str, value: Any) -> None:
    if not value:
        example = "at least one URL is expected, ex: http://localhost:8080,https://localhost:8443."
        raise ConfigError(f"Invalid value for listeners, {example}")
    if "" in value:
        raise ConfigError("Empty URL found when parsing listeners list.")


def _check_admin_listeners(name: str, value: Any) -> None:
    if value and "" in value:
        raise ConfigError("Empty URL found when parsing admin.listeners list.")


def _check_partitions(name: str, value: Any) -> None:
    if value != -1 and value < 1:
        raise ConfigError(name, value, "Number of partitions must be positive, or -1 to use the broker's default")


def _check_replication_factor(name: str, value: Any) -> None:
    if value != -1 and value < 1:
        problem = "Replication factor must be positive and not larger than the number of brokers in the Kafka cluster"
        raise ConfigError(name, value, f"{problem}, or -1 to use the broker's default")


def _check_protocol(name: str, value: Any) -> None:
    if (value or "").lower() not in ("eager", "compatible", "sessioned"):
        raise ConfigError(name, value, "Invalid Connect protocol compatibility")


def _check_algorithm(name: str, value: Any) -> None:
    if value not in ALGORITHMS or value not in DEFAULT_KEY_SIZES:
        raise ConfigError(name, value, f"the algorithm is not supported; the supported algorithms are: {[*ALGORITHMS]}")


def _check_algorithms(name: str, value: Any) -> None:
    if not value:
        raise ConfigError(name, value, "At least one signature verification algorithm must be provided")
    for each in value:
        _check_algorithm(name, each)


_BOOTSTRAP = Described(_check_bootstrap, "addresses of brokers")
_LISTENERS = Described(
    _check_listeners, "List of comma-separated URLs, ex: http://localhost:8080,https://localhost:8443."
)
_ADMIN_LISTENERS = Described(_check_admin_listeners, str(_LISTENERS))
_PARTITIONS = Described(_check_partitions, "Positive number, or -1 to use the broker's default")
_REPLICATION_FACTOR = Described(_check_replication_factor, "Positive number, or -1 to use the broker's default")
_CONNECT_PROTOCOL = Described(_check_protocol, "[eager, compatible, sessioned]")
_ALGORITHM = Described(_check_algorithm, ", ".join(ALGORITHMS))
_ALGORITHMS = Described(_check_algorithms, f"A list of one or more of {', '.join(ALGORITHMS)}")
