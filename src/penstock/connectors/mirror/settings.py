"""The settings of the three mirror connectors: names, types, defaults and checks of Kafka 4.3.1.

Java: ``MirrorConnectorConfig``, ``MirrorSourceConfig``, ``MirrorCheckpointConfig``, ``MirrorHeartbeatConfig``. As
there, Kafka's security settings are part of each definition, and so are the settings that every connector has, which
the runtime adds (``ShowsRuntimeSettings``). The security settings mean nothing by themselves: clients take theirs from
``source.cluster.`` and ``target.cluster.`` (see ``config``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.api.config import ConfigDef, ConfigValue, to_text
from penstock.api.config_tables import define_table
from penstock.api.kafka_security import SECURITY_CHECKS, SECURITY_SETTINGS
from penstock.api.origin import define_origin_policy
from penstock.api.validators import Validator, ValidList, ValidString
from penstock.connectors.mirror.classes import load
from penstock.connectors.mirror.source.identities import PROCEED, RESTART

_BASE = """
enabled BOOLEAN LOW true
    Whether to replicate from the source to the target cluster.
source.cluster.alias STRING HIGH !
    Name of the source cluster.
target.cluster.alias STRING HIGH target
    Name of the target cluster.
admin.timeout.ms LONG LOW 60000
    Timeout of administrative tasks, such as finding new topics.
replication.policy.class CLASS LOW org.apache.kafka.connect.mirror.DefaultReplicationPolicy
    The class that defines the names of mirrored topics.
replication.policy.separator STRING LOW .
    The separator between the alias of the cluster and the name of the topic in the name of a mirrored topic.
replication.policy.internal.topic.separator.enabled BOOLEAN LOW true
    Whether the names of the checkpoints and offset-syncs topics have this separator too, or a dot.
forwarding.admin.class CLASS LOW org.apache.kafka.clients.admin.ForwardingAdmin
    The class of admin clients. Only Kafka's own is supported here.
metric.reporters LIST LOW org.apache.kafka.common.metrics.JmxReporter
    Java classes that report metrics. Only the default, or none, is supported here.
"""

_UNCOPIED = ",".join(
    (
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "message.timestamp.difference.max.ms",
        "log.message.timestamp.before.max.ms",
        "log.message.timestamp.after.max.ms",
        "message.timestamp.type",
        "unclean.leader.election.enable",
        "min.insync.replicas",
    )
)

_SOURCE = f"""
topics LIST HIGH .*
    Topics to mirror: names and regular expressions.
topics.exclude LIST HIGH mm2.*\\.internal,.*\\.replica,__.*
    Topics to exclude, even if `topics` matches them: names and regular expressions.
config.properties.exclude LIST HIGH {_UNCOPIED}
    Topic settings that are not copied to mirrored topics: names and regular expressions.
topic.filter.class CLASS LOW org.apache.kafka.connect.mirror.DefaultTopicFilter
    The class that selects the topics to mirror.
config.property.filter.class CLASS LOW org.apache.kafka.connect.mirror.DefaultConfigPropertyFilter
    The class that selects the topic settings to copy.
consumer.poll.timeout.ms LONG LOW 1000
    How long to wait for records of the source cluster.
refresh.topics.enabled BOOLEAN LOW true
    Whether to periodically check for new topics and partitions.
refresh.topics.interval.seconds LONG LOW 600
    Interval of these checks.
sync.topic.configs.enabled BOOLEAN LOW true
    Whether to keep the settings of mirrored topics in sync with their sources.
sync.topic.configs.interval.seconds LONG LOW 600
    Interval of copying settings.
sync.topic.acls.enabled BOOLEAN LOW true
    Whether to keep the ACLs of mirrored topics in sync with their sources.
sync.topic.acls.interval.seconds LONG LOW 600
    Interval of copying ACLs.
replication.factor INT LOW 2
    Replication factor of topics that are created on the target cluster.
offset-syncs.topic.replication.factor SHORT LOW 3
    Replication factor of the offset-syncs topic.
offset.lag.max LONG LOW 100
    Maximum lag, in records, of a translated offset before a new offset sync is written at once.
offset-syncs.topic.location STRING LOW source
    The cluster of the offset-syncs topic, `source` or `target`.
emit.offset-syncs.enabled BOOLEAN LOW true
    Whether to write offset syncs. They are required for checkpoints and for copying the offsets of groups.
heartbeats.replication.enabled BOOLEAN LOW true
    Whether to mirror heartbeats topics even if the topic filter does not select them.
metric.names.formats LIST LOW legacy
    Deprecated. The format of the names of Java's mirror metrics. Only the default is supported here.
"""

_CHECKPOINT = """
consumer.poll.timeout.ms LONG LOW 1000
    Interval of Java's checks whether checkpoints are due. Without effect: here they are written when they are due.
groups LIST HIGH .*
    Consumer groups whose offsets are translated: names and regular expressions.
groups.exclude LIST HIGH console-consumer-.*,connect-.*,__.*
    Groups to exclude, even if `groups` matches them: names and regular expressions.
