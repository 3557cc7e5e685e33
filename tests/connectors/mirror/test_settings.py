"""Definitions of settings, compared with Java's, and what validation says beyond them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.config import ConfigDef, to_text
from penstock.api.connector import ExactlyOnceSupport
from penstock.api.errors import ConfigError
from penstock.connectors.mirror import MirrorCheckpointConnector, MirrorHeartbeatConnector, MirrorSourceConnector
from penstock.connectors.mirror.config import MirrorConfig
from penstock.connectors.mirror.settings import HEARTBEAT_SETTINGS
from penstock.plugins.registry import Plugins
from support.mirror.golden import golden

CONNECTORS: dict[str, Any] = {
    "source": MirrorSourceConnector,
    "checkpoint": MirrorCheckpointConnector,
    "heartbeat": MirrorHeartbeatConnector,
}
CATALOG = Plugins.discover(()).catalog
VALID = {"name": "m", "source.cluster.alias": "a"}


def shown(kind: str) -> ConfigDef:
    """Return the definition that the list of plugins shows."""
    found = CATALOG.load(CONNECTORS[kind].java_name)
    assert found is not None
    return found.config_def()


@pytest.mark.parametrize("kind", CONNECTORS)
def test_definitions_are_java_s(kind: str) -> None:
    java = {row[1]: row[2:5] for row in golden("setting") if row[0] == kind}
    keys = shown(kind).keys
    ours = {
        key.name: [
            key.type.name,
            key.importance.name,
            "!" if key.required else to_text(key.default, key.type) or "null",
        ]
        for key in keys.values()
        if not key.internal
    }
    assert list(ours) == list(java)
    # An empty text is shown as such.
    assert ours == {name: [*row[:2], row[2] or "null"] for name, row in java.items()}


@pytest.mark.parametrize("kind", CONNECTORS)
def test_checks_are_java_s(kind: str) -> None:
    java = {row[1]: row[5] for row in golden("setting") if row[0] == kind and row[5] != "-"}
    java["tasks.max"] = "Range [1,...,10000]"  # Java has no upper limit
    keys = shown(kind).keys
    checks = {name: f"{type(keys[name].validator).__name__} {keys[name].validator}" for name in java}
    assert checks == java


def problems(kind: str, **more: str) -> dict[str, list[str]]:
    config = VALID | {name.replace("__", "-").replace("_", "."): value for name, value in more.items()}
    return {value.name: value.errors for value in CONNECTORS[kind]().validate(config) if value.errors}


@pytest.mark.parametrize("kind", CONNECTORS)
def test_minimal_configurations_are_valid(kind: str) -> None:
    assert problems(kind) == {}


@pytest.mark.parametrize("kind", CONNECTORS)
def test_metrics_of_java_are_refused(kind: str) -> None:
    (problem,) = problems(kind, metric_reporters="com.example.Reporter")["metric.reporters"]
    assert problem.startswith("Invalid value com.example.Reporter for configuration metric.reporters: ")
    assert problems(kind, metric_reporters="org.apache.kafka.common.metrics.JmxReporter") == {}
    assert problems(kind, metric_reporters="") == {}


def test_other_names_of_java_s_metrics_are_refused() -> None:
    (problem,) = problems("source", metric_names_formats="legacy,new")["metric.names.formats"]
    assert problem.startswith("Invalid value legacy,new for configuration metric.names.formats: ")
    assert problems("source", metric_names_formats="legacy") == {}
    (problem,) = problems("source", metric_names_formats="x")["metric.names.formats"]
    assert problem.endswith("String must be one of: legacy, new")


def test_a_class_that_is_not_there() -> None:
    expected = "Invalid value nope for configuration replication.policy.class: Class nope could not be found."
    assert problems("source", replication_policy_class="nope") == {"replication.policy.class": [expected]}


def test_exactly_once_wants_committed_records() -> None:
    found = problems("source", exactly_once_support="required")["exactly.once.support"]
    assert found[0].startswith(
        "MirrorSourceConnector can only provide exactly-once guarantees when its source consumer"
    )
    assert problems("source", exactly_once_support="required", consumer_isolation_level="read_committed") == {}


@pytest.mark.parametrize(
    ("config", "answer"),
    [
        ({}, ExactlyOnceSupport.UNSUPPORTED),
        ({"consumer.isolation.level": "read_committed"}, ExactlyOnceSupport.SUPPORTED),
        ({"source.consumer.isolation.level": "read_committed"}, ExactlyOnceSupport.SUPPORTED),
        (
            {"consumer.isolation.level": "read_committed", "source.consumer.isolation.level": "read_uncommitted"},
            ExactlyOnceSupport.UNSUPPORTED,
        ),
        ({"source.cluster.isolation.level": "read_committed"}, ExactlyOnceSupport.UNSUPPORTED),
    ],
)
def test_exactly_once_support_follows_the_consumers_isolation(
    config: dict[str, str], answer: ExactlyOnceSupport
) -> None:
    assert MirrorSourceConnector().exactly_once_support(VALID | config) is answer


def test_offset_syncs_can_not_be_set_up_and_switched_off() -> None:
    expected = "MirrorSourceConnector can't setup offset-syncs feature while emit.offset-syncs.enabled set to false"
    found = problems("source", emit_offset__syncs_enabled="false", offset__syncs_topic_location="target")
    assert found == {"emit.offset-syncs.enabled": [expected]}
    assert problems("source", emit_offset__syncs_enabled="false") == {}


def test_checkpoints_need_offset_syncs_and_must_be_on() -> None:
    off = {"emit_offset__syncs_enabled": "false", "emit_checkpoints_enabled": "false"}
    assert problems("checkpoint", **off) == {
        "emit.offset-syncs.enabled": ["MirrorCheckpointConnector can't run without offset syncs"],
        "emit.checkpoints.enabled": ["MirrorCheckpointConnector can't run with emit.checkpoints.enabled set to false"],
    }
    assert problems("checkpoint", **off, enabled="false") == {}


def test_an_admin_class_of_one_s_own_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"Invalid value \S+\.example\.Admin for configuration forwarding\.admin\.class: "
    ):
        MirrorConfig(HEARTBEAT_SETTINGS, VALID | {"forwarding.admin.class": "org.apache.kafka.clients.example.Admin"})