group.filter.class CLASS LOW org.apache.kafka.connect.mirror.DefaultGroupFilter
    The class that selects the groups.
refresh.groups.enabled BOOLEAN LOW true
    Whether to periodically check for new groups.
refresh.groups.interval.seconds LONG LOW 600
    Interval of these checks.
emit.checkpoints.enabled BOOLEAN LOW true
    Whether to write checkpoints, the translated offsets of groups.
emit.checkpoints.interval.seconds LONG LOW 60
    Interval of writing checkpoints.
sync.group.offsets.enabled BOOLEAN LOW false
    Whether translated offsets are also committed on the target cluster, for groups that have no members there.
sync.group.offsets.interval.seconds LONG LOW 60
    Interval of these commits.
checkpoints.topic.replication.factor SHORT LOW 3
    Replication factor of the checkpoints topic.
offset-syncs.topic.location STRING LOW source
    The cluster of the offset-syncs topic, `source` or `target`.
topic.filter.class CLASS LOW org.apache.kafka.connect.mirror.DefaultTopicFilter
    The class that selects the topics to mirror.
metric.names.formats LIST LOW legacy
    Deprecated. The format of the names of Java's mirror metrics. Only the default is supported here.
"""

_HEARTBEAT = """
emit.heartbeats.enabled BOOLEAN LOW true
    Whether to write heartbeats.
emit.heartbeats.interval.seconds LONG LOW 1
    Interval of heartbeats.
heartbeats.topic.replication.factor SHORT LOW 3
    Replication factor of the heartbeats topic.
"""

_TASK = """
task.index INT LOW
    The number of the task.
task.assigned.partitions LIST LOW
    The partitions that the task mirrors.
task.assigned.groups LIST LOW
    The groups whose offsets the task translates.
"""

_PROVIDERS = """
config.providers LIST LOW ""
    Names of config providers for Java's clients. No effect on clients here: the worker resolves references before it
    hands settings to clients.
"""

_LIST = ValidList()
_CHECKS: Mapping[str, Validator] = {
    **SECURITY_CHECKS,
    "config.properties.exclude": _LIST,
    "config.providers": _LIST,
    "groups": _LIST,
    "groups.exclude": _LIST,
    "metric.names.formats": ValidList("legacy", "new"),
    "metric.reporters": _LIST,
    "offset-syncs.topic.location": ValidString("source", "target"),
    "topics": _LIST,
    "topics.exclude": _LIST,
}


_WITHOUT_EFFECT = {
    "metric.reporters": "reporters are Java classes; read metrics from `GET /metrics` of the worker",
    "metric.names.formats": "Java's mirror metrics, which this setting names, do not exist here",
}
"""Settings of which only the default is accepted, and why."""


def _security(config: ConfigDef) -> ConfigDef:
    for name, key in SECURITY_SETTINGS.keys.items():
        if name.startswith("sasl.oauthbearer.allow.unverified."):  # of Kafka 4.4
            continue
        if name == "security.providers":  # which these connectors do not have, but this one, in its place
            define_table(config, _PROVIDERS, checks=_CHECKS)
        else:
            text = (
                f"For clients of a cluster as `source.cluster.{name}` or `target.cluster.{name}`. {key.documentation}"
            )
            config.add(replace(key, validator=_CHECKS.get(name), documentation=text))
    return config


def _own(*tables: str) -> ConfigDef:
    config = _security(define_table(ConfigDef(), _BASE, checks=_CHECKS))
    for table in tables:
        define_table(config, table, checks=_CHECKS)
    return config


class Settings:
    """The settings of one kind of mirror connector; ``own`` are their definitions, without those of every connector."""

    def __init__(self, table: str) -> None:
        self.own = _own(table)
        if table is _SOURCE:
            define_origin_policy(self.own, RESTART, PROCEED, internal=True)
        self._task = define_table(ConfigDef(self.own), _TASK)

    def parse(self, config: Mapping[str, str]) -> dict[str, Any]:
        """Typed values, those of tasks among them. Raises ConfigError."""
        return self._task.parse(config, load)

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        """The runtime validates the settings that every connector has."""
        values = self.own.validate(config, load)
        for name, why in _WITHOUT_EFFECT.items():
            key = self.own.keys.get(name)
            given = config.get(name, "").strip()
            wrong = any(value.name == name and value.errors for value in values)
            if key is not None and not wrong and given not in ("", to_text(key.default, key.type)):
                add_error(values, name, f"Invalid value {given} for configuration {name}: {why}; leave it out")
        return values


SOURCE_SETTINGS = Settings(_SOURCE)
CHECKPOINT_SETTINGS = Settings(_CHECKPOINT)
HEARTBEAT_SETTINGS = Settings(_HEARTBEAT)


def add_error(values: list[ConfigValue], name: str, problem: str) -> None:
    """Add a problem to a setting's value, which need not be among them yet."""
    found = next((value for value in values if value.name == name), None)
    if found is None:
        found = ConfigValue(name)
        values.append(found)
    found.add_error(problem)
